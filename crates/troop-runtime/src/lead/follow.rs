//! Follows the log: the lead's reaction to each event.

use troop_model::{Event, Fact, MemberName, MemberState, RejectMode, Status, TaskNumber};

use super::{
    LeadEnd,
    dispatcher::Dispatcher,
    external, interruption,
    policy::loss::{self, changes_team, frees_folder},
    post::Course,
};
use crate::LateCompletion;

impl Dispatcher {
    /// Applies one event and acts on it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is not here needs no act of the lead")]
    pub(super) async fn follow(&mut self, event: &Event) {
        self.take_in(event);
        let office = &mut self.office;
        let post = &mut office.post;
        match &event.fact {
            Fact::LeadTaken { fence, .. } if *fence != post.mandate.fence => {
                post.course = Course::Over(LeadEnd::Superseded);
            }
            Fact::LeadRenewed { .. } => post.tenure.renew(),
            Fact::TeamDeleted {} => self.begin_team_stop("the team was deleted").await,
            Fact::TeamCompleted {} => self.begin_team_stop("its work is over").await,
            Fact::TeamStopRequested { reason } => {
                self.begin_team_stop(reason.as_deref().unwrap_or("it was asked to stop")).await;
            }
            Fact::MemberStateChanged { member, state: MemberState::Spawning, .. } => {
                office.start(member).await;
            }
            Fact::MemberStateChanged { member, state: MemberState::Crashed, .. } => {
                office.crew.plan_restart(post, member);
            }
            Fact::MemberStateChanged { .. } => post.agenda.is_due = true,
            Fact::DelegationStarted { delegation, to, .. } => {
                post.agenda.is_due = true;
                office.crew.start_for(post, *delegation, to).await;
            }
            Fact::MemberRemoved { member, .. } => office.crew.let_go(post, member),
            Fact::MemberModeChanged { member, .. } => office.send_context(member),
            Fact::MemberInterrupted { member, reason } => {
                interruption::interrupt(post, &mut office.crew, member, reason.as_deref()).await;
            }
            Fact::TaskAssigned { task, owner, attempt, .. } => {
                self.assigned(*task, owner, *attempt);
            }
            Fact::TaskClaimed { task, owner, attempt, .. } => {
                office.claimed(owner, *task, *attempt);
            }
            Fact::TaskMerged { .. } => office.watch(),
            Fact::TaskRejected { task, mode: RejectMode::Revise, .. } => self.sent_back(*task),
            Fact::TaskRejected { task, .. }
            | Fact::TaskCancelled { task, .. }
            | Fact::TaskDeleted { task } => {
                post.agenda.is_due = true;
                office.places.forget_work(*task);
                office.places.forget_handed_in(*task);
            }
            Fact::TaskReleased { task, owner, .. } => {
                post.agenda.is_due = true;
                office.forget_told(owner, *task);
            }
            Fact::TaskCreated { task, .. } => {
                post.agenda.is_due = true;
                office.gate.task_created(post, &office.places, event, *task);
            }
            Fact::TaskCompleted { .. } | Fact::TaskApproved { .. } => self.task_is_over(event),
            Fact::MessageSent { .. } | Fact::MessageDelivered { .. } | Fact::MessageRead { .. } => {
                self.follow_mail(&event.fact).await;
            }
            Fact::UsageReported { .. } => {}
            _ if event.fact.task().is_some() => post.agenda.is_due = true,
            _ => {}
        }
        self.draw_common_consequences(event).await;
    }

    /// Mail was sent, handed over or read.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are not about mail")]
    async fn follow_mail(&mut self, fact: &Fact) {
        let office = &mut self.office;
        match fact {
            Fact::MessageSent { from, readers, message_kind, supersedes, .. } => {
                external::end_last_words(&mut office.post, from, *message_kind);
                if let Some(older) = supersedes {
                    readers.iter().for_each(|it| office.mail_was_superseded(it, *older));
                }
                office.mail_came(readers, *message_kind).await;
            }
            Fact::MessageDelivered { reader, .. } => {
                if let Ok(member) = reader.as_str().parse() {
                    office.deliver(&member).await;
                }
            }
            Fact::MessageRead { reader, messages } => {
                office.mail_was_read(reader, messages);
                interruption::go_on(&mut office.post, reader).await;
            }
            _ => {}
        }
    }

    /// Does what is common to many kinds of events.
    async fn draw_common_consequences(&mut self, event: &Event) {
        let office = &mut self.office;
        if office.update_budget() {
            office.tell_budget().await;
        }
        if frees_folder(&event.fact) {
            external::expect_last_words(&mut office.post, event);
            self.completions.end_proofs(&event.fact);
            office.begin_waiting();
        }
    }

    /// Applies one event, and interrupts members that lose a task by it. Only the state before the event shows who holds the
    /// task.
    fn take_in(&mut self, event: &Event) {
        let office = &mut self.office;
        let silent = loss::by_silence(&office.post.state, event);
        let lost = loss::by_others(&office.post.state, event);
        office.post.state.apply(event);
        let is_cost = matches!(event.fact, Fact::UsageReported { .. });
        office.post.agenda.has_new_context |= event.fact.task().is_some() && !is_cost;
        office.places.keep_work(&office.post.state, event);
        office.post.agenda.n_teams += u64::from(changes_team(&event.fact));
        if let Some(member) = silent {
            office.crew.end_silent(&mut office.post, &member);
        }
        if let Some(lost) = lost {
            office.break_off(&lost, event.fact.kind());
        }
    }

    /// A task is assigned: its holder gets it, if it runs here.
    fn assigned(&mut self, task: TaskNumber, owner: &MemberName, attempt: u32) {
        let office = &mut self.office;
        office.post.agenda.is_due = true;
        office.send_task(owner, task, attempt);
        office.gate.task_assigned(&office.post, &office.places, task);
    }

    fn task_is_over(&mut self, event: &Event) {
        let office = &mut self.office;
        office.post.agenda.is_due = true;
        let Some(task) = event.fact.task() else { return };
        office.places.forget_work(task);
        office.places.forget_merge(task);
        let is_approved = matches!(event.fact, Fact::TaskApproved { .. });
        let done = if is_approved { LateCompletion::Approved } else { LateCompletion::Completed };
        self.completions.merge_if_late(office, done, task);
        let owner = office.post.state.tasks().get(task).and_then(|task| task.owner.clone());
        if let Some(owner) = &owner {
            office.crew.forgive(owner);
            office.forget_told(owner, task);
        }
        office.gate.task_completed(&office.post, &office.places, event, task);
    }

    /// A result was rejected: its holder, if there still is one, continues the task on its branch.
    fn sent_back(&mut self, task: TaskNumber) {
        let office = &mut self.office;
        office.post.agenda.is_due = true;
        office.places.forget_work(task);
        let owner = office.post.state.tasks().get(task).and_then(|task| task.owner.clone());
        if let Some(owner) = owner {
            office.forget_told(&owner, task);
            office.retry_soon(&owner);
        }
    }

    /// From now on no member changes the work on a task.
    pub(super) fn left_alone(&mut self, task: TaskNumber) {
        let office = &mut self.office;
        office.post.agenda.is_due = true;
        let status = office.post.state.tasks().get(task).map(|it| it.status);
        if status == Some(Status::Completed) {
            self.completions.merge_if_late(office, LateCompletion::Completed, task);
        }
        office.begin_waiting();
    }
}
