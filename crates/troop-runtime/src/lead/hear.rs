//! What members say on their wires, and what becomes of it.

use tokio::time::Instant;
use troop_model::{
    Actor, Command, MemberName, MemberState, MessageKind, Outgoing, SYSTEM, StateCause, Status,
    TaskCommand, TaskRef, Version,
};
use troop_protocol::{
    FromLead, FromTeammate, Incoming, Level, Log, MessageIn, MessageOut, MethodError, Notification,
    ReportedStatus, ShutdownAck, SkippedLine, TaskReport, UsageReport,
};

use super::{
    Runner,
    dispatcher::Dispatcher,
    gate::Deed,
    input::{Due, LeadInput},
    link::LiveMember,
    places::at_work,
    transcript::TranscriptLine,
};
use crate::CommandRequest;

impl Dispatcher {
    pub(super) async fn hear(&mut self, runner: &Runner, incoming: Incoming) {
        let Some(link) = self.link(runner) else { return };
        link.heard_at = Instant::now();
        match incoming {
            Incoming::Notification(said) => self.hear_said(runner, &said).await,
            Incoming::Request(request) => self.answer(runner, request).await,
            Incoming::Skipped(skipped) => self.skipped(runner, &skipped),
            Incoming::End(_) => self.silenced(runner).await,
        }
    }

    async fn hear_said(&mut self, runner: &Runner, said: &Notification) {
        let member = &runner.member;
        match FromTeammate::try_from(said) {
            Ok(FromTeammate::Ready(ready)) => self.ready(member, &ready).await,
            Ok(FromTeammate::TaskUpdate(report)) => self.reported(runner, report).await,
            Ok(FromTeammate::Message(message)) => self.said_to(runner, message).await,
            Ok(FromTeammate::Idle(idle)) => self.says_idle(runner, idle).await,
            Ok(FromTeammate::ShutdownAck(ack)) => self.answered_stop(runner, ack).await,
            Ok(FromTeammate::Log(Log { level, text })) => {
                self.says_at_work(runner, level, &text);
                self.warn(member, level, &text);
                self.post.note(member, TranscriptLine::said(level, &text));
            }
            Ok(FromTeammate::Usage(report)) => self.used(runner, &report).await,
            Ok(FromTeammate::Alive {}) => {}
            Ok(FromTeammate::Failed { reason }) => self.failed(member, reason).await,
            Ok(FromTeammate::TurnEnd {}) => {
                self.has_broken_off(runner);
                self.run_ends(runner).await;
                self.rests(runner);
            }
            // A board call without an id: it is done, and nobody waits for an answer.
            Err(MethodError::Unknown { .. }) => self.call_unanswered(runner, said).await,
            Err(error @ MethodError::BadParams { .. }) => self.refused(runner, error.to_string()),
        }
    }

    /// Lets people see what a member complains about, as far as they read so fast. It is in its transcript, too.
    fn warn(&self, member: &MemberName, level: Level, text: &str) {
        // What a teammate could not do is seen by its task or its state; what the lead could not do is seen nowhere else.
        let is_seen = level == Level::Warn || level == Level::Error && self.post.is_lead(member);
        if is_seen {
            self.post.tell_people(format!("{member}: {text}"));
        }
    }

    /// A teammate could not do what it was told without a task: no task says so, so its state does, and the lead is told.
    async fn failed(&mut self, member: &MemberName, reason: String) {
        if !self.post.is_lead(member) {
            let content = format!("{member} could not do what it was told: {reason}");
            self.set_failed(member, Some(reason)).await;
            self.post.tell_lead(member, content).await;
        }
    }

    /// Notes that a teammate could not do what it was told, or has something else to do by now.
    pub(super) async fn set_failed(&mut self, member: &MemberName, reason: Option<String>) {
        let Some(pid) = self.links.get(member).map(|link| link.body.process()) else { return };
        let cause = reason.is_some().then_some(StateCause::CouldNot);
        let (member, state, pid) = (member.clone(), MemberState::Idle, Some(pid));
        self.post.give(Command::SetMemberState { member, state, reason, cause, pid }).await;
    }

