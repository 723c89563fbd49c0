//! A lead's guard: a process that kills everything of the lead's session if the lead's process dies.

use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, ChildStdin},
};

use super::LeadEnd;

/// The line that tells a guard that its lead has ended in good order, so that it kills nothing.
pub const GUARD_WORD: &str = "over\n";

/// A lead that has ended and stopped its members. Its hooks may still run: if this process dies, the guard ends them.
#[derive(Debug)]
pub struct EndedLead {
    /// How it ended.
    pub how: LeadEnd,
    pub(super) guard: LeadGuard,
}

impl EndedLead {
    /// Sends the guard away: what hooks left running lives on after this process. A caller that stops waiting can call again.
    pub async fn dismiss_guard(&mut self) {
        let LeadGuard { process, words } = &mut self.guard;
        if let Some(pipe) = words {
            // If the guard is gone, nobody guards.
            drop(pipe.write_all(GUARD_WORD.as_bytes()).await);
            *words = None;
        }
        if let Some(guard) = process {
            drop(guard.wait().await);
        }
    }
}

/// The guard of a lead, if it has one. It kills everything if this is dropped.
#[derive(Debug, Default)]
pub(super) struct LeadGuard {
    process: Option<Box<Child>>,
    /// The guard waits for the end of its input.
    words: Option<ChildStdin>,
}

impl LeadGuard {
    pub(super) fn new(process: Option<Child>) -> Self {
        let mut process = process.map(Box::new);
        let words = process.as_mut().and_then(|process| process.stdin.take());
        Self { process, words }
    }
}
