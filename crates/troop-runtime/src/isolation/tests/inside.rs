//! Submodules that members fill: work in them is neither lost nor mixed up.

use super::*;
use crate::isolation::{Landing, LeftoverState, effect::FolderEffect, leftovers, rescue};

/// A repository with a submodule `sub`, which is filled in the project.
struct Nested {
    scene: Scene,
    /// The origin of the submodule.
    inner: Scene,
}

impl Nested {
    async fn new() -> Self {
        let scene = Scene::new().await;
        let inner = Scene::new().await;
        let from = inner.project().to_string_lossy().into_owned();
        scene.git(&[&ALLOW[..], &["submodule", "add", "-q", &from, "sub"]].concat()).await;
        scene.git(&["commit", "-m", "with a submodule"]).await;
        Self { scene, inner }
    }

    /// A member that begins a task, and fills the submodule in its folder.
    async fn begin(&self, isolation: &Worktrees, name: &str, task: u32) -> (TaskAttempt, PathBuf) {
        let (work, place) = self.scene.begin(isolation, name, task).await;
        git(&place, &[&ALLOW[..], &["submodule", "update", "--init", "-q"]].concat()).await;
        (work, place)
    }

    /// The project's submodule as the project is now.
    async fn update(&self) {
        let update = ["submodule", "update", "--init", "-q"];
        self.scene.git(&[&ALLOW[..], &update].concat()).await;
    }
}

/// Git fetches submodules from local folders only with this setting.
const ALLOW: [&str; 2] = ["-c", "protocol.file.allow=always"];

/// Commits a file in the submodule of a folder. Returns the commit.
async fn commit_inside(place: &Path, file: &str, text: &str) -> String {
    let sub = place.join("sub");
    write(&sub, file, text);
    git(&sub, &["add", "--all"]).await;
    git(&sub, &["commit", "-m", "inner"]).await;
    git(&sub, &["rev-parse", "HEAD"]).await
}

#[tokio::test]
async fn submodule_commits_land_with_the_work() {
    let nested = Nested::new().await;
    let project = nested.scene.project();
    for is_filled in [true, false] {
        if !is_filled {
            fs::remove_dir_all(project.join(".git/modules")).unwrap();
            fs::remove_dir_all(project.join("sub")).unwrap();
            fs::create_dir(project.join("sub")).unwrap();
        }
        let isolation = nested.scene.open().await;
        let (one, ann) = nested.begin(&isolation, "ann", 1).await;
        let file = format!("{is_filled}.txt");
        commit_inside(&ann, &file, "made").await;
        merge(&isolation, &one).await;
        let LandingReport { landed, kept, .. } = isolation.land().await.unwrap();
        assert!(matches!(landed, Landing::Merged { .. }), "{landed:?}");
        assert_eq!((kept, ann.exists()), (Vec::new(), false));
        nested.update().await;
        assert_eq!(fs::read_to_string(project.join("sub").join(file)).unwrap(), "made");
        assert_eq!(nested.scene.git(&["status", "--porcelain"]).await, "");
        // In the second round the commit comes from the submodule's origin.
        let push = ["push", "-q", "origin", "HEAD:refs/heads/main"];
        git(&nested.inner.project(), &["config", "receive.denyCurrentBranch", "ignore"]).await;
        git(&project.join("sub"), &push).await;
    }
}

#[tokio::test]
async fn uncommitted_changes_in_a_submodule_refuse_the_completion() {
    let nested = Nested::new().await;
    let isolation = nested.scene.open().await;
    let (one, ann) = nested.begin(&isolation, "ann", 1).await;
    write(&ann, "sub/new.txt", "new");
    let why = refusal(&isolation, &one).await;
    assert!(why.starts_with("uncommitted changes in the submodule `sub` would be lost"), "{why}");
    assert!(why.contains("`git -C sub add --all && git -C sub commit -m WHY`"), "{why}");
    let commit = commit_inside(&ann, "more.txt", "more").await;
    merge(&isolation, &one).await;
    assert!(nested.scene.git(&["ls-tree", "troop/demo", "sub"]).await.contains(&commit));
}

