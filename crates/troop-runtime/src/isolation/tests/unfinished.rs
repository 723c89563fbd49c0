//! Work in a folder with an unfinished git command.

use super::*;

/// Two commits of ann and one of bob. Bob's is merged, and the first of ann's conflicts with it.
async fn parted(scene: &Scene, isolation: &Worktrees) -> (TaskAttempt, PathBuf) {
    let (one, ann) = scene.begin(isolation, "ann", 1).await;
    let (two, bob) = scene.begin(isolation, "bob", 2).await;
    write(&bob, "README.md", "bob\n");
    merge(isolation, &two).await;
    for (file, text) in [("README.md", "ann\n"), ("second.txt", "2")] {
        write(&ann, file, text);
        git(&ann, &["add", "--all"]).await;
        git(&ann, &["commit", "--quiet", "-m", file]).await;
    }
    (one, ann)
}

#[tokio::test]
async fn work_is_not_done_during_a_rebase() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = parted(&scene, &isolation).await;
    let mut own = Git::new(&ann, &environment());
    own.find_identity().await.unwrap();
    assert_eq!(own.ask(&["rebase", "troop/demo"]).await.unwrap(), None, "there is a conflict");
    write(&ann, "README.md", "both\n");
    git(&ann, &["add", "--all"]).await;
    assert_eq!(
        refusal(&isolation, &one).await,
        "`git rebase` in your folder is unfinished; continue it (`git rebase --continue`), or abort it (`git rebase --abort`), and complete the task again"
    );
    git(&ann, &["rebase", "--continue"]).await;
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("README.md").await, "both");
    assert_eq!(scene.in_team("second.txt").await, "2");
}

#[tokio::test]
async fn work_is_not_done_during_a_cherry_pick() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = parted(&scene, &isolation).await;
    git(&ann, &["checkout", "--quiet", "-b", "again", "troop/demo"]).await;
    let mut own = Git::new(&ann, &environment());
    own.find_identity().await.unwrap();
    let picks = ["cherry-pick", "troop-work/demo/ann/task-1~2..troop-work/demo/ann/task-1"];
    assert_eq!(own.ask(&picks).await.unwrap(), None, "there is a conflict");
    write(&ann, "README.md", "both\n");
    assert!(
        refusal(&isolation, &one)
            .await
            .starts_with("`git cherry-pick` in your folder is unfinished")
    );
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["cherry-pick", "--continue"]).await;
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("second.txt").await, "2");
}

#[tokio::test]
async fn an_abandoned_rebase_does_not_block_the_next_task() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = parted(&scene, &isolation).await;
    let mut own = Git::new(&ann, &environment());
    own.find_identity().await.unwrap();
    assert_eq!(own.ask(&["rebase", "troop/demo"]).await.unwrap(), None, "there is a conflict");
    write(&ann, "README.md", "both\n");
    let (three, ann) = scene.begin(&isolation, "ann", 3).await;
    write(&ann, "three.txt", "3");
    merge(&isolation, &three).await;
    assert_eq!(scene.in_team("three.txt").await, "3");
    let earlier = scene.git(&["show", "troop-work/demo/ann/task-1:second.txt"]).await;
    assert_eq!(earlier, "2", "what was not applied yet is where it was");
}

#[tokio::test]
async fn a_conflict_without_markers_is_resolved_with_git_add_or_rm() {
    let scene = Scene::new().await;
    scene.write("picture", "\0one");
    scene.write("gone.txt", "one\n");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "more"]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&bob, "picture", "\0bob");
    write(&bob, "gone.txt", "bob\n");
    merge(&isolation, &two).await;
    write(&ann, "picture", "\0ann");
    fs::remove_file(ann.join("gone.txt")).unwrap();
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["commit", "--quiet", "-m", "ann"]).await;
    let mut own = Git::new(&ann, &environment());
    own.find_identity().await.unwrap();
    assert_eq!(own.ask(&["merge", "troop/demo"]).await.unwrap(), None, "there is a conflict");
    assert_eq!(
        refusal(&isolation, &one).await,
        "the merge in your folder is unfinished: git cannot tell whether `gone.txt`, `picture` is as you want it; edit it, mark it as resolved (`git add FILE`, or `git rm FILE`), and complete the task again"
    );
    git(&ann, &["rm", "--quiet", "gone.txt"]).await;
    git(&ann, &["add", "picture"]).await;
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("picture").await, "\0ann");
}
