//! Limits of the rules: how much a team keeps in memory, and how long it waits for its lead.

use std::time::Duration;

/// The limits of the rules. Like time, they are handed in: logs and snapshots do not hold them, so every process that opens a
/// team must use the same.
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
    /// A repeated operation has one effect. For this, a team remembers at least this many operations, however old ...
    pub min_operations: usize,
    /// ... and at most this many, so that snapshots stay small. A repetition of a forgotten operation is refused.
    pub max_operations: usize,
    /// How often a completion may be refused in one attempt. The last refusal fails the attempt.
    pub refusals: u32,
    /// How often an idle member is asked to report on a task that it holds, before its attempt fails.
    pub report_requests: u32,
    /// How long a lead lease holds without being renewed.
    pub lead_lease: Duration,
}

impl Limits {
    /// The limits of every real team.
    pub const SHIPPED: Self = Self {
        unread: 20_000,
        settled: 1_000,
        finished: 1_000,
        delegations: 1_000,
        min_operations: 1_024,
        max_operations: 4_096,
        refusals: 5,
        report_requests: 1,
        lead_lease: Duration::from_secs(60),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::SHIPPED
    }
}
