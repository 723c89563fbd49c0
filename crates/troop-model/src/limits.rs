//! Limits of the rules: how much a team keeps in memory, and how long it waits for its lead.

use std::time::Duration;

/// The limits of the rules. Like time, they are passed in: logs and snapshots do not hold them, so every process that opens a
/// team must use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many unread messages a reader may have before further ones are refused.
    pub unread: usize,
    /// How many messages stay in memory after all readers have read them; older ones are only in the log.
    pub settled: usize,
    /// How many finished tasks stay on the live board; older ones are archived.
    pub finished: usize,
    /// How many ended delegations stay in memory; older ones are only in the log.
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
    /// The limits in production.
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
