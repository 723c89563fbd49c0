//! Proof: a task is checked and merged before it counts as done.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use troop_model::{
    Command, Evidence, Hint, HintCommand, MemberName, MergeRecord, Notice, Proof, RefusedBy,
    RejectMode, State, TaskCommand, TaskNumber,
};

use super::{
    AttemptFailure, Completions, DoneClaim, DoneRefusal, Intent, PassageStage, Station, refusal,
};
use crate::{
    CheckDemand, Checks, CommandRequest, GitError, Merge, MergeOutcome, MergeRefusal, TaskAttempt,
    WorkReport,
    checks::{DemandProbe, LineSink, complaint},
    lead::{
        input::LeadInput,
        office::Office,
        patience::Perseverance,
        places::FolderWork,
        policy::asking::would_take,
        policy::{
            completion::{DoneWay, Objection, Sentence, after_objection, done_claim},
            restart::Tries,
            unheard,
        },
        post::Post,
    },
};

/// The checks and the merge that a done claim needs.
#[derive(Debug)]
pub(super) struct ProofPlan {
    claim: DoneClaim,
    work: Option<FolderWork>,
    checks: Vec<String>,
}

/// The proof that a command needs; none if it is no done claim, or would be refused anyway.
pub(super) fn plan(office: &Office, request: &CommandRequest) -> Option<ProofPlan> {
    let state = &office.post.state;
    let claim = done_claim(state, request)?;
    let found = state.tasks().get(claim.task)?;
    let checks = found.required_checks(state.team()?);
    let checks: Vec<_> = checks.into_iter().map(str::to_owned).collect();
    let work = office.places.work_of(state, &claim.member, claim.task);
    let is_empty = work.is_none() && checks.is_empty();
    (!is_empty && office.post.would_take(request)).then_some(ProofPlan { claim, work, checks })
}

