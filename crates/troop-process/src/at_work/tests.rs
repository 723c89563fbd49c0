//! Programs at work in folders.

use std::fs;

use super::*;
use crate::command;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_is_seen_where_it_works_and_only_while_it_lives() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    let other = folder.path().join("other");
    fs::create_dir(&below).unwrap();
    fs::create_dir(&other).unwrap();
    let name = "troop-at-work";
    let program = folder.path().join(name);
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    assert_eq!(is_at_work(name, &[folder.path()]), Some(false));
    let mut child = command(&program).arg("600").current_dir(&below).spawn().unwrap();
    // The name changes with exec, which follows the start.
    let is_seen = || is_at_work(name, &[folder.path()]) == Some(true);
    troop_testkit::wait_for("the program to be seen", async || is_seen().then_some(())).await;
    assert_eq!(is_at_work(name, &[&other]), Some(false), "it works elsewhere");
    assert_eq!(is_at_work("troop-at-wor", &[folder.path()]), Some(false), "another program");
    child.kill().await.unwrap();
    assert_eq!(is_at_work(name, &[folder.path()]), Some(false));
}
