//! The next lead finishes or removes the half-made work of a killed one.

use troop_model::{Actor, Command, Evidence, TaskCommand, Time};

use super::*;
use crate::{
    AttemptName, CommandRequest, UnheardMerge,
    isolation::{LeftoverState, leftovers, put_back::LandingNote},
};

/// The beginning of a worktree, as git leaves it that is killed while it makes one.
async fn half_made(scene: &Scene, member: &str) -> PathBuf {
    let folder = scene.team().join("worktrees").join(member);
    let place = scene.project().join(".git/worktrees").join(member);
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(&place).unwrap();
    fs::write(folder.join(".git"), format!("gitdir: {}\n", place.display())).unwrap();
    fs::write(place.join("gitdir"), format!("{}\n", folder.join(".git").display())).unwrap();
    fs::write(place.join("commondir"), "../..\n").unwrap();
    fs::write(place.join("HEAD"), format!("{}\n", "0".repeat(40))).unwrap();
    fs::write(place.join("locked"), "initializing").unwrap();
    folder
}

async fn fsck(scene: &Scene) {
    scene.git(&["fsck", "--no-dangling"]).await;
}

#[tokio::test]
async fn a_half_made_worktree_is_made_again() {
    let scene = Scene::new().await;
    // Once found by the next lead, and once by a lead at work, whose git was killed.
    for is_next in [true, false] {
        let before = scene.open().await;
        half_made(&scene, "ann").await;
        if is_next {
            // The folder that holds the team's branch, too.
            fs::write(scene.project().join(".git/worktrees/-team/locked"), "initializing").unwrap();
            fs::remove_dir_all(scene.team().join("worktrees/.team")).unwrap();
        }
        let isolation = if is_next { scene.open().await } else { before };
        let (one, ann) = scene.begin(&isolation, "ann", u32::from(is_next) + 1).await;
        write(&ann, "one.txt", "1");
        if is_next {
            write(&ann, "two.txt", "2");
        }
        merge(&isolation, &one).await;
        fsck(&scene).await;
        isolation.land().await.unwrap();
        assert!(!scene.project().join(".git/worktrees").exists(), "next lead: {is_next}");
    }
}

#[tokio::test]
async fn a_half_made_worktree_that_nobody_needs_goes_at_the_end() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    half_made(&scene, "bob").await;
    // Git was killed while it removed this one.
    let removed = scene.project().join(".git/worktrees/cyd");
    fs::create_dir(&removed).unwrap();
    fs::write(removed.join("HEAD"), "ref: refs/heads/troop-work/demo/cyd/task-1\n").unwrap();
    // And this one, of which only the name of its folder is left.
    let removed = scene.project().join(".git/worktrees/dan");
    fs::create_dir(&removed).unwrap();
    let folder = scene.team().join("worktrees/dan/.git");
    fs::write(removed.join("gitdir"), format!("{}\n", folder.display())).unwrap();
    isolation.land().await.unwrap();
    assert!(!scene.project().join(".git/worktrees").exists());
    assert!(leftovers(&scene.team(), &environment()).await.unwrap().is_empty());
    fsck(&scene).await;
}

#[tokio::test]
async fn a_worktree_that_another_git_has_only_begun_stays_when_a_team_ends() {
    let scene = Scene::new().await;
    let begun = scene.project().join(".git/worktrees/persons");
    fs::create_dir_all(&begun).unwrap();
    let isolation = scene.open().await;
    assert!(begun.exists(), "a lead has begun");
    isolation.land().await.unwrap();
    assert!(begun.exists(), "a team has ended");
}

#[tokio::test]
async fn a_lead_killed_right_after_it_made_the_teams_branch_keeps_that_branch() {
    let scene = Scene::new().await;
    drop(scene.open().await);
    let path = scene.team().join("isolation.json");
    let pending = |began: &str| {
        let text = fs::read_to_string(&path).unwrap();
        let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
        record["is_pending"] = true.into();
        record["began"] = began.into();
        fs::write(&path, record.to_string()).unwrap();
    };
    pending(&scene.git(&["rev-parse", "HEAD"]).await);
    assert_eq!(scene.open().await.branch(), "troop/demo");
    fs::remove_dir_all(scene.team().join("worktrees")).unwrap();
    pending("another");
    assert_eq!(scene.open().await.branch(), "troop/demo+2", "another team has made it");
}

#[tokio::test]
async fn remains_of_worktrees_are_removed_but_unmerged_work_stays() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    write(&bob, "half.txt", "half");
    // Killed between the folder and its place in the repository, and while a watcher looked.
    fs::remove_dir_all(&ann).unwrap();
    fs::write(scene.team().join("worktrees/.index-ann"), "copy").unwrap();
    fs::write(scene.team().join("worktrees/.index-ann.lock"), "").unwrap();
    isolation.land().await.unwrap();
    let places: Vec<_> = fs::read_dir(scene.project().join(".git/worktrees")).unwrap().collect();
    let folders: Vec<_> = fs::read_dir(scene.team().join("worktrees")).unwrap().collect();
    assert_eq!((places.len(), folders.len()), (1, 1), "{places:?} {folders:?}");
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Dirty);
}

/// A team whose work waits to land, and a person's own changes beside it.
async fn before_landing() -> (Scene, Worktrees) {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "new/deep.txt", "a new file\n");
    write(&ann, "README.md", "one\ntwo\nthree\nfour\nsix\n");
    merge(&isolation, &one).await;
    scene.write("mine.txt", "mine");
    scene.git(&["add", "mine.txt"]).await;
    scene.write("loose.txt", "loose");
    (scene, isolation)
}

const MINE: &str = "A  mine.txt\n?? loose.txt";

