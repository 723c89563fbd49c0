//! By which ids the files of tasks go: their own, unless another program gave them one or took theirs.

use std::collections::BTreeMap;

use troop_model::{MemberName, State, TaskNumber, TaskRef};

use super::layout::{Layout, TaskIds, file_of, natural_id, other_id};

/// Ids of tasks in one team's files.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    layout: Layout,
    given: BTreeMap<TaskNumber, String>,
    numbers: BTreeMap<String, TaskNumber>,
    pub(super) lead: Option<MemberName>,
}

impl Ids {
    /// The ids that other programs gave to tasks of the board.
    pub(super) fn new(layout: Layout, state: &State) -> Self {
        let lead = state.lead().map(|it| it.name.clone());
        let mut ids = Self { layout, given: BTreeMap::new(), numbers: BTreeMap::new(), lead };
        for task in state.tasks().iter() {
            if let Some(id) = file_of(task) {
                ids.give(id, task.number);
            }
        }
        ids
    }

    /// Notes under which id a task has its file. If that is another's, the other gets a new one.
    pub(super) fn give(&mut self, id: &str, number: TaskNumber) {
        if natural_id(self.layout, number) == id {
            return;
        }
        self.given.insert(number, id.to_owned());
        self.numbers.insert(id.to_owned(), number);
        if let Some(owner) = self.natural(id) {
            self.displace(owner);
        }
    }

    /// Gives a task another id than its own, which somebody took.
    pub(super) fn displace(&mut self, number: TaskNumber) {
        if !self.given.contains_key(&number) {
            let id = other_id(self.layout, number);
            self.numbers.insert(id.clone(), number);
            self.given.insert(number, id);
        }
    }

    /// The id of a task's file.
    pub(super) fn of(&self, number: TaskNumber) -> String {
        self.given.get(&number).cloned().unwrap_or_else(|| natural_id(self.layout, number))
    }

    /// The task whose file has this id.
    pub(super) fn number(&self, id: &str) -> Option<TaskNumber> {
        self.numbers
            .get(id)
            .copied()
            .or_else(|| self.natural(id).filter(|number| !self.given.contains_key(number)))
    }

    /// The task that is meant by an id in a file; the board says so if there is none.
    pub(super) fn meant(&self, id: &str) -> TaskRef {
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
        (natural_id(self.layout, number) == id).then_some(number)
    }
}

impl TaskIds for Ids {
    fn id_of(&self, number: TaskNumber) -> String {
        self.of(number)
    }
}
