//! What can be asked of a team. Everything that changes a team is one of these.

mod action;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Condition, Link, MemberName, MemberState, MessageKind, Metadata, Notice, Permissions, Proof,
    RefusalRecord, RejectMode, Settings, StateCause, TaskRef, TeamId, TeamName, Usage, Version,
    WorkspaceFolder, event::nullable,
};
pub use action::TaskAction;

/// What is asked of a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Command {
    /// Make the team: the first command of every log.
    #[serde(rename = "team/create")]
    CreateTeam(NewTeamCommand),
    /// Change its description or settings.
    #[serde(rename = "team/update")]
    UpdateTeam {
        /// What it is for, if that changes.
        description: Option<String>,
        /// The settings that change, by their full names such as `delegation.max_per_link`. The others are not said,
        /// so that two who change different ones at once both get what they want.
        #[serde(default, with = "by_name")]
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        settings: Vec<(String, serde_json::Value)>,
    },
    /// Say that its work is over.
    #[serde(rename = "team/complete")]
    CompleteTeam,
    /// Take it away.
    #[serde(rename = "team/delete")]
    DeleteTeam,
    /// Let somebody join.
    #[serde(rename = "member/add")]
    AddMember(NewMember),
    /// Let somebody go.
    #[serde(rename = "member/remove")]
    RemoveMember { member: MemberName, reason: Option<String> },
    /// Record what the supervisor saw.
    #[serde(rename = "member/set_state")]
    SetMemberState {
        /// Of whom.
        member: MemberName,
        state: MemberState,
        /// Why, for people.
        reason: Option<String>,
        /// Why, for programs.
        cause: Option<StateCause>,
        /// Its process, once it runs.
        pid: Option<u32>,
    },
    /// Start a process for a member that is new, or that does not run.
    #[serde(rename = "member/spawn")]
    SpawnMember(Spawn),
    /// Break off what a member does now; it goes on with what comes next.
    #[serde(rename = "member/interrupt")]
    InterruptMember { member: MemberName, reason: Option<String> },
    /// Record that a member has nothing to do: it is given the next task, or the lead is told.
    #[serde(rename = "member/idle")]
    ReportIdle {
        member: MemberName,
        /// What it did last.
        last_task: Option<TaskRef>,
    },
    /// Report that an idle member says nothing about the task that it holds: it is asked once, then its attempt fails.
    #[serde(rename = "member/silent")]
    ReportSilence {
        member: MemberName,
        task: TaskRef,
        /// The attempt that it is silent about.
        attempt: u32,
    },
    /// Note what a member has used since it was noted last.
    #[serde(rename = "usage/report")]
    ReportUsage {
        member: MemberName,
        /// What for, if it was for a task.
        task: Option<TaskRef>,
        /// The model that was asked.
        model: Option<SmolStr>,
        usage: Usage,
    },
    /// Change what a member may do without asking.
    #[serde(rename = "member/set_mode")]
    SetMemberMode {
        member: MemberName,
        /// What it may do from now on.
        permissions: Permissions,
    },
    /// Make or change a link.
    #[serde(rename = "link/set")]
    SetLink(Link),
    /// Purge a link.
    #[serde(rename = "link/purge")]
    PurgeLink {
        /// Who delegates.
        from: MemberName,
        to: MemberName,
    },
    /// Note that a file of the workspace was written; `workspace/write` does so by itself.
    #[serde(rename = "workspace/record")]
    RecordFile {
        /// In which folder.
        #[serde(default)]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
        /// How many bytes it has.
        size: u64,
        /// The task that it belongs to.
        task: Option<TaskRef>,
    },
    /// Note that a file of the workspace was deleted; `workspace/delete` does so by itself.
    #[serde(rename = "workspace/forget")]
    ForgetFile {
        /// From which folder.
        #[serde(default)]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
    },
    /// Record that something about a task was refused. A refused completion counts against its attempt.
    #[serde(rename = "refusal/record")]
    RecordRefusal(RefusalRecord),
    /// Something about a task.
    #[serde(rename = "task")]
    Task(TaskCommand),
    /// Say something.
    #[serde(rename = "message/send")]
    Send(Outgoing),
    /// Record that messages were handed to a reader.
    #[serde(rename = "message/deliver")]
    MarkDelivered {
        /// Whose messages; the actor's own unless it may act for others.
        reader: Option<MemberName>,
        messages: Vec<Uuid>,
    },
    /// Read messages: the given ones, or all unread.
    #[serde(rename = "message/read")]
    MarkRead {
        /// Whose messages; the actor's own unless it may act for others.
        reader: Option<MemberName>,
        /// Which; none means all unread.
        messages: Option<Vec<Uuid>>,
    },
    /// Let a member work on a task.
    #[serde(rename = "delegation/start")]
    Delegate {
        to: MemberName,
        /// Which task.
        task: Option<TaskRef>,
        /// What to do, where the team lets a delegation make its own task.
        subject: Option<String>,
        /// The trace of the caller, which becomes the parent of the delegation's own.
        trace_id: Option<Uuid>,
    },
    /// Record how a delegation ended.
    #[serde(rename = "delegation/finish")]
    FinishDelegation { delegation: Uuid, outcome: DelegationOutcome },
    /// Supervise the team: run its processes and pass its mail, alone, until the lease ends.
    #[serde(rename = "lead/take")]
    TakeLead {
        /// Which session of troop.
        session: Uuid,
        /// Who that is, for people: a user, a machine, a process.
        holder: String,
        /// The fencing number of a holder that is known to be dead, so that its lease need not be waited for.
        over: Option<u64>,
        /// What must pass before a task is done, as long as this session supervises; besides what the board says.
        #[serde(default)]
        checks: Vec<String>,
    },
    /// Go on supervising.
    #[serde(rename = "lead/renew")]
    RenewLead,
    /// Supervise no more.
    #[serde(rename = "lead/release")]
    ReleaseLead,
    /// Ask whoever supervises the team to stop all its processes.
    #[serde(rename = "team/stop")]
    StopTeam { reason: Option<String> },
    /// Let time pass: leases, stale tasks, reminders, retries.
    #[serde(rename = "team/tick")]
    Tick,
}

