//! Hooks at the gate: some things wait for them, and some they are only told of.

use std::time::Duration;

use tokio::{select, time::sleep};
use tokio_util::sync::CancellationToken;
use troop_model::{
    Actor, Command, DelegationOutcome, Event, Hint, MemberName, Notice, OperationId, Outgoing,
    RefusedBy, Status, TaskCommand, TaskNumber, TaskRef,
};
use troop_protocol::{Failure, FailureKind, Responder};

use super::{
    Runner, dispatcher::Dispatcher, input::LeadInput, link::IdleAfter, transcript::TranscriptLine,
};
use crate::{
    CommandRequest,
    hooks::{HookContext, HookEvent, HookReport, HookTask, Occasion, Verdict},
};

/// How long hooks may still take once somebody is in a hurry.
const HURRY: Duration = Duration::from_secs(1);

/// How many deeds are remembered that hooks have seen and the log does not show yet.
const MAX_GATED: usize = 1_024;

/// Something that waited for hooks, and what they said.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) fired: HookReport,
    pub(super) what: Gated,
}

/// What waits for hooks.
#[derive(Debug)]
pub(super) enum Gated {
    /// A member says that a task is done, or wants to put one on the board.
    Deed(Box<Deed>),
    /// A member is about to be idle.
    Idle(Runner, Option<TaskRef>),
    /// Somebody else put a task on the board.
    Created(TaskNumber),
    /// It has happened already; hooks are only told of it.
    Nothing,
}

/// Something that somebody wants done.
#[derive(Debug)]
pub(super) struct Deed {
    /// Which member; none if it is another process.
    pub(super) runner: Option<Runner>,
    pub(super) request: CommandRequest,
    /// Where the answer goes, if one is waited for.
    pub(super) responder: Option<Responder>,
}

impl Dispatcher {
    /// Does what another process asks for, after hooks if there are any for that.
    pub(super) async fn called(&mut self, (request, responder): (CommandRequest, Responder)) {
        let request = CommandRequest { fence: Some(self.post.mandate.fence), ..request };
        self.pass(Deed { runner: None, request, responder: Some(responder) }).await;
    }

    /// Does something for somebody, after hooks if there are any for that.
    pub(super) async fn pass(&mut self, deed: Deed) {
        self.record_written(&deed.request).await;
        match self.occasion_of(&deed.request) {
            Some(occasion) => self.hold(occasion, deed),
            None => match self.to_show(&deed.request) {
                Some(claim) => {
                    self.count_held(&deed);
                    self.show(claim, deed);
                }
                None => self.carry_out(deed).await,
            },
        }
    }

    pub(super) async fn carry_out(&mut self, deed: Deed) {
        match deed.responder {
            Some(responder) => self.call(deed.request, responder).await,
            None => {
                if let Some(runner) = &deed.runner {
                    self.do_for(runner, deed.request).await;
                }
            }
        }
    }

    fn hold(&mut self, occasion: Occasion, deed: Deed) {
        self.gated.insert(deed.request.operation);
        // What the board refused afterwards is never seen again. Operations are in order of time.
        while self.gated.len() > MAX_GATED {
            self.gated.pop_first();
        }
        self.count_held(&deed);
        self.fire(occasion, Gated::Deed(Box::new(deed)));
    }

    fn count_held(&mut self, deed: &Deed) {
        if let Some(link) = deed.runner.as_ref().and_then(|runner| self.link(runner)) {
            link.n_held += 1;
        }
    }

    /// Hooks have spoken.
    pub(super) async fn passed(&mut self, passed: Passed) {
        self.n_gated -= 1;
        self.post.agenda.is_due = true;
        self.hear_complaints_about_hooks(&passed.fired);
        match (passed.what, passed.fired.verdict) {
            (Gated::Deed(deed), verdict) => self.deed_passed(*deed, verdict).await,
            (Gated::Idle(runner, last_task), Verdict::Continue) => {
                self.report_idle(&runner, last_task).await;
            }
            (Gated::Idle(runner, _), Verdict::Veto { feedback }) => {
                self.tell_member(&runner.member, feedback, Notice::Vetoed).await;
            }
            (Gated::Created(task), Verdict::Veto { feedback }) => {
                let order = TaskCommand::Cancel { task: task.into(), reason: feedback };
                self.post.give(Command::Task(order)).await;
            }
            (Gated::Created(_) | Gated::Nothing, _) => {}
        }
    }

    async fn deed_passed(&mut self, deed: Deed, verdict: Verdict) {
        let runner = deed.runner.clone();
        match verdict {
            Verdict::Continue => match self.to_show(&deed.request) {
                Some(claim) => return self.show(claim, deed),
                None => self.carry_out(deed).await,
            },
            Verdict::Veto { feedback } => {
                self.record_refusal(&deed.request, RefusedBy::Hook, &feedback).await;
                match self.said_done(&deed.request) {
                    Some((task, ..)) if self.post.would_take(&deed.request) => {
                        self.not_done(deed, task, feedback, Notice::DeedVetoed).await;
                    }
                    _ => self.vetoed(deed, feedback, Notice::DeedVetoed).await,
                }
            }
        }
        if let Some(runner) = runner {
            self.let_go_on(&runner).await;
        }
    }

