//! What `/proc` says about a process.

use std::fs;

/// The state and the relatives of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Whether it has ended and nobody has waited for it (a zombie).
    pub is_dead: bool,
    /// Its parent, which started or adopted it.
    pub parent: u32,
    pub group: u32,
    pub session: u32,
}

impl ProcessStat {
    /// Reads it; none if there is no such process.
    #[must_use]
    pub fn read(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The program's name can contain anything, but it ends with the last bracket.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let is_dead = words.next()? == "Z";
        let mut number = || words.next()?.parse().ok();
        Some(Self { is_dead, parent: number()?, group: number()?, session: number()? })
    }
}

#[cfg(test)]
mod tests {
    //! This process in `/proc`.

    use super::ProcessStat;
    use crate::children;

    #[test]
    fn a_process_and_its_parent_are_found_in_proc() {
        let own = std::process::id();
        let parent = std::os::unix::process::parent_id();
        let stat = ProcessStat::read(own).unwrap();
        assert_eq!((stat.is_dead, stat.parent), (false, parent));
        assert!(children(parent).contains(&own), "{:?}", children(parent));
    }
}
