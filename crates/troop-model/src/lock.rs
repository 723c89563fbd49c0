//! How every crate takes a lock. It is here because every crate may use this one.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks even if a holder panicked: what our locks guard is whole between any two statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
