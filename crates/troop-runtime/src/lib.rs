//! Runs teams. Today: the board, which is the only writer of a team's log in a process.

mod board;
mod clock;
mod error;
pub mod process;
mod session;

pub use board::{Board, Done, Following, Given, Request, Signature, Subscription, TaskPage};
pub use clock::Clock;
pub use error::{BoardError, BoardResult};
pub use session::{Session, TeamSummary};