#[tokio::test]
async fn submodule_changes_of_one_task_stay_out_of_the_next() {
    let nested = Nested::new().await;
    let isolation = nested.scene.open().await;
    let (_, ann) = nested.begin(&isolation, "ann", 1).await;
    commit_inside(&ann, "one.txt", "one").await;
    write(&ann, "sub/half.txt", "half");
    let before = nested.scene.git(&["rev-parse", "main:sub"]).await;
    let two = work("ann", 2);
    assert_eq!(isolation.begin(&two).await.unwrap().aside, Vec::<PathBuf>::new());
    assert!(ann.join("sub/README.md").exists() && !ann.join("sub/half.txt").exists());
    write(&ann, "two.txt", "two");
    merge(&isolation, &two).await;
    assert_eq!(nested.scene.git(&["rev-parse", "troop/demo:sub"]).await, before);
    // The first task's work is as it was left, for the next attempt.
    let left = nested.scene.git(&["rev-parse", "troop-work/demo/ann/task-1:sub"]).await;
    let files = git(&nested.scene.project().join("sub"), &["ls-tree", "--name-only", &left]).await;
    assert!(files.contains("one.txt") && files.contains("half.txt"), "{files}");
}

#[tokio::test]
async fn a_submodule_commit_of_another_member_is_there_for_the_next_task() {
    let nested = Nested::new().await;
    let isolation = nested.scene.open().await;
    let (one, ann) = nested.begin(&isolation, "ann", 1).await;
    let (_, bob) = nested.begin(&isolation, "bob", 2).await;
    commit_inside(&ann, "one.txt", "of ann").await;
    merge(&isolation, &one).await;
    isolation.begin(&work("bob", 3)).await.unwrap();
    assert_eq!(fs::read_to_string(bob.join("sub/one.txt")).unwrap(), "of ann");
    // A member that fills it only now finds the commit, too, though nobody has pushed it.
    let (_, cyd) = nested.begin(&isolation, "cyd", 4).await;
    assert_eq!(fs::read_to_string(cyd.join("sub/one.txt")).unwrap(), "of ann");
    // A submodule whose commit nobody has is emptied, and its files are kept.
    git(&bob, &["update-index", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))]).await;
    write(&bob, "sub/x.log", "ignored");
    let owner = member("bob");
    let left = isolation.folder(&owner).run(&[FolderEffect::FollowSubmodules]).await;
    assert_eq!(left.unwrap(), [nested.scene.aside().join("demo-bob-sub")]);
    assert!(nested.scene.aside().join("demo-bob-sub/x.log").exists());
    assert_eq!(fs::read_dir(bob.join("sub")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_folder_is_rescued_with_everything_in_its_submodules() {
    let nested = Nested::new().await;
    let isolation = nested.scene.open().await;
    let (_, ann) = nested.begin(&isolation, "ann", 1).await;
    let (two, bob) = nested.begin(&isolation, "bob", 2).await;
    write(&ann, "sub/half.txt", "half");
    write(&ann, "sub/out.log", "ignored");
    git(&ann.join("sub"), &["init", "-q", "own"]).await;
    write(&ann, "sub/own/own.txt", "own");
    // A member commits on another branch of the submodule, and goes back.
    git(&bob.join("sub"), &["checkout", "-q", "-b", "side"]).await;
    let side = commit_inside(&bob, "side.txt", "side").await;
    git(&bob.join("sub"), &["checkout", "-q", "--detach", "HEAD~"]).await;
    write(&bob, "two.txt", "two");
    merge(&isolation, &two).await;
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    let kept: Vec<_> = kept.iter().map(|it| (it.member.as_str(), it.is_dirty)).collect();
    assert_eq!(kept, [("ann", true)], "that of bob is merged");
    let found = leftovers(&nested.scene.team(), &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Dirty);
    let rescued = rescue(&found[0], &nested.scene.aside(), &environment()).await.unwrap();
    assert!(!ann.exists());
    assert_eq!(rescued.aside, [nested.scene.aside().join("demo-ann-sub-own")]);
    assert!(rescued.aside[0].join("own.txt").exists());
    let ignored = rescued.ignored.unwrap();
    assert_eq!(fs::read_to_string(ignored.place.join("sub/out.log")).unwrap(), "ignored");
    let left = nested.scene.git(&["rev-parse", &format!("{}:sub", rescued.branch.unwrap())]).await;
    let sub = nested.scene.project().join("sub");
    for (commit, file) in [(&left, "half.txt"), (&side, "side.txt")] {
        let files = git(&sub, &["ls-tree", "--name-only", commit]).await;
        assert!(files.contains(file), "{files}");
    }
}
