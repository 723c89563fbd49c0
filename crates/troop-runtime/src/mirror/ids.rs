//! The ids of task files: a task's own number, unless another program chose the id or took that of a task.

use std::{borrow::Borrow, collections::BTreeMap, fmt};

use smol_str::SmolStr;
use troop_model::{MemberName, Origin, State, Task, TaskNumber, TaskRef};

use super::layout::{Layout, TaskIds};

/// The longest id in bytes: files beside it get longer names.
const MAX_ID: usize = 200;

/// The peer kind of tasks that were taken from a file.
const FILE: &str = "file";

/// The id of a task's file: a name and never a path, even if another program wrote it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(String);

impl FileId {
    /// None if the mirror visits no file of such a name.
    pub fn new(text: &str) -> Option<Self> {
        let is_name = !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\0']);
        (is_name && text.len() <= MAX_ID).then(|| Self(text.to_owned()))
    }

    /// The id of the file that is called `7.json`.
    pub fn of_file(name: &str) -> Option<Self> {
        Self::new(name.strip_suffix(".json")?)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn file_name(&self) -> String {
        format!("{}.json", self.0)
    }

    /// The origin of a task that was taken from this file. Unlike metadata, tools cannot set it.
    pub fn origin(&self) -> Origin {
        Origin {
            peer_kind: Some(SmolStr::new_static(FILE)),
            local_key: Some(SmolStr::new(&self.0)),
            ..Origin::default()
        }
    }

    /// The file that a task was taken from.
    pub fn of_task(task: &Task) -> Option<Self> {
        Self::of_origin(&task.provenance.origin)
    }

    /// The file that an origin names.
    pub fn of_origin(origin: &Origin) -> Option<Self> {
        let Origin { peer_kind, local_key, .. } = origin;
        let key = local_key.as_ref().filter(|_| peer_kind.as_deref() == Some(FILE))?;
        Self::new(key)
    }

    /// The id of a task that has no other.
    pub fn natural(layout: Layout, number: TaskNumber) -> Self {
        Self(match layout {
            Layout::Seeds => number.to_string(),
            Layout::Claude => number.0.to_string(),
        })
    }

    /// The id of a task whose natural one somebody else has taken.
    fn other(layout: Layout, number: TaskNumber) -> Self {
        Self(format!("{}-troop", Self::natural(layout, number)))
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Borrow<str> for FileId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Ids of tasks in one team's files.
#[derive(Clone, Debug)]
pub struct Ids {
    layout: Layout,
    given: BTreeMap<TaskNumber, FileId>,
    numbers: BTreeMap<FileId, TaskNumber>,
    pub lead: Option<MemberName>,
}

impl Ids {
    /// The ids that other programs gave to tasks of the board.
    pub fn new(layout: Layout, state: &State) -> Self {
        let lead = state.lead().map(|it| it.name.clone());
        let mut ids = Self { layout, given: BTreeMap::new(), numbers: BTreeMap::new(), lead };
        for task in state.tasks().iter() {
            if let Some(id) = FileId::of_task(task) {
                ids.learn(&id, task.number);
            }
        }
        ids
    }

    /// Notes that a task was taken from a file. Of several, the last one has it.
    pub fn learn(&mut self, id: &FileId, number: TaskNumber) {
        if self.numbers.get(id).is_none_or(|it| *it < number) {
            self.give(id, number);
        }
    }

    /// Notes the id of a task's file. If another task has it, that one gets a new id.
    pub fn give(&mut self, id: &FileId, number: TaskNumber) {
        if FileId::natural(self.layout, number) == *id {
            return;
        }
        let before = self.numbers.insert(id.clone(), number).filter(|it| *it != number);
        if let Some(old) = self.given.insert(number, id.clone()).filter(|it| it != id) {
            self.numbers.remove(&old);
        }
        if let Some(owner) = before {
            self.given.remove(&owner);
            if self.numbers.contains_key(&FileId::natural(self.layout, owner)) {
                self.displace(owner);
            }
        }
        if let Some(owner) = self.natural(&id.0) {
            self.displace(owner);
        }
    }

    /// Gives a task another id, because somebody took its own.
    pub fn displace(&mut self, number: TaskNumber) {
        if !self.given.contains_key(&number) {
            let id = FileId::other(self.layout, number);
            self.numbers.insert(id.clone(), number);
            self.given.insert(number, id);
        }
    }

    /// The id of a task's file.
    pub fn of(&self, number: TaskNumber) -> FileId {
        self.given.get(&number).cloned().unwrap_or_else(|| FileId::natural(self.layout, number))
    }

    /// The task whose file has this id.
    pub fn number(&self, id: &str) -> Option<TaskNumber> {
        self.numbers
            .get(id)
            .copied()
            .or_else(|| self.natural(id).filter(|number| !self.given.contains_key(number)))
    }

    /// The task that an id in a file means. The board refuses it if there is none.
    pub fn meant(&self, id: &str) -> TaskRef {
        match (self.number(id), id.parse()) {
            (Some(number), _) => TaskRef::Number(number),
            (None, Ok(task)) => task,
            (None, Err(_)) => TaskRef::Id(id.to_owned()),
        }
    }

    fn natural(&self, id: &str) -> Option<TaskNumber> {
        let digits = match self.layout {
            Layout::Seeds => id.strip_prefix("task-")?,
            Layout::Claude => id,
        };
        let number = TaskNumber(digits.parse().ok()?);
        (FileId::natural(self.layout, number).0 == id).then_some(number)
    }
}

impl TaskIds for Ids {
    fn id_of(&self, number: TaskNumber) -> String {
        self.of(number).0
    }
}

#[cfg(test)]
mod tests;
