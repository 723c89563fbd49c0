//! The tools with which agents run teams, in all versions of Claude Code.
//!
//! 2.1.47 spawns with `Task` and writes `SendMessage{type, recipient, content}`; 2.1.177 spawns with `Agent` and writes
//! `SendMessage{to, message}`; since 2.1.178 there is neither `TeamCreate` nor `TeamDelete`, and a spawn names no team.
//! Headless sessions of that generation have named background agents instead of teammates.

use serde::{Deserialize, Serialize};

use crate::{
    raw::{self, Raw, filled, is, object, text, truth},
    team::{LEAD, ObservedTaskId, TaskStatus},
};

/// The subject of a supplement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservedCategory {
    TeamMessage,
    /// A task is created, changed or read.
    TeamTaskUpdate,
    /// A team is created or deleted, or a member joins.
    TeamStateChange,
}

impl ObservedCategory {
    pub const ALL: [Self; 3] = [Self::TeamMessage, Self::TeamTaskUpdate, Self::TeamStateChange];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TeamMessage => "team_message",
            Self::TeamTaskUpdate => "team_task_update",
            Self::TeamStateChange => "team_state_change",
        }
    }
}

/// A team operation that an agent requests through a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub(crate) enum Operation {
    CreateTeam { name: String },
    DeleteTeam,
    Spawn(ObservedSpawn),
    CreateTask { subject: String, description: Option<String>, active_form: Option<String> },
    UpdateTask(ObservedUpdate),
    ListTasks,
    GetTask { task: ObservedTaskId },
    Send(SentLetter),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObservedSpawn {
    /// Without a team it may be a plain subagent; only the result tells.
    pub(crate) team: Option<String>,
    pub(crate) name: String,
    pub(crate) agent_type: Option<String>,
    pub(crate) model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObservedUpdate {
    pub(crate) task: ObservedTaskId,
    pub(crate) status: Option<TaskStatus>,
    pub(crate) owner: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) active_form: Option<String>,
    pub(crate) add_blocks: Vec<ObservedTaskId>,
    pub(crate) add_blocked_by: Vec<ObservedTaskId>,
}

/// A message from one member to another, or to all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentLetter {
    pub(crate) kind: LetterKind,
    /// `None` means everybody.
    pub(crate) to: Option<String>,
    pub(crate) content: String,
    pub(crate) summary: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) approve: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LetterKind {
    #[default]
    Message,
    Broadcast,
    ShutdownRequest,
    ShutdownResponse,
    PlanApprovalRequest,
    PlanApprovalResponse,
}

impl LetterKind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "message" => Self::Message,
            "broadcast" => Self::Broadcast,
            "shutdown_request" => Self::ShutdownRequest,
            "shutdown_response" => Self::ShutdownResponse,
            "plan_approval_request" => Self::PlanApprovalRequest,
            "plan_approval_response" => Self::PlanApprovalResponse,
            _ => return None,
        })
    }
}

impl Operation {
    pub(crate) fn category(&self) -> ObservedCategory {
        match self {
            Self::CreateTeam { .. } | Self::DeleteTeam | Self::Spawn(_) => {
                ObservedCategory::TeamStateChange
            }
            Self::CreateTask { .. }
            | Self::UpdateTask(_)
            | Self::ListTasks
            | Self::GetTask { .. } => ObservedCategory::TeamTaskUpdate,
            Self::Send(_) => ObservedCategory::TeamMessage,
        }
    }

    /// How many bytes of text it holds.
    pub(crate) fn n_bytes(&self) -> usize {
        let texts = |texts: &[&Option<String>]| -> usize {
            texts.iter().map(|it| it.as_ref().map_or(0, String::len)).sum()
        };
        match self {
            Self::CreateTeam { name } => name.len(),
            Self::Spawn(it) => it.name.len() + texts(&[&it.team, &it.agent_type, &it.model]),
            Self::CreateTask { subject, description, active_form } => {
                subject.len() + texts(&[description, active_form])
            }
            Self::UpdateTask(it) => {
                let others = it.add_blocks.iter().chain(&it.add_blocked_by);
                let others = others.map(|it| size_of_val(it) + it.as_str().len());
                texts(&[&it.owner, &it.subject, &it.description, &it.active_form])
                    + others.sum::<usize>()
            }
            Self::Send(it) => it.content.len() + texts(&[&it.to, &it.summary, &it.request_id]),
            Self::DeleteTeam | Self::ListTasks | Self::GetTask { .. } => 0,
        }
    }

    /// Whether this operation alone proves that there is or will be a team.
    pub(crate) fn is_about_a_team_for_sure(&self) -> bool {
        match self {
            Self::CreateTeam { .. } => true,
            Self::Spawn(spawn) => spawn.team.is_some(),
            Self::DeleteTeam
            | Self::CreateTask { .. }
            | Self::UpdateTask(_)
            | Self::ListTasks
            | Self::GetTask { .. }
            | Self::Send(_) => false,
        }
    }
}

/// The meaning of a tool use.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// It is about a team.
    Team(Operation),
    /// It is about a team, but a required field is missing.
    Incomplete,
    /// It is named like a team tool, but unknown.
    Unknown,
    /// It is about something else.
    Other,
}

/// Tools of Claude Code that are named like team tools and are not.
const PLAIN: [&str; 2] = ["TaskOutput", "TaskStop"];

