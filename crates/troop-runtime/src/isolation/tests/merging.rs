//! Merging finished work, and conflicts.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

#[tokio::test]
async fn finished_work_is_committed_and_merged_with_the_work_of_others() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    write(&bob, "made.log", "git ignores it");
    assert!(merge(&isolation, &one).await.is_new);
    let merged = merge(&isolation, &two).await;
    assert_eq!(
        (scene.in_team("one.txt").await, scene.in_team("two.txt").await),
        ("1".into(), "2".into())
    );
    assert_eq!(scene.git(&["rev-parse", "troop/demo"]).await, merged.commit);
    let log = scene.git(&["log", "--format=%B", "troop/demo"]).await;
    assert!(log.contains("task-2: subject of 2\n\nTask: task-2\nMember: bob"), "{log}");
    assert!(!scene.git(&["ls-tree", "-r", "--name-only", "troop/demo"]).await.contains("made.log"));
    assert!(bob.join("made.log").exists());
}

#[tokio::test]
async fn merging_twice_is_harmless() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let first = merge(&isolation, &one).await;
    // As after a lead that was killed between the merge and its report.
    let again = scene.open().await;
    again.place(&one.member).await.unwrap();
    again.begin(&TaskAttempt { attempt: 2, ..one.clone() }).await.unwrap();
    let second = merge(&again, &TaskAttempt { attempt: 2, ..one }).await;
    assert_eq!((second.commit, second.is_new), (first.commit, false));
}

#[tokio::test]
async fn a_conflict_changes_nothing_and_its_member_repairs_it() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "README.md", "one\nANN\nthree\nfour\nfive\n");
    write(&bob, "README.md", "one\nBOB\nthree\nfour\nfive\n");
    let merged = merge(&isolation, &one).await;
    assert_eq!(
        refusal(&isolation, &two).await,
        "your work conflicts with what is in `troop/demo` now: `README.md`, changed by task-1 (ann); in your folder run `git merge troop/demo`, resolve it, and complete the task again"
    );
    assert_eq!(scene.git(&["rev-parse", "troop/demo"]).await, merged.commit);
    assert_eq!(git(&bob, &["log", "-1", "--format=%s"]).await, "task-2: subject of 2");
    // It follows the instructions, but completes too early.
    let mut own = Git::new(&bob, &environment());
    own.find_identity().await.unwrap();
    assert_eq!(own.ask(&["merge", "troop/demo"]).await.unwrap(), None, "there is a conflict");
    let says = "the merge in your folder is unfinished: `README.md` still has conflict markers; resolve them and complete the task again";
    assert_eq!(refusal(&isolation, &two).await, says);
    write(&bob, "README.md", "one\nANN and BOB\nthree\nfour\nfive\n");
    merge(&isolation, &two).await;
    assert!(scene.in_team("README.md").await.contains("ANN and BOB"));
}

/// The changes of two members to a repository, and the file in which they conflict.
async fn clash(ann: impl FnOnce(&Path), bob: impl FnOnce(&Path)) -> Option<Vec<String>> {
    let scene = Scene::new().await;
    write(&scene.project(), "bytes", "a\0b");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "bytes"]).await;
    let isolation = scene.open().await;
    let (one, first) = scene.begin(&isolation, "ann", 1).await;
    let (two, second) = scene.begin(&isolation, "bob", 2).await;
    ann(&first);
    bob(&second);
    merge(&isolation, &one).await;
    match finish(&isolation, &two).await.outcome {
        MergeOutcome::Not(MergeRefusal::Conflict(conflict)) => Some(conflict.files),
        MergeOutcome::Merged(_) => None,
        other @ (MergeOutcome::Ready | MergeOutcome::Not(_)) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_rename_and_an_edit_merge() {
    let rename =
        |folder: &Path| fs::rename(folder.join("README.md"), folder.join("README")).unwrap();
    let edit = |folder: &Path| write(folder, "README.md", "one\ntwo\nthree\nfour\nfive\nsix\n");
    assert_eq!(clash(rename, edit).await, None);
}

#[tokio::test]
async fn a_deletion_and_an_edit_conflict() {
    let delete = |folder: &Path| fs::remove_file(folder.join("README.md")).unwrap();
    let edit = |folder: &Path| write(folder, "README.md", "one\ntwo\nthree\nfour\nfive\nsix\n");
    assert_eq!(clash(delete, edit).await.unwrap(), ["README.md"]);
}

#[tokio::test]
async fn two_edits_of_a_binary_file_conflict() {
    let edit = |folder: &Path| write(folder, "bytes", "a\0c");
    let other = |folder: &Path| write(folder, "bytes", "a\0d");
    assert_eq!(clash(edit, other).await.unwrap(), ["bytes"]);
}

#[tokio::test]
async fn a_file_that_became_a_symlink_and_an_edit_conflict() {
    let link = |folder: &Path| {
        fs::remove_file(folder.join("README.md")).unwrap();
        symlink("bytes", folder.join("README.md")).unwrap();
    };
    let edit = |folder: &Path| write(folder, "README.md", "one\ntwo\nthree\nfour\nfive\nsix\n");
    assert!(clash(link, edit).await.is_some());
}

#[tokio::test]
async fn a_mode_change_and_an_edit_merge() {
    let mode = |folder: &Path| {
        let permissions = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("README.md"), permissions).unwrap();
    };
    let edit = |folder: &Path| write(folder, "README.md", "one\ntwo\nthree\nfour\nfive\nsix\n");
    assert_eq!(clash(mode, edit).await, None);
}

