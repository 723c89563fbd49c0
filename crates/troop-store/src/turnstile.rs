//! A line that writers of all processes stand in, made of two file locks.

use std::{fs::File, io};

/// Lets one writer in at a time, and nobody overtake for ever.
///
/// One lock alone is unfair: who has just let go is still running and takes it again before anyone who waits has
/// woken up. Here who waits for the turn holds the line meanwhile, so who lets go has to queue behind it.
#[derive(Debug)]
pub(crate) struct Turnstile {
    line: File,
    turn: File,
}

impl Turnstile {
    pub(crate) fn new(line: File, turn: File) -> Self {
        Self { line, turn }
    }

    /// Waits in line, for as long as it takes.
    pub(crate) fn enter(&self) -> io::Result<()> {
        lock_file(&self.line)?;
        let entered = lock_file(&self.turn);
        self.line.unlock()?;
        entered
    }

    pub(crate) fn leave(&self) {
        // It cannot fail for a lock that is held, and closing the file lets go as well.
        drop(self.turn.unlock());
    }
}

/// Locks a file for this writer alone, and goes on waiting if a signal interrupts it.
pub(crate) fn lock_file(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}
