//! The end of a team: landing, tidying, and what is left.

use super::*;
use crate::isolation::{Landing, LeftoverState, leftovers, orphans, rescue};

#[tokio::test]
async fn a_teams_work_lands_in_the_project_and_nothing_is_left_over() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    isolation.place(&member("bob")).await.unwrap();
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let LandingReport { landed, kept, .. } = isolation.land().await.unwrap();
    assert_eq!(landed, Landing::Merged { branch: "main".into(), n_commits: 2 });
    assert_eq!(kept, []);
    assert_eq!(fs::read_to_string(scene.project().join("one.txt")).unwrap(), "1");
    assert_eq!(scene.git(&["branch", "--format=%(refname:short)"]).await, "main");
    assert_eq!(scene.git(&["worktree", "list"]).await.lines().count(), 1);
    assert!(leftovers(&scene.team(), &environment()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_lock_on_packed_references_is_waited_for_once_and_named() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    for (nth, name) in ["ann", "bob", "cyd"].into_iter().enumerate() {
        let (task, folder) = scene.begin(&isolation, name, nth as u32 + 1).await;
        write(&folder, &format!("{name}.txt"), name);
        merge(&isolation, &task).await;
    }
    let lock = scene.project().join(".git/packed-refs.lock");
    fs::write(&lock, "").unwrap();
    let since = tokio::time::Instant::now();
    let LandingReport { landed, locked, .. } = isolation.land().await.unwrap();
    // A git that waits by itself needs 20 seconds for each branch.
    assert!(since.elapsed().as_secs() < 15, "{:?}", since.elapsed());
    assert_eq!(landed, Landing::Merged { branch: "main".into(), n_commits: 6 });
    assert_eq!(fs::read_to_string(scene.project().join("cyd.txt")).unwrap(), "cyd");
    assert_eq!(locked.as_ref(), Some(&lock));
    assert!(lock.exists(), "it is not ours");
    fs::remove_file(lock).unwrap();
    // The next end of the team deletes what stayed.
    let LandingReport { locked, .. } = scene.open().await.land().await.unwrap();
    assert_eq!(locked, None);
    assert_eq!(scene.git(&["branch", "--format=%(refname:short)"]).await, "main");
}

#[tokio::test]
async fn unmerged_work_is_never_deleted_and_can_be_rescued() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    let cyd = isolation.place(&member("cyd")).await.unwrap();
    write(&ann, "half.txt", "half");
    write(&bob, "own.txt", "own");
    git(&bob, &["add", "--all"]).await;
    git(&bob, &["commit", "-m", "own"]).await;
    write(&cyd, "loose.txt", "loose");
    let LandingReport { landed, kept, .. } = isolation.land().await.unwrap();
    assert_eq!(landed, Landing::Nothing);
    let kept: Vec<_> = kept.iter().map(|it| (it.member.as_str(), it.is_dirty)).collect();
    assert_eq!(kept, [("ann", true), ("bob", false), ("cyd", true)]);
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let states: Vec<_> = found.iter().map(|it| (it.state.clone(), it.task)).collect();
    let dirty = LeftoverState::Dirty;
    let unmerged = LeftoverState::Unmerged;
    let tasks = [Some(TaskNumber(1)), Some(TaskNumber(2)), None];
    assert_eq!(states, [(dirty.clone(), tasks[0]), (unmerged, tasks[1]), (dirty, tasks[2])]);
    for leftover in &found {
        let rescued = rescue(leftover, &scene.aside(), &environment()).await.unwrap();
        let branch = rescued.branch.unwrap();
        let files = scene.git(&["ls-tree", "--name-only", &branch]).await;
        assert!(
            ["half.txt", "own.txt", "loose.txt"].iter().any(|it| files.contains(it)),
            "{files}"
        );
        assert!(!leftover.folder.as_ref().unwrap().exists());
    }
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert_eq!(found.len(), 3, "the branches stay: {found:?}");
    assert!(found.iter().all(|it| it.folder.is_none()));
}