    /// A member says how its task stands.
    pub(super) async fn reported(&mut self, runner: &Runner, report: TaskReport) {
        let member = &runner.member;
        let task = match report.task_id.task() {
            Ok(task) => task,
            Err(refusal) => return self.refused(runner, refusal.to_string()),
        };
        let TaskReport { result, summary, reason, attempt, for_good, .. } = report;
        let reason = reason.or_else(|| result.clone());
        let is_late = self.is_late(&task, attempt);
        let order = match report.status {
            ReportedStatus::InProgress => {
                self.begins_work(runner, &task, attempt);
                return self.takes_if_free(runner, task).await;
            }
            ReportedStatus::Completed => {
                let result = result.filter(|it| !it.is_empty());
                let result = result.unwrap_or_else(|| "done".to_owned());
                TaskCommand::Complete { task, result, summary, attempt }
            }
            ReportedStatus::Failed => {
                let reason = reason.unwrap_or_else(|| format!("{member} gave no reason"));
                TaskCommand::Fail { task, reason, attempt, for_good }
            }
            ReportedStatus::Pending => {
                let reason = reason.unwrap_or_else(|| format!("{member} gave it back"));
                TaskCommand::Release { task, reason }
            }
        };
        let command = Command::Task(order);
        if !is_late {
            self.says_end(runner, &command);
        }
        if let Some(link) = self.link(runner).filter(|_| !is_late) {
            // Nothing comes after that, even of who does not say that it is idle.
            link.is_in_turn = false;
        }
        let request = self.signed(Actor::agent(&runner.member), command);
        self.pass(Deed { runner: Some(runner.clone()), request, responder: None }).await;
    }

    /// A member works on a task. If nobody holds it, that is how it takes it.
    async fn takes_if_free(&mut self, runner: &Runner, task: TaskRef) {
        let number = self.post.state.resolve(&task).ok();
        let status = number.and_then(|number| self.post.state.tasks().status(number));
        if status == Some(Status::Pending) {
            let claim = Command::Task(TaskCommand::Claim { task: Some(task) });
            let request = self.signed(Actor::agent(&runner.member), claim);
            self.do_for(runner, request).await;
        }
    }

    /// A member tells others something. Who says it is stamped here. Who answers mail of troop itself speaks to nobody, and
    /// must not be answered by such mail again.
    async fn said_to(&mut self, runner: &Runner, message: MessageOut) {
        if message.to == SYSTEM && message.kind.answers().is_none() {
            let what = format!("what it says to `{SYSTEM}` reaches nobody: {}", message.content);
            return self.post.note(&runner.member, TranscriptLine::trouble(&what));
        }
        let MessageOut { to, content, kind, summary, request_id, approve } = message;
        let outgoing =
            Outgoing { summary, request_id, approve, ..Outgoing::new(to, kind, content) };
        let request = self.signed(Actor::agent(&runner.member), Command::Send(outgoing));
        self.do_for(runner, request).await;
    }

    /// A member has spent something.
    async fn used(&mut self, runner: &Runner, report: &UsageReport) {
        let command = Command::ReportUsage {
            member: runner.member.clone(),
            task: report.task_id.as_ref().and_then(|id| id.task().ok()),
            model: report.model.as_deref().map(Into::into),
            usage: report.into(),
        };
        let request = self.signed(Actor::agent(&runner.member), command);
        self.do_for(runner, request).await;
    }

    /// A member has dealt with all that it was told.
    pub(super) fn rests(&mut self, runner: &Runner) {
        if let Some(link) = self.link(runner) {
            (link.is_at_rest, link.is_in_turn) = (true, false);
            link.answers = None;
            self.post.agenda.is_due = true;
        }
        self.hand_next_conversation(runner);
    }

    /// Gives a command that may give a member work; until it is known whether it did, the member is given no other.
    pub(super) async fn ask_for(&mut self, runner: &Runner, request: CommandRequest) {
        let Some(link) = self.link(runner) else { return };
        link.asked.n_waiting += 1;
        let Some(given) = self.post.enqueue(request).await else { return };
        let (runner, inputs) = (runner.clone(), self.post.background.inputs.clone());
        self.post.background.tracker.spawn(async move {
            let version = given.done().await.ok().map(|done| done.version);
            drop(inputs.send(LeadInput::Settled(runner, version)).await);
        });
    }

    pub(super) fn settled(&mut self, runner: &Runner, version: Option<Version>) {
        if let Some(link) = self.link(runner) {
            link.asked.n_waiting -= 1;
            link.asked.until = link.asked.until.max(version.unwrap_or(Version::ZERO));
            // What did not work is not tried again at once; the next tick will do.
            self.post.agenda.is_due |= version.is_some();
        }
    }

    /// Gives a command for a member. It hears of it if that is refused.
    pub(super) async fn do_for(&mut self, runner: &Runner, request: CommandRequest) {
        let runner = runner.clone();
        self.post
            .give_or(request.clone(), move |error| {
                Some(LeadInput::Refused(Box::new((runner, request, error.to_string()))))
            })
            .await;
    }

