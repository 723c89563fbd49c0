//! The one way to take a lock. It is in this crate because every crate may use it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks even if a holder panicked: the guarded data is consistent between any two statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
