//! The decisions of isolation, case by case.

mod finish;
mod folder;
mod land;
mod merge;

use super::{
    land::{BringCase, FailedForward, WaitReason, bring, failed_forward},
    *,
};
use crate::isolation::{
    effect::{OldValue, RefMove},
    leftovers::LeftoverState,
};

fn on(branch: Option<&str>) -> FolderHead {
    FolderHead { commit: "c0".to_owned(), branch: branch.map(str::to_owned) }
}

fn waits(why: &str, first: Option<&str>) -> WaitReason {
    WaitReason { why: why.to_owned(), first: first.map(str::to_owned) }
}

#[test]
fn a_teams_work_lands_only_on_the_branch_it_began_on() {
    let team = "troop/crew";
    let go_back = Some("go back: `git switch main`");
    let itself = waits("the project is on that branch itself", go_back);
    let detached = waits("the project is not on a branch", go_back);
    let cases = [
        (Some("main"), Some("main"), true, BringCase::Nothing),
        (Some("other"), Some("main"), true, BringCase::Nothing),
        (Some(team), Some("main"), true, BringCase::NothingIfHeld(itself)),
        (None, Some("main"), true, BringCase::NothingIfHeld(detached)),
        (
            Some("main"),
            Some("main"),
            false,
            BringCase::ForwardIfAhead {
                base: "main".to_owned(),
                behind: waits("`main` has moved in the meantime", None),
            },
        ),
        (
            Some("other"),
            Some("main"),
            false,
            BringCase::Waits(waits("the project is now on `other` and was on `main`", None)),
        ),
        (
            Some("other"),
            None,
            false,
            BringCase::Waits(waits("the project is now on `other` and was not on a branch", None)),
        ),
        (None, None, false, BringCase::Waits(waits("the project is not on a branch", None))),
        (
            None,
            Some("main"),
            false,
            BringCase::Waits(waits("the project is not on a branch", None)),
        ),
    ];
    for (now, base, is_there, expect) in cases {
        assert_eq!(bring(&on(now), team, base, is_there), expect, "{now:?} {base:?} {is_there}");
    }
}

#[test]
fn files_are_put_back_only_if_git_began_to_write_and_nothing_was_in_the_way() {
    let untracked = "error: The following untracked working tree files would be overwritten by merge:; \ta.txt; \tb.txt; Please move";
    let changed = "error: Your local changes to the following files would be overwritten by merge:; \ta.txt; Please commit";
    let locked = "fatal: Unable to create '/p/.git/index.lock': File exists.";
    let full = "error: unable to write file a.txt: No space left on device";
    let begun = "git could not write all of it, and the project is as it was";
    let cases = [
        (
            untracked,
            true,
            false,
            FailedForward::Untouched(waits(
                "a.txt, b.txt here are not committed",
                Some("move them"),
            )),
        ),
        (
            changed,
            false,
            false,
            FailedForward::Untouched(waits(
                "a.txt here is not committed",
                Some("commit or stash it"),
            )),
        ),
        (
            locked,
            true,
            false,
            FailedForward::Untouched(waits(
                "another git command is running in the project, or was killed",
                Some("wait for it, or if none is: `rm /p/.git/index.lock`"),
            )),
        ),
        (
            "error: Merging is not possible because you have unmerged files.",
            true,
            false,
            FailedForward::Untouched(waits(
                "a merge in the project is unfinished",
                Some("finish it: `git commit`, or `git merge --abort`"),
            )),
        ),
        (
            full,
            true,
            true,
            FailedForward::PutBack(waits(
                &format!("{begun}: {full}"),
                Some("make room on the disk"),
            )),
        ),
        (
            "fatal: odd",
            true,
            false,
            FailedForward::PutBack(waits(&format!("{begun}: fatal: odd"), None)),
        ),
        (full, false, true, FailedForward::Untouched(waits(full, None))),
    ];
    for (says, is_clear, is_full, expect) in cases {
        let failure = ForwardFailure { says: says.to_owned(), is_clear, is_full };
        assert_eq!(failed_forward(&failure), expect, "{says}");
    }
}

#[test]
fn a_merge_commit_is_made_only_if_both_sides_moved() {
    let fork = |team: &str, base: &str| ForkPoint { team: team.to_owned(), base: base.to_owned() };
    assert_eq!(join_case(&fork("t", "t"), "o"), JoinCase::Own);
    assert_eq!(join_case(&fork("t", "o"), "o"), JoinCase::Team);
    assert_eq!(join_case(&fork("t", "b"), "o"), JoinCase::Merge);
    assert_eq!(join_case(&fork("t", "t"), "t"), JoinCase::Own, "nothing is new");
}

#[test]
fn the_fork_of_two_commits_is_read_from_gits_output() {
    let lines = |said| {
        let ForkLines { team, base } = ForkLines::read(said);
        (team, base)
    };
    assert_eq!(lines("own\nteam\n^base\n"), (Some("team"), Some("base")));
    assert_eq!(lines("own\nteam\n"), (Some("team"), None), "they were never one");
    assert_eq!(lines("own\n"), (None, None));
}

#[test]
fn the_status_of_a_folder_is_read_from_gits_output() {
    let head = "# branch.oid c1\0# branch.head work\0";
    let read = |rest: &str, is_merging| FolderStatus::read(&format!("{head}{rest}"), is_merging);
    let clean = read("", false).unwrap();
    assert_eq!((clean.commit.as_str(), clean.branch.as_deref()), ("c1", Some("work")));
    assert!(!clean.is_dirty && clean.unmerged.is_empty());
    assert!(read("", true).unwrap().is_dirty, "the next commit ends a merge");
    assert!(read("? new.txt\0", false).unwrap().is_dirty);
    let merged = read("u UU N... 1 2 3 4 h1 h2 h3 a b.txt\0", false).unwrap();
    assert_eq!(merged.unmerged.first().map(|it| it.file.as_str()), Some("a b.txt"));
    assert_eq!(FolderStatus::read("# branch.head work\0", false), None);
}