    /// A deed of a member waits no longer. If it was the last, the member may be idle, or is gone.
    pub(super) async fn let_go_on(&mut self, runner: &Runner) {
        let Some(link) = self.link(runner) else { return };
        link.n_held -= 1;
        if link.exit.is_some() {
            return self.bury(runner).await;
        }
        if let Some(IdleAfter { last_task, .. }) = link.idle_after.take_if(|_| link.n_held == 0) {
            self.may_be_idle(runner, last_task).await;
        }
    }

    /// A hook or a check is against it. Who asked hears why; a task that is not done after all is given to it once more.
    pub(super) async fn vetoed(&mut self, deed: Deed, feedback: String, notice: Notice) {
        let command = deed.request.command.clone();
        let Some(runner) = self.say_no(deed, feedback, notice).await else { return };
        if let Command::Task(TaskCommand::Complete { task, .. }) = &command
            && let Ok(number) = self.post.state.resolve(task)
        {
            // The task comes again with what was said, or soon after.
            if let Some(link) = self.link(&runner) {
                link.told.remove(&number);
                self.retry_soon(&runner.member);
            }
        }
    }

    /// Keeps in the log that something was refused: who is told in answer alone could tell nobody else.
    pub(super) async fn record_refusal(
        &mut self,
        request: &CommandRequest,
        by: RefusedBy,
        reason: &str,
    ) {
        let task = self.said_done(request).map(|(task, ..)| task);
        let mut subject = None;
        if let Command::Task(TaskCommand::Create(new)) = &request.command {
            subject = Some(new.subject.clone());
        }
        // What the board would not take is refused by its rules, whatever else is against it.
        if task.is_none() && subject.is_none() || !self.post.would_take(request) {
            return;
        }
        let (task, who, reason) = (task.map(Into::into), request.actor.clone(), reason.to_owned());
        self.post.give(Command::RecordRefusal { task, subject, who, by, reason }).await;
    }

    /// Tells who asked for something why not: in answer, or else by a message, and then who that is.
    pub(super) async fn say_no(
        &mut self,
        deed: Deed,
        feedback: String,
        notice: Notice,
    ) -> Option<Runner> {
        self.gated.remove(&deed.request.operation);
        if let Some(responder) = deed.responder {
            let failure = Failure::new(FailureKind::Forbidden, &feedback);
            self.refuse(responder, failure);
            return None;
        }
        let runner = deed.runner?;
        self.tell_member(&runner.member, feedback, notice).await;
        Some(runner)
    }

    /// The same, with what to do then.
    pub(super) async fn say_no_with_hint(&mut self, deed: Deed, message: String, hint: Hint) {
        let Some(responder) = deed.responder else {
            let feedback = format!("{message}; {hint}");
            drop(self.say_no(deed, feedback, Notice::NotDone).await);
            return;
        };
        self.gated.remove(&deed.request.operation);
        let failure = Failure::new(FailureKind::Conflict, &message);
        self.refuse(responder, failure.with_hint(hint));
    }

    /// Tells a member in a way that lasts what was against something.
    async fn tell_member(&mut self, member: &MemberName, content: String, notice: Notice) {
        let summary = match notice {
            Notice::Vetoed => "a hook said no to being idle",
            Notice::DeedVetoed => "a hook said no to what it did",
            Notice::NotDone => "it is not done yet",
        };
        self.post
            .give(Command::Send(
                Outgoing::system(member.to_string(), content)
                    .summarised(summary)
                    .with_notice(notice),
            ))
            .await;
    }

    /// What hooks are asked about a command before it is given, if any are.
    #[expect(clippy::wildcard_enum_match_arm, reason = "hooks are asked about two things only")]
    fn occasion_of(&self, request: &CommandRequest) -> Option<Occasion> {
        match &request.command {
            Command::Task(TaskCommand::Complete { task, result, .. })
                if self.hooks.has(HookEvent::TaskCompleted) =>
            {
                let task = self.hook_task(self.post.state.resolve(task).ok()?)?;
                Some(Occasion::TaskCompleted { task, result: result.clone() })
            }
            Command::FinishDelegation {
                delegation,
                outcome: DelegationOutcome::Completed(result),
            } if self.hooks.has(HookEvent::TaskCompleted) => {
                let mut all = self.post.state.delegations();
                let task = self.hook_task(all.find(|it| it.id == *delegation)?.task)?;
                Some(Occasion::TaskCompleted { task, result: result.clone() })
            }
            Command::Task(TaskCommand::Create(new)) if self.hooks.has(HookEvent::TaskCreated) => {
                let task = HookTask {
                    // The number that it gets, unless somebody else is faster.
                    number: TaskNumber(self.post.state.tasks().last().0 + 1),
                    subject: new.subject.clone(),
                    description: new.description.clone(),
                    owner: new.assignee.clone(),
                    folder: None,
                };
                Some(Occasion::TaskCreated { task, teammate: creator(&request.actor) })
            }
            _ => None,
        }
    }

