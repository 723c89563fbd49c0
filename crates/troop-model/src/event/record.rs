//! One entry of a log: a fact with its position, time, actor and operation.

use super::Fact;
use crate::{Actor, OperationId, Time, Version};

/// One fact in a team's log.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its position in the log.
    pub version: Version,
    /// When it happened.
    pub at: Time,
    pub actor: Actor,
    /// The operation that caused it.
    pub operation: OperationId,
    pub fact: Fact,
}
