//! Notes for people about a team's work at its end.

use troop_runtime::{
    GitError, IgnoredFiles, KeptFolder, Landing, LandingReport, LeadEnd, StrayWork,
};

use super::{TeamHarvest, land, no_worktrees};
use crate::Diagnosis;

fn landed(landed: Landing) -> LandingReport {
    let (kept, ignored, elsewhere) = (Vec::new(), Vec::new(), Vec::new());
    LandingReport { landed, kept, ignored, elsewhere, locked: None }
}

fn notes(report: LandingReport) -> Vec<String> {
    TeamHarvest::Landed(report).notes().iter().map(ToString::to_string).collect()
}

fn waits(first: Option<&str>) -> Landing {
    Landing::Waits {
        branch: "troop/crew".to_owned(),
        why: "main\nhas moved".to_owned(),
        first: first.map(Into::into),
        hint: "git merge troop/crew".to_owned(),
    }
}

#[test]
fn work_that_landed_is_counted_and_work_that_waits_comes_with_its_command() {
    let merged = |n_commits| landed(Landing::Merged { branch: "main".to_owned(), n_commits });
    let waiting = "the team's work is on `troop/crew`, not merged: main has moved; ";
    for (report, expected) in [
        (merged(1), "1 commit of the team is on `main` now".to_owned()),
        (merged(2), "2 commits of the team are on `main` now".to_owned()),
        (landed(waits(None)), format!("{waiting}merge it: `git merge troop/crew`")),
        (
            landed(waits(Some("commit your changes"))),
            format!("{waiting}commit your changes, then: `git merge troop/crew`"),
        ),
    ] {
        assert_eq!(notes(report), [expected]);
    }
    assert!(notes(landed(Landing::Nothing)).is_empty());
}

#[test]
fn work_that_is_not_merged_is_named_with_where_it_is() {
    let member = || "ann".parse().unwrap();
    let files = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    let report = LandingReport {
        landed: Landing::Nothing,
        kept: vec![KeptFolder {
            member: member(),
            folder: "/w/ann".into(),
            branch: None,
            is_dirty: true,
        }],
        ignored: vec![IgnoredFiles {
            member: member(),
            place: "/aside".into(),
            kept: files(&["a", "b", "c", "d"]),
            gone: files(&["big"]),
        }],
        elsewhere: vec![
            StrayWork::Branch { member: member(), branch: "my idea".to_owned() },
            StrayWork::Stash { member: member(), name: "stash@{0}".to_owned() },
        ],
        locked: Some("/p/.git/packed-refs.lock".into()),
    };
    assert_eq!(
        notes(report),
        [
            "uncommitted changes are kept in ann's worktree, /w/ann; to keep only the branch: `troop doctor --rescue`",
            "not merged, because git ignores it: `a`, `b`, `c`, 1 more of ann; kept in /aside",
            "not merged, because git ignores it, and too large to be kept: `big` of ann; to keep such files, add them to git \
             (`git add -f FILE`) or the workspace (`troop workspace write NAME FILE`)",
            "not merged, because ann put it on another branch: `my idea`; merge it: `git merge 'my idea'`",
            "not merged, because ann left it in `git stash`: `stash@{0}`; see it: `git stash show -p 'stash@{0}'`",
            "merged branches stay, because another git command has `/p/.git/packed-refs.lock`, or left it when it was killed; \
             if no git runs there: `rm /p/.git/packed-refs.lock`",
        ]
    );
}

#[test]
fn a_team_without_worktrees_is_told_how_to_work_without_them() {
    let team = "crew".parse().unwrap();
    let hint = |error: &GitError, is_new| {
        let error = no_worktrees(error, &team, is_new);
        Diagnosis::of(&error).unwrap().hint.unwrap().to_string()
    };
    let in_the_way = GitError::InTheWay { branch: "troop".to_owned() };
    assert_eq!(
        hint(&in_the_way, true),
        "rename it: `git branch -m troop old-troop`; or work without them: `troop run GOAL --set isolation=none`"
    );
    let nonsense = GitError::Nonsense { what: "status".to_owned(), folder: "/p".into() };
    assert_eq!(hint(&nonsense, false), "work without them: `troop team set crew isolation=none`");
}

#[tokio::test]
async fn nothing_lands_without_worktrees() {
    let harvest = land(None, &LeadEnd::Quiet).await;
    assert!(matches!(harvest, TeamHarvest::Nothing) && harvest.json().is_null());
    assert_eq!(harvest.warning(), None);
}
