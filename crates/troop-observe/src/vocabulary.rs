//! The tools by which agents run teams, in all generations of their vocabulary.
//!
//! 2.1.47 spawns with `Task` and writes `SendMessage{type, recipient, content}`; 2.1.177 spawns with `Agent` and writes
//! `SendMessage{to, message}`; since 2.1.178 there is neither `TeamCreate` nor `TeamDelete`, and a spawn names no team.

use serde::{Deserialize, Serialize};

use crate::{
    raw::{self, Raw, filled, object, text, truth},
    team::{TaskId, TaskStatus},
};

/// What something that was said about a team is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Members write to each other.
    TeamMessage,
    /// A task is made, changed or looked at.
    TeamTaskUpdate,
    /// A team is made or ends, or somebody joins.
    TeamStateChange,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TeamMessage, Self::TeamTaskUpdate, Self::TeamStateChange];

    /// Its name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TeamMessage => "team_message",
            Self::TeamTaskUpdate => "team_task_update",
            Self::TeamStateChange => "team_state_change",
        }
    }
}

/// What an agent asks for, with all that is needed to know what it means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub(crate) enum Operation {
    CreateTeam { name: String },
    DeleteTeam,
    Spawn(Spawn),
    CreateTask { subject: String, description: Option<String>, active_form: Option<String> },
    UpdateTask(Update),
    ListTasks,
    GetTask { task: TaskId },
    Send(Letter),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spawn {
    /// Without a team it may be a plain subagent: only what comes of it tells.
    pub(crate) team: Option<String>,
    pub(crate) name: String,
    pub(crate) agent_type: Option<String>,
    pub(crate) model: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Update {
    pub(crate) task: TaskId,
    pub(crate) status: Option<TaskStatus>,
    pub(crate) owner: Option<String>,
    pub(crate) subject: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) active_form: Option<String>,
    pub(crate) add_blocks: Vec<TaskId>,
    pub(crate) add_blocked_by: Vec<TaskId>,
}

/// What a member says to another, or to all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) kind: LetterKind,
    /// Nobody in particular means everybody.
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
    pub(crate) fn category(&self) -> Category {
        match self {
            Self::CreateTeam { .. } | Self::DeleteTeam | Self::Spawn(_) => {
                Category::TeamStateChange
            }
            Self::CreateTask { .. }
            | Self::UpdateTask(_)
            | Self::ListTasks
            | Self::GetTask { .. } => Category::TeamTaskUpdate,
            Self::Send(_) => Category::TeamMessage,
        }
    }

    /// How much of a text is kept with it.
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

    /// Whether this alone says that there is a team, or will be.
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

/// What a tool use is.
#[derive(Debug)]
pub(crate) enum Meaning {
    /// It is about a team.
    Team(Operation),
    /// It would be, but something that it needs is missing.
    Incomplete,
    /// It is named like something about a team, but nobody knows it.
    Unknown,
    /// It is about something else.
    Other,
}

/// Tools of Claude Code that are named like those of teams and are not.
const PLAIN: [&str; 2] = ["TaskOutput", "TaskStop"];

/// All that any of the tools takes.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    team_name: Raw<'a>,
    name: Raw<'a>,
    subagent_type: Raw<'a>,
    model: Raw<'a>,
    subject: Raw<'a>,
    description: Raw<'a>,
    #[serde(rename = "activeForm")]
    active_form: Raw<'a>,
    #[serde(rename = "taskId")]
    task_id: Raw<'a>,
    status: Raw<'a>,
    owner: Raw<'a>,
    #[serde(rename = "addBlocks")]
    add_blocks: Raw<'a>,
    #[serde(rename = "addBlockedBy")]
    add_blocked_by: Raw<'a>,
    r#type: Raw<'a>,
    recipient: Raw<'a>,
    to: Raw<'a>,
    content: Raw<'a>,
    message: Raw<'a>,
    summary: Raw<'a>,
    request_id: Raw<'a>,
    approve: Raw<'a>,
    reason: Raw<'a>,
    feedback: Raw<'a>,
}

/// Says what the use of a tool means.
pub(crate) fn understand(tool: &str, input: Raw<'_>) -> Meaning {
    let read = || object::<Input<'_>>(input);
    let operation = match tool {
        "TeamCreate" => read().and_then(|it| create_team(&it)),
        "TeamDelete" => Some(Operation::DeleteTeam),
        "Task" | "Agent" => {
            return read().and_then(|it| spawn(tool, &it)).map_or(Meaning::Other, Meaning::Team);
        }
        "TaskCreate" => read().and_then(|it| create_task(&it)),
        "TaskUpdate" => read().and_then(|it| update_task(&it)),
        "TaskList" => Some(Operation::ListTasks),
        "TaskGet" => {
            read().and_then(|it| Some(Operation::GetTask { task: raw::task(it.task_id)? }))
        }
        "SendMessage" => read().and_then(|it| send(&it)),
        _ if PLAIN.contains(&tool) => return Meaning::Other,
        _ if tool.starts_with("Team") || tool.starts_with("Task") => return Meaning::Unknown,
        _ => return Meaning::Other,
    };
    operation.map_or(Meaning::Incomplete, Meaning::Team)
}

fn create_team(input: &Input<'_>) -> Option<Operation> {
    Some(Operation::CreateTeam { name: filled(input.team_name)? })
}

/// A `Task` is a spawn only with both a team and a name. An `Agent` with a name alone may be one.
fn spawn(tool: &str, input: &Input<'_>) -> Option<Operation> {
    let (team, name) = (filled(input.team_name), filled(input.name)?);
    if team.is_none() && tool == "Task" {
        return None;
    }
    let (agent_type, model) = (filled(input.subagent_type), filled(input.model));
    Some(Operation::Spawn(Spawn { team, name, agent_type, model }))
}

fn create_task(input: &Input<'_>) -> Option<Operation> {
    Some(Operation::CreateTask {
        subject: filled(input.subject)?,
        description: filled(input.description),
        active_form: filled(input.active_form),
    })
}

fn update_task(input: &Input<'_>) -> Option<Operation> {
    Some(Operation::UpdateTask(Update {
        task: raw::task(input.task_id)?,
        status: text(input.status).and_then(|it| TaskStatus::parse(&it)),
        // An empty text takes the owner away.
        owner: text(input.owner),
        subject: filled(input.subject),
        description: text(input.description),
        active_form: filled(input.active_form),
        add_blocks: raw::tasks(input.add_blocks),
        add_blocked_by: raw::tasks(input.add_blocked_by),
    }))
}

/// The structured message of the second generation, or the fields of the first, whichever is there.
fn send(input: &Input<'_>) -> Option<Operation> {
    let to = filled(input.to).or_else(|| filled(input.recipient));
    let to = to.map(|to| to.trim_start_matches('@').to_owned());
    let structured = object::<Input<'_>>(input.message);
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
    Some(Operation::Send(Letter {
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
