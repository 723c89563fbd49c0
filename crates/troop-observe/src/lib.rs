//! Observes teams that troop does not run, through the message stream of another program.
//!
//! Pure: lines in, events out; no I/O, no clock, no storage, and no way to write to the team. Read in this order:
//! [`filter`] skips lines that cannot matter, [`recognise`] parses a line, [`correlate`] matches tool uses with their
//! results, [`reduce`] changes the team, [`diff`] makes events of the change. An [`Observer`] runs all of them in a row.

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
mod held;
mod observer;
mod saved;
mod supplement;

pub use event::{MailDelivery, ObservedFact, TeamEvent};
pub use follower::TeamFollower;
pub use lines::{LineSplitter, MAX_LINE};
pub use observer::{Observer, ObserverCounts, ObserverOutput};
pub use saved::SavedError;
pub use source::{Capabilities, StreamSource};
pub use supplement::Supplement;
pub use team::{
    MemberStatus, ObservedMember, ObservedSession, ObservedTask, ObservedTaskId, ObservedTeam,
    TaskStatus, TeamRole,
};
pub use vocabulary::ObservedCategory;