    fn hook_task(&self, number: TaskNumber) -> Option<HookTask> {
        let task = self.post.state.tasks().get(number)?;
        Some(HookTask {
            number,
            subject: task.subject.clone(),
            description: task.description.clone(),
            owner: task.owner.clone().or_else(|| task.assignee.clone()),
            folder: task.owner.as_ref().and_then(|owner| self.place_of(owner)),
        })
    }

    /// Runs hooks, and lets what waits for them go on when they have spoken.
    pub(super) fn fire(&mut self, occasion: Occasion, what: Gated) {
        let context = HookContext {
            team: self.post.team_name(),
            session: self.post.mandate.session.to_string(),
            occasion,
        };
        if !self.hooks.has(context.event()) {
            return;
        }
        self.n_gated += 1;
        let (hooks, inputs) =
            (std::sync::Arc::clone(&self.hooks), self.post.background.inputs.clone());
        let hurried = self.post.background.hurried.clone();
        self.post.background.tracker.spawn(async move {
            // What hooks have not judged does not happen.
            let Some(fired) = unless_hurried(&hurried, hooks.fire(&context)).await else { return };
            drop(inputs.send(LeadInput::Passed(Box::new(Passed { fired, what }))).await);
        });
    }

    pub(super) fn fire_created(&mut self) {
        if self.post.mandate.fence == 1 {
            self.fire(Occasion::TeamCreated, Gated::Nothing);
        }
    }

    pub(super) fn fire_spawned(&mut self, member: &MemberName, pid: Option<u32>) {
        let agent =
            self.post.state.member(member).map(|it| it.agent.to_string()).unwrap_or_default();
        if let Some(pid) = pid {
            let teammate = member.clone();
            self.fire(Occasion::TeammateSpawned { teammate, agent, pid }, Gated::Nothing);
        }
    }

    pub(super) fn fire_assigned(&mut self, task: TaskNumber) {
        if let Some(task) = self.hook_task(task) {
            self.fire(Occasion::TaskAssigned { task }, Gated::Nothing);
        }
    }

    /// A task is on the board. If it came by way of this lead, hooks have seen it before.
    pub(super) fn created(&mut self, event: &Event, task: TaskNumber) {
        self.post.agenda.is_due = true;
        if !self.gated.remove(&event.operation)
            && let Some(found) = self.hook_task(task)
        {
            let occasion = Occasion::TaskCreated { task: found, teammate: creator(&event.actor) };
            self.fire(occasion, Gated::Created(task));
        }
    }

    /// A task is done. If that came by way of this lead, hooks have seen it before.
    pub(super) fn fire_completed_elsewhere(&mut self, event: &Event, task: TaskNumber) {
        if !self.gated.remove(&event.operation)
            && let Some(found) = self.hook_task(task)
        {
            let result = self.post.state.tasks().get(task).and_then(|task| task.result.clone());
            let result = result.unwrap_or_default();
            self.fire(Occasion::TaskCompleted { task: found, result }, Gated::Nothing);
        }
    }

    /// The team has ended. The last hooks are waited for: nobody hears of them later.
    pub(super) async fn fire_shutdown(&mut self) {
        let tasks = self.post.state.tasks();
        let n_completed = tasks.numbers().filter(|it| tasks.status(*it) == Some(Status::Completed));
        let occasion = Occasion::TeamShutdown {
            n_members: self.post.state.members().count(),
            n_completed: n_completed.count(),
            n_tasks: tasks.len(),
        };
        let session = self.post.mandate.session.to_string();
        let context = HookContext { team: self.post.team_name(), session, occasion };
        let fired = unless_hurried(&self.post.background.hurried, self.hooks.fire(&context)).await;
        self.hear_complaints_about_hooks(&fired.unwrap_or_default());
    }

    fn hear_complaints_about_hooks(&mut self, fired: &HookReport) {
        let Some(lead) = self.post.state.lead().map(|lead| lead.name.clone()) else { return };
        for complaint in &fired.complaints {
            self.post.note(&lead, TranscriptLine::trouble(&complaint.to_string()));
            self.hooks.complain(complaint);
        }
    }
}

/// Waits for hooks, but not for long once somebody is in a hurry: those that still run then are killed.
async fn unless_hurried(
    hurried: &CancellationToken,
    hooks: impl Future<Output = HookReport>,
) -> Option<HookReport> {
    let patience = async {
        hurried.cancelled().await;
        sleep(HURRY).await;
    };
    select! {
        fired = hooks => Some(fired),
        () = patience => None,
    }
}

fn creator(actor: &Actor) -> Option<MemberName> {
    (actor.kind == troop_model::ActorKind::Agent).then(|| actor.name.parse().ok()).flatten()
}

/// What has been through hooks already, by its operation.
pub(super) type Seen = std::collections::BTreeSet<OperationId>;
