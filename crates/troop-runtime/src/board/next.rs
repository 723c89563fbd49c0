//! The next task.

use std::sync::Arc;

use troop_model::{
    ActorKind, Asker, Command, MemberName, Refusal, State, Status, Task, TaskCommand, Time,
};

use super::Board;
use crate::{BoardResult, CommandRequest};

impl Board {
    /// The task that an actor would get if it claimed now; for a person, the first that any member could get.
    pub async fn next(&self, asker: Asker) -> BoardResult<Arc<Task>> {
        let now = self.clock.now();
        Ok(self.look(move |state| next_for(state, asker, now)).await??)
    }
}

fn next_for(state: &State, asker: Asker, now: Time) -> Result<Arc<Task>, Refusal> {
    let tasks = state.tasks();
    let number = if asker.actor.kind == ActorKind::Agent {
        // Deciding changes nothing, so the rules themselves say what a claim would give.
        let claim = Command::Task(TaskCommand::Claim { task: None });
        let claim = CommandRequest::new(asker, claim);
        claim.judged(state, now)?.iter().find_map(|event| event.fact.task())
    } else {
        tasks.first_ready()
    };
    number.and_then(|number| tasks.shared(number)).ok_or_else(|| Refusal::NothingAvailable {
        member: MemberName::lead(),
        n_blocked: tasks.n_with(Status::Blocked),
        n_held: tasks.n_with(Status::InProgress),
        n_reserved: tasks.n_with(Status::Pending),
    })
}
