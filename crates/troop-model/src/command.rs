//! Commands: the only way to change a team.

mod action;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Condition, LinkChange, Member, MemberName, MemberState, MessageKind, Metadata, Notice,
    Permissions, Proof, RefusalRecord, RejectMode, Settings, StateCause, TaskRef, TeamId, TeamName,
    Usage, Version, WorkspaceFolder, event::nullable,
};
pub use action::TaskAction;

/// A request to change a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::large_enum_variant, reason = "the largest is given once in the life of a team")]
pub enum Command {
    /// Create the team: the first command of every log.
    #[serde(rename = "team/create")]
    CreateTeam(NewTeamCommand),
    /// Change the team's description or settings.
    #[serde(rename = "team/update")]
    UpdateTeam {
        /// The new description; none keeps the current one.
        description: Option<String>,
        /// The settings that change, by their full names such as `delegation.max_per_link`. The others are left out, so that
        /// concurrent changes of different settings both apply.
        #[serde(default, with = "by_name")]
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        settings: Vec<(String, serde_json::Value)>,
    },
    /// Complete the team: its work is done.
    #[serde(rename = "team/complete")]
    CompleteTeam,
    /// Delete the team.
    #[serde(rename = "team/delete")]
    DeleteTeam,
    /// Add a member.
    #[serde(rename = "member/add")]
    AddMember(NewMember),
    /// Remove a member.
    #[serde(rename = "member/remove")]
    RemoveMember { member: MemberName, reason: Option<String> },
    /// Record the state of a member, as the supervisor sees it.
    #[serde(rename = "member/set_state")]
    SetMemberState {
        member: MemberName,
        state: MemberState,
        /// Why, for people.
        reason: Option<String>,
        /// Why, for programs.
        cause: Option<StateCause>,
        /// The id of its process, once it runs.
        pid: Option<u32>,
    },
    /// Start a process for a member that is new or does not run.
    #[serde(rename = "member/spawn")]
    SpawnMember(Spawn),
    /// Interrupt a member's current turn; it continues with the next message.
    #[serde(rename = "member/interrupt")]
    InterruptMember { member: MemberName, reason: Option<String> },
    /// Record that a member is idle: it gets the next task, or the lead gets a notice.
    #[serde(rename = "member/idle")]
    ReportIdle {
        member: MemberName,
        /// The task that it worked on last.
        last_task: Option<TaskRef>,
    },
    /// Report that an idle member is silent about the task that it holds: it is asked once, then its attempt fails.
    #[serde(rename = "member/silent")]
    ReportSilence {
        member: MemberName,
        task: TaskRef,
        /// The attempt that it is silent about.
        attempt: u32,
    },
    /// Record a member's usage since its last report.
    #[serde(rename = "usage/report")]
    ReportUsage {
        member: MemberName,
        /// The task that it was for, if any.
        task: Option<TaskRef>,
        /// The model that was used.
        model: Option<SmolStr>,
        usage: Usage,
    },
    /// Change what a member may do without asking.
    #[serde(rename = "member/set_mode")]
    SetMemberMode {
        member: MemberName,
        /// Its new permissions.
        permissions: Permissions,
    },
    /// Create or change a link.
    #[serde(rename = "link/set")]
    SetLink(LinkChange),
    /// Purge a link.
    #[serde(rename = "link/purge")]
    PurgeLink {
        /// The member that delegates.
        from: MemberName,
        to: MemberName,
    },
    /// Record that a workspace file was written; `workspace/write` does this itself.
    #[serde(rename = "workspace/record")]
    RecordFile {
        /// Its folder.
        #[serde(default)]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The task that it belongs to.
        task: Option<TaskRef>,
    },
    /// Record that a workspace file was deleted; `workspace/delete` does this itself.
    #[serde(rename = "workspace/forget")]
    ForgetFile {
        /// Its folder.
        #[serde(default)]
        folder: WorkspaceFolder,
        /// Its path in that folder.
        path: String,
    },
    /// Record that something about a task was refused. A refused completion counts against its attempt.
    #[serde(rename = "refusal/record")]
    RecordRefusal(RefusalRecord),
    /// An action on a task.
    #[serde(rename = "task")]
    Task(TaskCommand),
    /// Send a message.
    #[serde(rename = "message/send")]
    Send(Outgoing),
    /// Record that messages were delivered to a reader.
    #[serde(rename = "message/deliver")]
    MarkDelivered {
        /// The mailbox; the actor's own if not given. Only people and troop itself may name another.
        reader: Option<MemberName>,
        messages: Vec<Uuid>,
    },
    /// Mark messages as read.
    #[serde(rename = "message/read")]
    MarkRead {
        /// The mailbox; the actor's own if not given. Only people and troop itself may name another.
        reader: Option<MemberName>,
        /// The messages; none means all unread.
        messages: Option<Vec<Uuid>>,
    },
    /// Delegate a task to a member.
    #[serde(rename = "delegation/start")]
    Delegate {
        to: MemberName,
        /// The task to delegate.
        task: Option<TaskRef>,
        /// The subject of a new task, if the team's settings allow a delegation to create one.
        subject: Option<String>,
        /// What the member should know besides the task's description.
        #[serde(default)]
        note: Option<String>,
        /// The caller's trace, which becomes the parent of the delegation's trace.
        trace_id: Option<Uuid>,
    },
    /// Record the outcome of a delegation.
    #[serde(rename = "delegation/finish")]
    FinishDelegation { delegation: Uuid, outcome: DelegationOutcome },
    /// Take the lead lease: until it ends, this session alone runs the team's processes and delivers its mail.
    #[serde(rename = "lead/take")]
    TakeLead {
        /// The troop session that supervises.
        session: Uuid,
        /// The session in words, for people: user, machine, process.
        holder: String,
        /// The fencing number of a holder that is known to be dead, to replace it before its lease ends.
        over: Option<u64>,
        /// Checks that every task must pass while this session supervises, besides those of the team and the task.
        #[serde(default)]
        checks: Vec<String>,
    },
    /// Renew the lead lease.
    #[serde(rename = "lead/renew")]
    RenewLead,
    /// Release the lead lease.
    #[serde(rename = "lead/release")]
    ReleaseLead,
    /// Ask the supervisor to stop all processes of the team.
    #[serde(rename = "team/stop")]
    StopTeam { reason: Option<String> },
    /// Apply the effects of time: leases, stale tasks, reminders, retries.
    #[serde(rename = "team/tick")]
    Tick,
}

