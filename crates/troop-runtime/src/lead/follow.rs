//! What the log says, and what a lead does about it.

use troop_model::{
    Event, Fact, Member, MemberName, MemberState, MessageKind, Party, RejectMode, StateCause,
    TaskNumber,
};
use troop_protocol::FromLead;

use super::{LeadEnd, dispatcher::Dispatcher, post::Course, transcript::TranscriptLine};
use crate::LateCompletion;

impl Dispatcher {
    /// Takes one event into account and acts on it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "what is not here needs no act of the lead")]
    pub(super) async fn follow(&mut self, event: &Event) {
        self.take_in(event);
        match &event.fact {
            Fact::LeadTaken { fence, .. } if *fence != self.post.mandate.fence => {
                self.post.course = Course::Over(LeadEnd::Superseded);
            }
            Fact::TeamDeleted {} => self.begin_team_stop("the team was deleted").await,
            Fact::TeamCompleted {} => self.begin_team_stop("its work is over").await,
            Fact::TeamStopRequested { reason } => {
                self.begin_team_stop(reason.as_deref().unwrap_or("it was asked to stop")).await;
            }
            Fact::MemberStateChanged { member, state: MemberState::Spawning, .. } => {
                self.start(member).await;
            }
            Fact::MemberStateChanged { member, state: MemberState::Crashed, .. } => {
                self.is_down(member);
            }
            Fact::MemberStateChanged { .. } => self.post.agenda.is_due = true,
            Fact::DelegationStarted { delegation, to, .. } => {
                self.post.agenda.is_due = true;
                self.delegated(*delegation, to).await;
            }
            Fact::MemberRemoved { member, .. } => self.let_go(member),
            Fact::MemberModeChanged { member, .. } => self.send_context(member),
            Fact::MemberInterrupted { member, reason } => {
                self.interrupt(member, reason.as_deref()).await;
            }
            Fact::TaskAssigned { task, owner, attempt, .. } => {
                self.assigned(*task, owner, *attempt);
            }
            Fact::TaskClaimed { task, owner, attempt, .. } => self.claimed(owner, *task, *attempt),
            Fact::TaskMerged { .. } => self.watch(),
            Fact::TaskRejected { task, mode: RejectMode::Revise, .. } => self.sent_back(*task),
            Fact::TaskRejected { task, .. }
            | Fact::TaskCancelled { task, .. }
            | Fact::TaskDeleted { task } => {
                self.post.agenda.is_due = true;
                self.forget_work(*task);
                self.forget_handed_in(*task);
            }
            Fact::TaskReleased { task, owner, .. } => self.released(*task, owner),
            Fact::TaskCreated { task, .. } => self.created(event, *task),
            Fact::TaskCompleted { .. } | Fact::TaskApproved { .. } => self.task_is_over(event),
            Fact::MessageSent { from, readers, message_kind, supersedes, .. } => {
                self.has_said_all(from, *message_kind);
                let (readers, kind) = (readers.clone(), *message_kind);
                if let Some(older) = supersedes {
                    readers.iter().for_each(|it| self.mail_was_superseded(it, *older));
                }
                self.mail_came(&readers, kind).await;
            }
            Fact::MessageRead { reader, messages } => {
                self.mail_was_read(reader, messages);
                self.goes_on(reader).await;
            }
            Fact::UsageReported { .. } => {}
            _ if event.fact.task().is_some() => self.post.agenda.is_due = true,
            _ => {}
        }
        if self.budget_has_turned() {
            self.tell_budget().await;
        }
        if frees_folder(&event.fact) {
            self.tell_of_external(event).await;
            self.end_proofs(&event.fact);
            self.begin_waiting();
        }
    }

    /// Takes one event into account, and tells who loses by it.
    fn take_in(&mut self, event: &Event) {
        let (silent, loser) = (self.silent_holder(event), self.loser(event));
        self.post.state.apply(event);
        let is_cost = matches!(event.fact, Fact::UsageReported { .. });
        self.post.agenda.has_new_context |= event.fact.task().is_some() && !is_cost;
        self.keep_work(event);
        self.post.agenda.n_teams += u64::from(changes_team(&event.fact));
        if let Some(member) = silent {
            self.hangs(&member);
        }
        if let Some((task, member)) = loser {
            self.break_off(task, &member, event.fact.kind());
        }
    }

    async fn interrupt(&mut self, member: &MemberName, reason: Option<&str>) {
        let Some(link) = self.links.get(member) else { return };
        let said = reason.unwrap_or("interrupted").to_owned();
        // A member that does not read cannot be interrupted; it can be stopped.
        let is_told = link.tell(&FromLead::Interrupt { reason: said, task_id: None }).is_ok();
        let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        self.post.note(
            member,
            match is_told {
                true => TranscriptLine::note(&format!("told to break off what it does{because}")),
                false => {
                    TranscriptLine::trouble("it is to break off what it does, and does not read")
                }
            },
        );
        let holds_task = self.post.state.tasks().held_by(member).next().is_some();
        if is_told && holds_task {
            self.work_because(member, Some(StateCause::Interrupted)).await;
        } else if let Some(link) = self.links.get_mut(member) {
            // What it was at is over, so it need not go on with it.
            link.is_in_turn = false;
            self.post.agenda.is_due = true;
        }
    }

