//! How facts about delegations change their records.

use uuid::Uuid;

use crate::{
    Delegation, DelegationStatus, Event, Fact, State, Status, query::MAX_SHOWN_RESULT, text,
};

impl State {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller sends only these here")]
    pub(super) fn apply_delegation(&mut self, event: &Event) {
        match &event.fact {
            Fact::DelegationStarted { .. } => self.apply_delegation_started(event),
            Fact::DelegationCompleted { delegation, result } => {
                self.end_delegation(event, *delegation, DelegationStatus::Completed, result);
            }
            Fact::DelegationFailed { delegation, reason } => {
                self.end_delegation(event, *delegation, DelegationStatus::Failed, reason);
            }
            Fact::DelegationCancelled { delegation, reason } => {
                self.end_delegation(event, *delegation, DelegationStatus::Cancelled, reason);
            }
            Fact::DelegationsAnnounced { delegations, .. } => {
                let all = &mut self.delegations.get_mut().all;
                for id in delegations {
                    all.update(id, |it| it.is_announced = true);
                }
            }
            _ => {}
        }
    }

    fn apply_delegation_started(&mut self, event: &Event) {
        let Fact::DelegationStarted {
            delegation,
            from,
            to,
            task,
            trace_id,
            parent_trace_id,
            origin,
            note,
        } = &event.fact
        else {
            return;
        };
        let held = self.tasks.get(*task).filter(|it| it.status == Status::InProgress);
        let started = Delegation {
            id: *delegation,
            from: from.clone(),
            to: to.clone(),
            task: *task,
            status: DelegationStatus::Running,
            started_at: event.at,
            ended_at: None,
            result: None,
            is_announced: false,
            trace_id: *trace_id,
            parent_trace_id: *parent_trace_id,
            origin: origin.clone(),
            note: note.clone(),
            is_adopted: held.is_some_and(|it| it.owner.as_ref() == Some(to)),
        };
        self.delegations.get_mut().all.insert(*delegation, started);
        self.delegated.insert(*task, *delegation);
    }

    fn end_delegation(&mut self, event: &Event, id: Uuid, status: DelegationStatus, said: &str) {
        let task = self.delegation(id).map(|it| it.task);
        // By now the task may be delegated to another member.
        if let Some(task) = task
            && self.delegated.entries().get(&task) == Some(&id)
        {
            self.delegated.remove(&task);
        }
        self.delegations.get_mut().end(id, event.version, self.limits.delegations, |delegation| {
            delegation.status = status;
            delegation.ended_at = Some(event.at);
            let place = format!("get {}", delegation.task);
            delegation.result = Some(text::shortened(said, MAX_SHOWN_RESULT, &place));
        });
    }
}
