//! Handles the messages and requests of members on their wires.

use tokio::time::Instant;
use troop_model::{Actor, Command, Notice, OperationId, TaskCommand, preview};
use troop_protocol::{
    FromTeammate, Idle, Incoming, Log, MethodError, Notification, Ready, ReportedStatus, Responder,
    SkippedLine, TaskReport,
};

use super::{
    Runner,
    completion::{Intent, PassageFinding, PassageId, ReleasedRunner, refusal},
    crew::{
        facts::{Engagement, IdleAfter},
        lifecycle::MemberExit,
        member::LiveMember,
    },
    dispatcher::Dispatcher,
    gate::{HookReply, HookSubject},
    idle,
    input::Due,
    policy::completion::is_late,
    socket::SocketCommand,
    transcript::TranscriptLine,
};
use crate::{CommandEffect, CommandRequest, GitError, WorkReport, hooks::Verdict};

/// How much of a wrong name people see.
const MAX_NAME: usize = 40;

/// Messages.
impl Dispatcher {
    pub(super) async fn hear(&mut self, runner: &Runner, incoming: Incoming) {
        let Some(live) = self.office.crew.in_run(runner) else { return };
        live.facts.signs.heard_at = Instant::now();
        if let Some(incoming) = live.postponed.keep(incoming) {
            self.take_word(runner, incoming).await;
        }
    }

    /// Handles the messages that a member sent while one of its reports waited for a disk or the store.
    async fn hear_postponed(&mut self, runner: &Runner) {
        loop {
            let live = self.office.crew.in_run(runner);
            let Some(incoming) = live.and_then(|it| it.postponed.next()) else { return };
            self.take_word(runner, incoming).await;
        }
    }

    async fn take_word(&mut self, runner: &Runner, incoming: Incoming) {
        match incoming {
            Incoming::Notification(said) => self.hear_said(runner, &said).await,
            Incoming::Request(request) => self.answer(runner, request).await,
            Incoming::Skipped(skipped) => self.skipped(runner, &skipped),
            Incoming::End(_) => self.silenced(runner).await,
        }
    }

    async fn hear_said(&mut self, runner: &Runner, said: &Notification) {
        let office = &mut self.office;
        match FromTeammate::try_from(said) {
            Ok(FromTeammate::Ready(ready)) => self.ready(runner, &ready).await,
            Ok(FromTeammate::TaskUpdate(report)) => self.reported(runner, report).await,
            Ok(FromTeammate::Message(message)) => {
                if let Some(facts) = office.crew.facts_of(runner) {
                    facts.idle.has_worked = true;
                }
                office.send_for(runner, message).await;
            }
            Ok(FromTeammate::Idle(said)) => self.says_idle(runner, said).await,
            Ok(FromTeammate::ShutdownAck(ack)) => office.answer_stop(runner, ack).await,
            Ok(FromTeammate::Log(Log { level, text })) => office.log(runner, level, &text),
            Ok(FromTeammate::Usage(report)) => office.count_usage(runner, &report).await,
            Ok(FromTeammate::Alive {}) => {}
            Ok(FromTeammate::Failed { reason }) => {
                office.fail_without_task(&runner.member, reason).await;
            }
            Ok(FromTeammate::TurnEnd {}) => self.ends_turn(runner).await,
            // A board call without an id: it is carried out without an answer.
            Err(MethodError::Unknown { .. }) => self.call_unanswered(runner, said).await,
            Err(error @ MethodError::BadParams { .. }) => office.refuse(runner, error.to_string()),
        }
    }

    fn skipped(&mut self, runner: &Runner, skipped: &SkippedLine) {
        let what = format!("skipped a line ({}): {}", skipped.reason, skipped.preview);
        self.office.post.note(&runner.member, TranscriptLine::trouble(&what));
    }

    /// A member says that it is ready.
    async fn ready(&mut self, runner: &Runner, ready: &Ready) {
        let office = &mut self.office;
        let member = &runner.member;
        if !office.crew.become_ready(&mut office.post, member, ready).await {
            return;
        }
        if ready.name != member.as_str() {
            let given = preview(&ready.name, MAX_NAME);
            let what = format!(
                "{member}: its program says in `team.ready` that it is `{given}`; it must give the name that it gets as `--name`"
            );
            office.post.tell_people(what.clone());
            office.post.note(member, TranscriptLine::trouble(&what));
        }
        if let Some(pid) = office.crew.get(member).and_then(LiveMember::own_process) {
            office.gate.member_spawned(&office.post, &office.places, member, pid);
        }
        office.send_context(member);
        office.send_held_tasks(member);
        office.deliver(member).await;
    }

