//! Retries with growing pauses, for a limited time, for faults of the machine such as a full disk.

use std::time::Duration;

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use troop_model::MemberName;

use super::{input::LeadInput, policy::restart::Tries};
use crate::GitError;

/// Retries work after a fault of the machine, which costs no attempt. People are warned once.
#[derive(Debug)]
pub(super) struct Perseverance {
    /// The member whose work waits.
    pub(super) member: MemberName,
    /// Says what cannot be done, for people.
    pub(super) what: String,
    /// The length of the first pause.
    pub(super) first: Duration,
    pub(super) inputs: mpsc::Sender<LeadInput>,
    /// Ends the waiting.
    pub(super) over: CancellationToken,
    pub(super) tries: Tries,
}

impl Perseverance {
    /// Waits before the next try. Returns false if a retry is pointless.
    pub(super) async fn wait_out(&mut self, error: &GitError) -> bool {
        if !error.is_of_machine() && !error.is_locked() {
            return false;
        }
        let Some(pause) = self.tries.pause(self.first, Instant::now()) else { return false };
        if self.tries.is_first() {
            let what = format!("{}; retrying: {}", self.what, error.chain());
            drop(self.inputs.send(LeadInput::Waits(self.member.clone(), what)).await);
        }
        self.over.run_until_cancelled(sleep(pause)).await;
        true
    }
}
