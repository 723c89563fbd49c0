//! Several teams that land in one repository.

use std::time::Duration;

use super::*;
use crate::isolation::{Landing, landing_lock::LandingLock};

/// A team of its own in the scene's project, whose work waits to land.
async fn team(scene: &Scene, name: &str, file: &str) -> Worktrees {
    let options = IsolationOptions {
        team: name.parse().unwrap(),
        folder: scene.folder.path().join(name),
        ..scene.options(&scene.project())
    };
    let isolation = Worktrees::open(options).await.unwrap().isolation.unwrap();
    let (one, place) = scene.begin(&isolation, "ann", 1).await;
    write(&place, file, name);
    write(&place, &format!("of-{name}.txt"), name);
    merge(&isolation, &one).await;
    isolation
}

async fn land(isolation: &Worktrees) -> Landing {
    isolation.land().await.unwrap().landed
}

#[tokio::test]
async fn one_of_three_teams_that_land_at_once_lands_and_the_others_wait() {
    let scene = Scene::new().await;
    scene.write("README.md", "one\nmine\nthree\nfour\nfive\n");
    let before = scene.git(&["status", "--porcelain"]).await;
    for round in 0..4 {
        let names = ["red", "blue", "green"].map(|it| format!("{it}{round}"));
        let [red, blue, green] = &names;
        let file = format!("notes-{round}.txt");
        let one = team(&scene, red, &file).await;
        let two = team(&scene, blue, &file).await;
        let three = team(&scene, green, &file).await;
        let (one, two, three) = tokio::join!(land(&one), land(&two), land(&three));
        let landed = [one, two, three];
        let n_merged = landed.iter().filter(|it| matches!(it, Landing::Merged { .. })).count();
        assert_eq!(n_merged, 1, "{landed:?}");
        assert_eq!(scene.git(&["status", "--porcelain"]).await, before, "{landed:?}");
        for (name, landed) in names.iter().zip(&landed) {
            let branch = format!("troop/{name}");
            if let Landing::Waits { why, .. } = landed {
                assert_eq!(why, "`main` has moved in the meantime");
                assert_eq!(scene.git(&["show", &format!("{branch}:{file}")]).await, *name);
            } else {
                assert_eq!(scene.git(&["show", &format!("main:{file}")]).await, *name);
                assert_eq!(scene.git(&["branch", "--list", &branch]).await, "");
            }
        }
    }
}

#[tokio::test]
async fn a_landing_that_times_out_on_the_lock_changes_nothing() {
    let scene = Scene::new().await;
    let shared = scene.project().join(".git");
    let lock = LandingLock::take(&shared).await.unwrap().unwrap();
    let short = Duration::from_millis(100);
    let refused = LandingLock::take_within(&shared, short).await.unwrap().unwrap_err();
    let by = format!("another team, process {}, has been landing", std::process::id());
    assert!(refused.why.starts_with(&by), "{refused:?}");
    drop(lock);
    assert!(LandingLock::take_within(&shared, short).await.unwrap().is_ok());
}

#[tokio::test]
async fn a_commit_on_a_merged_branch_that_comes_late_is_not_deleted() {
    let scene = Scene::new().await;
    let isolation = scene.open().await;
    let (one, ann) = scene.begin(&isolation, "ann", 1).await;
    write(&ann, "one.txt", "1");
    merge(&isolation, &one).await;
    let merged = isolation.inner.team.merged().await.unwrap();
    let merged = merged.iter().map(|(branch, commit)| (branch.as_str(), commit.as_str()));
    let steps = crate::isolation::rules::forget_merged(merged, &[]);
    write(&ann, "late.txt", "late");
    git(&ann, &["add", "--all"]).await;
    git(&ann, &["commit", "--quiet", "-m", "late"]).await;
    for step in steps {
        assert!(step.run(&isolation.inner.site.git).await.is_err(), "git refuses");
    }
    assert_eq!(scene.git(&["show", "troop-work/demo/ann/task-1:late.txt"]).await, "late");
}