async fn note_landing(scene: &Scene) {
    let note = LandingNote {
        commit: scene.git(&["rev-parse", "HEAD"]).await,
        branch: Some("main".to_owned()),
        team: scene.git(&["rev-parse", "troop/demo"]).await,
        is_clear: true,
    };
    note.write(&scene.team()).unwrap();
}

#[tokio::test]
async fn a_landing_killed_before_it_moved_the_branch_is_put_back_by_the_next_lead() {
    let (scene, isolation) = before_landing().await;
    note_landing(&scene).await;
    drop(isolation);
    // As git leaves it that is killed when files and index are written.
    scene.git(&["read-tree", "-m", "-u", "HEAD", "troop/demo"]).await;
    let isolation = scene.open().await;
    assert_eq!(scene.git(&["status", "--porcelain"]).await, MINE);
    assert!(!scene.project().join("new").exists());
    isolation.land().await.unwrap();
    assert_eq!(scene.git(&["status", "--porcelain"]).await, MINE);
    assert_eq!(scene.git(&["show", "main:new/deep.txt"]).await, "a new file");
}

#[tokio::test]
async fn a_landing_killed_while_it_wrote_files_is_undone_except_for_a_persons_changes() {
    let (scene, isolation) = before_landing().await;
    note_landing(&scene).await;
    drop(isolation);
    scene.write("new/deep.txt", "a new");
    scene.write("README.md", "one\ntwo\nth");
    scene.open().await;
    assert_eq!(scene.git(&["status", "--porcelain"]).await, MINE);
    let (scene, isolation) = before_landing().await;
    note_landing(&scene).await;
    drop(isolation);
    scene.write("new/deep.txt", "a person's");
    scene.write("README.md", "a person's\n");
    scene.open().await;
    assert_eq!(fs::read_to_string(scene.project().join("README.md")).unwrap(), "a person's\n");
    assert_eq!(fs::read_to_string(scene.project().join("new/deep.txt")).unwrap(), "a person's");
}

#[tokio::test]
async fn a_landing_over_which_a_person_committed_touches_nothing_of_theirs() {
    let (scene, isolation) = before_landing().await;
    note_landing(&scene).await;
    drop(isolation);
    // The landing wrote the index, and a person committed one file alone before the branch moved.
    scene.git(&["read-tree", "-m", "-u", "HEAD", "troop/demo"]).await;
    scene.git(&["commit", "--quiet", "-m", "mine", "mine.txt"]).await;
    scene.write("mine.txt", "mine, changed");
    let isolation = scene.open().await;
    assert_eq!(scene.git(&["status", "--porcelain"]).await, " M mine.txt\n?? loose.txt");
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let crate::isolation::Landing::Waits { why, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(why, "`main` has moved in the meantime");
}

fn report(attempt: u32) -> CommandRequest {
    let complete = TaskCommand::Complete {
        task: TaskNumber(1).into(),
        result: "what came of it".to_owned(),
        summary: None,
        attempt: Some(attempt),
    };
    CommandRequest::new(Actor::agent(&member("ann")), Command::Task(complete))
}

async fn merges(isolation: &Worktrees, attempt: u32) -> Vec<UnheardMerge> {
    isolation.merges_of(&[AttemptName { task: TaskNumber(1), attempt }]).await.unwrap()
}

#[tokio::test]
async fn the_next_lead_finds_a_merge_with_all_that_the_board_has_to_hear() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let report = report(1);
    let one = TaskAttempt { report: Some(report.clone().into()), ..one };
    let finished = isolation.finish(&one, Aim::Merge, &checks(&["test -e one.txt"])).await.unwrap();
    let MergeOutcome::Merged(merge) = finished.outcome else { panic!("{finished:?}") };
    assert_eq!(merges(&isolation, 2).await, [], "another attempt");
    let [found] = &merges(&scene.open().await, 1).await[..] else { panic!("it is not found") };
    assert_eq!((&found.commit, &found.into), (&merge.commit, &"troop/demo".to_owned()));
    assert_eq!(found.report.as_ref(), Some(&report));
    assert_eq!(found.evidence, finished.evidence);
    assert!(found.evidence.iter().all(Evidence::is_good) && found.evidence.len() == 1);
    assert!(found.evidence[0].at > Time::from_micros(0));
    isolation.forget_merge(TaskNumber(1)).await;
    let [found] = &merges(&isolation, 1).await[..] else { panic!("its commit names it") };
    assert_eq!((&found.commit, &found.report), (&merge.commit, &None));
}

#[tokio::test]
async fn no_commit_of_a_member_counts_as_a_merge() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    let message = "merge\n\nTroop-Task: team task-1 attempt 1\n";
    git(&bob, &["checkout", "--quiet", "-b", "side"]).await;
    git(&bob, &["commit", "--quiet", "--allow-empty", "-m", message]).await;
    git(&bob, &["checkout", "--quiet", "troop-work/demo/bob/task-2"]).await;
    git(&bob, &["merge", "--quiet", "--no-ff", "-m", message, "side"]).await;
    write(&bob, "two.txt", "2");
    merge(&isolation, &two).await;
    assert_eq!(merges(&isolation, 1).await, []);
    let found = isolation.merges_of(&[AttemptName { task: TaskNumber(2), attempt: 1 }]).await;
    assert_eq!(found.unwrap().len(), 1, "troop's own does");
}

#[tokio::test]
async fn work_whose_branch_did_not_move_is_not_merged() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let merge = merge(&isolation, &one).await;
    scene.git(&["update-ref", "refs/heads/troop/demo", &format!("{}^", merge.commit)]).await;
    assert_eq!(merges(&scene.open().await, 1).await, []);
}
