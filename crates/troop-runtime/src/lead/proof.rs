//! Proof: what is said to be done is merged and checked before it counts as done.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use troop_model::{
    ActorKind, Command, DelegationOutcome, Fact, Hint, HintCommand, MemberName, Merged, Notice,
    Proof, RefusedBy, RejectMode, State, Status, TaskCommand, TaskNumber, TaskRef,
};

use super::{
    Runner, dispatcher::Dispatcher, gate::Deed, input::LeadInput, patience::Perseverance,
    places::at_work, post::would_take,
};
use crate::{
    Aim, CheckDemand, Checks, CommandRequest, GitError, Merge, MergeOutcome, MergeRefusal,
    TaskAttempt, WorkReport, Worktrees,
    checks::{DemandProbe, LineSink, complaint},
};

/// How often a member may say in one attempt that it is done when it is not. Then the task fails, and is tried anew.
const MAX_REFUSALS: u32 = 5;

/// Something that was said to be done, and whether it is.
#[derive(Debug)]
pub(super) struct Proved {
    pub(super) deed: Deed,
    task: TaskNumber,
    finished: Result<WorkReport, GitError>,
}

/// What must be shown before something counts as done.
#[derive(Debug)]
pub(super) struct Claim {
    task: TaskNumber,
    work: Option<(Worktrees, TaskAttempt)>,
    how: How,
    checks: Vec<String>,
}

/// In which way something is said to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By its holder.
    Finish(Aim),
    /// By who approves what was handed in.
    Approve,
}

impl Dispatcher {
    /// What must be shown before this counts as done; nothing, if it does not say so, or is refused anyway.
    pub(super) fn to_show(&self, request: &CommandRequest) -> Option<Claim> {
        let (task, member, how) = self.said_done(request)?;
        let found = self.post.state.tasks().get(task)?;
        let checks = found.required_checks(self.post.state.team()?);
        let checks = checks.into_iter().map(str::to_owned).collect();
        let work = self.work_of(&member, task);
        let claim = Claim { task, work, how, checks };
        let is_empty = claim.work.is_none() && claim.checks.is_empty();
        (!is_empty && self.post.would_take(request)).then_some(claim)
    }

    /// Which task is said to be done, whose work it is, and in which way.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all else says nothing of that kind")]
    pub(super) fn said_done(
        &self,
        request: &CommandRequest,
    ) -> Option<(TaskNumber, MemberName, How)> {
        let is_reviewed = self.post.state.team()?.settings.require_review;
        let aim = if is_reviewed { Aim::HandIn } else { Aim::Merge };
        let (task, how) = match &request.command {
            Command::Task(TaskCommand::Complete { task, .. }) => {
                (self.post.state.resolve(task).ok()?, How::Finish(aim))
            }
            Command::Task(TaskCommand::Review { task, .. }) => {
                (self.post.state.resolve(task).ok()?, How::Finish(Aim::HandIn))
            }
            Command::Task(TaskCommand::Approve { task, .. }) => {
                (self.post.state.resolve(task).ok()?, How::Approve)
            }
            Command::FinishDelegation { delegation, outcome: DelegationOutcome::Completed(_) } => {
                let mut all = self.post.state.delegations();
                (all.find(|it| it.id == *delegation)?.task, How::Finish(aim))
            }
            _ => return None,
        };
        if how == How::Approve && self.post.state.tasks().status(task) != Some(Status::InReview) {
            return None;
        }
        // A person's word counts at once; what its holder made is merged right after.
        if how != How::Approve && request.actor.kind == ActorKind::Human {
            return None;
        }
        let owner = self.post.state.tasks().get(task)?.owner.clone();
        let actor =
            || self.post.state.find_member(&request.actor.name).ok().map(|it| it.name.clone());
        Some((task, owner.or_else(actor)?, how))
    }

