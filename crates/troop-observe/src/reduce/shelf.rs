//! The tasks of a session that has no team yet. Since 2.1.178 a team appears with its first teammate, and then these tasks
//! become the team's. Many sessions keep a plain list and never have a team, so the shelf is bounded.

use serde::{Deserialize, Serialize};

use super::delete_task;
use crate::{
    diff::ObservedChange,
    team::{ObservedTask, ObservedTaskId, ObservedTeam, TeamRole},
};

/// How many tasks we keep, and how many bytes of text. The oldest go first.
const MAX_TASKS: usize = 256;
const MAX_BYTES: usize = 1 << 20;

/// Tasks that may become a team's.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Shelf {
    /// The future team, whose name is not known yet.
    unnamed: Option<Box<ObservedTeam>>,
}

impl Shelf {
    pub(super) fn clear(&mut self) {
        self.unnamed = None;
    }

    /// Changes the kept tasks.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut ObservedTeam) -> Vec<ObservedChange>) {
        let nobody = || Box::new(ObservedTeam::new("unnamed".to_owned(), TeamRole::Lead));
        let team = self.unnamed.get_or_insert_with(nobody);
        drop(change(team));
        while team.tasks.len() > MAX_TASKS
            || team.tasks.values().map(n_bytes).sum::<usize>() > MAX_BYTES
        {
            let Some((_, oldest)) = team.tasks.pop_first() else { break };
            drop(delete_task(team, oldest));
        }
        for ids in [&mut team.deleted, &mut team.missing] {
            while ids.len() > MAX_TASKS {
                ids.pop_first();
            }
        }
    }

    pub(crate) fn knows(&self, task: &ObservedTaskId) -> bool {
        self.unnamed.as_ref().is_some_and(|it| it.knows(task))
    }

    /// Moves all tasks to a team that we just discovered.
    pub(super) fn give_to(&mut self, team: &mut ObservedTeam) -> Vec<ObservedChange> {
        let Some(unnamed) = self.unnamed.take() else { return Vec::new() };
        team.tasks = unnamed.tasks;
        team.deleted = unnamed.deleted;
        team.missing = unnamed.missing;
        let made = |task: &ObservedTask| ObservedChange::Task {
            before: None,
            after: Box::new(task.clone()),
        };
        team.tasks.values().map(made).collect()
    }
}

fn n_bytes(task: &ObservedTask) -> usize {
    let texts = [&task.description, &task.owner, &task.active_form].into_iter().flatten();
    let ids = task.blocked_by.iter().chain(&task.blocks).map(|it| it.as_str().len());
    task.subject.len() + texts.map(String::len).sum::<usize>() + ids.sum::<usize>()
}
