//! The promises that must hold at rest.

use std::collections::BTreeSet;

use troop_model::{Party, Status};
use troop_runtime::deciding::isolation::full;

use crate::{
    files::{RECIPIENT, task_path},
    plan::Scenario,
    promise::Promise,
    repository::MAIN,
    world::World,
};

pub(crate) fn judge(world: &World) {
    let scenario = world.plan.scenario;
    if !world.store.borrow().is_replayed() {
        world.object(Promise::LogReplays, "the log replays to another state".to_owned());
    }
    if scenario != Scenario::Landing && scenario != Scenario::Mail {
        judge_tasks(world);
    }
    match scenario {
        Scenario::Board => {}
        Scenario::Files => judge_files(world),
        Scenario::Mail => judge_mail(world),
        Scenario::Lead => {
            judge_work(world);
            judge_project(world);
        }
        Scenario::Landing => {
            judge_project(world);
            judge_teams(world);
        }
    }
}

fn judge_tasks(world: &World) {
    let store = world.store.borrow();
    let tasks = store.state().tasks();
    if tasks.len() != usize::from(world.plan.n_tasks) {
        world.object(Promise::ComesToRest, format!("there are {} tasks", tasks.len()));
    }
    for task in tasks.numbers() {
        let status = tasks.status(task);
        if status != Some(Status::Completed) {
            world.object(Promise::ComesToRest, format!("{task} is {status:?}"));
        }
    }
}

/// The files say what the board says, and the log names those who did the work as they themselves know it.
fn judge_files(world: &World) {
    let store = world.store.borrow();
    for task in store.state().tasks().iter() {
        let path = task_path(&task.number.to_string());
        let file = world.disk.borrow().read(&path).map(|it| it.object()).unwrap_or_default();
        let status = file.get("status").and_then(|it| it.as_str());
        if status != Some(task.status.as_str()) {
            let what = format!("{path} says {status:?}, and the board {}", task.status.as_str());
            world.object(Promise::FilesAgree, what);
        }
        let owner = task.owner.as_ref().map(|it| it.as_str().to_owned());
        let judge = world.judge.borrow();
        let did = judge.done_by(task.number).cloned();
        drop(judge);
        if did.is_some() && owner.is_some() && did != owner {
            let what = format!("{} was done by {did:?}, and the log names {owner:?}", task.number);
            world.object(Promise::DoneOnce, what);
        }
    }
}

/// Every message that was not shown waits in the inbox of its reader.
fn judge_mail(world: &World) {
    let store = world.store.borrow();
    let Ok(name) = RECIPIENT.parse() else { return };
    let reader = Party::member(&name);
    for message in store.state().mailbox().unread_of(&reader) {
        let path = format!("inbox/{RECIPIENT}/msg-{}.json", message.id);
        let is_there = world.disk.borrow().read(&path).is_some();
        let is_shown = world.judge.borrow().has_seen(&reader, message.id);
        if !is_there && !is_shown {
            world.object(Promise::MailWaits, format!("{path} is not there, and was not shown"));
        }
    }
}

/// The work of every task is once in the project or on the team's branch.
fn judge_work(world: &World) {
    let repository = world.repository.borrow();
    let team = repository.at(&full("troop/crew"));
    let made = team.or_else(|| repository.at(MAIN)).unwrap_or_default();
    let tree = repository.tree(&made);
    let store = world.store.borrow();
    for task in store.state().tasks().numbers() {
        let lines = tree.get(&format!("{task}.txt")).map_or(0, |it| it.lines().count());
        match lines {
            1 => {}
            0 => world.object(Promise::WorkIsKept, format!("the work of {task} is in no branch")),
            n => {
                world.object(Promise::MergedOnce, format!("the work of {task} is there {n} times"));
            }
        }
    }
}

/// Index and files of the project are those of its commit.
fn judge_project(world: &World) {
    let repository = world.repository.borrow();
    let head = repository.at(MAIN).unwrap_or_default();
    let tree = repository.tree(&head);
    if repository.index != tree {
        let index: BTreeSet<_> = repository.index.iter().collect();
        let tree: BTreeSet<_> = tree.iter().collect();
        let stray: Vec<_> = index.symmetric_difference(&tree).collect();
        world.object(Promise::ProjectIsWhole, format!("staged, and not in {head}: {stray:?}"));
    }
    let lost: Vec<_> = tree
        .iter()
        .filter(|(path, content)| repository.files.get(*path) != Some(content))
        .collect();
    if !lost.is_empty() {
        world
            .object(Promise::ProjectIsWhole, format!("in {head}, and not in the folder: {lost:?}"));
    }
}

/// The work of a team is in the project, or on a branch.
fn judge_teams(world: &World) {
    let repository = world.repository.borrow();
    for nth in 1..=world.plan.n_programs {
        // The first commit is the project's; then each team has one.
        let commit = format!("c{}", nth + 1);
        if !repository.refs().any(|it| repository.is_ancestor(&commit, it)) {
            world.object(Promise::WorkIsKept, format!("{commit} of team {nth} is in no branch"));
        }
    }
}
