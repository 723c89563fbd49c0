//! Folders that are no longer what was made for their members.

use super::*;
use crate::isolation::{LeftoverState, leftovers, rescue};

/// Makes a member's folder a separate repository.
async fn replace(place: &Path) {
    fs::remove_file(place.join(".git")).unwrap();
    git(place, &["init", "--quiet"]).await;
    git(place, &["add", "--all"]).await;
    git(place, &["commit", "--quiet", "-m", "own"]).await;
}

#[tokio::test]
async fn work_in_a_folder_without_its_git_file_is_merged() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    for broken in [None, Some("gitdir: /nonexistent\n"), Some("")] {
        fs::remove_file(ann.join(".git")).unwrap();
        if let Some(text) = broken {
            fs::write(ann.join(".git"), text).unwrap();
        }
        let text = format!("{broken:?}");
        write(&ann, "work.txt", &text);
        assert!(isolation.has_place(&one.member).await);
        let check = checks(&["cat work.txt"]);
        let finished = isolation.finish(&one, Aim::Merge, &check).await.unwrap();
        assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
        assert_eq!(finished.evidence[0].tail, text, "it is checked where it was made");
        assert_eq!(scene.in_team("work.txt").await, text);
    }
}

#[tokio::test]
async fn copying_another_members_folder_keeps_ones_own_branch() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    fs::copy(bob.join(".git"), ann.join(".git")).unwrap();
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    assert_eq!(git(&bob, &["status", "--porcelain"]).await, "");
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:one.txt"]).await, "1");
}

#[tokio::test]
async fn a_folder_that_moved_with_troops_data_is_used_as_it_is() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "half.txt", "half");
    let moved = scene.folder.path().join("moved");
    fs::rename(scene.team(), &moved).unwrap();
    let found = leftovers(&moved, &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Dirty);
}

#[tokio::test]
async fn a_folder_that_lost_its_git_file_is_ready_for_the_next_task() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "half.txt", "half");
    fs::remove_file(ann.join(".git")).unwrap();
    // A new folder for another member must not make the repository forget this one.
    isolation.place(&member("bob")).await.unwrap();
    let begun = isolation.begin(&work("ann", 2)).await.unwrap();
    assert_eq!((begun.branch.as_str(), begun.aside), ("troop-work/demo/ann/task-2", Vec::new()));
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:half.txt"]).await, "half");
}

#[tokio::test]
async fn a_folder_without_its_git_file_is_left_behind_like_any_other() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "half.txt", "half");
    fs::remove_file(ann.join(".git")).unwrap();
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Dirty);
    fs::remove_file(ann.join(".git")).unwrap();
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    let kept: Vec<_> = kept.iter().map(|it| (it.member.as_str(), it.is_dirty)).collect();
    assert_eq!(kept, [("ann", true)]);
}

#[tokio::test]
async fn a_deleted_folder_is_restored_and_its_member_hears_of_it() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "kept.txt", "kept");
    isolation.save(&one.member).await.unwrap();
    write(&ann, "lost.txt", "lost");
    fs::remove_dir_all(&ann).unwrap();
    assert!(isolation.has_place(&one.member).await);
    let says = refusal(&isolation, &one).await;
    assert!(says.starts_with("your folder was deleted, with everything uncommitted"), "{says}");
    assert_eq!(fs::read_to_string(ann.join("kept.txt")).unwrap(), "kept");
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("kept.txt").await, "kept");
}

#[tokio::test]
async fn a_member_that_replaces_its_repository_hears_what_to_do() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    replace(&ann).await;
    let says = refusal(&isolation, &one).await;
    assert!(says.contains("remove its `.git` (`rm -rf .git` at its top)"), "{says}");
    fs::remove_dir_all(ann.join(".git")).unwrap();
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("one.txt").await, "1");
}

#[tokio::test]
async fn a_replaced_repository_is_moved_aside_before_the_next_task() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    replace(&ann).await;
    let begun = isolation.begin(&work("ann", 2)).await.unwrap();
    let aside = scene.aside().join("demo-ann.git");
    assert_eq!(begun.aside.first(), Some(&aside));
    assert_eq!(git(&aside, &["log", "--format=%s"]).await, "own");
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:one.txt"]).await, "1");
    assert_eq!(git(&ann, &["branch", "--show-current"]).await, "troop-work/demo/ann/task-2");
}

