//! An observed team: its members and its tasks.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::cycle;

/// The longest identifier.
const MAX_ID: usize = 256;
/// The name of a team's lead in Claude Code.
pub(crate) const LEAD: &str = "team-lead";
/// The name of a session's team, before the beginning of the session's id.
const SESSION: &str = "session";
/// How much of a session's id is in the name of its team.
const SHORT_ID: usize = 8;

/// The observed part of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedSession {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The version of Claude Code that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The members' names, for consumers that do not know teams.
    pub agents: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<ObservedTeam>,
}

/// The role of the observed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// It created the team.
    Lead,
    /// It works in the team.
    Teammate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    Active,
    Idle,
    Shutdown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Pending,
    InProgress,
    Completed,
    /// Removed from the board; only events have this status.
    Deleted,
}

impl TaskStatus {
    /// Accepts every spelling that the tools use.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "pending" => Self::Pending,
            "in_progress" | "claimed" => Self::InProgress,
            "completed" | "done" => Self::Completed,
            "deleted" => Self::Deleted,
            _ => return None,
        })
    }
}

/// The identifier of a task. Numbers sort numerically, and before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObservedTaskId {
    // The order of the fields is the sort order.
    is_word: bool,
    number: u64,
    text: String,
}

impl ObservedTaskId {
    /// Accepts `7` and `#7`. An empty text or one that is too long is not an identifier.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('#');
        if text.is_empty() || text.len() > MAX_ID {
            return None;
        }
        let number = text.parse().ok();
        Some(Self { is_word: number.is_none(), number: number.unwrap_or(0), text: text.to_owned() })
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ObservedTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for ObservedTaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ObservedTaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| D::Error::custom("an id is neither empty nor huge"))
    }
}

/// A member of an observed team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedMember {
    /// Unique in the team.
    pub name: String,
    /// Unique across teams: `alice@my-team`.
    pub agent_id: String,
    /// The type that the spawn asked for.
    pub agent_type: String,
    pub status: MemberStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The tool use that spawned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Whether it is a named background agent of the session. The stream says when such a member works and when it ends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// The most tokens that the client has reported for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Whether its spawn has no result yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tentative: bool,
}

/// A task of an observed team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedTask {
    /// Unique for the life of the team. A tentative task has the id of the tool use that creates it.
    pub id: ObservedTaskId,
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Shown while the task is in progress: `Fixing the parser`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Tasks that must be completed first.
    pub blocked_by: BTreeSet<ObservedTaskId>,
    /// Tasks that wait for this one.
    pub blocks: BTreeSet<ObservedTaskId>,
    /// Whether it waits for itself, directly or through others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_cycle: bool,
    /// Whether a tool use about it has no result yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tentative: bool,
}

impl ObservedTask {
    pub(crate) fn new(id: ObservedTaskId, subject: String) -> Self {
        Self {
            id,
            subject,
            description: None,
            status: TaskStatus::Pending,
            owner: None,
            active_form: None,
            blocked_by: BTreeSet::new(),
            blocks: BTreeSet::new(),
            in_cycle: false,
            tentative: false,
        }
    }
}

/// The observed part of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "TeamJson", into = "TeamJson")]
pub struct ObservedTeam {
    pub(crate) name: String,
    pub(crate) role: TeamRole,
    /// The observed session's name in the team.
    pub(crate) own_name: Option<String>,
    /// Whether the team existed before the stream began, so that we may not know all of it.
    pub(crate) is_partial: bool,
    pub(crate) tentative: bool,
    /// In the order in which they joined.
    pub(crate) members: Vec<ObservedMember>,
    pub(crate) tasks: BTreeMap<ObservedTaskId, ObservedTask>,
    /// Ids of deleted tasks, which are never reused.
    pub(crate) deleted: BTreeSet<ObservedTaskId>,
    /// Ids that tasks depend on and that we have not seen on the board.
    pub(crate) missing: BTreeSet<ObservedTaskId>,
}

/// A team as JSON has it.
#[derive(Clone, Serialize, Deserialize)]
struct TeamJson {
    name: String,
    role: TeamRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_name: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tentative: bool,
    members: Vec<ObservedMember>,
    tasks: Vec<ObservedTask>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    deleted: BTreeSet<ObservedTaskId>,
}

/// The name of the team that a session is, as interactive sessions name theirs.
pub(crate) fn name_of_session(session_id: Option<&str>) -> String {
    match session_id.and_then(|it| it.get(..SHORT_ID)).filter(|it| is_short_id(it)) {
        Some(id) => format!("{SESSION}-{id}"),
        None => SESSION.to_owned(),
    }
}

fn is_short_id(text: &str) -> bool {
    text.len() == SHORT_ID && text.bytes().all(|it| it.is_ascii_hexdigit())
}

