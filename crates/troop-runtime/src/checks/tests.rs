//! Checks with real shells.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use troop_model::Evidence;
use uuid::Uuid;

use super::{CheckDemand, Checks, complaint};
use crate::{Agreement, Clock};

/// Checks with default options.
pub(crate) fn checks(commands: &[&str]) -> Checks {
    Checks {
        commands: commands.iter().map(|it| (*it).to_owned()).collect(),
        timeout: Duration::from_secs(30),
        environment: std::env::vars_os().collect(),
        clock: Clock::system(),
        session: Uuid::now_v7(),
        show: None,
        wanted: CheckDemand::default(),
        agreement: Agreement::default(),
    }
}

fn ended(evidence: &[Evidence]) -> Vec<(i32, &str)> {
    evidence.iter().map(|it| (it.exit_code, it.tail.as_str())).collect()
}

#[tokio::test]
async fn checks_run_in_the_folder_until_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("here"), "").unwrap();
    let checks = checks(&["ls; echo to stderr >&2", "echo bad; exit 3", "echo never"]);
    let evidence = checks.run(folder.path(), Some("abc")).await;
    assert_eq!(ended(&evidence), [(0, "here\nto stderr"), (3, "bad")]);
    assert_eq!(evidence[0].commit.as_deref(), Some("abc"));
    let says = "the check `echo bad; exit 3` ended with exit code 3:\nbad";
    assert_eq!(complaint(&evidence).as_deref(), Some(says));
}

#[tokio::test]
async fn a_hanging_check_is_killed_with_everything_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut checks = checks(&["echo begun; setsid sleep 600 & sleep 600 & echo $! > pid; wait"]);
    checks.timeout = Duration::from_millis(300);
    let evidence = checks.run(folder.path(), None).await;
    let says = "begun\n[killed, because it took longer than 0s]";
    assert_eq!(ended(&evidence), [(124, says)]);
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    // A killed process is gone soon, not at once.
    troop_testkit::wait_until_gone(&pid).await;
    all_gone(&checks).await;
}

async fn all_gone(checks: &Checks) {
    let mark = troop_process::Mark { session: checks.session, run: None };
    let are_gone = async || mark.processes().is_empty().then_some(());
    troop_testkit::wait_for("everything that it started is gone", are_gone).await;
}

#[tokio::test]
async fn a_check_that_leaves_something_running_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let checks = checks(&["sleep 600 & echo done"]);
    let evidence = checks.run(folder.path(), None).await;
    assert_eq!(ended(&evidence), [(0, "done")]);
    all_gone(&checks).await;
}

#[tokio::test]
async fn a_flood_of_output_keeps_its_end_and_shows_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let shown = Arc::new(Mutex::new(Vec::new()));
    let mut checks = checks(&["seq 200000; printf 'no newline'; kill -SEGV $$"]);
    let lines = Arc::clone(&shown);
    checks.show = Some(Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())));
    let evidence = checks.run(folder.path(), None).await;
    assert_eq!(evidence[0].exit_code, 139);
    assert!(evidence[0].tail.ends_with("199999\n200000\nno newline"));
    assert!(evidence[0].tail.len() <= troop_model::MAX_TAIL);
    let shown = shown.lock().unwrap();
    assert_eq!(shown[1], "1");
    assert!(shown.len() < 1_010, "{}", shown.len());
}

#[tokio::test]
async fn a_check_that_somebody_kills_runs_again() {
    for kill in ["kill -9 $$", "sh -c 'kill -9 $$'; exit $?", "kill -TERM $$"] {
        let folder = tempfile::tempdir().unwrap();
        let once = format!("mkdir begun 2>/dev/null && {{ {kill}; }}; echo done");
        let evidence = checks(&[&once, "true"]).run(folder.path(), None).await;
        assert_eq!(ended(&evidence), [(0, "done"), (0, "")], "{kill}");
    }
}

#[tokio::test]
async fn a_check_that_is_killed_every_time_fails_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = checks(&["echo x >> runs; echo bad; kill -9 $$", "never"]);
    let evidence = evidence.run(folder.path(), None).await;
    let says = "bad\n[killed by SIGKILL, and not by troop, in each of 3 tries]";
    assert_eq!(ended(&evidence), [(137, says)]);
    let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 3);
}

#[tokio::test]
async fn a_check_that_crashes_by_itself_fails_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let evidence = checks(&["echo x >> runs; kill -SEGV $$"]).run(folder.path(), None).await;
    assert_eq!(ended(&evidence), [(139, "")]);
    assert_eq!(std::fs::read_to_string(folder.path().join("runs")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_check_that_cannot_be_run_says_so() {
    let evidence = checks(&["true"]).run(Path::new("/does/not/exist"), None).await;
    assert_eq!(evidence[0].exit_code, 127);
    assert!(evidence[0].tail.starts_with("it could not be run"), "{}", evidence[0].tail);
    let folder = tempfile::tempdir().unwrap();
    let evidence = checks(&["no-such-program-here"]).run(folder.path(), None).await;
    assert_eq!(evidence[0].exit_code, 127);
}

#[tokio::test]
async fn a_check_without_agreement_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let agreement = Agreement::new(|command, _| match command {
        "touch b" => Err("`b.sh` is another".to_owned()),
        _ => Ok(()),
    });
    let checks = Checks { agreement, ..checks(&["touch a", "touch b", "touch c"]) };
    let evidence = checks.run(folder.path(), None).await;
    assert_eq!(ended(&evidence), [(0, ""), (127, "it could not be run: `b.sh` is another")]);
    let is_there = ["a", "b", "c"].map(|it| folder.path().join(it).exists());
    assert_eq!(is_there, [true, false, false]);
}