/// The input of tools that create teams and teammates.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SpawnToolInput<'a> {
    #[serde(borrow)]
    team_name: Raw<'a>,
    name: Raw<'a>,
    subagent_type: Raw<'a>,
    model: Raw<'a>,
}

/// The input of the task tools.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct TaskToolInput<'a> {
    #[serde(borrow)]
    subject: Raw<'a>,
    description: Raw<'a>,
    active_form: Raw<'a>,
    task_id: Raw<'a>,
    status: Raw<'a>,
    owner: Raw<'a>,
    add_blocks: Raw<'a>,
    add_blocked_by: Raw<'a>,
}

/// The input of `SendMessage`, and of the structured message in it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct MessageToolInput<'a> {
    #[serde(borrow)]
    r#type: Raw<'a>,
    recipient: Raw<'a>,
    /// `main` if the receiver is the session itself.
    recipient_kind: Raw<'a>,
    to: Raw<'a>,
    content: Raw<'a>,
    message: Raw<'a>,
    summary: Raw<'a>,
    request_id: Raw<'a>,
    approve: Raw<'a>,
    reason: Raw<'a>,
    feedback: Raw<'a>,
}

pub(crate) fn understand(tool: &str, input: Raw<'_>) -> Meaning {
    let operation = match tool {
        "TeamCreate" => object(input).and_then(|it| create_team(&it)),
        "TeamDelete" => Some(Operation::DeleteTeam),
        "Task" | "Agent" => {
            let spawned = object(input).and_then(|it| spawn(tool, &it));
            return spawned.map_or(Meaning::Other, Meaning::Team);
        }
        "TaskCreate" => object(input).and_then(|it| create_task(&it)),
        "TaskUpdate" => object(input).and_then(|it| update_task(&it)),
        "TaskList" => Some(Operation::ListTasks),
        "TaskGet" => {
            let read = object::<TaskToolInput<'_>>(input);
            read.and_then(|it| Some(Operation::GetTask { task: raw::task(it.task_id)? }))
        }
        "SendMessage" => object(input).and_then(|it| send(&it)),
        _ if PLAIN.contains(&tool) => return Meaning::Other,
        _ if tool.starts_with("Team") || tool.starts_with("Task") => return Meaning::Unknown,
        _ => return Meaning::Other,
    };
    operation.map_or(Meaning::Incomplete, Meaning::Team)
}

fn create_team(input: &SpawnToolInput<'_>) -> Option<Operation> {
    Some(Operation::CreateTeam { name: filled(input.team_name)? })
}

/// A `Task` is a spawn only with both a team and a name. An `Agent` with a name alone may be one.
fn spawn(tool: &str, input: &SpawnToolInput<'_>) -> Option<Operation> {
    let team = filled(input.team_name);
    let name = filled(input.name)?;
    if team.is_none() && tool == "Task" {
        return None;
    }
    let agent_type = filled(input.subagent_type);
    let model = filled(input.model);
    Some(Operation::Spawn(ObservedSpawn { team, name, agent_type, model }))
}

fn create_task(input: &TaskToolInput<'_>) -> Option<Operation> {
    Some(Operation::CreateTask {
        subject: filled(input.subject)?,
        description: filled(input.description),
        active_form: filled(input.active_form),
    })
}

fn update_task(input: &TaskToolInput<'_>) -> Option<Operation> {
    Some(Operation::UpdateTask(ObservedUpdate {
        task: raw::task(input.task_id)?,
        status: text(input.status).and_then(|it| TaskStatus::parse(&it)),
        // An empty text removes the owner.
        owner: text(input.owner),
        subject: filled(input.subject),
        description: text(input.description),
        active_form: filled(input.active_form),
        add_blocks: raw::tasks(input.add_blocks),
        add_blocked_by: raw::tasks(input.add_blocked_by),
    }))
}

/// Newer versions send a structured message, older ones send fields; both may be there.
fn send(input: &MessageToolInput<'_>) -> Option<Operation> {
    let to = filled(input.to).or_else(|| filled(input.recipient));
    let to = to.map(|to| to.trim_start_matches('@').to_owned());
    let is_for_session = is(input.recipient_kind, "main");
    let to = if is_for_session { Some(LEAD.to_owned()) } else { to };
    let structured = object::<MessageToolInput<'_>>(input.message);
    let fields = structured.as_ref().unwrap_or(input);
    let said = text(input.message);
    let kind = match text(fields.r#type) {
        Some(kind) => LetterKind::parse(&kind)?,
        None if said.is_some() && to.is_some() => LetterKind::Message,
        None => return None,
    };
    let is_for_all = kind == LetterKind::Broadcast || to.as_deref() == Some("*");
    let content = match structured {
        Some(_) => text(fields.reason).or_else(|| text(fields.feedback)),
        None => said,
    };
    let content = content.or_else(|| text(fields.content)).or_else(|| text(input.content));
    Some(Operation::Send(SentLetter {
        kind: if is_for_all && kind == LetterKind::Message { LetterKind::Broadcast } else { kind },
        to: to.filter(|_| !is_for_all),
        content: content.unwrap_or_default(),
        summary: filled(input.summary),
        request_id: raw::id(fields.request_id),
        approve: truth(fields.approve),
    }))
}

#[cfg(test)]
mod tests;