    /// Tells a member that something it said had no effect.
    pub(super) fn refused(&mut self, runner: &Runner, content: String) {
        self.post.note(&runner.member, TranscriptLine::trouble(&content));
        if let Some(link) = self.link(runner)
            && link.may_be_refused()
        {
            // One that does not read learns nothing anyway.
            let message = MessageIn {
                from: SYSTEM.to_owned(),
                content,
                id: None,
                kind: MessageKind::System,
                summary: None,
                request_id: None,
                approve: None,
                task_id: None,
                sent_at: None,
                session: None,
                origin: troop_model::Origin::default(),
            };
            drop(link.tell(&FromLead::Message(message)));
        }
    }

    /// A member answers the request to stop.
    async fn answered_stop(&mut self, runner: &Runner, ack: ShutdownAck) {
        let Some(link) = self.link(runner) else { return };
        let Some(stop) = &mut link.stop else { return };
        let asked = stop.asked.take();
        let goes_on = !ack.approve && !stop.is_forced;
        if goes_on {
            link.stop = None;
            self.post.timers.forget(&Due::Grace(runner.clone()));
            self.post.timers.forget(&Due::Term(runner.clone()));
        }
        if let Some((request_id, to)) = asked {
            let outgoing = Outgoing::new(
                to.to_string(),
                MessageKind::ShutdownResponse,
                ack.reason.unwrap_or_default(),
            )
            .answering(request_id, ack.approve);
            let request = self.signed(Actor::agent(&runner.member), Command::Send(outgoing));
            self.do_for(runner, request).await;
        }
        if goes_on {
            // What came while it was to stop has waited.
            self.post.agenda.is_due = true;
            self.send_context(&runner.member);
            self.send_held_tasks(&runner.member);
            self.deliver(&runner.member).await;
        }
    }

    fn skipped(&mut self, runner: &Runner, skipped: &SkippedLine) {
        self.post.note(
            &runner.member,
            TranscriptLine::trouble(&format!(
                "skipped a line ({}): {}",
                skipped.reason, skipped.preview
            )),
        );
    }

    /// A wire has ended. Its process should have, too; if not, it hangs and is of no use.
    async fn silenced(&mut self, runner: &Runner) {
        let Some(link) = self.link(runner) else { return };
        link.is_silent = true;
        if link.exit.is_some() {
            self.bury(runner).await;
        } else if link.stop.is_none() {
            self.post.timers.set(self.post.timing.grace, Due::Term(runner.clone()));
        }
    }

    /// Keeps the claims of all who were heard of lately.
    pub(super) async fn renew_leases(&mut self) {
        let Some(team) = self.post.state.team() else { return };
        let often = team.settings.lease() / 3;
        let is_due = |link: &&LiveMember| {
            let waits = link.n_held > 0 || self.places.is_coming(&link.runner.member);
            let is_alive = waits || link.heard_at > link.renewed_at;
            is_alive && link.renewed_at.elapsed() >= often
        };
        let due: Vec<MemberName> =
            self.links.values().filter(is_due).map(|link| link.runner.member.clone()).collect();
        self.renew_leases_of(due).await;
    }

    /// Ends those who have mail to deal with, or a turn to end, and give no sign of life. Who holds a task loses it by its lease.
    pub(super) fn end_silent(&mut self) {
        let Some(team) = self.post.state.team() else { return };
        let lease = team.settings.lease();
        let is_due = |link: &&LiveMember| {
            let member = &link.runner.member;
            let is_free =
                at_work(&self.post.state, member).next().is_none() && !self.post.is_lead(member);
            is_free && link.hangs_for(lease)
        };
        let due: Vec<MemberName> =
            self.links.values().filter(is_due).map(|link| link.runner.member.clone()).collect();
        due.iter().for_each(|member| self.hangs(member));
    }

    /// Keeps the claims of all who run, however long nothing was heard of them.
    pub(super) async fn renew_all_leases(&mut self) {
        self.links.values_mut().for_each(|link| link.heard_at = Instant::now());
        let all = self.links.keys().cloned().collect();
        self.renew_leases_of(all).await;
    }

    async fn renew_leases_of(&mut self, members: Vec<MemberName>) {
        for member in members {
            let held: Vec<_> = self.post.state.tasks().held_by(&member).collect();
            for task in held {
                let order = TaskCommand::Renew { task: task.into(), attempt: None };
                self.post.give(Command::Task(order)).await;
            }
            if let Some(link) = self.links.get_mut(&member) {
                link.renewed_at = Instant::now();
            }
        }
    }
}