    /// A member reports on its task.
    async fn reported(&mut self, runner: &Runner, report: TaskReport) {
        let member = &runner.member;
        let task = match report.task_id.task() {
            Ok(task) => task,
            Err(refusal) => return self.office.refuse(runner, refusal.to_string()),
        };
        let TaskReport { result, summary, reason, attempt, for_good, .. } = report;
        if let Some(facts) = self.office.crew.facts_of(runner) {
            facts.idle.has_worked = true;
        }
        let reason = reason.or_else(|| result.clone());
        let is_late = is_late(&self.office.post.state, &task, attempt);
        let order = match report.status {
            ReportedStatus::InProgress => {
                self.office.begin_work(runner, &task, attempt);
                return self.office.take_if_free(runner, task).await;
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
            self.office.end_work(runner, &command);
            if let Some(facts) = self.office.crew.facts_of(runner) {
                // A final report ends the turn, even if the member does not say that it is idle.
                facts.work.is_in_turn = false;
            }
        }
        self.pass_for(runner, command, None, None).await;
    }

    /// Carries out a command of a member, after all stages it must pass.
    pub(super) async fn pass_for(
        &mut self,
        runner: &Runner,
        command: Command,
        operation: Option<OperationId>,
        responder: Option<Responder>,
    ) {
        let office = &mut self.office;
        let actor = Actor::agent(&runner.member);
        let mut request = office.crew.signed(&office.post, actor, command);
        if let Some(operation) = operation {
            request.operation = operation;
        }
        let intent = Intent { runner: Some(runner.clone()), request, responder };
        self.completions.pass(office, intent).await;
    }

    /// Carries out a command of another process, after all stages it must pass.
    pub(super) async fn called(&mut self, command: SocketCommand) {
        if command.caller.is_gone() {
            // It waited for a lead that was stopped, and asked the board instead.
            return;
        }
        let SocketCommand { request, responder, .. } = command;
        let request = CommandRequest { fence: Some(self.office.post.mandate.fence), ..request };
        let intent = Intent { runner: None, request, responder: Some(responder) };
        self.completions.pass(&mut self.office, intent).await;
    }
}

/// Passages that continue.
impl Dispatcher {
    /// What a passage waited for is found out, and it continues. Postponed messages of the member are handled before anything
    /// follows from the end of its report: they may be its last ones.
    pub(super) async fn found(&mut self, id: PassageId, finding: PassageFinding) {
        let runner = self.completions.runner_of(id);
        if let Some(live) = runner.as_ref().and_then(|it| self.office.crew.in_run(it)) {
            live.postponed.end();
        }
        let released = self.completions.found(&mut self.office, id, finding).await;
        if let Some(runner) = runner {
            self.hear_postponed(&runner).await;
        }
        self.release(released).await;
    }

    /// Hooks have given their verdict.
    pub(super) async fn judged(&mut self, reply: HookReply) {
        let office = &mut self.office;
        office.gate.hear(&mut office.post, &reply.fired);
        match (reply.subject, reply.fired.verdict) {
            (HookSubject::Passage(id, _), verdict) => {
                let released = self.completions.judged(office, id, verdict, reply.refusal).await;
                self.release(released).await;
            }
            (HookSubject::Idle(runner, last_task), Verdict::Continue) => {
                idle::report(office, &runner, last_task).await;
            }
            (HookSubject::Idle(runner, _), Verdict::Veto { feedback }) => {
                refusal::tell(office, &runner.member, feedback, Notice::Vetoed).await;
            }
            (HookSubject::Created(task), Verdict::Veto { feedback }) => {
                let order = TaskCommand::Cancel { task: task.into(), reason: feedback };
                office.post.give(Command::Task(order)).await;
            }
            (HookSubject::Created(_) | HookSubject::Nothing, _) => {}
        }
    }

