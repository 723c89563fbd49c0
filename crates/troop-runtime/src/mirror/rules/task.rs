//! Decides what becomes of the file of a task.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value};
use troop_model::{
    Command, Metadata, NewTask, Refusal, State, Status, Task, TaskCommand, TaskNumber, TaskUpdate,
    Time,
};
use uuid::Uuid;

use crate::{
    disk::{DiskFile, MAX_FILE, Stamp},
    mirror::{
        difference::{DiffReading, TaskStep, WantedStep, difference, named},
        ids::{FileId, Ids},
        is_external_in,
        layout::{self, FileStatus, Layout, Names, TaskFile, Unreadable},
        written::WrittenNote,
    },
};

/// A file as it was last written or taken.
#[derive(Clone, Debug)]
pub struct KnownFile {
    pub stamp: Stamp,
    pub raw: Map<String, Value>,
}

/// The board's view of the task of a file.
#[derive(Debug)]
pub enum TaskOnBoard {
    Live(Box<LiveTask>),
    /// It is over and archived: nothing about it changes.
    Over,
    /// It never existed, or is gone.
    Nothing,
}

#[derive(Debug)]
pub struct LiveTask {
    pub task: Arc<Task>,
    /// The file as the board would have it.
    pub raw: Map<String, Value>,
    /// Whether another program holds the task and half of its lease is over.
    pub wants_renewal: bool,
}

impl TaskOnBoard {
    /// `kept` is the current content: other programs may keep fields in the file that the board does not know.
    pub fn new(
        state: &State,
        layout: Layout,
        ids: &Ids,
        number: TaskNumber,
        kept: Option<&Map<String, Value>>,
        now: Time,
    ) -> Self {
        match state.tasks().shared(number) {
            Some(task) => {
                let raw = layout::write_task(layout, state, &task, ids, kept);
                let lease = state.team().map(|team| team.settings.lease() / 2).unwrap_or_default();
                let is_low = task.hold.lease_until.is_some_and(|until| until.since(now) < lease);
                let is_theirs = task.owner.as_ref().is_some_and(|it| is_external_in(state, it));
                Self::Live(Box::new(LiveTask { task, raw, wants_renewal: is_low && is_theirs }))
            }
            None if state.tasks().status(number).is_some() => Self::Over,
            None => Self::Nothing,
        }
    }
}

/// Whether a file that is as it was seen last needs no change, because the board still says the same.
pub fn is_at_rest(known: &KnownFile, ours: &TaskOnBoard) -> bool {
    match ours {
        TaskOnBoard::Live(ours) => ours.raw == known.raw,
        TaskOnBoard::Over => true,
        TaskOnBoard::Nothing => false,
    }
}

/// Whether a file that this mirror has not seen yet says what some mirror wrote there, and the board still says that.
pub fn is_unchanged(found: &DiskFile, written: &WrittenNote, ours: &TaskOnBoard) -> bool {
    let is_ours = read_file(found).is_ok_and(|raw| raw == written.raw);
    let is_touched = found.stamp != written.stamp;
    let is_so = match ours {
        TaskOnBoard::Live(ours) => ours.raw == written.raw && !(is_touched && ours.wants_renewal),
        TaskOnBoard::Over | TaskOnBoard::Nothing => false,
    };
    is_ours && is_so
}

/// The relation of a file to the task whose path it has.
#[derive(Debug)]
pub enum TaskCase {
    /// It is the file of this task; the difference from before is what somebody wants.
    Change(Box<LiveTask>),
    /// Somebody made another task under the id of this one, at the same time.
    Displaces(TaskNumber),
    /// Its task is over.
    Over,
    /// Its task is deleted, so the file goes.
    Deleted,
    /// The file goes if the log has had the task with this id; else it is new.
    DeletedIfLogged(Uuid),
    New,
}

pub fn task_case(
    state: &State,
    layout: Layout,
    raw: &Map<String, Value>,
    is_known: bool,
    ours: TaskOnBoard,
) -> TaskCase {
    match ours {
        TaskOnBoard::Live(ours) if is_known || layout::is_of(layout, raw, &ours.task) => {
            TaskCase::Change(ours)
        }
        TaskOnBoard::Live(ours) => TaskCase::Displaces(ours.task.number),
        TaskOnBoard::Over => TaskCase::Over,
        TaskOnBoard::Nothing if is_known => TaskCase::Deleted,
        // People make a new task by copying the file of one that the board has. The file of a task that it never had is
        // somebody else's.
        TaskOnBoard::Nothing => match layout::own_id(layout, raw) {
            Some(id) if state.tasks().with_id_prefix(&id.to_string()).count() == 0 => {
                TaskCase::DeletedIfLogged(id)
            }
            _ => TaskCase::New,
        },
    }
}

