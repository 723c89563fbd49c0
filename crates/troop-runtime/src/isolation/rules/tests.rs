//! The decisions of isolation, case by case.

mod finish;
mod folder;
mod land;
mod merge;

use troop_model::{Hint, HintCommand};

use super::{
    land::{BringCase, WaitReason, bring, why_not_forward},
    *,
};
use crate::isolation::{
    effect::{OldValue, RefMove},
    leftovers::LeftoverState,
};

fn on(branch: Option<&str>) -> FolderHead {
    FolderHead { commit: "c0".to_owned(), branch: branch.map(str::to_owned) }
}

fn waits(why: &str, first: Option<Hint>) -> WaitReason {
    WaitReason { why: why.to_owned(), first }
}

fn git(command: &str) -> HintCommand {
    HintCommand::other("git").word(command)
}

#[test]
fn a_teams_work_lands_only_on_the_branch_it_began_on() {
    let team = "troop/crew";
    let go_back = Some(Hint::to("go back", git("switch").word("main")));
    let itself = waits("the project is on that branch itself", go_back.clone());
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
fn a_failed_landing_restores_only_files_that_are_provably_its_own() {
    let main = Some("main");
    let before = on(main);
    let elsewhere = |commit: &str, branch: Option<&str>| FolderHead {
        commit: commit.to_owned(),
        branch: branch.map(str::to_owned),
    };
    let index = |to: &str| LandingUndo::Index { to: to.to_owned() };
    let cases = [
        ("nothing was written, or files", on(main), false, IndexSide::Before, LandingUndo::Files),
        ("the index was written", on(main), false, IndexSide::Team, index("c0")),
        ("a person staged something", on(main), false, IndexSide::Other, LandingUndo::Nothing),
        ("git moved the branch", elsewhere("c1", main), true, IndexSide::Team, LandingUndo::Landed),
        (
            "another team landed first",
            elsewhere("c2", main),
            false,
            IndexSide::Other,
            LandingUndo::Nothing,
        ),
        (
            "a person committed when the index was written",
            elsewhere("c2", main),
            false,
            IndexSide::Team,
            index("c2"),
        ),
        (
            "a person committed before",
            elsewhere("c2", main),
            false,
            IndexSide::Before,
            LandingUndo::Nothing,
        ),
        (
            "a person left the branch",
            elsewhere("c0", Some("other")),
            false,
            IndexSide::Before,
            LandingUndo::Nothing,
        ),
    ];
    for (what, head, is_there, index, expect) in cases {
        let after = ProjectAfter { head, is_there, index };
        assert_eq!(landing_undo(&before, &after), expect, "{what}");
    }
}

#[test]
fn a_failed_landing_says_why_and_what_to_do() {
    let untracked = "error: The following untracked working tree files would be overwritten by merge:; \ta.txt; \tb.txt; Please move";
    let changed = "error: Your local changes to the following files would be overwritten by merge:; \ta.txt; Please commit";
    let full = "error: unable to write file a.txt: No space left on device";
    let begun = "git could not write all of it, and the project is as it was";
    let done = || Some(UndoResult::Done);
    let cases = [
        (
            untracked,
            false,
            done(),
            waits("`a.txt`, `b.txt` here are not committed", Some("move them".into())),
        ),
        (
            changed,
            false,
            None,
            waits("`a.txt` here is not committed", Some("commit or stash it".into())),
        ),
        (
            "error: Merging is not possible because you have unmerged files.",
            false,
            None,
            waits(
                "a merge in the project is unfinished",
                Some(Hint::to("finish it", git("commit")).or_to("", git("merge").word("--abort"))),
            ),
        ),
        (
            "fatal: Not possible to fast-forward, aborting.",
            false,
            None,
            waits("`main` has moved in the meantime", None),
        ),
        (
            "fatal: cannot lock ref 'HEAD': is at c2 but expected c0",
            true,
            done(),
            waits("`main` has moved in the meantime", None),
        ),
        (
            full,
            false,
            done(),
            waits(&format!("{begun}: {full}"), Some("make room on the disk".into())),
        ),
        (full, false, None, waits(full, None)),
        (
            full,
            false,
            Some(UndoResult::Failed("no room".to_owned())),
            waits(
                &format!("git could not write all of it ({full}), nor put it back (no room)"),
                Some(Hint::from("look at ").and_run(git("status"))),
            ),
        ),
    ];
    for (says, is_moved, undone, expect) in cases {
        let failure = failure(says);
        assert_eq!(why_not_forward(&failure, "main", is_moved, undone.as_ref()), expect, "{says}");
    }
    let lock = Some("/p/.git/index.lock".to_owned());
    let locked = ForwardFailure { lock, ..failure("fatal: Unable to create") };
    let expect = waits(
        "another git command is running in the project, or was killed",
        Some(
            Hint::from("wait for it")
                .or_to("if none is", HintCommand::other("rm").word("/p/.git/index.lock")),
        ),
    );
    assert_eq!(why_not_forward(&locked, "main", false, Some(&UndoResult::Done)), expect);
}

fn failure(says: &str) -> ForwardFailure {
    let is_full = says.contains("No space");
    ForwardFailure { says: says.to_owned(), lock: None, n_commits: 3, is_clear: true, is_full }
}

#[test]
fn work_is_joined_with_the_teams_unless_the_team_has_it() {
    let fork = |team: &str, base: &str| ForkPoint { team: team.to_owned(), base: base.to_owned() };
    assert_eq!(join_case(&fork("t", "t"), "o"), JoinCase::Own);
    assert_eq!(join_case(&fork("t", "o"), "o"), JoinCase::Team);
    assert_eq!(join_case(&fork("t", "b"), "o"), JoinCase::Merge);
    assert_eq!(join_case(&fork("t", "t"), "t"), JoinCase::Team, "nothing is new");
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
    let kept_first = [kept, back(was_c2())];
    assert_eq!(moves(Some("c2"), Some("refs/heads/r")), kept_first);
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