/// A member to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// The member. One of this name that does not run is started again.
    pub member: NewMember,
    /// Its first message.
    pub prompt: Option<String>,
}

/// The outcome of a delegation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegationOutcome {
    /// It ended with this result.
    Completed(String),
    /// It failed for this reason.
    Failed(String),
    /// It was cancelled for this reason.
    Cancelled(String),
}

impl DelegationOutcome {
    /// The result or the reason.
    #[must_use]
    pub fn said(&self) -> &str {
        let (Self::Completed(said) | Self::Failed(said) | Self::Cancelled(said)) = self;
        said
    }
}

/// A team to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTeamCommand {
    /// Its id.
    pub team: TeamId,
    /// Its name.
    pub name: TeamName,
    /// Its purpose.
    #[serde(default)]
    pub description: String,
    /// What a person tells the lead to do. Other members do not see it.
    #[serde(default)]
    pub goal: String,
    /// Its settings.
    #[serde(default)]
    pub settings: Settings,
    /// Its lead.
    pub lead: NewMember,
    /// Its other members.
    #[serde(default)]
    pub members: Vec<NewMember>,
}

/// A member to add.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// Its name.
    pub name: MemberName,
    /// The key of its agent.
    pub agent: SmolStr,
    /// Its expertise, in words.
    #[serde(default)]
    pub expertise: String,
    /// The model that its agent should use.
    pub model: Option<SmolStr>,
    /// Its permissions: by default the lead's, and never more than those.
    pub permissions: Option<Permissions>,
}

impl NewMember {
    /// A member with the defaults.
    #[must_use]
    pub fn new(name: MemberName, agent: impl Into<SmolStr>) -> Self {
        let agent = agent.into();
        Self { name, agent, expertise: String::new(), model: None, permissions: None }
    }

