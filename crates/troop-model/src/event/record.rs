//! One entry of a log: what happened, when, by whom, and where it stands.

use super::Fact;
use crate::{Actor, OperationId, Time, Version};

/// One fact in a team's log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its position in the log.
    pub version: Version,
    /// When it happened.
    pub at: Time,
    /// Who did it.
    pub actor: Actor,
    /// Which attempt it belongs to.
    pub operation: OperationId,
    /// What happened.
    pub fact: Fact,
}