#[tokio::test]
async fn a_nested_repository_is_moved_aside_before_the_next_task() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let inner = ann.join("below/inner");
    write(&inner, "kept.txt", "kept");
    git(&inner, &["init", "--quiet"]).await;
    let begun = isolation.begin(&one).await.unwrap();
    assert!(begun.aside.is_empty() && inner.exists(), "the same task goes on with it");
    let two = work("ann", 2);
    let begun = isolation.begin(&two).await.unwrap();
    let [aside] = &begun.aside[..] else { panic!("{begun:?}") };
    assert_eq!(fs::read_to_string(aside.join("kept.txt")).unwrap(), "kept");
    assert!(aside.join(".git").is_dir() && !inner.exists());
    write(&ann, "two.txt", "2");
    merge(&isolation, &two).await;
    assert_eq!(scene.in_team("two.txt").await, "2");
}

#[tokio::test]
async fn a_folder_that_the_repository_forgot_is_moved_aside_whole() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    fs::remove_file(ann.join(".git")).unwrap();
    scene.git(&["worktree", "prune"]).await;
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert!(matches!(found[0].state, LeftoverState::Lost { .. }), "{found:?}");
    isolation.begin(&work("ann", 2)).await.unwrap();
    assert!(scene.aside().join("demo-ann/one.txt").exists());
    assert!(!ann.join("one.txt").exists() && ann.join("README.md").exists());
    fs::remove_file(ann.join(".git")).unwrap();
    scene.git(&["worktree", "prune"]).await;
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let rescued = rescue(&found[0], &scene.aside(), &environment()).await.unwrap();
    assert_eq!((rescued.branch, rescued.aside), (None, vec![scene.aside().join("demo-ann+2")]));
    assert!(!ann.exists());
}

#[tokio::test]
async fn a_replaced_repository_is_rescued_beside_the_files() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    replace(&ann).await;
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    assert_eq!(kept.len(), 1);
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Replaced);
    let rescued = rescue(&found[0], &scene.aside(), &environment()).await.unwrap();
    assert_eq!(rescued.aside, [scene.aside().join("demo-ann.git")]);
    assert_eq!(git(&rescued.aside[0], &["log", "--format=%s"]).await, "own");
    assert_eq!(rescued.branch.as_deref(), Some("troop-work/demo/ann/task-1"));
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:one.txt"]).await, "1");
    assert!(!ann.exists());
}

#[tokio::test]
async fn repositories_inside_a_folder_are_rescued_beside_it() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    for inside in ["a/loose", "referred"] {
        write(&ann, &format!("{inside}/file"), inside);
        let inside = ann.join(inside);
        git(&inside, &["init", "--quiet"]).await;
        git(&inside, &["add", "--all"]).await;
        git(&inside, &["commit", "--quiet", "-m", "inside"]).await;
    }
    git(&ann, &["add", "referred"]).await;
    git(&ann, &["commit", "--quiet", "-m", "refers to it"]).await;
    write(&ann, "one.txt", "1");
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let rescued = rescue(&found[0], &scene.aside(), &environment()).await.unwrap();
    let aside = ["demo-ann-a-loose", "demo-ann-referred"].map(|it| scene.aside().join(it));
    assert_eq!(rescued.aside, aside);
    for (aside, text) in aside.iter().zip(["a/loose", "referred"]) {
        assert_eq!(fs::read_to_string(aside.join("file")).unwrap(), text);
        assert_eq!(git(aside, &["log", "--format=%s"]).await, "inside");
    }
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:one.txt"]).await, "1");
    assert!(!ann.exists());
}

#[tokio::test]
async fn a_deleted_team_branch_is_restored_with_all_merged_work() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let delete = ["update-ref", "-d", "refs/heads/troop/demo"];
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    scene.git(&delete).await;
    write(&bob, "two.txt", "2");
    merge(&isolation, &two).await;
    assert_eq!(scene.in_team("one.txt").await, "1");
    scene.git(&delete).await;
    scene.begin(&isolation, "ann", 3).await;
    assert!(ann.join("one.txt").exists() && ann.join("two.txt").exists());
    scene.git(&delete).await;
    isolation.land().await.unwrap();
    assert!(scene.project().join("one.txt").exists() && scene.project().join("two.txt").exists());
}
