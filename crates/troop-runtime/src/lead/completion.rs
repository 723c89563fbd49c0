//! What somebody wants done, on its way to the board. Most commands go there at once. A command that ends a task, or puts one
//! on the board, is a passage: one value that passes these stages in this order (see `policy::completion::ORDER`), each only
//! if the command needs it:
//!
//! 1. **Files** (`completion/files.rs`): files that the holder of a task wrote into the workspace are recorded as the task's,
//!    before it lets the task go. What the member says meanwhile waits, so that nothing overtakes this.
//! 2. **Hooks** (`gate.rs`): a hook may say no.
//! 3. **Proof** (`completion/proof.rs`): checks run and the work is merged, unless the board would refuse the command anyway.
//!    What comes of that is recorded before the command is given.
//! 4. **Board**: the command is given. If it is refused after all, whoever said so hears why.
//!
//! Whoever is told no hears why, and the log keeps it (`completion/refusal.rs`). Work that was completed while nobody could
//! merge it is merged as soon as somebody leads (`completion/late.rs`).

mod files;
mod late;
mod proof;
pub(super) mod refusal;

use std::{collections::BTreeMap, ffi::OsString};

use tokio_util::sync::CancellationToken;
use troop_model::{Command, Fact, Notice, RefusalRecord, RefusedBy, TaskCommand};
use troop_protocol::Responder;

use self::proof::{ProofPlan, ReturnedResult};
pub(super) use self::{files::FileListing, late::LateMerge};
use super::{
    Runner,
    gate::HookSubject,
    input::LeadInput,
    office::Office,
    policy::completion::{
        Departure, DoneClaim, PassageStage, departure, done_claim, is_late, stages_after,
    },
    policy::work::at_work,
};
use crate::{
    Agreement, CommandEffect, CommandRequest, GitError, WorkReport,
    hooks::{Occasion, Verdict},
};

/// Something that somebody wants done.
#[derive(Debug)]
pub(super) struct Intent {
    /// Which member wants it; none if it is another process.
    pub(super) runner: Option<Runner>,
    pub(super) request: CommandRequest,
    /// Where the answer goes, if somebody waits for one.
    pub(super) responder: Option<Responder>,
}

/// Tells passages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PassageId(u64);

/// Something that somebody wants done, and the stage in which it is.
#[derive(Debug)]
struct Passage {
    intent: Intent,
    station: Station,
}

/// The stage in which a passage is, with what only that stage has.
#[derive(Debug)]
enum Station {
    Files(Departure),
    Hooks,
    Proof {
        claim: DoneClaim,
        /// Ends the proof when nobody wants to know any more.
        over: CancellationToken,
    },
    /// It is refused, and the board decides whether the attempt goes on.
    Refused(DoneRefusal),
    /// A result goes back to its member, and the board decides whether the attempt goes on.
    SentBack(ReturnedResult),
}

/// What the next stage of a passage needs.
enum PassageStep {
    List(Departure),
    Judge(Occasion),
    Prove(ProofPlan),
    Give,
}

/// A member one of whose passages is over. It may be idle now, or gone.
pub(super) type ReleasedRunner = Option<Runner>;

/// Everything that is on its way to the board.
#[derive(Debug)]
pub(super) struct Completions {
    passages: BTreeMap<PassageId, Passage>,
    n_passages: u64,
    /// How many late merges are under way.
    n_late: usize,
    /// Whether checks are what a person agreed to.
    agreement: Agreement,
    /// What checks find in their environment.
    environment: Vec<(OsString, OsString)>,
}

impl Completions {
    pub(super) fn new(agreement: Agreement, environment: Vec<(OsString, OsString)>) -> Self {
        Self { passages: BTreeMap::new(), n_passages: 0, n_late: 0, agreement, environment }
    }

    /// How many things are on their way.
    pub(super) fn n_under_way(&self) -> usize {
        self.passages.len() + self.n_late
    }

    /// The member that waits for a passage, if one does.
    pub(super) fn runner_of(&self, id: PassageId) -> Option<Runner> {
        self.passages.get(&id)?.intent.runner.clone()
    }

