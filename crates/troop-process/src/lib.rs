//! Other programs: starting them, ending them with everything that they started, and reading their output.
//! Nothing else starts processes, except benchmarks and tests.
//!
//! Read in this order: `group.rs` starts processes that end together, `mark.rs` and `tree.rs` find those that left their
//! group, `orphans.rs` adopts those whose parent has ended, `output.rs` reads their output.

mod group;
mod mark;
mod orphans;
mod output;
mod stat;
mod tree;

pub use group::{Group, Signal, command, is_stopped, kill_group};
pub use mark::{Mark, RUN};
pub use orphans::{adopt_orphans, end_descendants};
pub use output::{Lines, Tail};
pub use stat::ProcessStat;
pub use tree::{Below, children};
