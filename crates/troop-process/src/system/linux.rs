//! Linux tells about processes in `/proc`, and has handles on them.

pub(super) use std::os::fd::OwnedFd as Held;

use std::{ffi::OsString, fs, io, os::unix::ffi::OsStringExt as _, path::PathBuf};

use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
};

pub(super) fn processes() -> Option<Vec<u32>> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    Some(entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

pub(super) fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).ok();
    let all: Vec<String> = threads.filter_map(of_thread).collect();
    all.iter().flat_map(|it| it.split_whitespace()).filter_map(|it| it.parse().ok()).collect()
}

pub(super) fn environment_of(id: u32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{id}/environ")).ok()
}

pub(super) fn program_of(id: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{id}/exe")).ok()
}

pub(super) fn arguments_of(id: u32) -> Vec<OsString> {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = words.split_inclusive(|byte| *byte == 0);
    let words = words.map(|word| word.strip_suffix(&[0]).unwrap_or(word));
    words.map(|word| OsString::from_vec(word.to_vec())).collect()
}

pub(super) fn name_of(id: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

pub(super) fn folder_of(id: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{id}/cwd")).ok()
}

pub(super) fn stat_of(id: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{id}/stat")).ok()
}

pub(super) fn adopts_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

pub(super) fn hold(id: Pid) -> io::Result<Held> {
    Ok(pidfd_open(id, PidfdFlags::empty())?)
}

pub(super) fn signal(process: &Held, signal: Signal) -> io::Result<()> {
    Ok(pidfd_send_signal(process, signal)?)
}
