//! Memory limits, as a container has them: the kernel kills who wants more. Only root can set one.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result};
use uuid::Uuid;

/// Where groups of processes are, the file of their limit, and what it holds when there is none: in both versions of Linux's
/// control groups.
const PLACES: [(&str, &str, &str); 2] = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "-1"),
    ("/sys/fs/cgroup", "memory.max", "max"),
];
/// Enough to wait, and too little to start a command.
const LIMIT: &str = "131072";

/// Whether processes can be given a limit here.
pub(crate) fn can_limit() -> bool {
    MemoryLimit::make().is_ok()
}

/// A group of processes that may use little memory more. Dropping it removes the group, if its processes have ended.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    folder: PathBuf,
    file: PathBuf,
    none: &'static str,
}

impl MemoryLimit {
    /// Limits a process, and all that it starts from now on.
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let limit = Self::make()?;
        fs::write(limit.folder.join("cgroup.procs"), pid.to_string())?;
        Ok(limit)
    }

    fn make() -> Result<Self> {
        let place = PLACES.into_iter().find(|(folder, file, _)| {
            // Version 2 has the file only in groups, so this also tells the versions apart.
            let group = PathBuf::from(folder).join(format!("troop-{}", Uuid::now_v7().simple()));
            let has_limit = fs::create_dir(&group).is_ok() && group.join(file).exists();
            fs::remove_dir(&group).is_ok() && has_limit
        });
        let (folder, file, none) = place.context("memory cannot be limited here")?;
        let folder = PathBuf::from(folder).join(format!("troop-{}", Uuid::now_v7().simple()));
        fs::create_dir(&folder)?;
        let limit = Self { file: folder.join(file), folder, none };
        fs::write(&limit.file, LIMIT)?;
        Ok(limit)
    }

    /// Processes of the group may use what they like again.
    pub(crate) fn lift(&self) {
        // A group that is gone has no processes.
        fs::write(&self.file, self.none).unwrap_or_default();
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // An empty group that stays costs nothing.
        fs::remove_dir(&self.folder).unwrap_or_default();
    }
}
