//! What there is to do in a session that has no team yet. Since 2.1.178 nobody makes one: it is there when the first teammate
//! comes, and then all of this is the team's. Many sessions keep a plain list and never have a team, so only so much is kept.

use serde::{Deserialize, Serialize};

use super::delete_task;
use crate::{
    diff::Change,
    team::{Task, Team, TeamRole},
};

/// How many tasks are kept, and how much of what is said about them. The oldest go first.
const MAX_TASKS: usize = 256;
const MAX_BYTES: usize = 1 << 20;

/// Tasks that may become those of a team.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Shelf {
    /// The team that they would be of, whose name is not known.
    unnamed: Option<Box<Team>>,
}

impl Shelf {
    pub(super) fn clear(&mut self) {
        self.unnamed = None;
    }

    /// Changes what is kept.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Team) -> Vec<Change>) {
        let nobody = || Box::new(Team::new("unnamed".to_owned(), TeamRole::Lead));
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

    /// Gives all of it to a team that was just found.
    pub(super) fn give_to(&mut self, team: &mut Team) -> Vec<Change> {
        let Some(unnamed) = self.unnamed.take() else { return Vec::new() };
        team.tasks = unnamed.tasks;
        team.deleted = unnamed.deleted;
        team.missing = unnamed.missing;
        let made = |task: &Task| Change::Task { before: None, after: Box::new(task.clone()) };
        team.tasks.values().map(made).collect()
    }
}

fn n_bytes(task: &Task) -> usize {
    let texts = [&task.description, &task.owner, &task.active_form].into_iter().flatten();
    let ids = task.blocked_by.iter().chain(&task.blocks).map(|it| it.as_str().len());
    task.subject.len() + texts.map(String::len).sum::<usize>() + ids.sum::<usize>()
}