    /// Whether somebody still wants to know whether a task is done: until it is taken away or over, which the board is asked
    /// once more before anything is changed.
    fn wanted(&mut self, request: &CommandRequest, task: TaskNumber) -> CheckDemand {
        let over = CancellationToken::new();
        self.proofs.insert(request.operation, (task, over.clone()));
        let (board, clock, request) =
            (self.post.board.clone(), self.post.clock.clone(), Arc::new(request.clone()));
        let ask: DemandProbe = Arc::new(move || {
            let (board, now, request) = (board.clone(), clock.now(), Arc::clone(&request));
            Box::pin(async move {
                let look = move |state: &State| would_take(state, &request, now);
                // A board that cannot be asked does not take it in the end.
                board.look(look).await.unwrap_or(true)
            })
        });
        CheckDemand { over, ask: Some(ask) }
    }

    /// A task is over, or was taken away from whoever had it: nobody wants to know any more whether it is done.
    pub(super) fn end_proofs(&self, fact: &Fact) {
        let (Fact::TaskReleased { task, .. }
        | Fact::TaskFailed { task, .. }
        | Fact::TaskRejected { task, .. }
        | Fact::TaskCancelled { task, .. }
        | Fact::TaskDeleted { task }) = fact
        else {
            return;
        };
        let proofs = self.proofs.values().filter(|(of, _)| of == task);
        proofs.for_each(|(_, over)| over.cancel());
    }

    /// Finds out whether something is done; it goes on when that is known.
    pub(super) fn show(&mut self, claim: Claim, deed: Deed) {
        self.n_gated += 1;
        let Claim { task, work, how, checks } = claim;
        let owner = self.post.state.tasks().get(task).and_then(|it| it.owner.clone());
        let wanted = self.wanted(&deed.request, task);
        let checks = self.checks(checks, owner, wanted);
        let work = work.map(|(isolation, work)| (isolation, self.patience(&work, &checks), work));
        let (inputs, project, over) = (
            self.post.background.inputs.clone(),
            self.project.clone(),
            self.post.background.over.clone(),
        );
        self.post.background.tracker.spawn(async move {
            let finish = async {
                match (work, how) {
                    (Some((isolation, mut patience, work)), How::Finish(aim)) => loop {
                        match isolation.finish(&work, aim, &checks).await {
                            Err(error) if patience.waits_out(&error).await => {}
                            finished => break finished,
                        }
                    },
                    // Who approves hears at once, and it costs nothing.
                    (Some((isolation, _, work)), How::Approve) => {
                        isolation.approve(&work, &checks).await
                    }
                    (None, _) => {
                        let evidence = checks.run(&project, None).await;
                        Ok(match checks.wanted.is_still().await {
                            true => WorkReport::without_merge(evidence),
                            false => MergeRefusal::Unwanted.into(),
                        })
                    }
                }
            };
            // At the end of the lead it is not known; the task is given to somebody again.
            let Some(finished) = over.run_until_cancelled(finish).await else { return };
            drop(inputs.send(LeadInput::Proved(Box::new(Proved { deed, task, finished }))).await);
        });
    }

    /// For what a fault of the machine keeps from being merged.
    pub(super) fn patience(&self, work: &TaskAttempt, checks: &Checks) -> Perseverance {
        let TaskAttempt { member, task, .. } = work;
        let what = format!("{member}'s work on {task} cannot be merged now");
        let over = checks.wanted.over.clone();
        Perseverance::new(
            (member.clone(), what),
            self.post.timing.restart,
            self.post.background.inputs.clone(),
            over,
        )
    }

    pub(super) fn checks(
        &self,
        commands: Vec<String>,
        owner: Option<MemberName>,
        wanted: CheckDemand,
    ) -> Checks {
        let seconds = self.post.state.team().map_or(1, |team| team.settings.check_timeout_seconds);
        let inputs = self.post.background.inputs.clone();
        let show = owner.map(|owner| {
            let show = move |line: &str| {
                // A lead that has enough to do does not show it.
                drop(inputs.try_send(LeadInput::Shown(owner.clone(), line.to_owned())));
            };
            Arc::new(show) as LineSink
        });
        Checks {
            commands,
            timeout: Duration::from_secs(seconds.into()),
            environment: self.environment.clone(),
            clock: self.post.clock.clone(),
            session: self.post.mandate.session,
            show,
            wanted,
            agreement: self.agreement.clone(),
        }
    }

