//! The rules of a team. Pure: the same state and the same command always give the same events.
//!
//! Read in this order: a [`Command`] asks for a change, [`decide`] answers with [`Event`]s or a [`Refusal`],
//! [`State::apply`] applies events. Everything else is the data that these three use.

mod command;
mod decide;
mod event;
mod refusal;

mod apply;
mod state;

mod access;
mod actor;
mod agent_kind;
mod conversation;
mod delegation;
mod hint;
mod ids;
mod limits;
mod lock;
mod message;
mod name;
mod proof;
mod roster;
mod settings;
mod task;
mod team_md;
mod text;
mod time;
mod usage;
mod word;
mod workspace;

mod needs;
mod query;
mod view;

mod codec;
mod journaled;
mod packed;
mod snapshot;

#[cfg(test)]
mod tests;

pub use actor::{Actor, ActorKind, Asker, Context, Origin};
pub use agent_kind::{AgentKind, AgentStart, AgentTraits, EXTERNAL, can_repair};
pub use codec::{CodecError, SCHEMA, decode, encode};
pub use command::{
    Command, DelegationOutcome, NewMember, NewTask, NewTeamCommand, Outgoing, Spawn, TaskAction,
    TaskCommand, TaskUpdate,
};
pub use conversation::{Conversation, MailMark, of_one_conversation};
pub use decide::{NO_RESULT, check_start, decide, named_checks, work_to_give};
pub use delegation::{Delegation, DelegationStatus, SessionKey};
pub use event::{Event, Fact, RejectMode, Surface, TaskChange};
pub use hint::{Hint, HintCommand, HintOption, HintPart, HintStep, HintTarget, HintWord};
pub use ids::{IdPrefix, OperationId, TaskNumber, TeamId, Version};
pub use limits::Limits;
pub use lock::lock;
pub use message::{Mailbox, Message, MessageKind, Notice, Party, Receipt};
pub use name::{EVERYBODY, LEAD_ALIASES, MAX_NAME, MemberName, NameError, SYSTEM, TeamName, USER};
pub use needs::{Need, NeedAnswer, NeedKind};
pub use proof::{Evidence, MAX_CHECKS, MAX_TAIL, MergeRecord, Proof, RefusalRecord, RefusedBy};
pub use query::{MAX_SHOWN_RESULT, MAX_SNIPPET, PAGE, Search, TaskFilter, is_visible};
pub use refusal::{Refusal, RefusalKind};
pub use roster::{Link, LinkChange, Member, MemberState, Permissions, Role, StateCause};
pub use settings::{
    AccessSettings, Assignment, Condition, DelegationSettings, Dialect, Escalation,
    FollowupSettings, Isolation, IsolationSettings, Settings, TaskCreation, WorkspaceScope,
    WorkspaceSettings,
};
pub use snapshot::{SNAPSHOT_FORMAT, SnapshotError};
pub use state::{LeadLease, Request, Span, State, Team, TeamStatus};
pub use task::{
    Attachment, Comment, Dependency, Metadata, Progress, Provenance, Question, Start, StartGate,
    Status, Talk, Task, TaskEnd, TaskHold, TaskProof, TaskRef, TaskTable, TrailEntry, TrailKind,
};
pub use team_md::{NO_TEAM, no_team_md, team_md, team_md_for_client};
pub use text::{
    MAX_LINE, MAX_TEXT, causes, in_plain_words, is_unprintable, panic_text, preview, quoted,
    quoted_path, shortened, with_causes,
};
pub use time::Time;
pub use usage::{Budget, Dollars, Spending, Usage};
pub use view::{
    AttachmentView, DelegationView, EvidenceView, MessageView, TaskDetail, TaskView, TeamView,
};
pub use word::{UnknownWord, did_you_mean, nearest};
pub use workspace::{FileQuestion, WorkspaceFile, WorkspaceFolder, workspace_path};

use journaled::JournaledMap;
