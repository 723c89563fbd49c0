//! Folders and branches of members.

use super::*;

#[tokio::test]
async fn each_member_works_in_its_own_folder_and_branch() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, place) = scene.begin(&isolation, "ann", 1).await;
    assert_eq!(git(&place, &["branch", "--show-current"]).await, "troop-work/demo/ann/task-1");
    write(&place, "README.md", "mine\n");
    assert!(fs::read_to_string(scene.project().join("README.md")).unwrap().starts_with("one"));
    assert_eq!(scene.git(&["status", "--porcelain"]).await, "");
}

#[tokio::test]
async fn a_task_begins_with_all_merged_work() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    let bob = isolation.place(&member("bob")).await.unwrap();
    write(&place, "one.txt", "1");
    merge(&isolation, &one).await;
    isolation.begin(&work("bob", 2)).await.unwrap();
    assert_eq!(fs::read_to_string(bob.join("one.txt")).unwrap(), "1");
}

#[tokio::test]
async fn beginning_twice_is_harmless() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "one.txt", "1");
    let begun = isolation.begin(&one).await.unwrap();
    assert_eq!((begun.branch.as_str(), begun.earlier.len()), ("troop-work/demo/ann/task-1", 0));
    assert_eq!(git(&place, &["status", "--porcelain"]).await, "?? one.txt");
}

#[tokio::test]
async fn unfinished_work_is_committed_before_the_next_task() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "half.txt", "half");
    let begun = isolation.begin(&work("ann", 2)).await.unwrap();
    assert_eq!(begun.branch, "troop-work/demo/ann/task-2");
    assert!(!place.join("half.txt").exists());
    let log = git(&place, &["log", "-1", "--format=%s|%an", "troop-work/demo/ann/task-1"]).await;
    assert_eq!(log, "unfinished work on task-1|troop");
    assert_eq!(git(&place, &["show", "troop-work/demo/ann/task-1:half.txt"]).await, "half");
}

#[tokio::test]
async fn a_new_attempt_names_the_branches_of_earlier_ones() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (_, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "half.txt", "half");
    assert_eq!(
        isolation.save(&member("ann")).await.unwrap().unwrap(),
        "troop-work/demo/ann/task-1"
    );
    assert_eq!(isolation.save(&member("ann")).await.unwrap(), None);
    isolation.place(&member("bob")).await.unwrap();
    let again = TaskAttempt { attempt: 2, ..work("bob", 1) };
    let begun = isolation.begin(&again).await.unwrap();
    assert_eq!(begun.branch, "troop-work/demo/bob/task-1-2");
    assert_eq!(begun.earlier, ["troop-work/demo/ann/task-1"]);
}

#[tokio::test]
async fn a_merged_task_branch_goes_when_the_next_task_begins() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "one.txt", "1");
    merge(&isolation, &one).await;
    isolation.begin(&work("ann", 2)).await.unwrap();
    let branches =
        scene.git(&["branch", "--list", "troop-work/*", "--format=%(refname:short)"]).await;
    assert_eq!(branches, "troop-work/demo/ann/task-2");
}

#[tokio::test]
async fn invalid_ref_names_and_existing_branches_are_no_obstacle() {
    let scene = Scene::new().await;
    scene.git(&["branch", "troop-work/demo/a==b=lock/task-1"]).await;
    scene.git(&["branch", "troop/demo-work"]).await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "a..b.lock", 1).await;
    assert_eq!(
        git(&place, &["branch", "--show-current"]).await,
        "troop-work/demo/a==b=lock/task-1+2"
    );
    isolation.begin(&one).await.unwrap();
    assert_eq!(
        git(&place, &["branch", "--show-current"]).await,
        "troop-work/demo/a==b=lock/task-1+2"
    );
    assert_eq!(names::member_of("troop-work/demo/a==b=lock/task-1+2"), Some(member("a..b.lock")));
    assert_eq!(names::task_of("troop-work/demo/a==b=lock/task-1+2"), Some(TaskNumber(1)));
}

#[tokio::test]
async fn a_team_branch_of_somebody_else_is_left_alone() {
    let scene = Scene::new().await;
    scene.git(&["checkout", "-q", "-b", "troop/demo"]).await;
    scene.write("theirs.txt", "theirs");
    scene.git(&["add", "--all"]).await;
    scene.git(&["commit", "-m", "theirs"]).await;
    scene.git(&["checkout", "-q", "main"]).await;
    let isolation = scene.open().await;
    assert_eq!(isolation.branch(), "troop/demo+2");
    assert_eq!(scene.open().await.branch(), "troop/demo+2", "the next lead finds it again");
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "one.txt", "1");
    merge(&isolation, &one).await;
    assert_eq!(scene.git(&["log", "-1", "--format=%s", "troop/demo"]).await, "theirs");
}

#[tokio::test]
async fn locks_of_a_killed_member_are_removed() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, "one.txt", "1");
    let own = git(&place, &["rev-parse", "--absolute-git-dir"]).await;
    fs::write(Path::new(&own).join("index.lock"), "").unwrap();
    isolation.place(&one.member).await.unwrap();
    merge(&isolation, &one).await;
    assert_eq!(scene.in_team("one.txt").await, "1");
}

#[tokio::test]
async fn a_folder_that_was_deleted_is_made_again() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    fs::remove_dir_all(&place).unwrap();
    let place = isolation.place(&one.member).await.unwrap();
    assert!(place.join("README.md").exists());
    isolation.begin(&one).await.unwrap();
}

#[tokio::test]
async fn two_teams_of_one_name_in_two_stores_have_different_branches() {
    let scene = Scene::new().await;
    let one = scene.open().await;
    let mut options = scene.options(&scene.project());
    options.folder = scene.folder.path().join("other");
    let other = Worktrees::open(options).await.unwrap().isolation.unwrap();
    assert_eq!((one.branch(), other.branch()), ("troop/demo", "troop/demo+2"));
}

#[tokio::test]
async fn a_member_that_returns_to_a_task_finds_its_work() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    isolation.finish(&one, Aim::HandIn, &checks(&[])).await.unwrap();
    scene.begin(&isolation, "ann", 2).await;
    assert!(!ann.join("one.txt").exists());
    write(&ann, "two.txt", "half");
    let begun = isolation.go_back(&one).await.unwrap();
    assert_eq!(begun.branch, "troop-work/demo/ann/task-1");
    assert!(ann.join("one.txt").exists() && !ann.join("two.txt").exists());
    let kept = scene.git(&["show", "troop-work/demo/ann/task-2:two.txt"]).await;
    assert_eq!(kept, "half");
}

#[tokio::test]
async fn earlier_attempts_are_named_oldest_first() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    for (attempt, name) in [(1, "cyd"), (2, "bob"), (10, "ann")] {
        let work = TaskAttempt { attempt, ..work(name, 1) };
        let place = isolation.place(&work.member).await.unwrap();
        isolation.begin(&work).await.unwrap();
        write(&place, "half.txt", name);
        isolation.save(&work.member).await.unwrap();
    }
    isolation.place(&member("dan")).await.unwrap();
    let begun = isolation.begin(&TaskAttempt { attempt: 11, ..work("dan", 1) }).await.unwrap();
    let expected = ["cyd/task-1", "bob/task-1-2", "ann/task-1-10"];
    assert_eq!(begun.earlier, expected.map(|it| format!("troop-work/demo/{it}")));
}
