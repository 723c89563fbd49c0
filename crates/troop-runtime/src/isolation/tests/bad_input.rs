//! Unusual repositories, and full disks.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

async fn notices(scene: &Scene, project: &Path) -> Vec<String> {
    let opened = Worktrees::open(scene.options(project)).await.unwrap();
    assert!(opened.isolation.is_none());
    opened.notices
}

#[tokio::test]
async fn a_notice_explains_why_teammates_share_a_folder() {
    let scene = Scene::empty().await;
    let no_commit =
        "teammates share this folder: this repository has no commit yet (`git commit` first)";
    assert_eq!(notices(&scene, &scene.project()).await, [no_commit]);
    let plain = tempfile::tempdir().unwrap();
    let none =
        "teammates share this folder: this is not a git repository (`git init`, then commit)";
    assert_eq!(notices(&scene, plain.path()).await, [none]);
    git(plain.path(), &["init", "--quiet", "--bare"]).await;
    let bare = "teammates share this folder: a bare repository has no files to work on";
    assert_eq!(notices(&scene, plain.path()).await, [bare]);
    let mut options = scene.options(&scene.project());
    options.environment = vec![("PATH".into(), "/nonexistent".into())];
    let opened = Worktrees::open(options).await.unwrap();
    assert_eq!(opened.notices, ["teammates share this folder: `git` is not installed"]);
}

#[tokio::test]
async fn uncommitted_changes_of_the_project_are_announced() {
    let scene = Scene::new().await;
    scene.write("README.md", "not committed");
    scene.write("new.txt", "new");
    let opened = scene.opened().await;
    let says = "teammates start from the last commit: 2 changes in this project are not committed, and they do not see them";
    assert_eq!(opened.notices, [says]);
    let (_, ann) = scene.begin(&opened.isolation.unwrap(), "ann", 1).await;
    assert!(fs::read_to_string(ann.join("README.md")).unwrap().starts_with("one"));
}

#[tokio::test]
async fn a_project_without_a_branch_is_used_and_stays_on_its_commit() {
    let scene = Scene::new().await;
    scene.git(&["checkout", "-q", "--detach"]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let crate::isolation::Landing::Waits { why, hint, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(
        (why.as_str(), hint.as_str()),
        ("the project is not on a branch", "git merge troop/demo")
    );
}

#[tokio::test]
async fn a_project_in_a_folder_of_its_repository_stays_in_that_folder() {
    let scene = Scene::new().await;
    scene.write("part/a.txt", "a");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "part"]).await;
    let opened = Worktrees::open(scene.options(&scene.project().join("part"))).await.unwrap();
    let isolation = opened.isolation.unwrap();
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    assert!(ann.ends_with("worktrees/ann/part") && ann.join("a.txt").exists());
    write(&ann, "b.txt", "b");
    write(&ann, "../up.txt", "above");
    let finished = isolation.finish(&one, Aim::Merge, &checks(&["cat b.txt"])).await.unwrap();
    assert_eq!(finished.evidence[0].tail, "b");
    isolation.land().await.unwrap();
    assert!(scene.project().join("part/b.txt").exists() && scene.project().join("up.txt").exists());
}

#[tokio::test]
async fn a_project_that_is_a_worktree_itself_is_used_like_any_other() {
    let scene = Scene::new().await;
    let linked = scene.folder.path().join("linked");
    scene.git(&["worktree", "add", "-q", "-b", "feature", &linked.to_string_lossy()]).await;
    let opened = Worktrees::open(scene.options(&linked)).await.unwrap();
    let isolation = opened.isolation.unwrap();
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    isolation.land().await.unwrap();
    assert!(linked.join("one.txt").exists());
    assert!(!scene.project().join("one.txt").exists());
}

#[tokio::test]
async fn a_shallow_clone_works() {
    let scene = Scene::new().await;
    for nth in 0..3 {
        scene.write("README.md", &format!("{nth}\n"));
        scene.git(&["commit", "-a", "-m", "more"]).await;
    }
    let shallow = scene.folder.path().join("shallow");
    let from = format!("file://{}", scene.project().display());
    scene.git(&["clone", "-q", "--depth", "1", &from, &shallow.to_string_lossy()]).await;
    let isolation = Worktrees::open(scene.options(&shallow)).await.unwrap().isolation.unwrap();
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    merge(&isolation, &one).await;
    merge(&isolation, &two).await;
    isolation.land().await.unwrap();
    assert!(shallow.join("one.txt").exists() && shallow.join("two.txt").exists());
}

#[tokio::test]
async fn submodules_stay_empty_in_worktrees_with_a_notice() {
    let scene = Scene::new().await;
    let inner = Scene::new().await;
    let from = inner.project().to_string_lossy().into_owned();
    scene.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &from, "sub"]).await;
    scene.git(&["commit", "-m", "with a submodule"]).await;
    let opened = scene.opened().await;
    assert_eq!(opened.notices.len(), 1);
    assert!(opened.notices[0].starts_with("submodules are empty in teammates' worktrees"));
    let isolation = opened.isolation.unwrap();
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    assert!(scene.git(&["ls-tree", "main", "sub"]).await.starts_with("160000 commit"));
    assert!(
        scene.project().join("sub/README.md").exists() && scene.project().join("one.txt").exists()
    );
    assert!(kept.is_empty(), "{kept:?}");
}

