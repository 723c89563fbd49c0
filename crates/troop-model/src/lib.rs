//! The rules of a team. Pure: the same state and the same command always give the same events.

mod ids;

pub use ids::{OperationId, TeamId, Version};
