//! Limits how long an append slot can be held.

use std::sync::{Arc, Mutex};

use tokio::{task::JoinSet, time::sleep};
use troop_model::lock;

use crate::{AppendSlot, StoreResult, failure::slot_taken_back};

/// The lock behind an append slot. It is dropped with the slot, or when the slot has been held for too long.
#[derive(Debug)]
pub(crate) struct SlotHold<T> {
    kept: Arc<Mutex<Option<T>>>,
    /// Ends with the hold.
    _timer: JoinSet<()>,
}

impl<T: Send + 'static> SlotHold<T> {
    pub(crate) fn new(value: T) -> Self {
        let kept = Arc::new(Mutex::new(Some(value)));
        let mut timer = JoinSet::new();
        let overdue = Arc::clone(&kept);
        timer.spawn(async move {
            sleep(AppendSlot::PATIENCE).await;
            drop(lock(&overdue).take());
        });
        Self { kept, _timer: timer }
    }

    pub(crate) fn take(self) -> StoreResult<T> {
        lock(&self.kept).take().ok_or_else(slot_taken_back)
    }
}
