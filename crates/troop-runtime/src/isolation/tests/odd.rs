//! Unexpected uses of git by members: nothing is dropped silently.

use super::*;
use crate::isolation::{Landing, StrayWork};

async fn commit(folder: &Path, more: &[&str]) {
    git(folder, &["add", "--all"]).await;
    git(folder, &[&["commit", "--quiet", "-m", "mine"], more].concat()).await;
}

#[tokio::test]
async fn an_amended_first_commit_is_merged_with_the_work_of_others() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&bob, "two.txt", "2");
    merge(&isolation, &two).await;
    write(&ann, "one.txt", "1");
    fs::remove_file(ann.join(".gitignore")).unwrap();
    commit(&ann, &["--amend"]).await;
    write(&ann, "later.txt", "not committed");
    merge(&isolation, &one).await;
    let files = scene.git(&["ls-tree", "--name-only", "troop/demo"]).await;
    assert_eq!(files.lines().collect::<Vec<_>>(), ["README.md", "later.txt", "one.txt", "two.txt"]);
    assert_eq!(git(&ann, &["status", "--porcelain"]).await, "");
    let LandingReport { landed, kept, elsewhere, .. } = isolation.land().await.unwrap();
    assert!(matches!(landed, Landing::Merged { .. }), "{landed:?}");
    assert_eq!((kept, elsewhere), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn an_orphan_branch_is_refused_with_instructions() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    git(&ann, &["checkout", "--quiet", "--orphan", "pages"]).await;
    git(&ann, &["rm", "-rfq", "."]).await;
    write(&ann, "index.html", "hi");
    commit(&ann, &[]).await;
    let commit = git(&ann, &["rev-parse", "--short=10", "HEAD"]).await;
    let says = format!(
        "your work has no commit in common with `troop/demo`, so git cannot merge it; begin from there (`git checkout -b NAME troop/demo`), take over what you want to keep (`git checkout {commit} -- FILE`), and complete the task again"
    );
    assert_eq!(refusal(&isolation, &one).await, says);
    assert_eq!(scene.in_team("README.md").await, "one\ntwo\nthree\nfour\nfive");
    // The instructions work.
    git(&ann, &["checkout", "--quiet", "-b", "again", "troop/demo"]).await;
    git(&ann, &["checkout", &commit, "--", "index.html"]).await;
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("index.html").await, "hi");
    let LandingReport { elsewhere, .. } = isolation.land().await.unwrap();
    assert_eq!(elsewhere, [StrayWork::Branch { member: member("ann"), branch: "pages".into() }]);
}

#[tokio::test]
async fn changes_hidden_from_git_are_merged() {
    let scene = Scene::new().await;
    for how in ["--skip-worktree", "--assume-unchanged"] {
        for has_more in [true, false] {
            let isolation = scene.open().await;
            let (one, ann) = scene.begin(&isolation, "ann", 1).await;
            git(&ann, &["update-index", how, "README.md"]).await;
            let text = format!("{how} {has_more}");
            write(&ann, "README.md", &text);
            if has_more {
                write(&ann, &format!("{how}.txt"), "more");
            }
            merge(&isolation, &one).await;
            assert_eq!(scene.in_team("README.md").await, text);
            let LandingReport { kept, .. } = isolation.land().await.unwrap();
            assert_eq!(kept, [], "{how}, {has_more}");
        }
    }
}

#[tokio::test]
async fn a_folder_with_a_change_hidden_from_git_stays() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    git(&ann, &["update-index", "--skip-worktree", "README.md"]).await;
    write(&ann, "README.md", "changed");
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(fs::read_to_string(ann.join("README.md")).unwrap(), "changed");
}

#[tokio::test]
async fn files_outside_a_sparse_checkout_do_not_count_as_deleted() {
    let scene = Scene::new().await;
    scene.write("docs/a.md", "a");
    commit(&scene.project(), &[]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    git(&ann, &["sparse-checkout", "set", "--no-cone", "/README.md"]).await;
    assert!(!ann.join("docs").exists());
    write(&ann, "README.md", "changed");
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("docs/a.md").await, "a");
    assert_eq!(scene.in_team("README.md").await, "changed");
}

#[tokio::test]
async fn other_branches_and_stashes_of_members_are_reported_at_the_end() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    // A person's own branch, at which a member only looks.
    scene.git(&["branch", "persons"]).await;
    scene.git(&["checkout", "--quiet", "persons"]).await;
    scene.write("person.txt", "p");
    commit(&scene.project(), &[]).await;
    scene.git(&["checkout", "--quiet", "main"]).await;
    git(&ann, &["checkout", "--quiet", "--detach", "persons"]).await;
    git(&ann, &["checkout", "--quiet", "-b", "feature", "troop/demo"]).await;
    write(&ann, "feature.txt", "f");
    commit(&ann, &[]).await;
    git(&ann, &["checkout", "--quiet", "troop-work/demo/ann/task-1"]).await;
    merge(&isolation, &one).await;
    write(&bob, "README.md", "stashed");
    git(&bob, &["stash", "--quiet"]).await;
    merge(&isolation, &two).await;
    let LandingReport { kept, elsewhere, .. } = isolation.land().await.unwrap();
    let branch = "feature".to_owned();
    let name = "stash@{0}".to_owned();
    let expected = [
        StrayWork::Branch { member: member("ann"), branch },
        StrayWork::Stash { member: member("bob"), name },
    ];
    assert_eq!((kept, elsewhere.as_slice()), (Vec::new(), expected.as_slice()));
    // Later reports say the same, although the folders are gone, until it is merged or dropped.
    let look = async || crate::isolation::elsewhere(&scene.team(), &environment()).await.unwrap();
    assert_eq!(look().await, (scene.project().canonicalize().unwrap(), expected.to_vec()));
    drop(scene.open().await.land().await.unwrap());
    assert_eq!(look().await.1, expected, "also after another run");
    assert_eq!(scene.git(&["show", "feature:feature.txt"]).await, "f");
    let shown = scene.git(&["stash", "show", "-p", "stash@{0}"]).await;
    assert!(shown.contains("+stashed"), "{shown}");
    scene.git(&["merge", "--quiet", "feature"]).await;
    assert_eq!(look().await.1, expected[1..]);
    scene.git(&["stash", "drop", "--quiet"]).await;
    assert_eq!(look().await.1, []);
}

#[tokio::test]
async fn a_team_continues_in_a_project_that_was_moved() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    drop(isolation);
    let moved = scene.folder.path().join("moved");
    fs::rename(scene.project(), &moved).unwrap();
    let isolation = scene.opened_at(&moved).await;
    assert_eq!(isolation.branch(), "troop/demo");
    let (two, ann) = scene.begin(&isolation, "ann", 2).await;
    assert_eq!(fs::read_to_string(ann.join("one.txt")).unwrap(), "1");
    write(&ann, "two.txt", "2");
    merge(&isolation, &two).await;
    let LandingReport { landed, kept, .. } = isolation.land().await.unwrap();
    assert!(matches!(landed, Landing::Merged { .. }), "{landed:?}");
    assert_eq!(kept, []);
    assert!(moved.join("one.txt").exists() && moved.join("two.txt").exists());
    // A repository that still exists is another one, whatever its branches are called.
    let other = Scene::new().await;
    let isolation = scene.opened_at(&moved).await;
    other.git(&["branch", "troop/demo"]).await;
    drop(isolation);
    let isolation = scene.opened_at(&other.project()).await;
    assert_eq!(isolation.branch(), "troop/demo+2");
}