/// The facts about a file that somebody changed.
#[derive(Debug)]
pub struct ChangeFacts<'a> {
    pub layout: Layout,
    pub names: &'a Names,
    /// As some mirror wrote or took it last.
    pub known: Option<&'a KnownFile>,
    pub ours: &'a LiveTask,
    pub stamp: Stamp,
    pub raw: &'a Map<String, Value>,
}

/// The request of the writer of a changed file.
#[derive(Debug)]
pub struct WantedChange {
    pub before: TaskFile,
    pub now: TaskFile,
    pub reading: DiffReading,
    pub steps: Vec<WantedStep>,
    /// Whether its holder has shown that it is alive, and wants nothing else.
    pub renews: bool,
}

pub fn change(facts: &ChangeFacts<'_>) -> Result<WantedChange, Unreadable> {
    let ChangeFacts { layout, names, known, ours, stamp, raw } = *facts;
    let is_later = stamp.at > ours.task.provenance.updated_at;
    let reading =
        if known.is_some() || is_later { DiffReading::Whole } else { DiffReading::Forward };
    let is_touched = known.is_some_and(|it| it.raw == *raw && it.stamp != stamp);
    let last = known.map_or(&ours.raw, |it| &it.raw);
    let read = |raw, before| whole_task(layout, raw, before, names);
    let before = read(last, None);
    let now = read(raw, Some(last));
    // If both are unreadable, the reason for the newer one helps: somebody can repair that.
    let (before, now) = match (before, now) {
        (Ok(before), Ok(now)) => (before, now),
        (_, Err(reason)) | (Err(reason), _) => return Err(reason),
    };
    let mut steps = difference(&before, &now, reading);
    let said = read(&ours.raw, None);
    if said.is_ok_and(|it| difference(&it, &now, DiffReading::Whole).is_empty()) {
        // The board says so already: a mirror was killed after it gave the command, or somebody gave it in another way.
        steps.clear();
    }
    let renews = steps.is_empty() && is_touched && ours.wants_renewal;
    Ok(WantedChange { before, now, reading, steps, renews })
}

/// The command for a task that a file makes.
pub fn new_task(file: &TaskFile, names: &Names, ids: &Ids) -> Result<Command, Refusal> {
    let assignee = file.assignee.clone().flatten();
    let assignee = assignee.map(|it| named(&it, &|it| names.find(it))).transpose()?;
    let blocked_by = file.waits_for.iter().flatten().map(|it| ids.meant(it));
    Ok(Command::Task(TaskCommand::Create(NewTask {
        subject: file.subject.clone().unwrap_or_default(),
        description: file.description.clone().unwrap_or_default(),
        assignee,
        blocked_by: blocked_by.collect(),
        metadata: Metadata(file.metadata.clone().unwrap_or_default()),
        ..NewTask::default()
    })))
}

/// A member that left may have completed a task before. That counts if nobody else has begun the task since, and is done in the
/// lead's name.
pub fn in_leads_name(wanted: WantedStep, status: Option<Status>, names: &Names) -> WantedStep {
    let WantedStep { by: Some(who), step: TaskStep::Complete { result } } = &wanted else {
        return wanted;
    };
    let is_free = matches!(status, Some(Status::Pending | Status::Blocked));
    if names.find(who).is_some() || !is_free {
        return wanted;
    }
    let result = result.clone().or_else(|| Some(format!("completed by {who}")));
    WantedStep { by: None, step: TaskStep::Complete { result } }
}

/// Whether a task waits for another already.
#[derive(Debug, PartialEq, Eq)]
pub enum BlockCase {
    Waits,
    Free,
    /// The board does not know the other task. Its file may say so, and was not taken yet.
    AskFile(FileId),
}

pub fn block_case(state: &State, ids: &Ids, other: &str, number: TaskNumber) -> BlockCase {
    match state.resolve(&ids.meant(other)) {
        Ok(found) => {
            let task = state.tasks().shared(found);
            let waits = task.is_some_and(|it| it.blocked_by.iter().any(|it| it.task == number));
            if waits { BlockCase::Waits } else { BlockCase::Free }
        }
        Err(Refusal::UnknownTask { .. }) => {
            FileId::new(other).map_or(BlockCase::Free, BlockCase::AskFile)
        }
        Err(_) => BlockCase::Free,
    }
}

