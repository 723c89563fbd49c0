//! Projects that were moved or replaced.

use std::{fs, path::PathBuf};

use super::{Scene, environment, git, member, merge, work, write};
use crate::{
    IsolationStart, LeftoverState, Worktrees,
    isolation::{TaskAttempt, leftovers, orphans, rescue},
};

/// Moves the project of a scene, and opens its team there.
async fn move_project(scene: &Scene) -> (PathBuf, IsolationStart) {
    let moved = scene.folder.path().join("somewhere else");
    fs::rename(scene.project(), &moved).unwrap();
    let opened = Worktrees::open(scene.options(&moved)).await.unwrap();
    (moved, opened)
}

#[tokio::test]
async fn a_team_whose_project_was_moved_keeps_its_branch_and_folders() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    merge(&isolation, &one).await;
    drop(isolation);
    let (moved, opened) = move_project(&scene).await;
    let says = format!(
        "this project was `{}` before; the team continues on its branch `troop/demo`",
        scene.project().display()
    );
    assert_eq!(opened.notices, [says]);
    let isolation = opened.isolation.unwrap();
    assert_eq!(isolation.place(&member("bob")).await.unwrap(), bob);
    isolation.begin(&TaskAttempt { attempt: 2, ..work("bob", 2) }).await.unwrap();
    assert!(bob.join("one.txt").exists(), "it begins with the results of all before");
    let left = git(&moved, &["show", "troop-work/demo/bob/task-2:two.txt"]).await;
    assert_eq!(left, "2", "nothing is lost");
    let teams = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/troop/"];
    assert_eq!(git(&moved, &teams).await, "troop/demo");
    isolation.land().await.unwrap();
    assert!(moved.join("one.txt").exists());
    assert_eq!(Worktrees::open(scene.options(&moved)).await.unwrap().notices, [""; 0], "once");
}

#[tokio::test]
async fn leftovers_in_a_moved_project_are_neither_lost_nor_orphans() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&bob, "two.txt", "2");
    drop(isolation);
    let moved = scene.folder.path().join("moved");
    fs::rename(scene.project(), &moved).unwrap();
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert!(found.iter().all(|it| it.state == LeftoverState::Away), "{found:?}");
    let not = rescue(&found[0], &scene.aside(), &environment()).await.unwrap_err();
    assert!(not.to_string().ends_with("belongs to a project that is not there"), "{not}");
    let found = orphans(&moved, &[scene.team()], &environment()).await.unwrap();
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_team_in_another_repository_hears_where_its_results_are() {
    let scene = Scene::new().await;
    drop(scene.open().await);
    let other = Scene::new().await;
    let opened = Worktrees::open(scene.options(&other.project())).await.unwrap();
    let says = format!(
        "what the team made in `{}` stays on `troop/demo` there",
        scene.project().display()
    );
    assert_eq!(opened.notices, [says]);
    fs::remove_dir_all(other.project()).unwrap();
    let opened = Worktrees::open(scene.options(&scene.project())).await.unwrap();
    assert_eq!(opened.isolation.unwrap().branch(), "troop/demo");
    let third = Scene::new().await;
    fs::remove_dir_all(scene.project()).unwrap();
    let opened = Worktrees::open(scene.options(&third.project())).await.unwrap();
    let says = format!(
        "the team was in `{}` before, and `troop/demo` is not here: it starts from this project's commit",
        scene.project().display()
    );
    assert_eq!(opened.notices, [says]);
}

#[tokio::test]
async fn leftovers_are_rescued_after_their_repository_is_gone_or_remade() {
    for is_made_anew in [false, true] {
        let scene = Scene::new().await;
        let isolation = scene.open().await;
        let (_, ann) = scene.begin(&isolation, "ann", 1).await;
        write(&ann, "one.txt", "1");
        drop(isolation);
        fs::remove_dir_all(scene.project().join(".git")).unwrap();
        if is_made_anew {
            scene.git(&["init", "--quiet", "--initial-branch=main"]).await;
        }
        let [left] = leftovers(&scene.team(), &environment()).await.unwrap().try_into().unwrap();
        assert!(matches!(left.state, LeftoverState::Lost { .. }), "{left:?}");
        let rescued = rescue(&left, &scene.aside(), &environment()).await.unwrap();
        assert!(rescued.aside[0].join("one.txt").exists(), "{rescued:?}");
        assert_eq!(leftovers(&scene.team(), &environment()).await.unwrap().len(), 0);
    }
}

#[tokio::test]
async fn files_outside_of_a_sparse_checkout_are_merged_and_rescued() {
    let scene = Scene::new().await;
    scene.write("a/one.txt", "1");
    scene.write("b/two.txt", "2");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "two folders"]).await;
    scene.git(&["sparse-checkout", "set", "a"]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "a/new.txt", "a");
    write(&ann, "b/new.txt", "b");
    merge(&isolation, &one).await;
    for (file, text) in [("a/new.txt", "a"), ("b/new.txt", "b"), ("b/two.txt", "2")] {
        assert_eq!(scene.in_team(file).await, text, "{file}");
    }
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&bob, "b/half.txt", "half");
    drop(isolation);
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let left = found.iter().find(|it| it.member == Some(member("bob"))).unwrap();
    let rescued = rescue(left, &scene.aside(), &environment()).await.unwrap();
    let branch = rescued.branch.unwrap();
    assert_eq!(scene.git(&["show", &format!("{branch}:b/half.txt")]).await, "half");
    assert!(!bob.exists());
}
