//! Messages of members that only change the board and the facts about them.

use troop_model::{
    Actor, Command, MemberName, MemberState, MessageKind, Outgoing, SYSTEM, StateCause, Status,
    TaskCommand, TaskRef,
};
use troop_protocol::{Level, MessageOut, ShutdownAck, UsageReport};

use super::Office;
use crate::lead::{
    Runner,
    crew::{facts::Engagement, member::LiveMember},
    input::Due,
    policy::attempt_end::{AttemptEnd, attempt_end},
    post::MemberMove,
    transcript::TranscriptLine,
};

/// Work.
impl Office {
    /// A member starts to work on a task.
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

    /// A member works on a task: if the task is free, that claims it.
    pub(in super::super) async fn take_if_free(&mut self, runner: &Runner, task: TaskRef) {
        let number = self.post.state.resolve(&task).ok();
        let status = number.and_then(|number| self.post.state.tasks().status(number));
        if status == Some(Status::Pending) {
            let claim = Command::Task(TaskCommand::Claim { task: Some(task) });
            self.give_as(runner, claim).await;
        }
    }

    /// A log line of a member.
    pub(in super::super) fn log(&mut self, runner: &Runner, level: Level, text: &str) {
        let member = &runner.member;
        if let Some(work) = self.crew.facts_of(runner).and_then(|it| it.work.engagement.as_mut())
            && level == Level::Info
        {
            work.said = Some(text.to_owned());
        }
        // People see errors as well as warnings.
        if matches!(level, Level::Warn | Level::Error) {
            self.post.tell_people(format!("{member}: {text}"));
        }
        self.post.note(member, TranscriptLine::said(level, text));
    }

    /// A member's own command ends its work on a task.
    pub(in super::super) fn end_work(&mut self, runner: &Runner, command: &Command) {
        let actor = Actor::agent(&runner.member);
        let Some(AttemptEnd { task, .. }) = attempt_end(&self.post.state, &actor, command) else {
            return;
        };
        if let Some(facts) = self.crew.facts_of(runner)
            && facts.work.engagement.take_if(|work| work.task == task).is_some()
        {
            self.post.engage(&runner.member, None);
        }
    }

    /// A member's turn is over. Returns the work that it has not reported on.
    pub(in super::super) fn take_engagement(&mut self, runner: &Runner) -> Option<Engagement> {
        let work = self.crew.facts_of(runner)?.work.engagement.take()?;
        self.post.engage(&runner.member, None);
        Some(work)
    }

    /// A member has finished its turn.
    pub(in super::super) fn rest(&mut self, runner: &Runner) {
        if let Some(facts) = self.crew.facts_of(runner) {
            facts.rest();
            self.post.agenda.is_due = true;
        }
        self.hand_next_conversation(runner);
    }

    /// A teammate failed at something that is not a task: its state records that, and the lead hears of it.
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

    /// Records that a teammate failed, or clears that.
    pub(super) async fn set_failed(&mut self, member: &MemberName, reason: Option<String>) {
        let Some(pid) = self.crew.get(member).and_then(LiveMember::process) else { return };
        let idle = MemberMove::to(MemberState::Idle).in_process(pid);
        let idle = match reason {
            Some(reason) => idle.because(reason).caused_by(StateCause::CouldNot),
            None => idle,
        };
        self.post.set_state(member, idle).await;
    }
}

/// Messages to others.
impl Office {
    /// Gives a command in a member's name.
    async fn give_as(&mut self, runner: &Runner, command: Command) {
        let request = self.crew.signed(&self.post, Actor::agent(&runner.member), command);
        self.give_for(runner, request).await;
    }

    /// Sends a message of a member. The sender is stamped here. An answer to troop itself goes nowhere: a refusal would only
    /// provoke the next answer.
    pub(in super::super) async fn send_for(&mut self, runner: &Runner, message: MessageOut) {
        if message.to == SYSTEM && message.kind.answers().is_none() {
            let what = format!("what it says to `{SYSTEM}` reaches nobody: {}", message.content);
            return self.post.note(&runner.member, TranscriptLine::trouble(&what));
        }
        let MessageOut { to, content, kind, summary, request_id, approve } = message;
        let outgoing =
            Outgoing { summary, request_id, approve, ..Outgoing::new(to, kind, content) };
        self.give_as(runner, Command::Send(outgoing)).await;
    }

    /// A member reports its usage.
    pub(in super::super) async fn count_usage(&mut self, runner: &Runner, report: &UsageReport) {
        let command = Command::ReportUsage {
            member: runner.member.clone(),
            task: report.task_id.as_ref().and_then(|id| id.task().ok()),
            model: report.model.as_deref().map(Into::into),
            usage: report.into(),
        };
        self.give_as(runner, command).await;
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
            self.give_as(runner, Command::Send(outgoing)).await;
        }
        if answer.goes_on {
            // Work and mail waited while it was stopping.
            self.post.agenda.is_due = true;
            self.send_context(&runner.member);
            self.send_held_tasks(&runner.member);
            self.deliver(&runner.member).await;
        }
    }
}
