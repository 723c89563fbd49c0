//! Whether a program works in some folders right now: asked before something is removed that a killed one may have left.

use std::path::Path;

use crate::system::{ProcessStat, folder_of, name_of, processes};

/// Whether a process of a program works in or below one of these folders; none if the system does not tell. A process that may
/// not be looked into counts: it could be anywhere.
#[must_use]
pub fn is_at_work(program: &str, folders: &[&Path]) -> Option<bool> {
    let folders: Vec<_> = folders.iter().filter_map(|it| it.canonicalize().ok()).collect();
    let is_alive = |id: u32| ProcessStat::read(id).is_some_and(|stat| !stat.is_dead());
    Some(processes()?.into_iter().any(|id| {
        if name_of(id) != program || !is_alive(id) {
            return false;
        }
        match folder_of(id) {
            Some(place) => folders.iter().any(|it| place.starts_with(it)),
            // It may have ended just now.
            None => is_alive(id),
        }
    }))
}

#[cfg(test)]
mod tests;