#[tokio::test]
async fn a_project_that_moved_meanwhile_is_left_alone() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    scene.write("mine.txt", "mine");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "mine"]).await;
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let why = "`main` has moved in the meantime".to_owned();
    let hint = "git merge troop/demo".to_owned();
    assert_eq!(landed, Landing::Waits { branch: "troop/demo".into(), why, first: None, hint });
    scene.git(&["merge", "--no-edit", "troop/demo"]).await;
    assert_eq!(scene.open().await.land().await.unwrap().landed, Landing::Nothing);
}

#[tokio::test]
async fn local_changes_are_not_overwritten() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "README.md", "ann's\n");
    merge(&isolation, &one).await;
    scene.write("README.md", "mine, and not committed\n");
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let Landing::Waits { why, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(why, "`README.md` here is not committed");
    assert_eq!(
        fs::read_to_string(scene.project().join("README.md")).unwrap(),
        "mine, and not committed\n"
    );
}

#[tokio::test]
async fn a_project_on_another_branch_is_left_alone() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    scene.git(&["checkout", "-q", "-b", "else"]).await;
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let Landing::Waits { why, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(why, "the project is now on `else` and was on `main`");
}

#[tokio::test]
async fn a_resumed_team_finds_its_earlier_work() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (_, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    merge(&isolation, &one).await;
    drop(isolation);
    let again = scene.open().await;
    assert_eq!(again.place(&member("bob")).await.unwrap(), bob);
    assert!(bob.join("two.txt").exists());
    again.begin(&TaskAttempt { attempt: 2, ..work("bob", 2) }).await.unwrap();
    assert!(bob.join("one.txt").exists());
}

#[tokio::test]
async fn a_folder_whose_repository_is_gone_is_reported_and_kept() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    fs::remove_dir_all(scene.project()).unwrap();
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    assert_eq!(found[0].state, LeftoverState::Away);
    assert!(rescue(&found[0], &scene.aside(), &environment()).await.is_err());
    assert!(ann.exists());
}

#[tokio::test]
async fn checking_out_the_teams_branch_does_not_lose_its_work() {
    for look in [
        &["checkout", "-q", "--ignore-other-worktrees", "troop/demo"][..],
        &["checkout", "-q", "--detach", "troop/demo"],
    ] {
        let scene = Scene::new().await;
        let isolation = scene.open().await;
        let (one, ann) = scene.begin(&isolation, "ann", 1).await;
        write(&ann, "one.txt", "1");
        merge(&isolation, &one).await;
        scene.git(look).await;
        let LandingReport { landed, .. } = isolation.land().await.unwrap();
        let Landing::Waits { first, hint, .. } = landed else { panic!("{landed:?}") };
        assert_eq!(first.unwrap().to_string(), "go back: `git switch main`");
        assert_eq!(hint, "git merge troop/demo");
        assert_eq!(scene.in_team("one.txt").await, "1");
        scene.git(&["switch", "--quiet", "main"]).await;
        scene.git(&["merge", "--quiet", "troop/demo"]).await;
        assert_eq!(scene.open().await.land().await.unwrap().landed, Landing::Nothing);
        assert_eq!(scene.git(&["branch", "--format=%(refname:short)"]).await, "main");
    }
}

#[tokio::test]
async fn leftovers_are_found_even_without_a_branch_to_compare_with() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "half.txt", "half");
    scene.git(&["update-ref", "-d", "refs/heads/troop/demo"]).await;
    scene.git(&["symbolic-ref", "HEAD", "refs/heads/nowhere"]).await;
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let states: Vec<_> = found.iter().map(|it| it.state.clone()).collect();
    assert_eq!(states, [LeftoverState::Dirty]);
}