    /// Does something for somebody, after all that it must pass.
    pub(super) async fn pass(&mut self, office: &mut Office, intent: Intent) {
        self.advance(office, intent, None).await;
    }

    /// Takes something to its next stage. Returns whether it has left for the board.
    async fn advance(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: Option<PassageStage>,
    ) -> bool {
        let step = stages_after(over).find_map(|it| self.step(office, &intent.request, it));
        match step {
            Some(PassageStep::List(departure)) => self.list_files(office, intent, departure, over),
            Some(PassageStep::Judge(occasion)) => {
                office.gate.remember(intent.request.operation);
                let id = self.hold(office, intent, Station::Hooks, over);
                office.gate.fire(&office.post, occasion, HookSubject::Passage(id));
            }
            Some(PassageStep::Prove(plan)) => self.prove(office, intent, plan, over),
            Some(PassageStep::Give) | None => {
                office.carry_out(intent).await;
                return true;
            }
        }
        false
    }

    /// What a stage has to do for a command, if anything.
    fn step(
        &self,
        office: &Office,
        request: &CommandRequest,
        stage: PassageStage,
    ) -> Option<PassageStep> {
        let state = &office.post.state;
        match stage {
            PassageStage::Files => departure(state, request).map(PassageStep::List),
            PassageStage::Hooks => {
                let occasion = office.gate.occasion_of(&office.post, &office.places, request);
                occasion.map(PassageStep::Judge)
            }
            PassageStage::Proof => proof::plan(office, request).map(PassageStep::Prove),
            PassageStage::Board => Some(PassageStep::Give),
        }
    }

    /// Keeps a passage in a stage. A member waits for its first one only once, however many stages that has.
    fn hold(
        &mut self,
        office: &mut Office,
        intent: Intent,
        station: Station,
        over: Option<PassageStage>,
    ) -> PassageId {
        if over.is_none()
            && let Some(runner) = &intent.runner
            && let Some(facts) = office.crew.facts_of(runner)
        {
            facts.work.n_held += 1;
        }
        self.n_passages += 1;
        let id = PassageId(self.n_passages);
        self.passages.insert(id, Passage { intent, station });
        id
    }

    /// Takes a passage out of its stage to go on with it.
    async fn go_on(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: PassageStage,
    ) -> ReleasedRunner {
        let runner = intent.runner.clone();
        let has_left = self.advance(office, intent, Some(over)).await;
        runner.filter(|_| has_left)
    }

    /// The files of a folder of the workspace are listed.
    pub(super) async fn files_listed(
        &mut self,
        office: &mut Office,
        id: PassageId,
        listing: FileListing,
    ) -> ReleasedRunner {
        office.post.agenda.is_due = true;
        let Passage { intent, station } = self.passages.remove(&id)?;
        if let Station::Files(departure) = station {
            files::record(office, &departure, listing).await;
        }
        self.go_on(office, intent, PassageStage::Files).await
    }

    /// Hooks have judged.
    pub(super) async fn judged(
        &mut self,
        office: &mut Office,
        id: PassageId,
        verdict: Verdict,
    ) -> ReleasedRunner {
        let Passage { intent, .. } = self.passages.remove(&id)?;
        let feedback = match verdict {
            Verdict::Continue => return self.go_on(office, intent, PassageStage::Hooks).await,
            Verdict::Veto { feedback } => feedback,
        };
        let claim = done_claim(&office.post.state, &intent.request);
        if let Some(claim) = claim.filter(|_| office.post.would_take(&intent.request)) {
            let by = RefusedBy::Hook;
            let notice = Notice::DeedVetoed;
            let refusal = DoneRefusal { by, reason: feedback.clone(), feedback, notice };
            self.refuse_done(office, intent, &claim, refusal, Some(PassageStage::Hooks)).await;
            return None;
        }
        let runner = intent.runner.clone();
        refusal::record_new_task(office, &intent.request, &feedback).await;
        refusal::say_no_to_deed(office, intent, feedback, Notice::DeedVetoed).await;
        runner
    }