#[tokio::test]
async fn hooks_of_the_repository_do_not_run() {
    let scene = Scene::new().await;
    for hook in
        ["pre-commit", "commit-msg", "post-checkout", "pre-merge-commit", "reference-transaction"]
    {
        let path = scene.project().join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    merge(&isolation, &one).await;
    merge(&isolation, &two).await;
    isolation.land().await.unwrap();
    assert!(scene.project().join("two.txt").exists());
}

#[tokio::test]
async fn a_full_disk_during_a_merge_loses_nothing() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let before = scene.git(&["rev-parse", "troop/demo"]).await;
    write(&ann, "one.txt", "1");
    // A file in the place of git's object folder stands in for a full disk, also for root.
    let objects = scene.project().join(".git/objects");
    let aside = scene.project().join(".git/aside");
    fs::rename(&objects, &aside).unwrap();
    fs::create_dir(&objects).unwrap();
    fs::create_dir(objects.join("info")).unwrap();
    fs::write(objects.join("info/alternates"), format!("{}\n", aside.display())).unwrap();
    fill(&objects);
    let error = isolation.finish(&one, Aim::Merge, &checks(&[])).await.unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error:?}");
    fs::remove_dir_all(&objects).unwrap();
    fs::rename(&aside, &objects).unwrap();
    assert_eq!(scene.git(&["rev-parse", "troop/demo"]).await, before);
    assert_eq!(fs::read_to_string(ann.join("one.txt")).unwrap(), "1");
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("one.txt").await, "1");
}

/// Makes git fail to write any object, even for root: a file is in the place of its folder.
fn fill(objects: &Path) {
    for first in 0..=255 {
        fs::write(objects.join(format!("{first:02x}")), "").unwrap();
    }
}

#[tokio::test]
async fn a_branch_in_the_way_is_named_before_anything_is_made() {
    for name in ["troop", "troop-work"] {
        let scene = Scene::new().await;
        scene.git(&["branch", name]).await;
        let error = Worktrees::open(scene.options(&scene.project())).await.unwrap_err();
        assert!(error.to_string().starts_with(&format!("the branch `{name}` is in the way")));
        assert!(!scene.team().exists());
        assert_eq!(scene.git(&["for-each-ref"]).await.lines().count(), 2);
    }
}

#[tokio::test]
async fn a_team_whose_branch_name_is_blocked_takes_another() {
    for name in ["troop/demo/mine", "troop-work/demo"] {
        let scene = Scene::new().await;
        scene.git(&["branch", name]).await;
        let isolation = scene.open().await;
        let (one, ann) = scene.begin(&isolation, "ann", 1).await;
        write(&ann, "one.txt", "1");
        merge(&isolation, &one).await;
        assert_eq!(isolation.branch(), "troop/demo+2");
    }
}

#[tokio::test]
async fn a_broken_required_filter_is_named_before_anything_is_made() {
    let scene = Scene::new().await;
    let open = async || Worktrees::open(scene.options(&scene.project())).await;
    scene.write("a.bin", "1");
    scene.git(&["add", "--all"]).await;
    scene.git(&["config", "filter.large.clean", "no-such-program clean %f"]).await;
    scene.git(&["config", "filter.large.required", "true"]).await;
    scene.git(&["commit", "-m", "large"]).await;
    assert!(open().await.unwrap().isolation.is_some(), "nothing here requires it");
    scene.git(&["update-ref", "-d", "refs/heads/troop/demo"]).await;
    fs::remove_dir_all(scene.team()).unwrap();
    scene.write(".gitattributes", "*.bin filter=large\n");
    let error = open().await.unwrap_err().to_string();
    let says = "the filter `large`, which `a.bin` here requires, does not work: ";
    assert!(error.starts_with(says) && error.contains("no-such-program"), "{error}");
    assert!(!scene.team().exists());
    scene.git(&["config", "filter.large.clean", "cat"]).await;
    assert!(open().await.unwrap().isolation.is_some());
}

#[tokio::test]
async fn a_git_lock_is_waited_for_and_then_named() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    let own = git(&ann, &["rev-parse", "--absolute-git-dir"]).await;
    fs::write(Path::new(&own).join("index.lock"), "").unwrap();
    let error = isolation.finish(&one, Aim::Merge, &checks(&[])).await.unwrap_err();
    assert!(error.is_locked(), "{error}");
    assert!(ann.join("one.txt").exists());
}

#[tokio::test]
async fn files_hidden_by_a_persons_git_settings_are_merged() {
    let scene = Scene::new().await;
    let home = tempfile::tempdir().unwrap();
    let told = "[status]\n\tshowUntrackedFiles = no\n[merge]\n\tverifySignatures = true\n\tautoStash = true\n[log]\n\tshowSignature = true\n";
    fs::write(home.path().join(".gitconfig"), told).unwrap();
    let mut options = scene.options(&scene.project());
    options.environment.retain(|(name, _)| name != "HOME");
    options.environment.push(("HOME".into(), home.path().into()));
    let isolation = Worktrees::open(options).await.unwrap().isolation.unwrap();
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "precious.txt", "1");
    write(&bob, "half.txt", "half");
    let check = checks(&["test -e precious.txt"]);
    let finished = isolation.finish(&one, Aim::Merge, &check).await.unwrap();
    assert!(matches!(finished.outcome, MergeOutcome::Merged(_)), "{finished:?}");
    assert_eq!(scene.in_team("precious.txt").await, "1");
    let LandingReport { kept, .. } = isolation.land().await.unwrap();
    let kept: Vec<_> = kept.iter().map(|it| (it.member.as_str(), it.is_dirty)).collect();
    assert_eq!(kept, [("bob", true)]);
    assert_eq!(fs::read_to_string(bob.join("half.txt")).unwrap(), "half");
}