#[tokio::test]
async fn checks_run_on_the_merged_result_and_a_failure_prevents_the_merge() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    let before = merge(&isolation, &one).await;
    let both = checks(&["cat one.txt two.txt", "test ! -e two.txt"]);
    let finished = isolation.finish(&two, Aim::Merge, &both).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Not(MergeRefusal::Unproved)), "{finished:?}");
    let codes: Vec<_> =
        finished.evidence.iter().map(|it| (it.exit_code, it.tail.as_str())).collect();
    assert_eq!(codes, [(0, "12"), (1, "")]);
    assert_eq!(scene.git(&["rev-parse", "troop/demo"]).await, before.commit);
    let finished = isolation.finish(&two, Aim::Merge, &checks(&["test -e one.txt"])).await.unwrap();
    let MergeOutcome::Merged(merged) = finished.outcome else { panic!("{finished:?}") };
    assert_eq!(finished.evidence[0].commit.as_ref(), Some(&merged.commit));
    assert_eq!(scene.git(&["rev-parse", "troop/demo"]).await, merged.commit);
}

#[tokio::test]
async fn handed_in_work_waits_on_its_branch_for_approval() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let check = checks(&["test -e one.txt"]);
    let finished = isolation.finish(&one, Aim::HandIn, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Ready), "{finished:?}");
    assert_eq!(scene.git(&["diff", "--stat", "main", "troop/demo"]).await, "");
    write(&ann, "later.txt", "not handed in");
    let finished = isolation.approve(&one, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", "troop/demo"]).await,
        ".gitignore\nREADME.md\none.txt"
    );
    assert!(ann.join("later.txt").exists());
}

#[tokio::test]
async fn commits_on_a_members_own_branch_are_merged() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    git(&ann, &["checkout", "-q", "--detach"]).await;
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["commit", "-m", "my own"]).await;
    write(&ann, "two.txt", "2");
    merge(&isolation, &one).await;
    assert_eq!(
        (scene.in_team("one.txt").await, scene.in_team("two.txt").await),
        ("1".into(), "2".into())
    );
}

#[tokio::test]
async fn concurrent_merges_happen_one_after_the_other() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let mut works = Vec::new();
    for nth in 1..=8 {
        let (work, place) = scene.begin(&isolation, &format!("m{nth}"), nth).await;
        write(&place, &format!("{nth}.txt"), "x");
        works.push(work);
    }
    let tracker = tokio_util::task::TaskTracker::new();
    let merges: Vec<_> = works
        .into_iter()
        .map(|work| {
            let isolation = isolation.clone();
            tracker.spawn(async move { merge(&isolation, &work).await })
        })
        .collect();
    for merge in merges {
        merge.await.unwrap();
    }
    let files = scene.git(&["ls-tree", "--name-only", "troop/demo"]).await;
    assert_eq!(files.lines().filter(|file| file.ends_with(".txt")).count(), 8);
}

#[tokio::test]
async fn a_huge_file_is_merged() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    fs::write(ann.join("huge"), vec![b'x'; 40 << 20]).unwrap();
    merge(&isolation, &one).await;
    assert_eq!(scene.git(&["cat-file", "-s", "troop/demo:huge"]).await, (40 << 20).to_string());
}

