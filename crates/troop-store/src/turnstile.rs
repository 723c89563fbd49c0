//! A fair queue for the writers of all processes, made of two file locks.

use std::{fs::File, io};

/// Admits one writer at a time, and lets nobody starve.
///
/// One lock alone is unfair: the process that has just released it is still running and takes it again before a waiting
/// one has woken up. Here the waiting process holds the queue's lock meanwhile, so the other has to queue behind it.
#[derive(Debug)]
pub(crate) struct Turnstile {
    queue: File,
    write: File,
}

impl Turnstile {
    pub(crate) fn new(queue: File, write: File) -> Self {
        Self { queue, write }
    }

    /// Waits in line, for as long as it takes.
    pub(crate) fn enter(&self) -> io::Result<()> {
        lock_file(&self.queue)?;
        let entered = lock_file(&self.write);
        self.queue.unlock()?;
        entered
    }

    pub(crate) fn leave(&self) {
        // Unlocking a held lock cannot fail, and closing the file unlocks it as well.
        drop(self.write.unlock());
    }
}

/// Locks a file exclusively, and keeps waiting if a signal interrupts it.
pub(crate) fn lock_file(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer,
        }
    }
}