    /// A member that was there before, as it would be added again.
    #[must_use]
    pub fn again(member: &Member) -> Self {
        Self {
            name: member.name.clone(),
            agent: member.agent.clone(),
            expertise: member.expertise.clone(),
            model: member.model.clone(),
            permissions: None,
        }
    }
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outgoing {
    /// The recipient: a name, `lead`, `user`, or `*` for everybody.
    pub to: String,
    #[serde(default)]
    pub kind: MessageKind,
    pub content: String,
    /// A one-line summary.
    pub summary: Option<String>,
    /// The notice that it carries; only messages of troop itself have one, and a person's message with the goal.
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

    /// An ordinary message.
    #[must_use]
    pub fn message(to: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(to, MessageKind::Message, content)
    }

    /// A message from troop itself.
    #[must_use]
    pub fn system(to: impl Into<String>, content: impl Into<String>) -> Self {
        Self::new(to, MessageKind::System, content)
    }

    /// What the lead is to reach.
    #[must_use]
    pub fn goal(content: impl Into<String>) -> Self {
        Self::message("lead", content).with_notice(Notice::Goal)
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

/// An action on a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskCommand {
    /// Create a task.
    Create(NewTask),
    /// Claim a task.
    Claim {
        /// The task; none means the next available.
        task: Option<TaskRef>,
    },
    /// Assign a task to a member.
    Assign {
        /// The task; none means the next available to that member.
        task: Option<TaskRef>,
        to: MemberName,
    },
    /// Renew the holder's lease.
    Renew {
        task: TaskRef,
        /// The attempt that the caller believes it holds. Refused if another attempt has begun.
        attempt: Option<u32>,
    },
    /// Release a held task.
    Release { task: TaskRef, reason: String },
    /// Complete a task.
    Complete {
        task: TaskRef,
        /// The result.
        result: String,
        /// A one-line summary.
        summary: Option<String>,
        /// The attempt that the caller believes it holds. Refused if another attempt has begun.
        attempt: Option<u32>,
    },
    /// Fail a task.
    Fail {
        task: TaskRef,
        reason: String,
        /// The attempt that the caller believes it holds. Refused if another attempt has begun.
        attempt: Option<u32>,
        /// Whether another attempt would not help, so that troop does not retry the task.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        for_good: bool,
    },
    /// Submit the result for review.
    Review {
        task: TaskRef,
        /// The result so far.
        result: Option<String>,
    },
    /// Approve a result, or the start of a task.
    Approve {
        task: TaskRef,
        /// The approver's comment.
        comment: Option<String>,
    },
    /// Reject a result, or the start of a task.
    Reject {
        task: TaskRef,
        reason: String,
        /// Whether the task is cancelled or revised.
        #[serde(default)]
        mode: RejectMode,
    },
    /// Cancel a task.
    Cancel { task: TaskRef, reason: String },
    /// Retry a failed or stale task.
    Retry { task: TaskRef },
    /// Comment on a task.
    Comment { task: TaskRef, text: String },
    /// Report progress on a task.
    Progress {
        task: TaskRef,
        /// 0 to 100. The type is wider, so that a refusal can show a value out of range.
        percent: i64,
        /// The current step.
        #[serde(default)]
        step: String,
    },
    /// Attach a file to a task.
    Attach {
        task: TaskRef,
        /// The file's path in the workspace.
        path: String,
    },
    /// Record the results of a task's checks, and where its work was merged.
    Prove(Proof),
    /// Ask the user a question, with reminders until it is cleared.
    AskUser { task: TaskRef, question: String },
    /// Clear the question to the user.
    ClearAskUser { task: TaskRef },
    /// Change the contents of a task.
    Update {
        task: TaskRef,
        /// The changes.
        change: Box<TaskUpdate>,
    },
    /// Delete a task.
    Delete { task: TaskRef },
}

/// A task to create.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// Its id, if it already has one, for example from another board.
    pub id: Option<Uuid>,
    /// Its subject, on one line.
    pub subject: String,
    /// The work to do, in detail.
    #[serde(default)]
    pub description: String,
    /// Its priority; higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// Its label; `general` if not given.
    #[serde(rename = "type")]
    pub task_type: Option<SmolStr>,
    /// The member that it is reserved for.
    pub assignee: Option<MemberName>,
    /// The tasks that it waits for.
    #[serde(default)]
    pub blocked_by: Vec<TaskRef>,
    /// How those tasks must end; by default the team's setting.
    pub until: Option<Condition>,
    /// Whether its start needs approval; by default the team's setting.
    pub approve_start: Option<bool>,
    /// Commands that must pass before it is done, besides the team's.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Free data.
    #[serde(default)]
    pub metadata: Metadata,
    /// The log's version when the creator looked at the board. The task is refused if others were created since then, so that
    /// two who look at the same time do not both create it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Version>,
}

/// The fields of a task to change; a missing field keeps its value.
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
    /// The member that it is reserved for; `Some(None)` ends the reservation.
    #[serde(default, with = "nullable", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<MemberName>")]
    pub assignee: Option<Option<MemberName>>,
    /// All tasks that it waits for, replacing the current ones.
    pub blocked_by: Option<Vec<TaskRef>>,
    /// Further tasks that it waits for.
    #[serde(default)]
    pub add_blocked_by: Vec<TaskRef>,
    /// How those tasks must end; by default the team's setting.
    pub until: Option<Condition>,
    /// All commands that must pass before it is done, besides the team's, replacing the current ones.
    pub checks: Option<Vec<String>>,
    /// Free data to merge in; null removes a key.
    pub metadata: Option<Metadata>,
}

/// Changed settings as a JSON object. Of a repeated key, the last value counts.
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
