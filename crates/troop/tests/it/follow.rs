//! Following what other processes do.

use std::{
    io::{BufRead as _, BufReader},
    process::Child,
    sync::mpsc,
    time::Duration,
};

use crate::troop::Troop;

/// Much longer than it may take, so that only a missing event fails.
const PATIENCE: Duration = Duration::from_secs(40);

struct Follower {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Follower {
    fn start(troop: &Troop) -> Self {
        let mut child = troop.start("events --follow --json");
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    #[track_caller]
    fn wait_for(&self, what: &str) -> String {
        loop {
            let line = self
                .lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("`{what}` was never seen"));
            if line.contains(what) {
                return line;
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn another_process_is_seen(troop: &Troop) {
    troop.make_team();
    let follower = Follower::start(troop);
    follower.wait_for("\"version\":6,");
    for nth in 1..=3 {
        troop.ok(&format!("task create 'change number {nth}'"));
        follower.wait_for(&format!("change number {nth}"));
    }
}

#[test]
fn a_change_of_another_process_is_seen_on_sqlite() {
    another_process_is_seen(&Troop::new());
}

#[test]
fn a_change_of_another_process_is_seen_on_files() {
    let folder = tempfile::tempdir().unwrap();
    another_process_is_seen(&Troop::on(&format!(
        "files:{}",
        folder.path().join("teams").display()
    )));
}

#[tokio::test]
async fn a_change_of_another_process_is_seen_on_postgres() {
    let store = troop_testkit::postgres_store().await;
    another_process_is_seen(&Troop::on(store.url()));
}

#[test]
fn following_ends_with_the_team() {
    let troop = Troop::with_team();
    let follower = troop.start("events --follow");
    troop.ok("team delete");
    let output = follower.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().trim_end().ends_with("team.deleted"));
}