impl ObservedTeam {
    pub(crate) fn new(name: String, role: TeamRole) -> Self {
        Self {
            name,
            role,
            own_name: (role == TeamRole::Lead).then(|| LEAD.to_owned()),
            is_partial: false,
            tentative: false,
            members: Vec::new(),
            tasks: BTreeMap::new(),
            deleted: BTreeSet::new(),
            missing: BTreeSet::new(),
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The role of the observed session.
    #[must_use]
    pub fn role(&self) -> TeamRole {
        self.role
    }

    /// Whether the team existed before the stream began, so that we may not know all of it.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether Claude Code created the team implicitly for the session, or the session itself is the team.
    pub(crate) fn is_implicit(&self) -> bool {
        self.name == SESSION
            || self
                .name
                .strip_prefix(SESSION)
                .and_then(|it| it.strip_prefix('-'))
                .is_some_and(is_short_id)
    }

    /// Whether tasks and members may exist that we have not seen: the team began before the stream, or we know it only
    /// since a member joined.
    pub(crate) fn may_have_more(&self) -> bool {
        self.is_partial || self.is_implicit()
    }

    /// Notes that the stream has the session from its start; an implicit team is then complete, too.
    pub(crate) fn note_seen_from_beginning(&mut self) {
        self.is_partial &= !self.is_implicit();
    }

    /// Whether its creation or deletion has no result yet.
    #[must_use]
    pub fn is_tentative(&self) -> bool {
        self.tentative
    }

    /// The members, in the order in which they joined.
    #[must_use]
    pub fn members(&self) -> &[ObservedMember] {
        &self.members
    }

    #[must_use]
    pub fn member(&self, name: &str) -> Option<&ObservedMember> {
        self.members.iter().find(|it| it.name == name)
    }

    /// The tasks, in the order of their ids.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &ObservedTask> {
        self.tasks.values()
    }

    #[must_use]
    pub fn task(&self, id: &str) -> Option<&ObservedTask> {
        self.tasks.get(&ObservedTaskId::new(id)?)
    }

    /// Whether the task is or was on the board.
    pub(crate) fn knows(&self, task: &ObservedTaskId) -> bool {
        self.tasks.contains_key(task) || self.deleted.contains(task)
    }

    pub(crate) fn member_with_agent_id(&self, id: &str) -> Option<&ObservedMember> {
        self.members.iter().find(|it| it.agent_id == id)
    }

    pub(crate) fn member_mut(&mut self, name: &str) -> Option<&mut ObservedMember> {
        self.members.iter_mut().find(|it| it.name == name)
    }

    /// The name under which the observed session acts.
    pub(crate) fn own_name(&self) -> &str {
        self.own_name.as_deref().unwrap_or(match self.role {
            TeamRole::Lead => LEAD,
            TeamRole::Teammate => "teammate",
        })
    }

    /// Marks the tasks that wait for themselves.
    pub(crate) fn mark_cycles(&mut self) {
        for id in cycle::members(&self.tasks) {
            if let Some(task) = self.tasks.get_mut(&id) {
                task.in_cycle = true;
            }
        }
    }
}

impl PartialEq for ObservedTeam {
    fn eq(&self, other: &Self) -> bool {
        // `missing` follows from the tasks.
        let Self {
            name,
            role,
            own_name,
            is_partial,
            tentative,
            members,
            tasks,
            deleted,
            missing: _,
        } = self;
        *name == other.name
            && *role == other.role
            && *own_name == other.own_name
            && *is_partial == other.is_partial
            && *tentative == other.tentative
            && *members == other.members
            && *tasks == other.tasks
            && *deleted == other.deleted
    }
}

impl Eq for ObservedTeam {}

impl From<ObservedTeam> for TeamJson {
    fn from(team: ObservedTeam) -> Self {
        Self {
            name: team.name,
            role: team.role,
            own_name: team.own_name,
            partial: team.is_partial,
            tentative: team.tentative,
            members: team.members,
            tasks: team.tasks.into_values().collect(),
            deleted: team.deleted,
        }
    }
}

impl TryFrom<TeamJson> for ObservedTeam {
    type Error = String;

    fn try_from(written: TeamJson) -> Result<Self, String> {
        if written.name.is_empty() {
            return Err("a team has a name".to_owned());
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = written.members.iter().find(|it| !names.insert(it.name.as_str())) {
            return Err(format!("two members are called `{}`", twice.name));
        }
        let n_tasks = written.tasks.len();
        let tasks: BTreeMap<_, _> =
            written.tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
        if tasks.len() < n_tasks {
            return Err("two tasks have the same id".to_owned());
        }
        if tasks.values().any(|task| task.status == TaskStatus::Deleted) {
            return Err("a deleted task is not on the board".to_owned());
        }
        let named = tasks.values().flat_map(|task| task.blocked_by.iter().chain(&task.blocks));
        let missing = named.filter(|id| !tasks.contains_key(*id)).cloned().collect();
        Ok(Self {
            missing,
            name: written.name,
            role: written.role,
            own_name: written.own_name,
            is_partial: written.partial,
            tentative: written.tentative,
            members: written.members,
            tasks,
            deleted: written.deleted,
        })
    }
}