/// The command that makes one task wait for another.
pub fn blocks(ids: &Ids, other: &str, number: TaskNumber) -> Command {
    let add_blocked_by = vec![number.into()];
    let change = TaskUpdate { add_blocked_by, ..TaskUpdate::default() };
    Command::Task(TaskCommand::Update { task: ids.meant(other), change: Box::new(change) })
}

/// The facts about a task whose file is missing.
#[derive(Debug)]
pub struct GoneFacts<'a> {
    pub layout: Layout,
    pub id: &'a FileId,
    /// The files that some mirror has written or taken.
    pub noted: &'a [FileId],
    /// Those of them that exist.
    pub present: &'a BTreeSet<FileId>,
    /// The highest id that was ever used, as noted by the client.
    pub mark: Option<&'a str>,
}

/// Why a file is missing that some mirror wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoneCase {
    /// Somebody deleted all files.
    AllLost,
    /// Nobody deletes tasks like that.
    Lost,
    /// Somebody may be deleting the task.
    Deleted,
}

pub fn gone(facts: &GoneFacts<'_>) -> GoneCase {
    if !facts.noted.iter().any(|it| facts.present.contains(it)) {
        return GoneCase::AllLost;
    }
    // The client may have deleted it; it counts the ids that it has used.
    let highest = facts.mark.and_then(|it| it.parse::<u64>().ok());
    let number = facts.id.as_str().parse::<u64>();
    let is_used = number.is_ok_and(|number| highest.is_some_and(|it| it >= number));
    if facts.layout == Layout::Claude && is_used { GoneCase::Deleted } else { GoneCase::Lost }
}

/// Whether an id is higher than the noted highest. A note that is no number is left to others.
pub fn is_higher(number: u64, mark: Option<&str>) -> bool {
    mark.is_none_or(|text| text.is_empty() || text.parse().is_ok_and(|it: u64| it < number))
}

/// What to write before a command is given, if the file says that the task is free, and the board would not say so afterwards.
pub fn announcement(
    layout: Layout,
    theirs: &Map<String, Value>,
    foreseen: TaskOnBoard,
) -> Option<Map<String, Value>> {
    let TaskOnBoard::Live(ours) = foreseen else { return None };
    let is_free = |raw| {
        let read = layout::read_task(layout, raw, None);
        read.is_ok_and(|it| it.status == FileStatus::Pending && it.owner.flatten().is_none())
    };
    (is_free(theirs) && !is_free(&ours.raw)).then_some(ours.raw)
}

/// How the file has to be at the end of a visit.
#[derive(Debug, PartialEq)]
pub enum FilePut {
    /// It is right already.
    Agree(Map<String, Value>),
    /// Written over what lies there.
    Write(Map<String, Value>),
    /// It is created.
    Make(Map<String, Value>),
    /// Left as it is.
    Leave,
    /// Removed.
    Remove,
}

/// `theirs` is what lies there; none if there is no file.
pub fn put(ours: TaskOnBoard, theirs: Option<&Map<String, Value>>) -> FilePut {
    match (ours, theirs) {
        (TaskOnBoard::Live(ours), Some(theirs)) if *theirs == ours.raw => FilePut::Agree(ours.raw),
        (TaskOnBoard::Live(ours), Some(_)) => FilePut::Write(ours.raw),
        (TaskOnBoard::Live(ours), None) => FilePut::Make(ours.raw),
        (TaskOnBoard::Over, _) => FilePut::Leave,
        (TaskOnBoard::Nothing, _) => FilePut::Remove,
    }
}

/// Reads a file that holds one object.
pub fn read_file(found: &DiskFile) -> Result<Map<String, Value>, Unreadable> {
    layout::read_object(found.bytes.as_deref().ok_or_else(|| too_large(found))?)
}

pub fn too_large(found: &DiskFile) -> Unreadable {
    let size = found.stamp.size;
    let limit = MAX_FILE >> 20;
    Unreadable::Shape(format!("it is not a file of at most {limit} MiB; it has {size} bytes"))
}

/// Reads what a file says about a task, with members by the names that the board has for them.
pub fn whole_task(
    layout: Layout,
    raw: &Map<String, Value>,
    before: Option<&Map<String, Value>>,
    names: &Names,
) -> Result<TaskFile, Unreadable> {
    let mut file = layout::read_task(layout, raw, before)?;
    let canonical = |name: Option<String>| name.map(|it| names.canonical(&it));
    file.owner = file.owner.map(canonical);
    file.assignee = file.assignee.map(canonical);
    file.created_by = canonical(file.created_by);
    Ok(file)
}