/// A member that is to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// Who. A member of this name that does not run is started again.
    pub member: NewMember,
    /// What it is told first.
    pub prompt: Option<String>,
}

/// How a delegation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationOutcome {
    /// With a result.
    Completed(String),
    /// Without one, and why.
    Failed(String),
    /// It was called off, and why.
    Cancelled(String),
}

impl DelegationOutcome {
    /// The result, or why there is none.
    #[must_use]
    pub fn said(&self) -> &str {
        let (Self::Completed(said) | Self::Failed(said) | Self::Cancelled(said)) = self;
        said
    }
}

/// What a new team is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTeamCommand {
    /// Its identity.
    pub team: TeamId,
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its settings.
    #[serde(default)]
    pub settings: Settings,
    /// Who leads.
    pub lead: NewMember,
    /// Who works.
    #[serde(default)]
    pub members: Vec<NewMember>,
}

/// Who is to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Its name.
    pub name: MemberName,
    /// What thinks for it.
    pub agent: SmolStr,
    /// What it is good at.
    #[serde(default)]
    pub expertise: String,
    /// The model it asks for.
    pub model: Option<SmolStr>,
    /// What it may do; the lead's if not given, never more than that.
    pub permissions: Option<Permissions>,
}

impl NewMember {
    /// A member with the defaults.
    #[must_use]
    pub fn new(name: MemberName, agent: impl Into<SmolStr>) -> Self {
        let agent = agent.into();
        Self { name, agent, expertise: String::new(), model: None, permissions: None }
    }
}

/// What is to be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outgoing {
    /// To whom: a name, `lead`, `user`, or `*`.
    pub to: String,
    #[serde(default)]
    pub kind: MessageKind,
    pub content: String,
    /// The same in a few words.
    pub summary: Option<String>,
    /// What troop gives notice of; only messages of its own kind have that.
    pub notice: Option<Notice>,
    /// The request that it answers.
    pub request_id: Option<Uuid>,
    /// The answer to that request.
    pub approve: Option<bool>,
}

impl Outgoing {
    #[must_use]
    pub fn new(to: impl Into<String>, kind: MessageKind, content: impl Into<String>) -> Self {
        Self {
            to: to.into(),
            kind,
            content: content.into(),
            summary: None,
            notice: None,
            request_id: None,
            approve: None,
        }
    }

    /// What one member says to another.
    #[must_use]
    pub fn message(to: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(to, MessageKind::Message, content)
    }

    /// What troop itself says.
    #[must_use]
    pub fn system(to: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(to, MessageKind::System, content)
    }

