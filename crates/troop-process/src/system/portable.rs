//! Any Unix: a program knows about itself only, and a process is known by its id, which the system may give to another.

pub(super) use rustix::process::Pid as Held;

use std::{env, ffi::OsString, io, os::unix::ffi::OsStrExt as _, path::PathBuf};

use rustix::process::{Signal, kill_process, test_kill_process};

pub(super) fn processes() -> Option<Vec<u32>> {
    None
}

pub(super) fn children(_: u32) -> Vec<u32> {
    Vec::new()
}

/// Only for this process, and as its environment is now: a process that takes its mark out of it passes for unmarked.
pub(super) fn environment_of(id: u32) -> Option<Vec<u8>> {
    if id != std::process::id() {
        return None;
    }
    let mut all = Vec::new();
    for (name, value) in env::vars_os() {
        all.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    Some(all)
}

pub(super) fn program_of(id: u32) -> Option<PathBuf> {
    env::current_exe().ok().filter(|_| id == std::process::id())
}

pub(super) fn arguments_of(_: u32) -> Vec<OsString> {
    Vec::new()
}

pub(super) fn name_of(_: u32) -> String {
    String::new()
}

pub(super) fn folder_of(_: u32) -> Option<PathBuf> {
    None
}

pub(super) fn stat_of(_: u32) -> Option<String> {
    None
}

pub(super) fn adopts_orphans() -> bool {
    false
}

pub(super) fn hold(id: Held) -> io::Result<Held> {
    test_kill_process(id)?;
    Ok(id)
}

pub(super) fn signal(process: &Held, signal: Signal) -> io::Result<()> {
    Ok(kill_process(*process, signal)?)
}
