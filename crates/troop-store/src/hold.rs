//! Lets a turn be held for so long and no longer.

use std::sync::{Arc, Mutex};

use tokio::{task::JoinSet, time::sleep};

use crate::{
    StoreResult, Turn,
    failure::{lock, turn_taken_back},
};

/// What a turn keeps from others. It is dropped when the turn is, or when the patience with it ends.
#[derive(Debug)]
pub(crate) struct Hold<T> {
    kept: Arc<Mutex<Option<T>>>,
    /// Ends with the hold.
    _timer: JoinSet<()>,
}

impl<T: Send + 'static> Hold<T> {
    pub(crate) fn new(value: T) -> Self {
        let kept = Arc::new(Mutex::new(Some(value)));
        let mut timer = JoinSet::new();
        let overdue = Arc::clone(&kept);
        timer.spawn(async move {
            sleep(Turn::PATIENCE).await;
            drop(lock(&overdue).take());
        });
        Self { kept, _timer: timer }
    }

    pub(crate) fn take(self) -> StoreResult<T> {
        lock(&self.kept).take().ok_or_else(turn_taken_back)
    }
}
