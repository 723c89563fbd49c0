//! Where a team's files are and what is in them: a task, a message and a config as each layout writes them.

mod claude;
mod seeds;
mod value;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use serde_json::{Map, Value};
use thiserror::Error;
use troop_model::{
    MemberName, Message, MessageKind, State, Status, Task, TaskNumber, TeamName, Time,
};
use uuid::Uuid;

use super::ids::FileId;
pub(super) use value::{read_array, read_object};

/// The key of a config entry with the id of a member that the board knows, or knew.
pub const MEMBER_ID: &str = "memberId";

/// The format of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One file per task, one per message; locks that the system releases.
    #[default]
    Seeds,
    /// Claude Code's own.
    Claude,
}

/// There is no such layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no layout `{0}`; the layouts are `seeds` and `claude`")]
pub struct UnknownLayout(String);

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<Self, UnknownLayout> {
        match text {
            "seeds" => Ok(Self::Seeds),
            "claude" => Ok(Self::Claude),
            other => Err(UnknownLayout(troop_model::preview(other, 40))),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seeds => "seeds",
            Self::Claude => "claude",
        })
    }
}

/// Where one team's files are.
#[derive(Clone, Debug)]
pub struct MirrorPlaces {
    pub layout: Layout,
    pub team: TeamName,
    root: PathBuf,
}

impl MirrorPlaces {
    pub fn new(layout: Layout, root: &Path, team: TeamName) -> Self {
        Self { layout, team, root: root.to_owned() }
    }

    /// This team's files in another layout.
    pub fn in_layout(&self, layout: Layout) -> Self {
        Self { layout, ..self.clone() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn tasks(&self) -> PathBuf {
        self.root.join("tasks").join(self.team.as_str())
    }

    pub fn team(&self) -> PathBuf {
        self.root.join("teams").join(self.team.as_str())
    }

    pub fn config(&self) -> PathBuf {
        self.team().join("config.json")
    }

    pub fn inboxes(&self) -> PathBuf {
        self.team().join(match self.layout {
            Layout::Seeds => "inbox",
            Layout::Claude => "inboxes",
        })
    }

    pub fn task(&self, id: &FileId) -> PathBuf {
        self.tasks().join(id.file_name())
    }

    /// Where Claude Code notes the highest id that it has used.
    pub fn mark(&self) -> PathBuf {
        self.tasks().join(".highwatermark")
    }

    /// A member's inbox: a folder of messages, or one file with all of them.
    pub fn inbox(&self, member: &str) -> PathBuf {
        match self.layout {
            Layout::Seeds => self.inboxes().join(member),
            Layout::Claude => self.inboxes().join(format!("{member}.json")),
        }
    }

    /// Notes about the messages in the inboxes of this folder.
    pub fn all_noted(&self) -> PathBuf {
        self.team().join(".delivered")
    }

    /// Notes about the messages in one inbox.
    pub fn noted(&self, member: &str) -> PathBuf {
        self.all_noted().join(member)
    }

    /// The lock that mirrors take before they visit an inbox that other programs do not lock.
    pub(super) fn inbox_lock(&self, member: &str) -> PathBuf {
        self.all_noted().join(format!(".{member}.lock"))
    }

    /// Notes about what troop wrote last into this folder's files.
    pub fn all_written(&self) -> PathBuf {
        self.team().join(".written")
    }

    /// Notes about the files of tasks.
    pub fn written_tasks(&self) -> PathBuf {
        self.all_written().join("tasks")
    }

    /// The note about the file of one task.
    pub fn written_task(&self, id: &FileId) -> PathBuf {
        self.written_tasks().join(id.file_name())
    }

    /// The note about the config.
    pub fn written_config(&self) -> PathBuf {
        self.all_written().join("config.json")
    }

    /// The note about which files are in step.
    pub fn in_step(&self) -> PathBuf {
        self.all_written().join("in-step.json")
    }

    /// A file whose timestamp is when reading began.
    pub fn began(&self) -> PathBuf {
        self.all_written().join("began")
    }

    /// A path as people see it: relative to the shared folder.
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// The status of a task, in the words of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    Pending,
    InProgress,
    InReview,
    Completed,
    Failed,
    Cancelled,
    Deleted,
}

impl FileStatus {
    /// The status in a file; a task without one has not begun.
    fn read(file: &Map<String, Value>) -> Result<Self, Unreadable> {
        let word = file.get("status").map(|it| value::read_text("status", it)).transpose()?;
        let word = word.flatten().unwrap_or_else(|| "pending".to_owned());
        Self::parse(&word).ok_or_else(|| {
            let word = troop_model::preview(&word, 40);
            Unreadable::Shape(format!("there is no status `{word}`"))
        })
    }

    /// Reads any word that some layout has for a status.
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "pending" | "blocked" => Self::Pending,
            "in_progress" | "claimed" | "stale" => Self::InProgress,
            "in_review" => Self::InReview,
            "completed" | "done" => Self::Completed,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            "deleted" => Self::Deleted,
            _ => return None,
        })
    }

    pub fn is_held(self) -> bool {
        matches!(self, Self::InProgress | Self::InReview)
    }

    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled | Self::Deleted)
    }
}