    /// It is known whether something is done.
    pub(super) async fn proved(&mut self, proved: Proved) {
        self.n_gated -= 1;
        self.post.agenda.is_due = true;
        let Proved { deed, task, finished } = proved;
        self.proofs.remove(&deed.request.operation);
        let runner = deed.runner.clone();
        let is_approval =
            matches!(deed.request.command, Command::Task(TaskCommand::Approve { .. }));
        match finished {
            Ok(WorkReport { outcome: MergeOutcome::Not(MergeRefusal::Unwanted), .. }) => {
                self.is_unwanted(deed).await;
            }
            Ok(WorkReport { outcome: MergeOutcome::Not(why), evidence }) if is_approval => {
                let feedback = complaint(&evidence);
                let reason = feedback.clone().unwrap_or_else(|| why.reason());
                let feedback = feedback.unwrap_or_else(|| why.to_string());
                self.keep_proof(task, evidence, None).await;
                self.send_back(deed, task, feedback, &reason).await;
            }
            Ok(WorkReport { outcome: MergeOutcome::Not(why), evidence }) => {
                let complaint = complaint(&evidence);
                self.keep_proof(task, evidence, None).await;
                if complaint.is_none() {
                    let reason = why.reason();
                    self.record_refusal(&deed.request, RefusedBy::Merge, &reason).await;
                }
                let feedback = complaint.unwrap_or_else(|| why.to_string());
                self.not_done(deed, task, feedback, Notice::NotDone).await;
            }
            Ok(WorkReport { outcome: MergeOutcome::Merged(merge), evidence }) => {
                self.keep_proof(task, evidence, Some(merge)).await;
                self.carry_out(deed).await;
            }
            Ok(WorkReport { outcome: MergeOutcome::Ready, evidence }) => {
                self.keep_proof(task, evidence, None).await;
                self.carry_out(deed).await;
            }
            Err(error) if is_approval => {
                let why = error.chain();
                let feedback =
                    format!("{task} could not be merged and still waits for approval: {why}");
                self.record_refusal(&deed.request, RefusedBy::Merge, &why).await;
                self.vetoed(deed, feedback, Notice::NotDone).await;
            }
            Err(error) => {
                let why = error.chain();
                self.record_refusal(&deed.request, RefusedBy::Merge, &why).await;
                let feedback = format!("your work could not be merged and is unchanged: {why}");
                self.not_done(deed, task, feedback, Notice::NotDone).await;
            }
        }
        if let Some(runner) = runner {
            self.let_go_on(&runner).await;
        }
    }

    pub(super) async fn keep_proof(
        &mut self,
        task: TaskNumber,
        evidence: Vec<troop_model::Evidence>,
        merge: Option<Merge>,
    ) {
        // Also where it brought nothing new: it is settled where the work is.
        let merge = merge.map(|it| Merged { into: it.into, commit: it.commit });
        if merge.is_some() || !evidence.is_empty() {
            let proof = Proof { task: task.into(), evidence, merge, waived: None };
            self.post.give(Command::Task(TaskCommand::Prove(proof))).await;
        }
    }

    /// What was said to be done is not wanted any more. The board says why; if it would take it again, it is another attempt,
    /// of which nothing was merged.
    async fn is_unwanted(&mut self, deed: Deed) {
        if self.post.would_take(&deed.request) {
            let feedback =
                "the task was taken away in the meantime; look at it, and complete it again";
            self.vetoed(deed, feedback.to_owned(), Notice::NotDone).await;
        } else {
            self.carry_out(deed).await;
        }
    }

