//! Faults of the machine, known by what the system says of them: whoever meets one is not to blame, and it may pass.

/// What the system says when a disk takes no more, or nothing more can be started or opened.
const FAULTS: [&str; 9] = [
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "Read-only file system",
    "Input/output error",
    "Too many open files",
    "Cannot allocate memory",
    "Resource temporarily unavailable",
    "out of memory",
];

/// Whether the machine is to blame for something, by what was said about it.
pub(crate) fn is_of_machine(said: &str) -> bool {
    FAULTS.iter().any(|fault| said.contains(fault))
}