#[tokio::test]
async fn rescuing_one_team_keeps_work_rescued_for_another() {
    let scene = Scene::new().await;
    let red = scene.folder.path().join("red");
    let blue = scene.folder.path().join("blue");
    for folder in [&red, &blue] {
        let mut options = scene.options(&scene.project());
        options.folder = folder.clone();
        let isolation = Worktrees::open(options).await.unwrap().isolation.unwrap();
        let ann = isolation.place(&member("a.nn")).await.unwrap();
        write(&ann, "loose.txt", &folder.to_string_lossy());
    }
    for folder in [&red, &blue] {
        let found = leftovers(folder, &environment()).await.unwrap();
        let rescued = rescue(&found[0], &scene.aside(), &environment()).await.unwrap();
        let branch = rescued.branch.unwrap();
        let found = leftovers(folder, &environment()).await.unwrap();
        let listed: Vec<_> = found.iter().map(|it| it.branch.clone()).collect();
        assert_eq!(listed, [Some(branch)]);
        assert_eq!(found[0].member, Some(member("a.nn")));
    }
    for folder in [&red, &blue] {
        let found = leftovers(folder, &environment()).await.unwrap();
        let file = format!("{}:loose.txt", found[0].branch.as_ref().unwrap());
        assert_eq!(scene.git(&["show", &file]).await, folder.to_string_lossy());
    }
}

#[tokio::test]
async fn the_next_run_of_a_team_lands_where_it_began() {
    let scene = Scene::new().await;
    for (branch, task) in [("main", 1), ("feature", 2)] {
        scene.git(&["checkout", "-q", "-B", branch]).await;
        let isolation = scene.open().await;
        let (one, ann) = scene.begin(&isolation, "ann", task).await;
        write(&ann, &format!("{task}.txt"), "made");
        merge(&isolation, &one).await;
        let LandingReport { landed, .. } = isolation.land().await.unwrap();
        assert_eq!(landed, Landing::Merged { branch: branch.into(), n_commits: 2 });
    }
}

#[tokio::test]
async fn a_branch_that_a_person_has_in_a_folder_stays() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    git(&ann, &["checkout", "-q", "--detach"]).await;
    let path = scene.folder.path().join("mine").to_string_lossy().into_owned();
    scene.git(&["worktree", "add", "-q", &path, "troop-work/demo/ann/task-1"]).await;
    isolation.land().await.unwrap();
    let branches = scene.git(&["branch", "--format=%(refname:short)"]).await;
    assert_eq!(branches, "main\ntroop-work/demo/ann/task-1");
}

#[tokio::test]
async fn results_that_wait_are_found_until_they_are_in_the_project() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "hi.txt", "ann's");
    merge(&isolation, &one).await;
    scene.write("hi.txt", "mine, and not committed");
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    let Landing::Waits { why, first, hint, .. } = landed else { panic!("{landed:?}") };
    assert_eq!(why, "`hi.txt` here is not committed");
    assert_eq!((first, hint.as_str()), (Some("move it".into()), "git merge troop/demo"));
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let found: Vec<_> = found.iter().map(|it| (it.state.clone(), it.branch.as_deref())).collect();
    assert_eq!(found, [(LeftoverState::Waiting, Some("troop/demo"))]);
    fs::remove_file(scene.project().join("hi.txt")).unwrap();
    scene.git(&["merge", "--quiet", "troop/demo"]).await;
    assert!(leftovers(&scene.team(), &environment()).await.unwrap().is_empty());
}

#[tokio::test]
async fn small_ignored_files_are_kept_and_large_ones_are_named() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    let (_, cyd) = scene.begin(&isolation, "cyd", 3).await;
    scene.begin(&isolation, "dan", 4).await;
    write(&ann, "out/small.log", "precious");
    write(&ann, "more.log", "more");
    fs::File::create(ann.join("a-large.log")).unwrap().set_len(20_000_000).unwrap();
    write(&bob, "only.log", "only");
    write(&cyd, "kept.log", "kept");
    write(&cyd, "half.txt", "half");
    merge(&isolation, &one).await;
    merge(&isolation, &two).await;
    let LandingReport { kept, ignored, .. } = isolation.land().await.unwrap();
    let [of_ann, of_bob] = ignored.as_slice() else { panic!("{ignored:?}") };
    assert_eq!((of_ann.member.as_str(), of_bob.member.as_str()), ("ann", "bob"));
    assert_eq!(of_ann.place, scene.team().join("ignored/ann").canonicalize().unwrap());
    assert_eq!(of_ann.gone, ["a-large.log"]);
    for (file, text) in [("out/small.log", "precious"), ("more.log", "more")] {
        assert_eq!(fs::read_to_string(of_ann.place.join(file)).unwrap(), text);
    }
    assert_eq!((of_bob.kept.as_slice(), of_bob.gone.len()), (&["only.log".to_owned()][..], 0));
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(cyd.join("kept.log").exists(), "a folder that stays has all that was in it");
    let found = leftovers(&scene.team(), &environment()).await.unwrap();
    let rescued = rescue(&found[0], &scene.aside(), &environment()).await.unwrap();
    let ignored = rescued.ignored.unwrap();
    assert_eq!(fs::read_to_string(ignored.place.join("kept.log")).unwrap(), "kept");
}

