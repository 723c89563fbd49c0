//! Locks whose holders are dead, slow, or of another layout.

use std::{fs, path::Path};

use troop_model::Time;

use super::{Ages, FileLock, Layout, Stamp, held, remove};

fn now(seconds_later: i64) -> Time {
    let micros = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros() as i64;
    Time::from_micros(micros + seconds_later * 1_000_000)
}

fn take(layout: Layout, path: &Path, seconds_later: i64) -> Option<FileLock> {
    FileLock::take(layout, path, &mut Ages::default(), now(seconds_later)).unwrap()
}

#[test]
fn a_lock_folder_of_a_dead_program_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.json");
    fs::create_dir(folder.path().join("7.json.lock")).unwrap();
    assert!(take(Layout::Claude, &path, 5).is_none(), "its maker may live");
    assert!(take(Layout::Claude, &path, 11).is_none(), "it is taken away");
    let lock = take(Layout::Claude, &path, 11).unwrap();
    assert!(take(Layout::Claude, &path, 0).is_none());
    drop(lock);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of it stays");
}

#[test]
fn a_slow_program_leaves_the_lock_of_another_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.json");
    let slow = take(Layout::Claude, &path, 0).unwrap();
    assert!(take(Layout::Claude, &path, 11).is_none());
    let quick = take(Layout::Claude, &path, 11).unwrap();
    drop(slow);
    assert!(folder.path().join("7.json.lock").exists(), "the second one has it");
    drop(quick);
    assert!(!folder.path().join("7.json.lock").exists());
}

#[test]
fn two_that_find_a_lock_stale_do_not_take_each_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.json");
    let lock = folder.path().join("7.json.lock");
    fs::create_dir(&lock).unwrap();
    let seen = Stamp::of(&lock).unwrap().unwrap();
    // The first one removes it and takes its own; then the second one tries, which saw the same stale lock.
    remove(&lock, seen).unwrap();
    let first = take(Layout::Claude, &path, 0).unwrap();
    remove(&lock, seen).unwrap();
    assert!(lock.exists());
    drop(first);
    assert!(!lock.exists());
}

#[test]
fn a_stale_lock_of_the_other_layout_is_removed() {
    for (layout, other) in [(Layout::Claude, Layout::Seeds), (Layout::Seeds, Layout::Claude)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let left = take(other, &path, 0);
        if other == Layout::Claude {
            std::mem::forget(left);
        }
        assert!(take(layout, &path, 5).is_none());
        assert!(take(layout, &path, 11).is_none(), "it is taken away");
        assert!(take(layout, &path, 11).is_some(), "{layout}");
    }
}

#[test]
fn a_dead_program_releases_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("task-7.json");
    for name in ["task-7.lock", "task-7.json.lock"] {
        let script = "import fcntl,sys,time\nf=open(sys.argv[1],'a')\nfcntl.flock(f,fcntl.LOCK_EX)\nprint('held',flush=True)\ntime.sleep(600)";
        let mut holder = std::process::Command::new("python3")
            .args(["-c", script])
            .arg(folder.path().join(name))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut held = [0; 4];
        std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut held).unwrap();
        assert!(take(Layout::Seeds, &path, 3_600).is_none(), "however long");
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert!(take(Layout::Seeds, &path, 0).is_some(), "{name}");
    }
}

#[test]
fn a_pipe_in_the_place_of_a_lock_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("task-7.lock");
    rustix::fs::mkfifoat(rustix::fs::CWD, &lock, rustix::fs::Mode::RWXU).unwrap();
    let path = folder.path().join("task-7.json");
    assert!(FileLock::take(Layout::Seeds, &path, &mut Ages::default(), now(0)).is_err());
}

#[test]
fn asking_which_lock_is_held_keeps_no_program_out() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.json");
        let holder = take(layout, &path, 0);
        let held_lock = held(layout, &path);
        assert_eq!(held_lock.is_dir(), layout == Layout::Claude, "{}", held_lock.display());
        drop(holder);
        let free_lock = held(layout, &path);
        assert!(layout == Layout::Seeds || !free_lock.exists(), "a program makes a folder there");
        assert!(take(layout, &path, 0).is_some(), "{layout}");
    }
}
