//! The order of operations on the folder of a member.

use std::path::Path;

use troop_model::TaskNumber;

use crate::isolation::{
    TaskAttempt,
    effect::{
        EmptyCommit, FileExchange, FolderEffect, IndexEffect, OldValue, RefMove, RepositoryEffect,
        WorktreeStart,
    },
    rules::{
        AttemptName, BeginFacts, CommitFacts, FolderHead, FolderRemains, FolderState, KeepBranch,
        begin, go_back, make_folder, merge_message, merged_attempt, save_message, work_message,
    },
};

const WORK: &str = "troop-work/crew/ann/task-1";

#[test]
fn an_obstacle_is_moved_aside_before_a_folder_is_made() {
    let folder = Path::new("/team/worktrees/ann");
    let place = folder.join("app");
    let effects = |state| make_folder(&state, folder, &place);
    let make = |path: &Path| FolderEffect::MakeFolder(path.to_owned());
    let add = || {
        FolderEffect::Repository(RepositoryEffect::AddWorktree {
            folder: folder.to_owned(),
            start: WorktreeStart::Commit("t1".to_owned()),
        })
    };
    let all = Path::new("/team/worktrees");
    let missing = |remains| FolderState::Missing { team: "t1".to_owned(), remains };
    assert_eq!(effects(FolderState::Whole), [make(&place)]);
    assert_eq!(
        effects(FolderState::Replaced),
        [FolderEffect::SetAside(".git".to_owned()), FolderEffect::MendTie, make(&place)]
    );
    let half_made = FolderState::HalfMade { team: "t1".to_owned() };
    assert_eq!(effects(half_made), [FolderEffect::RemoveHalfMade, add(), make(&place)]);
    assert_eq!(effects(missing(FolderRemains::Nothing)), [make(all), add(), make(&place)]);
    assert_eq!(
        effects(missing(FolderRemains::EmptyFolder)),
        [FolderEffect::RemoveEmptyFolder, make(all), add(), make(&place)]
    );
    assert_eq!(
        effects(missing(FolderRemains::Files)),
        [FolderEffect::SetAside(String::new()), make(all), add(), make(&place)]
    );
}

#[test]
fn files_are_exchanged_under_a_mark_and_a_merged_branch_goes_last() {
    let head = |branch: Option<&str>| FolderHead {
        commit: "c1".to_owned(),
        branch: branch.map(str::to_owned),
    };
    let facts = |branch, is_before_merged, unfinished| BeginFacts {
        before: head(branch),
        is_before_merged,
        unfinished,
        branch: "next".to_owned(),
        team: "t1".to_owned(),
    };
    let switch = |to| {
        vec![
            FolderEffect::MarkExchange,
            FolderEffect::Exchange(to),
            FolderEffect::UnmarkExchange,
            FolderEffect::FollowSubmodules,
            FolderEffect::ClearRepositories,
        ]
    };
    let make = || RefMove::new("refs/heads/next", OldValue::Absent, "t1").into();
    let to_next = switch(FileExchange::Branch("next".to_owned()));
    let mut expect: Vec<FolderEffect> = vec![make()];
    expect.extend(to_next.clone());
    assert_eq!(begin(&facts(None, false, None)), expect);
    assert_eq!(begin(&facts(Some(WORK), false, None)), expect, "unmerged work stays");
    let mut with_end = expect.clone();
    let old = OldValue::Is("c1".to_owned());
    with_end.push(RefMove::delete("refs/heads/troop-work/crew/ann/task-1", old).into());
    assert_eq!(begin(&facts(Some(WORK), true, None)), with_end);
    let mut with_quit = vec![make(), FolderEffect::Quit("rebase")];
    with_quit.extend(to_next);
    assert_eq!(begin(&facts(None, false, Some("rebase"))), with_quit);
    assert_eq!(go_back(None, WORK), switch(FileExchange::Branch(WORK.to_owned())));
}

#[test]
fn work_is_committed_on_a_branch_and_repositories_are_left_out() {
    let stay = [FolderEffect::MakeBranch("b".to_owned()), FolderEffect::AttachHead("b".to_owned())];
    let index = |hidden: &[&str], except: &[&str], empty| {
        let all = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut effects = Vec::new();
        effects.extend((!hidden.is_empty()).then(|| IndexEffect::Reveal(all(hidden))));
        effects.push(IndexEffect::StageAll { except: all(except) });
        effects.push(IndexEffect::Commit { message: "m".to_owned(), empty });
        effects.into_iter().map(FolderEffect::Index).collect::<Vec<_>>()
    };
    let own = KeepBranch::Own("b".to_owned());
    let new = KeepBranch::New("b".to_owned());
    let plain = CommitFacts::default();
    assert_eq!(own.keep(&plain, "m"), index(&[], &[], EmptyCommit::Make));
    let on_new = [stay.to_vec(), index(&[], &[], EmptyCommit::Make)].concat();
    assert_eq!(new.keep(&plain, "m"), on_new);
    let hidden = vec!["h".to_owned()];
    let repositories = vec!["r".to_owned()];
    let odd = CommitFacts { hidden, repositories };
    assert_eq!(own.keep(&odd, "m"), index(&["h"], &["r"], EmptyCommit::Skip));
}

#[test]
fn commits_name_their_task_and_member() {
    let member = "ann".parse().unwrap();
    assert_eq!(save_message(WORK, &member), "unfinished work on task-1\n\nMember: ann\n");
    assert_eq!(save_message("other", &member), "work without a task\n\nMember: ann\n");
    let subject = "two\n lines".to_owned();
    let work = TaskAttempt { member, task: TaskNumber(1), attempt: 1, subject, report: None };
    assert_eq!(work_message(&work), "task-1: two lines\n\nTask: task-1\nMember: ann\n");
    let merge =
        "merge task-1: two lines\n\nTask: task-1\nMember: ann\nTroop-Task: T7 task-1 attempt 1\n";
    assert_eq!(merge_message(&work, "T7"), merge);
}

#[test]
fn a_merge_commit_names_team_task_and_attempt() {
    let named = |task, attempt| Some(AttemptName { task: TaskNumber(task), attempt });
    let cases = [
        ("T7 task-12 attempt 3", named(12, 3)),
        ("T8 task-12 attempt 3", None),
        ("T7 task-12", None),
        ("T7 task-12 attempt 3 and more", None),
        ("T7 task-x attempt 3", None),
        ("", None),
    ];
    for (trailer, expect) in cases {
        assert_eq!(merged_attempt(trailer, "T7"), expect, "{trailer}");
    }
}