#[tokio::test]
async fn a_nested_repository_is_not_merged_as_a_mere_reference() {
    for has_commit in [true, false] {
        let scene = Scene::new().await;
        let isolation = scene.open().await;
        let (one, ann) = scene.begin(&isolation, "ann", 1).await;
        write(&ann, "below/dep/result.txt", "precious");
        let inside = ann.join("below/dep");
        git(&inside, &["init", "--quiet"]).await;
        if has_commit {
            git(&inside, &["add", "--all"]).await;
            git(&inside, &["commit", "-m", "its own"]).await;
        }
        let why = refusal(&isolation, &one).await;
        assert!(why.starts_with("the contents of `below/dep` would be lost"), "{why}");
        assert!(why.contains("rm -rf below/dep/.git"), "{why}");
        // Nor does it keep the member from its next task.
        let begun = isolation.begin(&work("ann", 2)).await.unwrap();
        isolation.go_back(&one).await.unwrap();
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::rename(&begun.aside[0], &inside).unwrap();
        fs::remove_dir_all(inside.join(".git")).unwrap();
        merge(&isolation, &one).await;
        assert_eq!(scene.in_team("below/dep/result.txt").await, "precious");
    }
}

#[tokio::test]
async fn a_nested_repository_that_a_member_committed_is_refused() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "dep/result.txt", "precious");
    git(&ann.join("dep"), &["init", "--quiet"]).await;
    git(&ann.join("dep"), &["add", "--all"]).await;
    git(&ann.join("dep"), &["commit", "-m", "its own"]).await;
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["commit", "-m", "with a name only"]).await;
    let why = refusal(&isolation, &one).await;
    assert!(why.starts_with("the contents of `dep` would be lost"), "{why}");
    git(&ann, &["rm", "-q", "--cached", "dep"]).await;
    fs::remove_dir_all(ann.join("dep/.git")).unwrap();
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("dep/result.txt").await, "precious");
}

#[tokio::test]
async fn a_folder_for_checks_that_was_half_removed_is_no_obstacle() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let check = checks(&["test -e one.txt"]);
    isolation.finish(&one, Aim::HandIn, &check).await.unwrap();
    write(&scene.team(), "worktrees/.checked/left", "of one that was killed");
    let finished = isolation.approve(&one, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
}

#[tokio::test]
async fn the_check_folder_is_removed_even_if_the_merge_cannot_be_tried() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "README.md", "one\ntwo\nthree\nfour\n5\n");
    let check = checks(&["true"]);
    isolation.finish(&one, Aim::HandIn, &check).await.unwrap();
    write(&bob, "README.md", "1\ntwo\nthree\nfour\nfive\n");
    merge(&isolation, &two).await;
    // Git cannot merge files of which one cannot be read.
    let theirs = scene.git(&["rev-parse", "troop/demo:README.md"]).await;
    let (folder, file) = theirs.split_at(2);
    let object = scene.project().join(".git/objects").join(folder).join(file);
    let aside = scene.project().join(".git/aside");
    fs::rename(&object, &aside).unwrap();
    isolation.approve(&one, &check).await.unwrap_err();
    assert!(!scene.team().join("worktrees/.checked").exists());
    let listed = scene.git(&["worktree", "list"]).await;
    assert!(!listed.contains(".checked"), "{listed}");
    fs::rename(&aside, &object).unwrap();
    let finished = isolation.approve(&one, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
}

#[tokio::test]
async fn unwanted_work_is_neither_fully_checked_nor_merged() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let check = checks(&["touch begun; sleep 600"]);
    let over = check.wanted.over.clone();
    let begun = ann.join("begun");
    let cancel = async {
        troop_testkit::wait_for("the check runs", async || begun.exists().then_some(())).await;
        over.cancel();
    };
    let (finished, ()) = tokio::join!(isolation.finish(&one, Aim::Merge, &check), cancel);
    let outcome = finished.unwrap().outcome;
    assert!(matches!(outcome, MergeOutcome::Not(MergeRefusal::Unwanted)), "{outcome:?}");
    let mut refused = checks(&[]);
    refused.wanted.ask = Some(std::sync::Arc::new(|| Box::pin(async { false })));
    let finished = isolation.finish(&one, Aim::Merge, &refused).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Not(MergeRefusal::Unwanted)), "{finished:?}");
    assert_eq!(scene.git(&["diff", "--stat", "main", "troop/demo"]).await, "");
}

#[tokio::test]
async fn unwanted_handed_in_work_leaves_no_reference_behind() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    isolation.finish(&one, Aim::HandIn, &checks(&[])).await.unwrap();
    assert!(scene.git(&["for-each-ref"]).await.contains("refs/troop-work/demo/task-1"));
    isolation.forget_handed_in(one.task).await.unwrap();
    assert!(!scene.git(&["for-each-ref"]).await.contains("refs/troop-work/demo/task-1"));
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:one.txt"]).await, "1");
}
