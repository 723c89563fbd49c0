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
use troop_model::{Command, Fact, Notice, RefusedBy, TaskCommand, TaskNumber};
use troop_protocol::Responder;

use self::proof::ProofPlan;
pub(super) use self::{files::FileListing, late::LateMerge};
use super::{
    Runner,
    gate::HookSubject,
    office::Office,
    policy::completion::{
        self, Departure, DoneClaim, PassageStage, departure, done_claim, is_late, stages_after,
    },
    policy::work::at_work,
};
use crate::{
    Agreement, CommandRequest, GitError, WorkReport,
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
}

impl Station {
    fn stage(&self) -> PassageStage {
        match self {
            Self::Files(_) => PassageStage::Files,
            Self::Hooks => PassageStage::Hooks,
            Self::Proof { .. } => PassageStage::Proof,
        }
    }
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
    /// How often somebody said in an attempt that a task is done, and it was not.
    refusals: BTreeMap<(TaskNumber, u32), u32>,
    /// Whether checks are what a person agreed to.
    agreement: Agreement,
    /// What checks find in their environment.
    environment: Vec<(OsString, OsString)>,
}

impl Completions {
    pub(super) fn new(agreement: Agreement, environment: Vec<(OsString, OsString)>) -> Self {
        Self {
            passages: BTreeMap::new(),
            n_passages: 0,
            n_late: 0,
            refusals: BTreeMap::new(),
            agreement,
            environment,
        }
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
        let over = station.stage();
        if let Station::Files(departure) = station {
            files::record(office, &departure, listing).await;
        }
        self.go_on(office, intent, over).await
    }

    /// Hooks have judged.
    pub(super) async fn judged(
        &mut self,
        office: &mut Office,
        id: PassageId,
        verdict: Verdict,
    ) -> ReleasedRunner {
        let Passage { intent, station } = self.passages.remove(&id)?;
        let feedback = match verdict {
            Verdict::Continue => return self.go_on(office, intent, station.stage()).await,
            Verdict::Veto { feedback } => feedback,
        };
        let runner = intent.runner.clone();
        refusal::record(office, &intent.request, RefusedBy::Hook, &feedback).await;
        match done_claim(&office.post.state, &intent.request) {
            Some(claim) if office.post.would_take(&intent.request) => {
                self.refuse_done(office, intent, claim.task, feedback, Notice::DeedVetoed).await;
            }
            _ => refusal::say_no_to_deed(office, intent, feedback, Notice::DeedVetoed).await,
        }
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
        if let Station::Proof { claim, .. } = station {
            self.conclude_proof(office, intent, claim, finished).await;
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
        let Some(DoneClaim { task, .. }) = claim else { return office.refuse(&runner, why) };
        office.post.tell_people(format!("{}: {task} is not done yet: {why}", runner.member));
        let intent = Intent { runner: Some(runner), request, responder: None };
        self.refuse_done(office, intent, task, why, Notice::NotDone).await;
    }

    /// Whoever said that something is done hears that it is not. A holder that cannot repair it, or does not, has failed.
    async fn refuse_done(
        &mut self,
        office: &mut Office,
        intent: Intent,
        task: TaskNumber,
        feedback: String,
        notice: Notice,
    ) {
        let state = &office.post.state;
        let attempt = completion::attempt_at(state, task);
        let n_refusals = self.refusals.entry((task, attempt)).or_default();
        let can_repair = completion::can_repair(state, task);
        let repairer = completion::Repairer { can_repair, n_refusals: *n_refusals };
        *n_refusals += 1;
        if completion::after_refusal(repairer) == completion::Sentence::Repair {
            return refusal::say_no_to_deed(office, intent, feedback, notice).await;
        }
        self.refusals.remove(&(task, attempt));
        office.fail_attempt(task, attempt, feedback.clone()).await;
        drop(refusal::say_no(office, intent, feedback, notice).await);
    }
}
