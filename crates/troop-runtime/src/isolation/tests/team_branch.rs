//! The team's branch belongs to troop: members neither work on it nor move it.

use super::*;

/// Puts a folder on the team's branch, which git itself would refuse.
const ALL_THE_SAME: [&str; 4] = ["checkout", "--quiet", "--ignore-other-worktrees", "troop/demo"];

#[tokio::test]
async fn git_refuses_to_check_out_or_move_a_running_teams_branch() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let own = Git::new(&ann, &environment());
    for refused in [
        &["checkout", "--quiet", "troop/demo"][..],
        &["switch", "--quiet", "troop/demo"],
        &["branch", "--force", "troop/demo", "HEAD"],
        &["branch", "-D", "troop/demo"],
    ] {
        assert_eq!(own.ask(refused).await.unwrap(), None, "{refused:?}");
    }
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    isolation.land().await.unwrap();
    assert!(scene.project().join("one.txt").exists());
    assert_eq!(scene.git(&["branch", "--format=%(refname:short)"]).await, "main");
    assert_eq!(scene.git(&["worktree", "list"]).await.lines().count(), 1);
}

#[tokio::test]
async fn the_next_lead_takes_the_branch_from_one_that_was_killed() {
    let scene = Scene::new().await;
    let killed = scene.open().await;
    let (one, ann) = scene.begin(&killed, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let isolation = scene.open().await;
    merge(&isolation, &one).await;
    isolation.land().await.unwrap();
    assert_eq!(scene.git(&["worktree", "list"]).await.lines().count(), 1);
}

#[tokio::test]
async fn a_member_on_the_teams_branch_undoes_no_work_of_others() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    git(&ann, &ALL_THE_SAME).await;
    write(&bob, "bob.txt", "2");
    merge(&isolation, &two).await;
    write(&ann, "ann.txt", "1");
    merge(&isolation, &one).await;
    assert_eq!(
        (scene.in_team("ann.txt").await, scene.in_team("bob.txt").await),
        ("1".into(), "2".into())
    );
    isolation.land().await.unwrap();
    assert!(scene.project().join("ann.txt").exists() && scene.project().join("bob.txt").exists());
}

#[tokio::test]
async fn commits_on_the_teams_branch_are_checked_too() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    git(&ann, &ALL_THE_SAME).await;
    write(&ann, "ann.txt", "broken");
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["commit", "--quiet", "-m", "x"]).await;
    let refuse = checks(&["test ! -e ann.txt"]);
    let finished = isolation.finish(&one, Aim::Merge, &refuse).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Not(MergeRefusal::Unproved)), "{finished:?}");
    write(&bob, "bob.txt", "2");
    merge(&isolation, &two).await;
    isolation.land().await.unwrap();
    assert!(scene.project().join("bob.txt").exists());
    assert!(!scene.project().join("ann.txt").exists());
}

#[tokio::test]
async fn foreign_commits_on_the_teams_branch_are_kept_on_another() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let tree = scene.git(&["write-tree"]).await;
    let stray = scene.git(&["commit-tree", &tree, "-p", "HEAD", "-m", "stray"]).await;
    scene.git(&["update-ref", "refs/heads/troop/demo", &stray]).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let log = scene.git(&["log", "--format=%s", "troop/demo"]).await;
    assert!(!log.contains("stray"), "{log}");
    let kept = "troop-work/demo/somebody/rescued";
    assert_eq!(scene.git(&["log", "-1", "--format=%s", kept]).await, "stray");
}
