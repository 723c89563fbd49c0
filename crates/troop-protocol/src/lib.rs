//! Everything that crosses a process boundary.
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
    Answer, Call, Change, ContentError, ContextText, DelegationList, EventLine, EventNews,
    FileCall, FileChanged, FileContent, FileList, FileView, FollowCall, MemberList, MessageList,
    NeedList, Query, SessionInfo, SubscriptionEnd, SubscriptionNews, SubscriptionTicket, TaskList,
    TeamList, TeamListing, TeamStanding, TranscriptEdge, TranscriptEntry, TranscriptLine,
    TranscriptNews, TranscriptPage, TranscriptSource, content_bytes,
};
pub use client::{Client, ClientError, EventFeed};
pub use code::{Failure, FailureKind};
pub use envelope::{Envelope, ErrorObject, Id, Notification};
pub use frame::{Frame, FrameReader, MAX_LINE, SkipCounts, SkipReason, SkippedLine};
pub use method::MethodError;
pub use peer::{Inbox, Incoming, IncomingRequest, Peer, PeerError, PeerOptions, Responder};
pub use quote::without_marks;
pub use schema::{schema, tables};
pub use stdio::{StdinStream, StdoutStream, stdio};
pub use teammate::{
    FromLead, FromTeammate, Idle, Level, Log, MessageIn, MessageOut, PROTOCOL_VERSION, Ready,
    ReportedStatus, ShutdownAck, TaskReport, TeamContext, UsageReport, WireId, WireRun, WireTask,
};
pub use tools::{Calls, Category, Gate, NO_RESULT, Seat, Tool, ToolDenial, Toolbox};
