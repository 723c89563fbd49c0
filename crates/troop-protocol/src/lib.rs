//! What crosses a process boundary.
//!
//! Read in this order: a [`FrameReader`] turns bytes into [`Envelope`]s, a [`Peer`] turns those into a conversation, and
//! the tables of methods say what can be talked about: [`FromTeammate`] and [`FromLead`] on the teammate wire, [`Call`] to
//! the board. A [`Client`] makes such calls; [`schema()`] describes all of it. A [`Toolbox`] is what an agent has of that.

mod envelope;
mod frame;
mod peer;
mod quote;
mod stdio;

mod call;
mod code;
mod method;
mod teammate;

mod client;
mod schema;
mod tools;

pub use call::{
    Answer, Call, Change, ContentError, ContextText, DelegationList, EventLine, FileCall,
    FileChanged, FileContent, FileList, FileView, MemberList, MessageList, Opened, Query, Session,
    TaskList, TeamStanding, content_bytes,
};
pub use client::{Client, ClientError};
pub use code::{Failure, FailureKind};
pub use envelope::{Envelope, ErrorObject, Id, Notification};
pub use frame::{Counts, Frame, FrameReader, MAX_LINE, Reason, Skipped};
pub use method::MethodError;
pub use peer::{Inbox, Incoming, Peer, PeerError, PeerOptions, Request, Responder};
pub use quote::without_marks;
pub use schema::{schema, tables};
pub use stdio::{Input, Output, stdio};
pub use teammate::{
    FromLead, FromTeammate, Idle, Level, Log, MessageIn, MessageOut, PROTOCOL_VERSION, Ready,
    ReportedStatus, ShutdownAck, TaskReport, TeamContext, UsageReport, WireId, WireRun, WireTask,
};
pub use tools::{Calls, Category, Denied, Gate, NO_RESULT, Seat, Tool, Toolbox};
