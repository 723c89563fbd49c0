//! What crosses a process boundary.
//!
//! Read in this order: [`frame`](FrameReader) turns bytes into [`Envelope`]s, a [`Peer`] turns those into a conversation, and
//! the tables of methods say what can be talked about: [`FromTeammate`] and [`FromLead`] on the teammate wire.

mod envelope;
mod frame;
mod peer;

mod code;
mod method;
mod teammate;

pub use code::{Failure, FailureKind};
pub use envelope::{Envelope, ErrorObject, Id, Notification};
pub use frame::{Counts, Frame, FrameReader, MAX_LINE, Reason, Skipped};
pub use method::MethodError;
pub use peer::{Inbox, Incoming, Peer, PeerError, PeerOptions, Request, Responder};
pub use teammate::{
    FromLead, FromTeammate, Idle, Level, Log, MessageIn, MessageOut, PROTOCOL_VERSION, Ready,
    ReportedStatus, ShutdownAck, TaskReport, TeamContext, WireId, WireTask,
};