    #[must_use]
    pub fn summarised(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    #[must_use]
    pub fn with_notice(mut self, notice: Notice) -> Self {
        self.notice = Some(notice);
        self
    }

    /// Makes it the answer to a request.
    #[must_use]
    pub fn answering(mut self, request_id: Uuid, approve: bool) -> Self {
        self.request_id = Some(request_id);
        self.approve = Some(approve);
        self
    }
}

/// What can be asked about a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskCommand {
    /// Put one on the board.
    Create(NewTask),
    /// Take this one, or the next available.
    Claim {
        /// Which; none means the next available.
        task: Option<TaskRef>,
    },
    /// Give it to somebody.
    Assign {
        /// Which; none means the next available for that member.
        task: Option<TaskRef>,
        to: MemberName,
    },
    /// Say that the holder is alive.
    Renew {
        task: TaskRef,
        /// Which attempt the caller believes to hold.
        attempt: Option<u32>,
    },
    /// Give it back.
    Release { task: TaskRef, reason: String },
    /// It is done.
    Complete {
        task: TaskRef,
        /// What came of it.
        result: String,
        /// The same in a few words.
        summary: Option<String>,
        /// Which attempt the caller believes to hold.
        attempt: Option<u32>,
    },
    /// It could not be done.
    Fail {
        task: TaskRef,
        reason: String,
        /// Which attempt the caller believes to hold.
        attempt: Option<u32>,
        /// Whether trying again would not help, so that nobody does by itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_good: bool,
    },
    /// Hand in the result for approval.
    Review {
        task: TaskRef,
        /// The result so far.
        result: Option<String>,
    },
    /// The result is good, or the task may start.
    Approve {
        task: TaskRef,
        /// What the approver says.
        comment: Option<String>,
    },
    /// The result is not good.
    Reject {
        task: TaskRef,
        reason: String,
        /// Whether the task is over or goes on.
        #[serde(default)]
        mode: RejectMode,
    },
    /// It will not be done.
    Cancel { task: TaskRef, reason: String },
    /// Try it again.
    Retry { task: TaskRef },
    /// Say something about it.
    Comment { task: TaskRef, text: String },
    /// Say how far it is.
    Progress {
        task: TaskRef,
        /// 0 to 100; wider here, so that what is out of range can be refused with its value.
        percent: i64,
        /// What is being done.
        #[serde(default)]
        step: String,
    },
    /// A file belongs to it.
    Attach {
        task: TaskRef,
        /// The file's path in the workspace.
        path: String,
    },
    /// Say what its checks said, and where its work is.
    Prove(Proof),
    /// Ask the user, again and again.
    AskUser { task: TaskRef, question: String },
    /// Ask no more.
    ClearAskUser { task: TaskRef },
    /// Change what is known about it.
    Update {
        task: TaskRef,
        /// What is different.
        change: Box<TaskUpdate>,
    },
    /// Take it off the board.
    Delete { task: TaskRef },
}

/// A task that is to be put on the board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// Its identity, if it has one already, as when it comes from another board.
    pub id: Option<Uuid>,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    #[serde(default)]
    pub description: String,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// Its label; `general` if not given.
    #[serde(rename = "type")]
    pub task_type: Option<SmolStr>,
    /// For whom it is reserved.
    pub assignee: Option<MemberName>,
    /// What it waits for.
    #[serde(default)]
    pub blocked_by: Vec<TaskRef>,
    /// How those must end; the team's setting if not given.
    pub until: Option<Condition>,
    /// Whether somebody must approve that it starts; the team's setting if not given.
    pub approve_start: Option<bool>,
    /// Commands that must pass before it is done, besides the team's.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Free data.
    #[serde(default)]
    pub metadata: Metadata,
    /// How far the log was when its creator looked at the board. What others put there since then refuses it, so that two
    /// who look at once do not both create the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Version>,
}

/// What is to be different about a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskUpdate {
    /// Its subject.
    pub subject: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its priority.
    pub priority: Option<i32>,
    /// Its label.
    #[serde(rename = "type")]
    pub task_type: Option<SmolStr>,
    /// For whom it is reserved; `Some(None)` for nobody.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<MemberName>")]
    pub assignee: Option<Option<MemberName>>,
    /// All that it waits for.
    pub blocked_by: Option<Vec<TaskRef>>,
    /// More that it waits for.
    #[serde(default)]
    pub add_blocked_by: Vec<TaskRef>,
    /// How those must end; the team's setting if not given.
    pub until: Option<Condition>,
    /// All commands that must pass before it is done, besides the team's.
    pub checks: Option<Vec<String>>,
    /// Free data to merge in; null takes a key away.
    pub metadata: Option<Metadata>,
}

/// Settings that change, written as an object. What is written twice counts as written last.
mod by_name {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::{Map, Value};

    pub(super) fn serialize<S: Serializer>(
        settings: &[(String, Value)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(settings.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, Value)>, D::Error> {
        Ok(Map::deserialize(deserializer)?.into_iter().collect())
    }
}
