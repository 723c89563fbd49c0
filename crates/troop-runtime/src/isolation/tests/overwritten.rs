//! Files that git ignores belong to somebody, too: nothing overwrites them.

use super::*;
use crate::isolation::Landing;

/// Has a member finish a file that git ignores.
async fn add_by_force(isolation: &Worktrees, work: &TaskAttempt, folder: &Path) {
    write(folder, "notes.log", "of the team");
    git(folder, &["add", "--force", "notes.log"]).await;
    merge(isolation, work).await;
}

#[tokio::test]
async fn a_file_that_git_ignores_in_the_project_is_not_written_over() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    add_by_force(&isolation, &one, &ann).await;
    scene.write("notes.log", "of a person");
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let Landing::Waits { why, first, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(why, "`notes.log` here is not committed");
    assert_eq!(first, Some("move it".into()));
    assert_eq!(fs::read_to_string(scene.project().join("notes.log")).unwrap(), "of a person");
}

#[tokio::test]
async fn a_file_that_git_ignores_in_a_folder_is_moved_aside_before_another_takes_its_place() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "notes.log", "of ann");
    add_by_force(&isolation, &two, &bob).await;
    let begun = isolation.begin(&work("ann", 3)).await.unwrap();
    assert_eq!(fs::read_to_string(ann.join("notes.log")).unwrap(), "of the team");
    let [aside] = &begun.aside[..] else { panic!("{begun:?}") };
    assert_eq!(fs::read_to_string(aside).unwrap(), "of ann");
}

#[tokio::test]
async fn a_file_that_git_ignores_is_moved_aside_before_a_result_is_checked() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&ann, "notes.log", "of ann");
    add_by_force(&isolation, &two, &bob).await;
    let check = checks(&["grep team notes.log"]);
    let finished = isolation.finish(&one, Aim::Merge, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
    let aside: Vec<_> = fs::read_dir(scene.aside()).unwrap().flatten().collect();
    assert_eq!(fs::read_to_string(aside[0].path()).unwrap(), "of ann");
}

#[tokio::test]
async fn a_failed_write_leaves_the_project_as_it_was() {
    let scene = Scene::new().await;
    scene.write("old.txt", "old\n");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "more"]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "README.md", "of the team\n");
    write(&ann, "folder/a.txt", "new\n");
    write(&ann, "z.bin", "the last that git writes");
    fs::remove_file(ann.join("old.txt")).unwrap();
    merge(&isolation, &one).await;
    // A broken filter stands in for a full disk: git stops after it has written some of the files.
    scene.git(&["config", "filter.full.smudge", "false"]).await;
    scene.git(&["config", "filter.full.required", "true"]).await;
    fs::write(scene.project().join(".git/info/attributes"), "*.bin filter=full\n").unwrap();
    scene.write("mine.txt", "of a person");
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let Landing::Waits { why, hint, .. } = landed else { panic!("{landed:?}") };
    assert!(
        why.starts_with("git could not write all of it, and the project is as it was: "),
        "{why}"
    );
    assert_eq!(hint, "git merge troop/demo");
    assert_eq!(scene.git(&["status", "--porcelain"]).await, "?? mine.txt");
    assert!(!scene.project().join("folder").exists());
    scene.git(&["config", "filter.full.smudge", "cat"]).await;
    scene.git(&["merge", "--quiet", "--ff-only", "troop/demo"]).await;
    assert!(scene.project().join("z.bin").exists());
}