    /// What was handed in cannot be merged as it is: who made it gets it back, and who approved it hears that. It is no fault
    /// of who made it that others were merged meanwhile. Who cannot repair it would hand in the same again, so it is tried anew.
    async fn send_back(&mut self, deed: Deed, task: TaskNumber, feedback: String, reason: &str) {
        let (attempt, can_repair) = (self.attempt_at(task), self.can_repair(task));
        let owner = self.post.state.tasks().get(task).and_then(|it| it.owner.clone());
        let owner = owner.map_or_else(|| "whoever takes it".to_owned(), |it| it.to_string());
        let (task_ref, mode) = (task.into(), RejectMode::Revise);
        let order = TaskCommand::Reject { task: task_ref, reason: feedback.clone(), mode };
        self.post.give(Command::Task(order)).await;
        if !can_repair {
            let (task, attempt) = (task.into(), Some(attempt));
            self.post
                .give(Command::Task(TaskCommand::Fail {
                    task,
                    reason: feedback,
                    attempt,
                    for_good: false,
                }))
                .await;
        }
        let message = match can_repair {
            true => format!("{task} was sent back to {owner}: {reason}"),
            false => format!("{task} failed, because {owner} cannot repair it: {reason}"),
        };
        let number = task.0;
        let hint = match self.may_be_tried_again(task) || can_repair {
            true => Hint::to(
                "approve it when it is submitted again",
                HintCommand::troop("task approve").word(number),
            ),
            false => Hint::to("retry it", HintCommand::troop("task retry").word(number)),
        };
        self.say_no_with_hint(deed, message, hint).await;
    }

    fn attempt_at(&self, task: TaskNumber) -> u32 {
        self.post.state.tasks().get(task).map_or(0, |it| it.attempts)
    }

    /// Whether somebody speaks of an earlier attempt at a task: that ends nothing of this one.
    pub(super) fn is_late(&self, task: &TaskRef, attempt: Option<u32>) -> bool {
        let Ok(task) = self.post.state.resolve(task) else { return false };
        attempt.is_some_and(|attempt| attempt != self.attempt_at(task))
    }

    /// Whether a task that fails now is tried again by itself.
    fn may_be_tried_again(&self, task: TaskNumber) -> bool {
        let max = self.post.state.team().map_or(0, |team| team.settings.max_attempts);
        self.post.state.tasks().get(task).is_some_and(|it| it.attempts_used() < max)
    }

    /// Whether who holds a task can do anything about what is said against its result.
    fn can_repair(&self, task: TaskNumber) -> bool {
        let owner = self.post.state.tasks().get(task).and_then(|it| it.owner.as_ref());
        let agent = owner.and_then(|it| self.post.state.member(it));
        agent.is_none_or(|it| troop_model::can_repair(&it.agent))
    }

    /// The board did not take what a member said. What it says to be done is then not done: it holds the task and would say
    /// nothing more about it.
    pub(super) async fn not_taken(
        &mut self,
        (runner, request, why): (Runner, CommandRequest, String),
    ) {
        let is_at = |task| at_work(&self.post.state, &runner.member).any(|it| it == task);
        let is_late = matches!(&request.command, Command::Task(TaskCommand::Complete { task, attempt, .. })
            if self.is_late(task, *attempt));
        match self.said_done(&request) {
            Some((task, ..)) if is_at(task) && !is_late => {
                self.post.tell_people(format!("{}: {task} is not done yet: {why}", runner.member));
                let deed = Deed { runner: Some(runner), request, responder: None };
                self.not_done(deed, task, why, Notice::NotDone).await;
            }
            _ => self.refused(&runner, why),
        }
    }

    /// Who said that something is done hears that it is not. Who cannot repair it, or does not, has failed.
    pub(super) async fn not_done(
        &mut self,
        deed: Deed,
        task: TaskNumber,
        feedback: String,
        notice: Notice,
    ) {
        let (attempt, can_repair) = (self.attempt_at(task), self.can_repair(task));
        let n_refusals = self.refusals.entry((task, attempt)).or_default();
        *n_refusals += 1;
        if *n_refusals >= MAX_REFUSALS || !can_repair {
            let reason = feedback.clone();
            let order = TaskCommand::Fail {
                task: task.into(),
                reason,
                attempt: Some(attempt),
                for_good: false,
            };
            self.post.give(Command::Task(order)).await;
            self.refusals.remove(&(task, attempt));
            self.say_no(deed, feedback, notice).await;
        } else {
            self.vetoed(deed, feedback, notice).await;
        }
    }
}