/// The contents of a task's file. A missing field is `None`, and stays as it is on the board.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskFile {
    pub subject: Option<String>,
    pub description: Option<String>,
    pub status: FileStatus,
    /// Its holder; `Some(None)` for nobody.
    pub owner: Option<Option<String>>,
    /// The member that it is reserved for; `Some(None)` for nobody.
    pub assignee: Option<Option<String>>,
    /// The ids of the tasks that it waits for.
    pub waits_for: Option<Vec<String>>,
    /// The ids of the tasks that wait for it, if the layout has them.
    pub blocks: Option<Vec<String>>,
    pub created_by: Option<String>,
    pub result: Option<String>,
    pub metadata: Option<Map<String, Value>>,
}

/// A message in a file from one member to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxLetter {
    pub from: String,
    pub kind: MessageKind,
    pub content: String,
    pub summary: Option<String>,
    /// The request that it is or answers, as its writer calls it.
    pub request_id: Option<String>,
    pub approve: Option<bool>,
    /// The whole text, unchanged.
    pub text: String,
}

/// Why a file cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// It may be half of a file that somebody is writing.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    #[error("{0}")]
    Shape(String),
}

/// The ids of task files.
pub trait TaskIds {
    /// The id of a task's file.
    fn id_of(&self, number: TaskNumber) -> String;
}

/// Writes a task as its file has it. Other fields that programs keep in the file stay there.
pub fn write_task(
    layout: Layout,
    state: &State,
    task: &Task,
    ids: &dyn TaskIds,
    kept: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let mut written = kept.cloned().unwrap_or_default();
    let said = match layout {
        Layout::Seeds => seeds::task(state, task, ids),
        Layout::Claude => claude::task(state, task, ids),
    };
    for (key, value) in said {
        if value.is_null() {
            written.shift_remove(&key);
        } else {
            written.insert(key, value);
        }
    }
    written
}

/// Reads what a file says about a task. Where it has two fields for one thing, the one that differs from `before` counts.
pub fn read_task(
    layout: Layout,
    file: &Map<String, Value>,
    before: Option<&Map<String, Value>>,
) -> Result<TaskFile, Unreadable> {
    match layout {
        Layout::Seeds => seeds::read_task(file, before),
        Layout::Claude => claude::read_task(file),
    }
}

/// Whether a file with the id of a task belongs to that task, and not to another one that took the same id.
pub fn is_of(layout: Layout, file: &Map<String, Value>, task: &Task) -> bool {
    let has_subject = file.get("subject").and_then(Value::as_str) == Some(&task.subject);
    has_subject
        || match layout {
            Layout::Seeds => seeds::is_of(file, task),
            Layout::Claude => claude::is_of(file, task),
        }
}

/// Whether a file is a private note of its program, and no task.
pub fn is_internal(layout: Layout, file: &Map<String, Value>) -> bool {
    match layout {
        Layout::Seeds => false,
        Layout::Claude => claude::is_internal(file),
    }
}

/// The id of the task in a file, if troop wrote the file or the one that it was copied from.
pub fn own_id(layout: Layout, file: &Map<String, Value>) -> Option<Uuid> {
    let id = match layout {
        Layout::Seeds => file.get("uuid"),
        Layout::Claude => file.get("metadata").and_then(|it| it.get("troop")?.get("id")),
    };
    id.and_then(Value::as_str)?.parse().ok()
}

/// A message to be written, with what the board knows about it.
#[derive(Clone, Debug)]
pub struct OutgoingLetter {
    pub message: Message,
    /// The request that it is or answers, by the asker's id for it.
    pub request_id: Option<String>,
    /// The task that it is about.
    pub task: Option<Arc<Task>>,
}

/// Writes a message as a file or an entry of one.
pub fn write_letter(
    layout: Layout,
    posted: &OutgoingLetter,
    names: &Names,
    ids: &dyn TaskIds,
) -> Map<String, Value> {
    match layout {
        Layout::Seeds => seeds::letter(&posted.message, posted.request_id.as_deref()),
        Layout::Claude => claude::letter(posted, names, ids),
    }
}

/// Reads a message from a file or an entry of one.
pub fn read_letter(layout: Layout, file: &Map<String, Value>) -> Result<InboxLetter, Unreadable> {
    match layout {
        Layout::Seeds => seeds::read_letter(file),
        Layout::Claude => claude::read_letter(file),
    }
}

