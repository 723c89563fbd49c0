//! Files of tasks that follow each other within a tick of the disk's clock.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use troop_model::WorkspaceFolder;

use super::{FileOwner, LastEnd, owner_of};
use crate::{
    lead::policy::{
        completion::Departure,
        table::{name, task},
    },
    workspace::FileStat,
};

fn departure(number: u32) -> Departure {
    Departure { task: task(number), owner: name("ann"), folder: WorkspaceFolder::shared() }
}

fn stat(seconds: u64) -> FileStat {
    FileStat { size: 3, modified: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) }
}

/// The files that lay there when ann ended task 1.
fn first_end(files: &[(&str, FileStat)]) -> LastEnd {
    let files = files.iter().map(|(path, stat)| ((*path).to_owned(), stat.clone()));
    LastEnd::after(&departure(1), None, files.collect())
}

#[test]
fn a_file_that_came_after_a_members_last_task_is_not_of_that_task() {
    let last = first_end(&[("one.md", stat(10))]);
    let then = || vec![task(1), task(2)];
    let owner = |path, stat| owner_of(&departure(2), Some(&last), path, &stat, then());
    assert_eq!(owner("two.md", stat(10)), FileOwner::ThisTask);
    assert_eq!(owner("one.md", stat(11)), FileOwner::ThisTask, "it was written again");
    assert_eq!(owner("one.md", stat(10)), FileOwner::Unclear(then()));
}

#[test]
fn concurrent_writes_of_other_members_are_not_attributed() {
    let last = first_end(&[]);
    let then = vec![task(2), task(3)];
    let owner = owner_of(&departure(2), Some(&last), "two.md", &stat(10), then.clone());
    assert_eq!(owner, FileOwner::Unclear(then));
}

#[test]
fn without_an_earlier_end_only_the_times_count() {
    let owner = |then| owner_of(&departure(2), None, "two.md", &stat(10), then);
    assert_eq!(owner(vec![task(2)]), FileOwner::ThisTask);
    assert_eq!(owner(vec![task(1), task(2)]), FileOwner::Unclear(vec![task(1), task(2)]));
    assert_eq!(owner(vec![task(1)]), FileOwner::Others);
    assert_eq!(owner(Vec::new()), FileOwner::Others);
}

#[test]
fn the_ends_of_all_tasks_in_a_folder_count_and_none_of_another_folder() {
    let second = LastEnd::after(&departure(2), Some(first_end(&[])), BTreeMap::new());
    let then = || vec![task(1), task(2), task(3)];
    let owner =
        |departure: &Departure| owner_of(departure, Some(&second), "a.md", &stat(10), then());
    assert_eq!(owner(&departure(3)), FileOwner::ThisTask);
    let elsewhere =
        Departure { folder: WorkspaceFolder::of_chat(Some("c1".into())), ..departure(3) };
    assert_eq!(owner(&elsewhere), FileOwner::Unclear(then()));
}
