//! Processes that others run: how they are started, how they end with all that they started, and what they print.
//! Nothing else starts any, except benchmarks and tests.
//!
//! Read in this order: `group.rs` what is started ends together, `mark.rs` finding what left its group, `output.rs` what
//! they print.

mod group;
mod mark;
mod output;

pub use group::{Group, Signal, command, is_stopped, kill_group};
pub use mark::Mark;
pub use output::{Lines, Tail};