#[test]
fn a_merge_is_finished_when_no_file_is_marked_or_undecided() {
    let entry = |sides: &str, submodule: &str, file: &str| {
        format!("u {sides} {submodule} 1 2 3 4 h1 h2 h3 {file}\0")
    };
    let status =
        |entries: &str| FolderStatus::read(&format!("# branch.oid c1\0{entries}"), true).unwrap();
    let mixed = status(&entry("UU", "N...", "a"));
    let deleted = status(&entry("UD", "N...", "a"));
    let submodule = status(&entry("UU", "S...", "a"));
    let marks = b"x\n<<<<<<< HEAD\ny\n".to_vec();
    let cases = [
        (&mixed, None, marks.clone(), Some("Unresolved")),
        (&mixed, None, b"resolved\n".to_vec(), None),
        (&mixed, None, b"\0binary".to_vec(), Some("Undecided")),
        (&deleted, None, b"kept\n".to_vec(), Some("Undecided")),
        (&deleted, None, marks, Some("Unresolved")),
        (&submodule, None, Vec::new(), Some("Undecided")),
        (&mixed, Some("rebase"), b"resolved\n".to_vec(), Some("Unfinished")),
    ];
    for (status, command, bytes, expect) in cases {
        let refusal = status.unfinished(command, &[bytes]).map(|it| format!("{it:?}"));
        let found = refusal.as_deref().and_then(|it| it.split('(').next());
        assert_eq!(found, expect, "{status:?} {command:?}");
    }
}

#[test]
fn a_foreign_branch_is_left_alone() {
    let found = || Some("c1".to_owned());
    let start = |found, owner| start_case("refs/heads/troop/crew", found, "p1", owner);
    let step = |from| RefMove::new("refs/heads/troop/crew", from, "p1");
    let make = StartCase::Make(step(OldValue::Absent));
    assert_eq!(start(None, BranchOwner::IsOthers), make);
    assert_eq!(start(None, BranchOwner::IsOurs), make);
    assert_eq!(start(found(), BranchOwner::IsOthers), StartCase::Taken);
    let to_project = step(OldValue::Is("c1".to_owned()));
    let goes_on = StartCase::MoveIfMerged { from: "c1".to_owned(), to_project };
    assert_eq!(start(found(), BranchOwner::IsOurs), goes_on);
}

#[test]
fn a_moved_branch_is_put_back_and_foreign_commits_are_kept_on_another() {
    let name = "refs/heads/troop/crew";
    let moves = |found, rescue| put_back(&PutBackFacts { name, found, back_to: "c1", rescue });
    let back = |from| RefMove::new(name, from, "c1").because("troop: put back");
    let was_c2 = || OldValue::Is("c2".to_owned());
    assert_eq!(moves(None, None), [back(OldValue::Absent)], "deleted");
    assert_eq!(moves(Some("c2"), None), [back(was_c2())], "moved backwards");
    let kept = RefMove::new("refs/heads/r", OldValue::Absent, "c2");
    assert_eq!(moves(Some("c2"), Some("refs/heads/r")), [back(was_c2()), kept]);
}

#[test]
fn the_teams_branch_is_put_back_if_others_moved_it() {
    let mut known = BranchPosition::at("c1".to_owned());
    let right = |commit: &str| PositionCase::Right(commit.to_owned());
    let moved = PositionCase::Moved { back_to: "c1".to_owned() };
    assert_eq!(known.check(Some("c1")), right("c1"));
    assert_eq!(known.check(Some("c2")), moved, "somebody moved it");
    assert_eq!(known.check(None), moved, "somebody deleted it");
    known.next = Some("c2".to_owned());
    assert_eq!(known.check(Some("c2")), right("c2"), "we are moving it");
    assert_eq!(known.check(Some("c3")), moved);
}

#[test]
fn leftovers_of_a_team_are_committed_moved_or_refused() {
    let lost = LeftoverState::Lost { says: "x".to_owned() };
    for (state, is_strange, expect) in [
        (LeftoverState::Away, false, RescueCase::Refused),
        (LeftoverState::Away, true, RescueCase::Refused),
        (lost, true, RescueCase::Move),
        (LeftoverState::Replaced, false, RescueCase::Commit { is_replaced: true }),
        (LeftoverState::Dirty, false, RescueCase::Commit { is_replaced: false }),
        (LeftoverState::Merged, false, RescueCase::Commit { is_replaced: false }),
    ] {
        assert_eq!(rescue_case(&state, is_strange), expect, "{state:?} {is_strange}");
    }
    let team = "troop/crew";
    let own = "troop-work/crew/bob/task-1".to_owned();
    let cases = [
        (Some(own.clone()), LeftoverState::Merged, RescueBranch::Own(own.clone())),
        (Some(own.clone()), LeftoverState::Dirty, RescueBranch::Own(own)),
        (None, LeftoverState::Merged, RescueBranch::None),
        (None, LeftoverState::Dirty, RescueBranch::New),
        (Some(team.to_owned()), LeftoverState::Dirty, RescueBranch::New),
        (Some(team.to_owned()), LeftoverState::Merged, RescueBranch::None),
    ];
    for (branch, state, expect) in cases {
        assert_eq!(rescue_branch(branch, team, &state), expect, "{state:?}");
    }
}
