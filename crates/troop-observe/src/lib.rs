//! Teams that troop does not run, seen through somebody else's message stream.
//!
//! Pure: lines in, events out; no I/O, no clock, no storage, and nothing is ever said to the team. Read in this order: a
//! [`filter`] lets go of lines that cannot matter, [`recognise`] finds what a line says about a team, [`correlate`] brings
//! what was asked together with what came of it, [`reduce`] changes the team, [`diff`] tells what changed. An [`Observer`]
//! is all of them in a row.

mod cycle;
mod lines;
mod raw;
mod source;

mod filter;
mod recognise;
mod vocabulary;

mod answer;
mod correlate;
mod mail;

mod diff;
mod event;
mod reduce;
mod team;

mod follower;
mod observer;
mod saved;
mod supplement;

pub use event::{TeamEvent, What};
pub use follower::Follower;
pub use lines::{Lines, MAX_LINE};
pub use observer::{Counts, Observer, Output};
pub use saved::SavedError;
pub use source::{Capabilities, Source};
pub use supplement::Supplement;
pub use team::{Member, MemberStatus, Session, Task, TaskId, TaskStatus, Team, TeamRole};
pub use vocabulary::Category;
