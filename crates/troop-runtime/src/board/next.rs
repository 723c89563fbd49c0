//! What would be done next.

use std::sync::Arc;

use troop_model::{
    Actor, ActorKind, Command, Context, MemberName, OperationId, Origin, Refusal, State, Status,
    Task, TaskCommand, Time, decide,
};
use uuid::Uuid;

use super::Board;
use crate::BoardResult;

impl Board {
    /// The task that an actor would get if it claimed now; for a person, what anybody could get.
    pub async fn next(&self, actor: Actor, origin: Origin) -> BoardResult<Arc<Task>> {
        let now = self.clock.now();
        Ok(self.look(move |state| next_for(state, actor, origin, now)).await??)
    }
}

fn next_for(state: &State, actor: Actor, origin: Origin, now: Time) -> Result<Arc<Task>, Refusal> {
    let tasks = state.tasks();
    let number = if actor.kind == ActorKind::Agent {
        // Deciding changes nothing, so the rules themselves say what a claim would give.
        let operation = OperationId(Uuid::now_v7());
        let ctx = Context { now, actor, operation, origin, fence: None };
        let claim = Command::Task(TaskCommand::Claim { task: None });
        decide(state, &claim, &ctx)?.iter().find_map(|event| event.fact.task())
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
