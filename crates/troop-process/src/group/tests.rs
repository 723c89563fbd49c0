//! Processes and their groups.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, test_kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Child,
    time::timeout,
};
use troop_testkit::wait_until_gone;

use super::{Group, Signal, command, kill_group};

/// A shell with a child, and the pid of that child.
async fn family() -> (Child, String) {
    let mut shell = command("sh");
    shell.args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    (shell, line)
}

#[tokio::test]
async fn a_signal_to_the_group_reaches_the_childs_processes() {
    let (mut shell, grandchild) = family().await;
    kill_group(shell.id().unwrap(), Signal::TERM).unwrap();
    assert!(!shell.wait().await.unwrap().success());
    wait_until_gone(&grandchild).await;
}

#[tokio::test]
async fn dropping_a_group_kills_all_of_it() {
    let (shell, grandchild) = family().await;
    drop(Group::led_by(&shell));
    wait_until_gone(&grandchild).await;
}

#[tokio::test]
async fn processes_left_after_the_wait_for_their_leader_are_killed() {
    let mut shell = command("sh");
    shell.args(["-c", "sleep 600 & echo $!"]).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let group = Group::led_by(&shell);
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
    let left = lines.next_line().await.unwrap().unwrap();
    assert!(shell.wait().await.unwrap().success());
    drop(group);
    wait_until_gone(&left).await;
}

#[tokio::test]
async fn a_released_group_lives_on() {
    let (mut shell, grandchild) = family().await;
    let group = Group::led_by(&shell);
    let leader = shell.id().unwrap();
    group.release();
    assert!(shell.try_wait().unwrap().is_none());
    let grandchild = Pid::from_raw(grandchild.parse().unwrap()).unwrap();
    test_kill_process(grandchild).unwrap();
    kill_group(leader, Signal::KILL).unwrap();
}

#[test]
fn signalling_a_group_that_is_gone_is_no_error() {
    kill_group(i32::MAX as u32, Signal::KILL).unwrap();
    assert!(kill_group(0, Signal::KILL).is_err(), "that would be our own group");
}

#[tokio::test]
async fn a_process_has_no_input_unless_it_is_given_some() {
    let mut cat = command("cat").stdout(Stdio::null()).spawn().unwrap();
    let status = timeout(Duration::from_secs(10), cat.wait()).await.expect("`cat` ends at once");
    assert!(status.unwrap().success());
}
