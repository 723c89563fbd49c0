//! Waiting out what may pass by itself, such as a full disk: each time longer, and not for ever.

use std::{collections::BTreeMap, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use troop_model::MemberName;

use super::input::LeadInput;
use crate::GitError;

/// How long is waited in all ...
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// ... and how long at most between two tries.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// How often something was tried in vain, and since when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    n_tries: u32,
    since: Instant,
}

impl Tries {
    fn begin() -> Self {
        Self { n_tries: 0, since: Instant::now() }
    }

    /// How long to wait before the next try; none if it was tried for too long.
    fn pause(&mut self, first: Duration) -> Option<Duration> {
        let doublings = self.n_tries.min(10);
        self.n_tries += 1;
        (self.since.elapsed() < PATIENCE).then(|| (first * (1 << doublings)).min(MAX_PAUSE))
    }

    /// Whether this is the first time, of which people are told.
    fn is_first(self) -> bool {
        self.n_tries == 1
    }
}

/// What is tried again for members.
#[derive(Debug, Default)]
pub(super) struct Failing(BTreeMap<MemberName, Tries>);

/// When something is tried again, and who is told now.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextTry {
    pub(super) pause: Duration,
    /// Whether it is new for this member ...
    pub(super) is_new: bool,
    /// ... and whether it is for everybody.
    pub(super) is_news: bool,
}

impl Failing {
    /// When something that failed is tried again; none if it was tried for too long.
    pub(super) fn again(&mut self, member: &MemberName, first: Duration) -> Option<NextTry> {
        let is_known = !self.0.is_empty();
        let tries = self.0.entry(member.clone()).or_insert_with(Tries::begin);
        let pause = tries.pause(first)?;
        let is_new = tries.is_first();
        Some(NextTry { pause, is_new, is_news: is_new && !is_known })
    }

    /// For whom something is tried again, which is not any more.
    pub(super) fn take(&mut self) -> Vec<MemberName> {
        std::mem::take(&mut self.0).into_keys().collect()
    }

    /// Nothing is to be tried any more for a member. Whether something was.
    pub(super) fn forget(&mut self, member: &MemberName) -> bool {
        self.0.remove(member).is_some()
    }
}

/// Tries again what a fault of the machine keeps from being done: nobody's work is to blame for that. People are told once.
#[derive(Debug)]
pub(super) struct Perseverance {
    /// Whose work waits.
    member: MemberName,
    /// What cannot be done.
    what: String,
    /// How long the first pause is.
    first: Duration,
    inputs: mpsc::Sender<LeadInput>,
    /// Ends the waiting.
    over: CancellationToken,
    tries: Tries,
}

impl Perseverance {
    pub(super) fn new(
        (member, what): (MemberName, String),
        first: Duration,
        inputs: mpsc::Sender<LeadInput>,
        over: CancellationToken,
    ) -> Self {
        Self { member, what, first, inputs, over, tries: Tries::begin() }
    }

    /// Waits until it is time to try again. False if that is of no use.
    pub(super) async fn waits_out(&mut self, error: &GitError) -> bool {
        if !error.is_of_machine() {
            return false;
        }
        let Some(pause) = self.tries.pause(self.first) else { return false };
        if self.tries.is_first() {
            let what = format!("{}; retrying: {}", self.what, error.chain());
            drop(self.inputs.send(LeadInput::Waits(self.member.clone(), what)).await);
        }
        self.over.run_until_cancelled(sleep(pause)).await;
        true
    }
}
