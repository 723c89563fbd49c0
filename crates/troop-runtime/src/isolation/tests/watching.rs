//! Seeing conflicts early.

use super::*;
use crate::isolation::Watcher;

#[tokio::test]
async fn two_members_hear_once_that_their_work_conflicts() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    let members = [one.member.clone(), two.member.clone()];
    let mut watcher = Watcher::default();
    write(&ann, "README.md", "one\nANN\nthree\nfour\nfive\n");
    write(&bob, "other.txt", "nobody else's");
    assert_eq!(watcher.look(&isolation, &members).await.unwrap().clashes, []);
    write(&bob, "README.md", "one\nBOB\nthree\nfour\nfive\n");
    let before = git(&bob, &["status", "--porcelain"]).await;
    let clashes = watcher.look(&isolation, &members).await.unwrap().clashes;
    assert_eq!(clashes.len(), 1, "{clashes:?}");
    assert_eq!(clashes[0].files, ["README.md"]);
    let told: Vec<_> = members.iter().map(|it| clashes[0].told_to(it, "troop/demo")).collect();
    assert!(told[0].starts_with("your changes and bob's conflict in `README.md`; agree with bob"));
    assert!(told[1].starts_with("your changes and ann's conflict in `README.md`; agree with ann"));
    assert_eq!(git(&bob, &["status", "--porcelain"]).await, before, "nobody's index is touched");
    assert_eq!(watcher.look(&isolation, &members).await.unwrap().clashes, [], "reported once");
}

#[tokio::test]
async fn a_member_hears_that_its_work_conflicts_with_merged_work() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "README.md", "one\nANN\nthree\nfour\nfive\n");
    write(&bob, "README.md", "one\nBOB\nthree\nfour\nfive\n");
    merge(&isolation, &one).await;
    let mut watcher = Watcher::default();
    let clashes =
        watcher.look(&isolation, std::slice::from_ref(&two.member)).await.unwrap().clashes;
    assert_eq!(clashes[0].other, None);
    let told = clashes[0].told_to(&two.member, isolation.branch());
    assert!(told.contains("run `git merge troop/demo` in your folder"), "{told}");
}

#[tokio::test]
async fn changes_of_one_file_that_merge_are_not_reported() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    write(&ann, "README.md", "ONE\ntwo\nthree\nfour\nfive\n");
    write(&bob, "README.md", "one\ntwo\nthree\nfour\nFIVE\n");
    let mut watcher = Watcher::default();
    assert_eq!(watcher.look(&isolation, &[one.member, two.member]).await.unwrap().clashes, []);
}

#[tokio::test]
async fn an_unreadable_folder_does_not_hide_conflicts_of_others() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    let (two, bob) = scene.begin(&isolation, "bob", 2).await;
    let (three, cyd) = scene.begin(&isolation, "cyd", 3).await;
    write(&ann, "README.md", "ann's\n");
    write(&bob, "README.md", "bob's\n");
    // Left by a git that was killed.
    write(&scene.team(), "worktrees/.index-bob.lock", "");
    // A repository without a commit, which git cannot add.
    fs::create_dir(ann.join("inside")).unwrap();
    git(&ann.join("inside"), &["init", "--quiet"]).await;
    fs::write(cyd.join(".git"), "gitdir: /nonexistent\n").unwrap();
    let members = [one.member, two.member, three.member];
    let mut watcher = Watcher::default();
    let sight = watcher.look(&isolation, &members).await.unwrap();
    assert_eq!(sight.clashes.len(), 1, "{sight:?}");
    let unseen: Vec<_> = sight.unseen.iter().map(|(member, _)| member.as_str()).collect();
    assert_eq!(unseen, ["cyd"]);
    let sight = watcher.look(&isolation, &members).await.unwrap();
    assert!(sight.unseen.is_empty(), "it is reported once: {sight:?}");
}
