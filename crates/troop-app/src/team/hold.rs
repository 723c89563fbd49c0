//! Keeps what a member holds while its client is connected or calls.

use std::{convert::Infallible, time::Duration};

use troop_model::{Command, MemberName, State, TaskCommand, TaskNumber, Time};

use super::MemberCaller;

impl MemberCaller {
    /// Renews what the member holds, for as long as somebody polls this.
    pub async fn hold(&self) -> Infallible {
        loop {
            let due = match self.seat().await {
                Ok(seat) => seat.settings.lease() / 3,
                // The team was deleted, or the store is away for a moment.
                Err(_) => Duration::from_secs(1),
            };
            tokio::time::sleep(due).await;
        }
    }

    /// Renews the claims on these tasks. If that fails, the member's call goes on: if somebody else has the task by now, the
    /// member learns that when it reports the result.
    pub(super) async fn renew(&self, tasks: Vec<TaskNumber>) {
        for task in tasks {
            let order = TaskCommand::Renew { task: task.into(), attempt: None };
            drop(self.change(Command::Task(order)).await);
        }
    }
}

/// The tasks of a member whose lease should be renewed: at least a third of it is over, so that looks stay cheap.
pub(super) fn due(state: &State, member: &MemberName, now: Time) -> Vec<TaskNumber> {
    let Some(team) = state.team() else { return Vec::new() };
    let fresh_until = now + team.settings.lease() * 2 / 3;
    let is_due = |task: &TaskNumber| {
        let lease_until = state.tasks().get(*task).and_then(|task| task.hold.lease_until);
        lease_until.is_some_and(|until| until <= fresh_until)
    };
    state.tasks().held_by(member).filter(is_due).collect()
}
