//! Whether a program works in some folders right now: asked before something is removed that a killed one may have left.

use std::path::Path;

/// Whether a process of a program works in or below one of these folders; none if the system does not tell. A process that may
/// not be looked into counts: it could be anywhere.
#[must_use]
pub fn is_at_work(program: &str, folders: &[&Path]) -> Option<bool> {
    system::is_at_work(program, folders)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{fs, path::Path};

    use crate::tree::ProcessStat;

    pub(super) fn is_at_work(program: &str, folders: &[&Path]) -> Option<bool> {
        let folders: Vec<_> = folders.iter().filter_map(|it| it.canonicalize().ok()).collect();
        let entries = fs::read_dir("/proc").ok()?;
        let mut ids = entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        Some(ids.any(|id: u32| {
            let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            if name.trim_end() != program || ProcessStat::read(id).is_none_or(|it| it.is_dead) {
                return false;
            }
            match fs::read_link(format!("/proc/{id}/cwd")) {
                Ok(place) => folders.iter().any(|it| place.starts_with(it)),
                // It may have ended just now.
                Err(_) => ProcessStat::read(id).is_some_and(|it| !it.is_dead),
            }
        }))
    }
}

/// Elsewhere a program cannot find out without the help of other programs.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    pub(super) fn is_at_work(_: &str, _: &[&Path]) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests;
