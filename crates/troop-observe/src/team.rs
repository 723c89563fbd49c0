//! What is known of a team: who belongs to it, and what there is to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::cycle;

/// Nothing that is longer is an identifier.
const MAX_ID: usize = 256;
/// How the lead of a team is called in Claude Code.
pub(crate) const LEAD: &str = "team-lead";

/// A session, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Where it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The version of the program that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The names of the members, for consumers that know no teams.
    pub agents: Vec<String>,
    /// The team, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<Team>,
}

/// Whose session it is that is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TeamRole {
    /// The one that made the team.
    Lead,
    /// One that works in it.
    Teammate,
}

/// How a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// At work.
    Active,
    /// Waiting for something to do.
    Idle,
    /// Gone.
    Shutdown,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has begun it.
    Pending,
    /// Somebody works on it.
    InProgress,
    /// Done.
    Completed,
    /// Taken from the board: only seen in the event that says so.
    Deleted,
}

impl TaskStatus {
    /// Reads a status by any name that is used for it.
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

/// The identifier of a task. Numbers are in the order of numbers, and before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId {
    // The order of these is the order of ids.
    is_word: bool,
    number: u64,
    text: String,
}

impl TaskId {
    /// An identifier as somebody wrote it: `7`, `#7`. Nothing, or what is too long, is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('#');
        if text.is_empty() || text.len() > MAX_ID {
            return None;
        }
        let number = text.parse().ok();
        Some(Self { is_word: number.is_none(), number: number.unwrap_or(0), text: text.to_owned() })
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for TaskId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| D::Error::custom("an id is neither empty nor huge"))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "this is what serde asks for")]
fn is_false(it: &bool) -> bool {
    !it
}

/// Who belongs to a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Unique in the team.
    pub name: String,
    /// Unique in the world, more or less: `alice@my-team`.
    pub agent_id: String,
    /// What it was made to be.
    pub agent_type: String,
    /// How it is.
    pub status: MemberStatus,
    /// The model that it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// In which colour it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The tool use that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Whether that was asked for but has not been seen to happen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tentative: bool,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Unique for the life of the team. Of a task that is tentative, the tool use that asks for it.
    pub id: TaskId,
    /// What it is about.
    pub subject: String,
    /// What is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How far it is.
    pub status: TaskStatus,
    /// Who holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What is shown while it is done: `Fixing the parser`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// What must be done before.
    pub blocked_by: BTreeSet<TaskId>,
    /// What waits for it.
    pub blocks: BTreeSet<TaskId>,
    /// Whether it waits for itself, over others.
    #[serde(default, skip_serializing_if = "is_false")]
    pub in_cycle: bool,
    /// Whether something about it was asked for but has not been seen to happen.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tentative: bool,
}

impl Task {
    pub(crate) fn new(id: TaskId, subject: String) -> Self {
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

/// A team, as far as it was seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Team {
    pub(crate) name: String,
    pub(crate) role: TeamRole,
    /// How the observed session is called in it.
    pub(crate) own_name: Option<String>,
    /// Whether the team was there before the stream began, so that there may be more than was seen.
    pub(crate) is_partial: bool,
    pub(crate) tentative: bool,
    /// In the order in which they came.
    pub(crate) members: Vec<Member>,
    pub(crate) tasks: BTreeMap<TaskId, Task>,
    /// Ids that are never used again.
    pub(crate) deleted: BTreeSet<TaskId>,
    /// Ids that tasks name, or named, but that were not seen on the board: where to look when one comes.
    pub(crate) missing: BTreeSet<TaskId>,
}

/// A team as it is written.
#[derive(Clone, Serialize, Deserialize)]
struct Written {
    name: String,
    role: TeamRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_name: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    partial: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    tentative: bool,
    members: Vec<Member>,
    tasks: Vec<Task>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    deleted: BTreeSet<TaskId>,
}

impl Team {
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

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose session it is that is observed.
    #[must_use]
    pub fn role(&self) -> TeamRole {
        self.role
    }

    /// Whether the team was there before the stream began, so that there may be more than was seen.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Whether it is the team that its session has without anybody making one.
    fn is_implicit(&self) -> bool {
        let number = self.name.strip_prefix("session-");
        number.is_some_and(|it| it.len() == 8 && it.bytes().all(|it| it.is_ascii_hexdigit()))
    }

    /// Whether tasks and members may have been there before the team was known of: it began earlier, or is known of only
    /// since somebody joined it.
    pub(crate) fn may_have_more(&self) -> bool {
        self.is_partial || self.is_implicit()
    }

    /// Notes that the session was seen from its beginning; so was its team, if nobody had to make that.
    pub(crate) fn is_seen_from_beginning(&mut self) {
        self.is_partial &= !self.is_implicit();
    }

    /// Whether that it is there, or will be gone, was asked for but has not been seen to happen.
    #[must_use]
    pub fn is_tentative(&self) -> bool {
        self.tentative
    }

    /// Who belongs to it, in the order in which they came.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member of this name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|it| it.name == name)
    }

    /// What there is to do, in the order of the ids.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks.values()
    }

    /// The task with this id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(&TaskId::new(id)?)
    }

    pub(crate) fn member_mut(&mut self, name: &str) -> Option<&mut Member> {
        self.members.iter_mut().find(|it| it.name == name)
    }

    /// Who acts when the observed session does.
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

impl PartialEq for Team {
    fn eq(&self, other: &Self) -> bool {
        // What is missing follows from the tasks.
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

impl Eq for Team {}

impl From<Team> for Written {
    fn from(team: Team) -> Self {
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

impl TryFrom<Written> for Team {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
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
