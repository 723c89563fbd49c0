//! Following what other processes do.

use crate::troop::{Printing, Troop};

fn follower_sees_other_processes(troop: &Troop) {
    troop.make_team();
    let mut follower = Printing::new(troop.start("events --follow --json"));
    follower.wait_for("\"version\":6,");
    for nth in 1..=3 {
        troop.ok(&format!("task create 'change number {nth}'"));
        follower.wait_for(&format!("change number {nth}"));
    }
}

#[test]
fn a_follower_sees_other_processes_on_sqlite() {
    follower_sees_other_processes(&Troop::new());
}

#[test]
fn a_follower_sees_other_processes_on_files() {
    let folder = tempfile::tempdir().unwrap();
    follower_sees_other_processes(&Troop::on(&format!(
        "files:{}",
        folder.path().join("teams").display()
    )));
}

#[tokio::test]
async fn a_follower_sees_other_processes_on_postgres() {
    let store = troop_testkit::postgres_store().await;
    follower_sees_other_processes(&Troop::on(store.url()));
}

#[test]
fn following_ends_with_the_team() {
    let troop = Troop::with_team();
    let mut follower = Printing::new(troop.start("events --follow"));
    follower.wait_for("team.created");
    troop.ok("team delete");
    let run = follower.end();
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.trim_end().ends_with("team.deleted"), "{}", run.out);
}
