//! How much a team keeps at hand, how much it lets wait, and how long it waits for its lead.

use std::time::Duration;

/// The limits of the rules. A state has them from the start, like the time they are handed in; its log and its snapshots do
/// not hold them, so everybody who opens a team must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many messages a reader may leave unread before senders are told to wait.
    pub unread: usize,
    /// How many messages that everybody has read stay at hand; older ones are in the log alone.
    pub settled: usize,
    /// How many finished tasks stay on the live board; older ones are archived.
    pub finished: usize,
    /// How many ended delegations stay at hand; older ones are in the log alone.
    pub delegations: usize,
    /// A repeated operation has one effect. For this, a team remembers so many operations at least, however old they are ...
    pub min_operations: usize,
    /// ... and so many at most, so that snapshots stay small. Beyond that a repetition is refused, not done again.
    pub max_operations: usize,
    /// How long a session supervises without saying that it still does.
    pub lead_lease: Duration,
}

impl Limits {
    /// What every team has.
    pub const SHIPPED: Self = Self {
        unread: 20_000,
        settled: 1_000,
        finished: 1_000,
        delegations: 1_000,
        min_operations: 1_024,
        max_operations: 4_096,
        lead_lease: Duration::from_secs(60),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SHIPPED
    }
}