#[tokio::test]
async fn small_files_of_large_ignored_folders_are_kept_last() {
    let scene = Scene::new().await;
    scene.write(".gitignore", "build/\n*.pdf\n");
    scene.git(&["commit", "-a", "-m", "ignore"]).await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "build/deep/out.bin", "precious");
    let sized = |file: &str, size| fs::File::create(ann.join(file)).unwrap().set_len(size).unwrap();
    sized("build/big", 20_000_000);
    for nth in 0..9 {
        sized(&format!("build/{nth}.o"), 1_000_000);
    }
    sized("report.pdf", 2_000_000);
    merge(&isolation, &one).await;
    let LandingReport { ignored, .. } = isolation.land().await.unwrap();
    let [of_ann] = ignored.as_slice() else { panic!("{ignored:?}") };
    assert_eq!(of_ann.kept[..2], ["report.pdf", "build/deep/out.bin"]);
    assert_eq!(of_ann.gone, ["build/7.o", "build/8.o", "build/big"]);
    let kept = fs::read_to_string(of_ann.place.join("build/deep/out.bin")).unwrap();
    assert_eq!(kept, "precious");
}

#[tokio::test]
async fn ignored_files_stay_if_their_folder_cannot_be_removed() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "out.log", "precious");
    merge(&isolation, &one).await;
    scene.git(&["worktree", "lock", &ann.to_string_lossy()]).await;
    let LandingReport { kept, ignored, .. } = isolation.land().await.unwrap();
    assert_eq!((kept.len(), ignored.len()), (1, 0));
    assert_eq!(fs::read_to_string(ann.join("out.log")).unwrap(), "precious");
}

#[tokio::test]
async fn merges_count_as_commits_of_the_team() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "one.txt", "1");
    write(&bob, "two.txt", "2");
    merge(&isolation, &one).await;
    merge(&isolation, &two).await;
    let before = scene.git(&["rev-parse", "main"]).await;
    let LandingReport { landed, .. } = isolation.land().await.unwrap();
    assert_eq!(landed, Landing::Merged { branch: "main".into(), n_commits: 4 });
    let log = scene.git(&["log", "--format=%h", &format!("{before}..main")]).await;
    assert_eq!(log.lines().count(), 4);
}

#[tokio::test]
async fn branches_of_teams_that_were_erased_are_found_in_their_project() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, ann) = scene.begin(&isolation, "ann", 1).await;
    scene.begin(&isolation, "bob", 2).await;
    write(&ann, "half.txt", "half");
    isolation.save(&member("ann")).await.unwrap();
    let project = scene.project();
    let team = scene.team();
    let known = orphans(&project, std::slice::from_ref(&team), &environment()).await.unwrap();
    assert!(known.is_empty(), "what a team left is found there: {known:?}");
    fs::remove_dir_all(&team).unwrap();
    let found = orphans(&project, &[team], &environment()).await.unwrap();
    let found: Vec<_> = found.iter().map(|it| (it.state.clone(), it.branch.as_deref())).collect();
    assert_eq!(found, [(LeftoverState::Orphaned, Some("troop-work/demo/ann/task-1"))]);
    let plain = tempfile::tempdir().unwrap();
    assert!(orphans(plain.path(), &[], &environment()).await.unwrap().is_empty());
}
