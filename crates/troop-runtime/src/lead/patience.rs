//! Waiting out what may pass by itself, such as a full disk: each time longer, and not for ever.

use std::time::Duration;

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use troop_model::MemberName;

use super::{input::LeadInput, policy::restart::Tries};
use crate::GitError;

/// Tries again what a fault of the machine prevents: nobody's work is to blame for that. People are told once.
#[derive(Debug)]
pub(super) struct Perseverance {
    /// Whose work waits.
    pub(super) member: MemberName,
    /// What cannot be done.
    pub(super) what: String,
    /// How long the first pause is.
    pub(super) first: Duration,
    pub(super) inputs: mpsc::Sender<LeadInput>,
    /// Ends the waiting.
    pub(super) over: CancellationToken,
    pub(super) tries: Tries,
}

impl Perseverance {
    /// Waits until it is time to try again. Returns false if that is of no use.
    pub(super) async fn wait_out(&mut self, error: &GitError) -> bool {
        if !error.is_of_machine() {
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
