//! Faults of the machine: no member is to blame for them, and they may pass.

use std::io;

use rustix::io::Errno;
use troop_model::causes;

/// The disk is full, or nothing more can be started or opened: as the system reports it to us, and as other programs print
/// it.
const FAULTS: [(Errno, &str); 9] = [
    (Errno::NOSPC, "No space left on device"),
    (Errno::DQUOT, "Disk quota exceeded"),
    (Errno::FBIG, "File too large"),
    (Errno::ROFS, "Read-only file system"),
    (Errno::IO, "Input/output error"),
    (Errno::MFILE, "Too many open files"),
    (Errno::NFILE, "Too many open files in system"),
    (Errno::NOMEM, "Cannot allocate memory"),
    (Errno::AGAIN, "Resource temporarily unavailable"),
];

/// How programs report that the system gave them no memory.
const NO_MEMORY: &str = "out of memory";

/// Whether the machine is to blame for one of our errors.
pub(crate) fn is_of_machine(error: &io::Error) -> bool {
    causes(error)
        .filter_map(|it| Errno::from_io_error(it.downcast_ref()?))
        .any(|errno| FAULTS.iter().any(|(fault, _)| *fault == errno))
}

/// Whether the machine is to blame, judged by another program's output: there is nothing else to judge by.
pub(crate) fn is_said_of_machine(said: &str) -> bool {
    said.contains(NO_MEMORY) || FAULTS.iter().any(|(_, text)| said.contains(text))
}

#[cfg(test)]
mod tests;
