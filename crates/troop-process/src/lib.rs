//! Other programs: starting them, ending them with everything that they started, and reading their output.
//! Nothing else starts processes, except benchmarks and tests.
//!
//! Read in this order: `group.rs` starts processes that end together, `mark.rs` and `tree.rs` find those that left their
//! group, `orphans.rs` adopts those that lost their parent, `output.rs` reads what they print, `at_work.rs` asks whether a
//! program works somewhere, `system.rs` has all that only Linux can, and what is done elsewhere.

mod at_work;
mod ended;
mod group;
mod mark;
mod orphans;
mod output;
mod system;
mod tree;

pub use at_work::is_at_work;
pub use ended::has_ended;
pub use group::{Group, Signal, command, kill_group};
pub use mark::{Mark, RUN};
pub use orphans::{adopt_orphans, end_orphans};
pub use output::{Lines, Tail};
pub use system::{ProcessStat, arguments_of, children, environment_of, is_stopped, program_of};
pub use tree::Below;
