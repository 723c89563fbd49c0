//! Faults of the machine: whoever meets one is not to blame, and it may pass.

use std::io;

use rustix::io::Errno;
use troop_model::causes;

/// That a disk takes no more, or nothing more can be started or opened: as the system tells us, and as other programs pass
/// it on to people.
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

/// What programs say of themselves where the system gave them no memory.
const NO_MEMORY: &str = "out of memory";

/// Whether the machine is to blame for an error of our own.
pub(crate) fn is_of_machine(error: &io::Error) -> bool {
    causes(error)
        .filter_map(|it| Errno::from_io_error(it.downcast_ref()?))
        .any(|errno| FAULTS.iter().any(|(fault, _)| *fault == errno))
}

/// Whether the machine is to blame by what another program said: there is nothing else to know that from.
pub(crate) fn is_said_of_machine(said: &str) -> bool {
    said.contains(NO_MEMORY) || FAULTS.iter().any(|(_, text)| said.contains(text))
}

#[cfg(test)]
mod tests;