    /// The proof of a done claim has finished.
    pub(super) async fn proved(&mut self, id: PassageId, finished: Result<WorkReport, GitError>) {
        let released = self.completions.proved(&mut self.office, id, finished).await;
        self.release(released).await;
    }

    /// The board has decided the consequences of a refused done claim.
    pub(super) async fn decided(&mut self, id: PassageId, effect: Option<CommandEffect>) {
        let released = self.completions.decided(&mut self.office, id, effect).await;
        self.release(released).await;
    }

    /// A report or call of a member waits no longer. If it was the last one, the member may be idle, or may have exited.
    async fn release(&mut self, released: ReleasedRunner) {
        self.completions.end_turns(&mut self.office).await;
        let Some(runner) = released else { return };
        let Some(facts) = self.office.crew.facts_of(&runner) else { return };
        facts.work.n_held -= 1;
        if facts.life.has_exited() {
            return self.bury(&runner).await;
        }
        let is_last = facts.work.n_held == 0;
        if let Some(IdleAfter { last_task, .. }) = facts.idle.after.take_if(|_| is_last) {
            idle::begin(&mut self.office, &runner, last_task).await;
        }
    }
}

/// The end of work, and of members.
impl Dispatcher {
    /// A member's turn is over. If that ends a delegation it was working on, the result is the last thing it said.
    async fn end_run(&mut self, runner: &Runner) {
        let Some(work) = self.office.take_engagement(runner) else { return };
        let Engagement { task, attempt, said } = work;
        let delegation = self.office.post.state.delegation_of(task);
        if !delegation.is_some_and(|it| it.ends_with_work_of(&runner.member)) {
            return;
        }
        let report = TaskReport {
            task_id: task.into(),
            status: ReportedStatus::Completed,
            result: said,
            summary: None,
            reason: None,
            attempt,
            for_good: false,
        };
        self.reported(runner, report).await;
    }

    /// A member's turn is over. Others hear that it is idle if they have not heard it yet.
    async fn ends_turn(&mut self, runner: &Runner) {
        self.broke_off(runner);
        self.end_run(runner).await;
        let office = &mut self.office;
        let Some(facts) = office.crew.facts_of(runner) else { return };
        facts.say_idle();
        let is_news = facts.owes_idle_report();
        if is_news && !office.post.is_lead(&runner.member) {
            idle::begin(office, runner, None).await;
        } else {
            office.rest(runner);
        }
        self.delete_team_if_due(runner).await;
    }

    /// A member says that it is idle.
    async fn says_idle(&mut self, runner: &Runner, said: Idle) {
        self.broke_off(runner);
        self.end_run(runner).await;
        if let Some(facts) = self.office.crew.facts_of(runner) {
            facts.say_idle();
        }
        idle::expect_word(&mut self.office, runner);
        let last_task = said.last_task.and_then(|id| id.task().ok());
        idle::begin(&mut self.office, runner, last_task).await;
        self.delete_team_if_due(runner).await;
    }

    /// A member has ended its turn, so it no longer works on a task that it lost.
    fn broke_off(&mut self, runner: &Runner) {
        let facts = self.office.crew.facts_of(runner);
        let broken_off = facts.and_then(|it| it.work.breaks_off.take());
        if let Some(task) = broken_off {
            self.office.post.timers.forget(&Due::BreakOff(runner.clone()));
            self.left_alone(task);
        }
    }

    /// A member's wire has ended.
    async fn silenced(&mut self, runner: &Runner) {
        if self.office.crew.silence(&mut self.office.post, runner) {
            self.bury(runner).await;
        }
    }

    /// A member's process or task has exited.
    pub(super) async fn exited(&mut self, runner: &Runner, exit: MemberExit) {
        if self.office.crew.exit(&mut self.office.post, runner, exit) {
            self.bury(runner).await;
        }
    }

    /// Handles the end of a member's run, once all its messages are handled.
    pub(super) async fn bury(&mut self, runner: &Runner) {
        let office = &mut self.office;
        let Some(dead) = office.crew.take_dead(&mut office.post, runner) else { return };
        // Before another run starts in its folder.
        if let Some(task) = dead.facts.work.breaks_off {
            self.left_alone(task);
        }
        self.office.bury(dead).await;
    }
}