    /// It is known whether something is done that was said to be.
    pub(super) async fn proved(
        &mut self,
        office: &mut Office,
        id: PassageId,
        finished: Result<WorkReport, GitError>,
    ) -> ReleasedRunner {
        office.post.agenda.is_due = true;
        let Passage { intent, station } = self.passages.remove(&id)?;
        let runner = intent.runner.clone();
        let Station::Proof { claim, .. } = station else { return runner };
        let has_left = self.conclude_proof(office, intent, claim, finished).await;
        runner.filter(|_| has_left)
    }

    /// The board has decided what follows from an objection: the caller hears it.
    pub(super) async fn decided(
        &mut self,
        office: &mut Office,
        id: PassageId,
        effect: Option<CommandEffect>,
    ) -> ReleasedRunner {
        office.post.agenda.is_due = true;
        let Passage { intent, station } = self.passages.remove(&id)?;
        let runner = intent.runner.clone();
        let failure = effect.as_ref().and_then(failure);
        match station {
            Station::Refused(DoneRefusal { feedback, notice, .. }) if failure.is_some() => {
                drop(refusal::say_no(office, intent, feedback, notice).await);
            }
            Station::Refused(DoneRefusal { feedback, notice, .. }) => {
                refusal::say_no_to_deed(office, intent, feedback, notice).await;
            }
            Station::SentBack(result) => {
                proof::tell_sent_back(office, intent, result, failure).await;
            }
            Station::Files(_) | Station::Hooks | Station::Proof { .. } => {}
        }
        runner
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
        for passage in self.passages.values() {
            if let Station::Proof { claim, over } = &passage.station
                && claim.task == *task
            {
                over.cancel();
            }
        }
    }

    /// The board did not take what a member said. What it says to be done is then not done: it holds the task and would say
    /// nothing more about it.
    pub(super) async fn not_taken(
        &mut self,
        office: &mut Office,
        runner: Runner,
        request: CommandRequest,
        why: String,
    ) {
        let state = &office.post.state;
        let is_at = |task| at_work(state, &runner.member).any(|it| it == task);
        let is_late = matches!(&request.command, Command::Task(TaskCommand::Complete { task, attempt, .. })
            if is_late(state, task, *attempt));
        let claim = done_claim(state, &request).filter(|it| is_at(it.task) && !is_late);
        let Some(claim) = claim else { return office.refuse(&runner, why) };
        let task = claim.task;
        office.post.tell_people(format!("{}: {task} is not done yet: {why}", runner.member));
        let intent = Intent { runner: Some(runner), request, responder: None };
        let by = RefusedBy::Board;
        let refusal =
            DoneRefusal { by, reason: why.clone(), feedback: why, notice: Notice::NotDone };
        self.refuse_done(office, intent, &claim, refusal, None).await;
    }

    /// Something is not done after all. The board counts that against the attempt and decides whether it goes on; then the
    /// caller hears it.
    async fn refuse_done(
        &mut self,
        office: &mut Office,
        intent: Intent,
        claim: &DoneClaim,
        refusal: DoneRefusal,
        over: Option<PassageStage>,
    ) {
        let record = RefusalRecord {
            task: Some(claim.task.into()),
            subject: None,
            who: intent.request.asker.actor.clone(),
            by: refusal.by,
            reason: refusal.reason.clone(),
            details: Some(refusal.feedback.clone()).filter(|it| *it != refusal.reason),
            attempt: claim.attempt,
        };
        let id = self.hold(office, intent, Station::Refused(refusal), over);
        let command = Command::RecordRefusal(record);
        office.post.give_then(command, move |effect| LeadInput::Decided(id, effect)).await;
    }
}

/// Why something is not done.
#[derive(Debug)]
struct DoneRefusal {
    by: RefusedBy,
    /// What the log says.
    reason: String,
    /// What the caller hears.
    feedback: String,
    notice: Notice,
}

/// How an attempt has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttemptFailure {
    /// Another attempt follows.
    Retried,
    Final,
}

/// The failure of an attempt that an effect contains.
fn failure(effect: &CommandEffect) -> Option<AttemptFailure> {
    effect.events.iter().find_map(|event| {
        let Fact::TaskFailed { retry_at, .. } = event.fact else { return None };
        Some(if retry_at.is_some() { AttemptFailure::Retried } else { AttemptFailure::Final })
    })
}