impl Completions {
    /// Checks and merges in the background.
    pub(super) fn prove(
        &mut self,
        office: &mut Office,
        intent: Intent,
        plan: ProofPlan,
        over: Option<PassageStage>,
    ) {
        let ProofPlan { claim, work, checks } = plan;
        let way = claim.way;
        let owner = office.post.state.tasks().get(claim.task).and_then(|it| it.owner.clone());
        let unwanted = CancellationToken::new();
        let wanted = wanted(&office.post, &intent.request, unwanted.clone());
        let checks = self.checks(&office.post, checks, owner, wanted);
        let report = Some(Arc::new(intent.request.clone()));
        let folder = work.map(|mut folder| {
            folder.work.report = report;
            let perseverance = perseverance(&office.post, &folder.work, &checks);
            (folder, perseverance)
        });
        let project = office.crew.project.clone();
        let end = office.post.background.over.clone();
        let id = self.hold(office, intent, Station::Proof { claim, over: unwanted }, over);
        office.post.background.spawn_input(async move {
            let finish = async {
                let work = match folder {
                    Some((folder, perseverance)) if folder.has_place().await => {
                        Some((folder.isolation, perseverance, folder.work))
                    }
                    _ => None,
                };
                match (work, way) {
                    (Some((isolation, mut perseverance, work)), DoneWay::Finish(aim)) => loop {
                        match isolation.finish(&work, aim, &checks).await {
                            Err(error) if perseverance.wait_out(&error).await => {}
                            finished => break finished,
                        }
                    },
                    // Not retried: the approver hears of an error at once, and it costs no attempt.
                    (Some((isolation, _, work)), DoneWay::Approve) => {
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
            // At the end of the lead the outcome stays unknown; the task is assigned again.
            let finished = end.run_until_cancelled(finish).await?;
            Some(LeadInput::Proved(id, Box::new(finished)))
        });
    }

    pub(super) fn checks(
        &self,
        post: &Post,
        commands: Vec<String>,
        owner: Option<MemberName>,
        wanted: CheckDemand,
    ) -> Checks {
        let seconds = post.state.team().map_or(1, |team| team.settings.check_timeout_seconds);
        let inputs = post.background.inputs.clone();
        let show = owner.map(|owner| {
            let show = move |line: &str| {
                // A busy lead drops these lines.
                drop(inputs.try_send(LeadInput::Shown(owner.clone(), line.to_owned())));
            };
            Arc::new(show) as LineSink
        });
        Checks {
            commands,
            timeout: Duration::from_secs(seconds.into()),
            environment: self.environment.clone(),
            clock: post.clock.clone(),
            session: post.mandate.session,
            show,
            wanted,
            agreement: self.agreement.clone(),
        }
    }

    /// Acts on the outcome of a proof. Evidence is recorded first, because the board needs it to decide. Returns whether the
    /// passage is over; if not, it waits for the board.
    pub(super) async fn conclude_proof(
        &mut self,
        office: &mut Office,
        intent: Intent,
        claim: DoneClaim,
        finished: Result<WorkReport, GitError>,
    ) -> bool {
        let task = claim.task;
        let objection = match finished {
            Ok(WorkReport { outcome: MergeOutcome::Merged(merge), evidence }) => {
                keep_proof(&mut office.post, task, evidence, Some(merge)).await;
                if let Some(order) =
                    unheard::completion(&office.post.state, &intent.request, &claim)
                {
                    // The board would not take it from the member any more. The work is merged, so nobody must do it again.
                    office.post.give(order).await;
                }
                office.carry_out(intent).await;
                return true;
            }
            Ok(WorkReport { outcome: MergeOutcome::Ready, evidence }) => {
                keep_proof(&mut office.post, task, evidence, None).await;
                office.carry_out(intent).await;
                return true;
            }
            Ok(WorkReport { outcome: MergeOutcome::Not(MergeRefusal::Unwanted), .. }) => {
                let feedback =
                    "the task was taken away in the meantime; look at it, and complete it again";
                ProofObjection::new(Objection::Unwanted, RefusedBy::Merge, feedback)
            }
            Ok(WorkReport { outcome: MergeOutcome::Not(why), evidence }) => {
                let complaint = complaint(&evidence);
                keep_proof(&mut office.post, task, evidence, None).await;
                match complaint {
                    Some(complaint) => {
                        ProofObjection::new(Objection::Work, RefusedBy::Checks, complaint)
                    }
                    None => ProofObjection::new(Objection::Work, RefusedBy::Merge, why.to_string())
                        .because(why.reason()),
                }
            }
            Err(error) => {
                let why = error.chain();
                let feedback = match claim.way {
                    DoneWay::Approve => {
                        format!("{task} could not be merged and still waits for approval: {why}")
                    }
                    DoneWay::Finish(_) => {
                        format!("your work could not be merged and is unchanged: {why}")
                    }
                };
                ProofObjection::new(Objection::Fault, RefusedBy::Merge, feedback).because(why)
            }
        };
        self.execute(office, intent, claim, objection).await
    }

    /// Acts on an objection. Returns whether the passage is over.
    async fn execute(
        &mut self,
        office: &mut Office,
        intent: Intent,
        claim: DoneClaim,
        objection: ProofObjection,
    ) -> bool {
        let ProofObjection { kind, refusal } = objection;
        let would_be_taken = office.post.would_take(&intent.request);
        match after_objection(claim.way, kind, would_be_taken) {
            Sentence::LetTheBoardSay => office.carry_out(intent).await,
            Sentence::Again => {
                refusal::say_no_to_deed(office, intent, refusal.feedback, refusal.notice).await;
            }
            Sentence::Refuse => {
                let over = Some(PassageStage::Proof);
                self.refuse_done(office, intent, &claim, refusal, over).await;
                return false;
            }
            Sentence::SendBack => {
                self.send_back(office, intent, claim.task, refusal).await;
                return false;
            }
        }
        true
    }

    /// A submitted result cannot be merged as it is: its member gets it back, and the board decides whether it can repair it.
    async fn send_back(
        &mut self,
        office: &mut Office,
        intent: Intent,
        task: TaskNumber,
        refusal: DoneRefusal,
    ) {
        let owner = office.post.state.tasks().get(task).and_then(|it| it.owner.clone());
        let result = ReturnedResult { task, owner, reason: refusal.reason };
        let station = Station::SentBack(result);
        let id = self.hold(office, intent, station, Some(PassageStage::Proof));
        let mode = RejectMode::Revise;
        let order = TaskCommand::Reject { task: task.into(), reason: refusal.feedback, mode };
        let command = Command::Task(order);
        office.post.give_then(command, move |effect| LeadInput::Decided(id, effect)).await;
    }
}

/// A result that goes back to the member that made it.
#[derive(Debug)]
pub(super) struct ReturnedResult {
    task: TaskNumber,
    owner: Option<MemberName>,
    reason: String,
}

/// Tells the approver of a result that it went back.
pub(super) async fn tell_sent_back(
    office: &mut Office,
    intent: Intent,
    result: ReturnedResult,
    failure: Option<AttemptFailure>,
) {
    let ReturnedResult { task, owner, reason } = result;
    let owner = owner.map_or_else(|| "whoever takes it".to_owned(), |it| it.to_string());
    let message = match failure {
        None => format!("{task} was sent back to {owner}: {reason}"),
        Some(_) => format!("{task} failed, because {owner} cannot repair it: {reason}"),
    };
    let number = task.0;
    let hint = match failure {
        None | Some(AttemptFailure::Retried) => Hint::to(
            "approve it when it is submitted again",
            HintCommand::troop("task approve").word(number),
        ),
        Some(AttemptFailure::Final) => {
            Hint::to("retry it", HintCommand::troop("task retry").word(number))
        }
    };
    refusal::say_no_with_hint(office, intent, message, hint).await;
}

/// The objection of a proof.
struct ProofObjection {
    kind: Objection,
    refusal: DoneRefusal,
}

impl ProofObjection {
    fn new(kind: Objection, by: RefusedBy, feedback: impl Into<String>) -> Self {
        let feedback = feedback.into();
        let notice = Notice::NotDone;
        Self { kind, refusal: DoneRefusal { by, reason: feedback.clone(), feedback, notice } }
    }

    /// With a shorter reason for the log.
    fn because(mut self, reason: String) -> Self {
        self.refusal.reason = reason;
        self
    }
}

/// Whether a proof is still wanted: until the task is over or lost its holder. The board is asked once more before anything is
/// changed.
fn wanted(post: &Post, request: &CommandRequest, over: CancellationToken) -> CheckDemand {
    let board = post.board.clone();
    let clock = post.clock.clone();
    let request = Arc::new(request.clone());
    let ask: DemandProbe = Arc::new(move || {
        let board = board.clone();
        let now = clock.now();
        let request = Arc::clone(&request);
        Box::pin(async move {
            let look = move |state: &State| would_take(state, &request, now);
            // A board that cannot be asked refuses the command in the end.
            board.look(look).await.unwrap_or(true)
        })
    });
    CheckDemand { over, ask: Some(ask) }
}

/// Retries for a merge that fails because of the machine.
pub(super) fn perseverance(post: &Post, work: &TaskAttempt, checks: &Checks) -> Perseverance {
    let TaskAttempt { member, task, .. } = work;
    Perseverance {
        member: member.clone(),
        what: format!("{member}'s work on {task} cannot be merged now"),
        first: post.timing.restart,
        inputs: post.background.inputs.clone(),
        over: checks.wanted.over.clone(),
        tries: Tries::new(Instant::now()),
    }
}

/// Records the outcome of a proof. A merge that changed nothing is recorded, too: it shows where the work is.
pub(super) async fn keep_proof(
    post: &mut Post,
    task: TaskNumber,
    evidence: Vec<Evidence>,
    merge: Option<Merge>,
) {
    let merge = merge.map(|it| MergeRecord { into: it.into, commit: it.commit });
    if merge.is_some() || !evidence.is_empty() {
        let proof = Proof::new(task, evidence, merge);
        post.give(Command::Task(TaskCommand::Prove(proof))).await;
    }
}
