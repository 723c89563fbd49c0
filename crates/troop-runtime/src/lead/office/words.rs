//! What members say that changes only the board and what is known of them.

use troop_model::{
    Actor, Command, MemberName, MemberState, MessageKind, Outgoing, SYSTEM, StateCause, Status,
    TaskCommand, TaskRef,
};
use troop_protocol::{Level, MessageOut, ShutdownAck, UsageReport};

use super::Office;
use crate::lead::{Runner, crew::facts::Engagement, input::Due, transcript::TranscriptLine};

/// Work.
impl Office {
    /// A member begins to work on a task.
    pub(in super::super) fn begin_work(
        &mut self,
        runner: &Runner,
        task: &TaskRef,
        attempt: Option<u32>,
    ) {
        let Ok(task) = self.post.state.resolve(task) else { return };
        if let Some(facts) = self.crew.facts_of(runner) {
            facts.engage(task, attempt);
            self.post.engage(&runner.member, Some(task));
        }
    }

    /// A member works on a task. If nobody holds it, that is how it takes it.
    pub(in super::super) async fn take_if_free(&mut self, runner: &Runner, task: TaskRef) {
        let number = self.post.state.resolve(&task).ok();
        let status = number.and_then(|number| self.post.state.tasks().status(number));
        if status == Some(Status::Pending) {
            let claim = Command::Task(TaskCommand::Claim { task: Some(task) });
            self.do_as(runner, claim).await;
        }
    }

    /// A member tells people something.
    pub(in super::super) fn log(&mut self, runner: &Runner, level: Level, text: &str) {
        let member = &runner.member;
        if let Some(work) = self.crew.facts_of(runner).and_then(|it| it.work.engagement.as_mut())
            && level == Level::Info
        {
            work.said = Some(text.to_owned());
        }
        // What a teammate could not do is seen by its task or its state; what the lead could not do is seen nowhere else.
        let is_seen = level == Level::Warn || level == Level::Error && self.post.is_lead(member);
        if is_seen {
            self.post.tell_people(format!("{member}: {text}"));
        }
        self.post.note(member, TranscriptLine::said(level, text));
    }

    /// A member itself says how a task ended.
    pub(in super::super) fn end_work(&mut self, runner: &Runner, command: &Command) {
        let Command::Task(
            TaskCommand::Complete { task, .. }
            | TaskCommand::Fail { task, .. }
            | TaskCommand::Release { task, .. }
            | TaskCommand::Review { task, .. },
        ) = command
        else {
            return;
        };
        let Ok(task) = self.post.state.resolve(task) else { return };
        if let Some(facts) = self.crew.facts_of(runner)
            && facts.work.engagement.take_if(|work| work.task == task).is_some()
        {
            self.post.engage(&runner.member, None);
        }
    }

    /// A member has nothing to do any more. Returns what it was in the middle of, if it has not said how that ended.
    pub(in super::super) fn take_engagement(&mut self, runner: &Runner) -> Option<Engagement> {
        let work = self.crew.facts_of(runner)?.work.engagement.take()?;
        self.post.engage(&runner.member, None);
        Some(work)
    }

    /// A member has dealt with all that it was told.
    pub(in super::super) fn rest(&mut self, runner: &Runner) {
        if let Some(facts) = self.crew.facts_of(runner) {
            facts.rest();
            self.post.agenda.is_due = true;
        }
        self.hand_next_conversation(runner);
    }

    /// A teammate could not do what it was told without a task: no task says so, so its state does, and the lead is told.
    pub(in super::super) async fn fail_without_task(
        &mut self,
        member: &MemberName,
        reason: String,
    ) {
        if !self.post.is_lead(member) {
            let content = format!("{member} could not do what it was told: {reason}");
            self.set_failed(member, Some(reason)).await;
            self.post.tell_lead(member, content).await;
        }
    }

    /// Notes that a teammate could not do what it was told, or has something else to do by now.
    pub(super) async fn set_failed(&mut self, member: &MemberName, reason: Option<String>) {
        let Some(pid) = self.crew.get(member).map(|it| it.body.process()) else { return };
        let cause = reason.is_some().then_some(StateCause::CouldNot);
        self.post.set_state(member, MemberState::Idle, reason, cause, Some(pid)).await;
    }
}

/// Words to others.
impl Office {
    /// Gives a command in a member's name.
    async fn do_as(&mut self, runner: &Runner, command: Command) {
        let request = self.crew.signed(&self.post, Actor::agent(&runner.member), command);
        self.do_for(runner, request).await;
    }

    /// A member tells others something. Who says it is stamped here. A member that answers mail of troop itself speaks to
    /// nobody, and must not be answered by such mail again.
    pub(in super::super) async fn send_for(&mut self, runner: &Runner, message: MessageOut) {
        if message.to == SYSTEM && message.kind.answers().is_none() {
            let what = format!("what it says to `{SYSTEM}` reaches nobody: {}", message.content);
            return self.post.note(&runner.member, TranscriptLine::trouble(&what));
        }
        let MessageOut { to, content, kind, summary, request_id, approve } = message;
        let outgoing =
            Outgoing { summary, request_id, approve, ..Outgoing::new(to, kind, content) };
        self.do_as(runner, Command::Send(outgoing)).await;
    }

    /// A member has spent something.
    pub(in super::super) async fn count_usage(&mut self, runner: &Runner, report: &UsageReport) {
        let command = Command::ReportUsage {
            member: runner.member.clone(),
            task: report.task_id.as_ref().and_then(|id| id.task().ok()),
            model: report.model.as_deref().map(Into::into),
            usage: report.into(),
        };
        self.do_as(runner, command).await;
    }

    /// A member answers the order to stop.
    pub(in super::super) async fn answer_stop(&mut self, runner: &Runner, ack: ShutdownAck) {
        let Some(facts) = self.crew.facts_of(runner) else { return };
        let Some(answer) = facts.life.answer_stop(ack.approve) else { return };
        if answer.goes_on {
            self.post.timers.forget(&Due::Grace(runner.clone()));
            self.post.timers.forget(&Due::Term(runner.clone()));
        }
        if let Some(request) = answer.request {
            let content = ack.reason.unwrap_or_default();
            let to = request.from.to_string();
            let outgoing = Outgoing::new(to, MessageKind::ShutdownResponse, content)
                .answering(request.id, ack.approve);
            self.do_as(runner, Command::Send(outgoing)).await;
        }
        if answer.goes_on {
            // What came while it was to stop has waited.
            self.post.agenda.is_due = true;
            self.send_context(&runner.member);
            self.send_held_tasks(&runner.member);
            self.deliver(&runner.member).await;
        }
    }
}