    /// Says why a member that works does nothing, or that it goes on.
    async fn work_because(&mut self, member: &MemberName, cause: Option<StateCause>) {
        let found = self.post.state.member(member).filter(|it| it.state == MemberState::Working);
        let Some(pid) = found.map(|it| it.pid) else { return };
        let reason = cause.map(|it| it.in_words().to_owned());
        self.post.set_state(member, MemberState::Working, reason, cause, pid).await;
    }

    /// Who was interrupted goes on with what it has read.
    async fn goes_on(&mut self, reader: &Party) {
        let is_held = |it: &Member| it.state_cause == Some(StateCause::Interrupted);
        let held = self.post.state.members().find(|it| *reader == it.name && is_held(it));
        if let Some(member) = held.map(|it| it.name.clone()) {
            self.work_because(&member, None).await;
        }
    }

    /// Somebody holds a task: it is told, if it runs here.
    fn assigned(&mut self, task: TaskNumber, owner: &MemberName, attempt: u32) {
        self.post.agenda.is_due = true;
        self.send_task(owner, task, attempt);
        self.fire_assigned(task);
    }

    fn released(&mut self, task: TaskNumber, owner: &MemberName) {
        self.post.agenda.is_due = true;
        if let Some(link) = self.links.get_mut(owner) {
            link.told.remove(&task);
        }
    }

    /// The member from which a task is taken because it was silent for longer than its lease.
    fn silent_holder(&self, event: &Event) -> Option<MemberName> {
        let (Fact::TaskReleased { task, .. } | Fact::TaskFailed { task, .. }) = &event.fact else {
            return None;
        };
        let task = self.post.state.tasks().get(*task)?;
        let is_over = task.hold.lease_until.is_some_and(|until| until <= event.at);
        // Who gives a task back itself is late, but not silent.
        let by_itself =
            task.owner.as_ref().is_some_and(|owner| *owner.as_str() == *event.actor.name);
        let is_over = is_over && !by_itself;
        task.owner.clone().filter(|owner| is_over && self.links.contains_key(owner))
    }

    /// Ends a member that does not answer any more.
    pub(super) fn hangs(&mut self, member: &MemberName) {
        let Some(link) = self.links.get_mut(member) else { return };
        let runner = link.runner.clone();
        link.ends_because("it was silent for longer than its lease");
        self.post.note(member, TranscriptLine::trouble("silent for longer than its lease"));
        self.kill(&runner);
    }

    fn task_is_over(&mut self, event: &Event) {
        self.post.agenda.is_due = true;
        let Some(task) = event.fact.task() else { return };
        self.forget_work(task);
        let is_approved = matches!(event.fact, Fact::TaskApproved { .. });
        self.merge_if_late(
            if is_approved { LateCompletion::Approved } else { LateCompletion::Completed },
            task,
        );
        let owner = self.post.state.tasks().get(task).and_then(|task| task.owner.clone());
        if let Some(owner) = &owner {
            // Who gets something done does not crash at every start.
            self.restarts.forgive(owner);
            if let Some(link) = self.links.get_mut(owner) {
                link.told.remove(&task);
            }
        }
        self.fire_completed_elsewhere(event, task);
    }

    /// A result was not good enough: its holder, if there still is one, gets the task again, where it left it.
    fn sent_back(&mut self, task: TaskNumber) {
        self.post.agenda.is_due = true;
        self.forget_work(task);
        let owner = self.post.state.tasks().get(task).and_then(|task| task.owner.clone());
        if let Some(owner) = owner
            && let Some(link) = self.links.get_mut(&owner)
        {
            link.told.remove(&task);
            self.retry_soon(&owner);
        }
    }

    fn let_go(&mut self, member: &MemberName) {
        self.restarts.forget(member);
        self.starts.forget(member);
        if let Some(link) = self.links.get_mut(member) {
            link.is_let_go = true;
            let runner = link.runner.clone();
            self.kill(&runner);
        }
    }

    async fn mail_came(&mut self, readers: &[Party], kind: MessageKind) {
        for reader in readers {
            let Ok(member) = reader.as_str().parse::<MemberName>() else { continue };
            if kind == MessageKind::ShutdownRequest {
                self.stop_as_asked(&member).await;
            }
            self.deliver(&member).await;
            self.send_held_tasks(&member);
        }
    }
}

/// Whether somebody's folder may not be needed any more for what it was needed for.
fn frees_folder(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TaskSubmitted { .. }
            | Fact::TaskCompleted { .. }
            | Fact::TaskApproved { .. }
            | Fact::TaskRejected { .. }
            | Fact::TaskCancelled { .. }
            | Fact::TaskFailed { .. }
            | Fact::TaskReleased { .. }
            | Fact::TaskDeleted { .. }
    )
}

/// Whether TEAM.md says something else after this.
fn changes_team(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::TeamUpdated { .. }
            | Fact::MemberAdded { .. }
            | Fact::MemberRemoved { .. }
            | Fact::LinkSet { .. }
            | Fact::LinkPurged { .. }
    )
}