/// The timestamp of a message, if it has one: RFC 3339, or milliseconds since 1970.
pub fn said_at(letter: &Map<String, Value>) -> Option<Time> {
    match letter.get("timestamp")? {
        Value::String(text) => text.parse().ok(),
        Value::Number(millis) => millis.as_i64()?.checked_mul(1_000).map(Time::from_micros),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes a team's config. Other fields that programs keep in it, or about its members, stay there.
pub fn write_config(
    layout: Layout,
    state: &State,
    kept: &Map<String, Value>,
    colors: &MemberColors,
) -> Map<String, Value> {
    let mut written = kept.clone();
    let Some(team) = state.team() else { return written };
    let said = match layout {
        Layout::Seeds => seeds::config(team),
        Layout::Claude => claude::config(team),
    };
    for (key, value) in said {
        if key != claude::LEAD_SESSION || !written.contains_key(&key) {
            written.insert(key, value);
        }
    }
    let names = Names::new(state);
    let entries = entries(kept);
    let entry = |member: &troop_model::Member| {
        let kept = entries.iter().find(|it| names.of_entry(it).as_ref() == Some(&member.name));
        let mut entry = kept.map_or_else(Map::new, |it| (*it).clone());
        let said = match layout {
            Layout::Seeds => seeds::member(team, member),
            Layout::Claude => claude::member(team, member),
        };
        for (key, value) in said {
            // An external program describes itself.
            if key == MEMBER_ID || !entry.contains_key(&key) {
                entry.insert(key, value);
            }
        }
        tell_process(member, &mut entry);
        if let Some(color) = colors.get(&member.name).filter(|_| !entry.contains_key(COLOR)) {
            entry.insert(COLOR.to_owned(), color.clone().into());
        }
        Value::Object(entry)
    };
    // In the order in which they joined, the lead first.
    let mut members: Vec<_> = state.members().collect();
    members.sort_by_key(|it| (it.role != troop_model::Role::Lead, it.joined_at, it.name.clone()));
    written.insert("members".to_owned(), members.into_iter().map(entry).collect());
    written
}

/// The colours of members, as their own messages have them. A config that has a colour keeps it.
pub(super) type MemberColors = BTreeMap<MemberName, String>;

/// The field of a member, and of a message, with the colour in which a client shows the member.
pub(super) const COLOR: &str = "color";

/// The process of a member that troop runs. Any other program tells its own.
fn tell_process(member: &troop_model::Member, entry: &mut Map<String, Value>) {
    match member.pid.filter(|_| member.is_running()) {
        Some(pid) => drop(entry.insert("pid".to_owned(), pid.into())),
        None if member.is_external() => {}
        None => drop(entry.remove("pid")),
    }
}

/// The members that a config lists.
pub fn entries(config: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    let members = config.get("members").and_then(Value::as_array);
    members.into_iter().flatten().filter_map(Value::as_object).collect()
}

/// Finds the members that names in files mean: by name, by id, and as Claude Code's `name@team`.
#[derive(Clone, Debug, Default)]
pub struct Names {
    members: Vec<(MemberName, Uuid)>,
    lead: Option<MemberName>,
    at_team: String,
}

impl Names {
    pub fn new(state: &State) -> Self {
        Self {
            members: state.members().map(|it| (it.name.clone(), it.id)).collect(),
            lead: state.lead().map(|it| it.name.clone()),
            at_team: state.team().map(|team| format!("@{}", team.name)).unwrap_or_default(),
        }
    }

    /// The member that a text names, if there is one.
    pub fn find(&self, text: &str) -> Option<MemberName> {
        let text = text.strip_suffix(&self.at_team).unwrap_or(text);
        let named = self.members.iter().find(|(name, _)| name.as_str() == text);
        let by_id = || {
            let id: Uuid = text.parse().ok()?;
            self.members.iter().find(|(_, it)| *it == id)
        };
        match named.or_else(by_id) {
            Some((name, _)) => Some(name.clone()),
            None => self.lead.clone().filter(|_| troop_model::LEAD_ALIASES.contains(&text)),
        }
    }

    /// A name as the board spells it, if the board knows the member.
    pub fn canonical(&self, text: &str) -> String {
        let bare = text.strip_suffix(&self.at_team).unwrap_or(text);
        self.find(text).map_or_else(|| bare.to_owned(), |name| name.to_string())
    }

    /// Whether a value of a file names a member.
    pub fn is_same(&self, value: Option<&Value>, member: &MemberName) -> bool {
        value.and_then(Value::as_str).and_then(|text| self.find(text)).as_ref() == Some(member)
    }

    pub fn lead(&self) -> Option<&MemberName> {
        self.lead.as_ref()
    }

    /// The member that an entry of a config is about.
    pub fn of_entry(&self, entry: &Map<String, Value>) -> Option<MemberName> {
        entry.get("name").and_then(Value::as_str).and_then(|name| self.find(name))
    }
}

/// The status of a task in a layout's file.
fn status_of(state: &State, task: &Task) -> Status {
    state.tasks().status(task.number).unwrap_or(task.status)
}

#[cfg(test)]
mod tests;
