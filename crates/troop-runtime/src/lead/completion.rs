//! Commands on their way to the board. Most go there at once. A command that ends a task, or creates one, is a passage: one
//! value that passes these stages in this order (see `policy::completion::ORDER`), each only if the command needs it:
//!
//! 1. **Agent** (`completion/inquiry.rs`): the agent of a new member can run, as far as that is known before its start.
//! 2. **Files** (`completion/files.rs`): files that the holder of a task wrote into the workspace are attached to the task,
//!    before it lets the task go. A file that somebody attaches is there.
//! 3. **Hooks** (`gate.rs`): a hook may veto it. Hooks are asked only about what the rules accept, and the rules decide again
//!    afterwards. Passages that end the same task go one after the other from here on.
//! 4. **Proof** (`completion/proof.rs`): checks run and the work is merged, unless the board would refuse the command anyway.
//!    The evidence is recorded before the command is given.
//! 5. **Board**: the command is given. If it is refused after all, the caller hears why.
//!
//! What these stages have to find out first, from a disk or the store, is found out beside the loop (`completion/inquiry.rs`).
//! Later messages of the member wait meanwhile, so that nothing overtakes the command.
//!
//! The caller of a refused command hears why, and the log keeps it (`completion/refusal.rs`). Work that was completed without a
//! lead is merged by the next one (`completion/late.rs`).

mod files;
mod inquiry;
mod late;
mod proof;
pub(super) mod refusal;

use std::{collections::BTreeMap, ffi::OsString};

use tokio_util::sync::CancellationToken;
use troop_model::{
    ActorKind, Command, Fact, MemberName, NewMember, Notice, OperationId, Refusal, RefusalRecord,
    RefusedBy, TaskCommand, TaskNumber,
};
use troop_protocol::{Failure, Responder};

use self::proof::{ProofPlan, ReturnedResult};
pub(super) use self::{inquiry::PassageFinding, late::LateMerge};
use super::{
    Runner,
    calls::refuse_caller,
    input::{LeadInput, RefusedCommand},
    office::Office,
    policy::attempt_end::{AttemptEnd, attempt_end},
    policy::completion::{
        Departure, DoneClaim, PassageStage, departure, done_claim, is_late, name_attempt,
        stages_after,
    },
    policy::files::LastEnd,
    policy::work::at_work,
};
use crate::{Agreement, CommandEffect, CommandRequest, GitError, WorkReport, hooks::Verdict};

/// A command with its caller.
#[derive(Debug)]
pub(super) struct Intent {
    /// The member that gave it; none if it was another process.
    pub(super) runner: Option<Runner>,
    pub(super) request: CommandRequest,
    /// Where the answer goes, if the caller waits for one.
    pub(super) responder: Option<Responder>,
}

/// Tells passages apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PassageId(u64);

/// An intent and its current stage.
#[derive(Debug)]
struct Passage {
    intent: Intent,
    station: Station,
}

/// The current stage of a passage, with the data of that stage.
#[derive(Debug)]
enum Station {
    /// Something is found out for it.
    Inquiry,
    /// Another passage ends the same task, and goes first.
    Line,
    Hooks,
    Proof {
        claim: DoneClaim,
        /// Cancels the proof when it is no longer wanted.
        over: CancellationToken,
    },
    /// It is refused, and the board decides whether the attempt continues.
    Refused(DoneRefusal),
    /// A result goes back to its member, and the board decides whether the attempt continues.
    SentBack(ReturnedResult),
}

/// The work of a passage's next stage.
enum PassageStep {
    CheckAgent(NewMember),
    List(Departure),
    CheckAttachment,
    AskRules,
    Prove(ProofPlan),
    Give,
}

/// The member whose passage is over. It may be idle now, or have exited.
pub(super) type ReleasedRunner = Option<Runner>;

/// All passages and late merges that are under way.
#[derive(Debug)]
pub(super) struct Completions {
    passages: BTreeMap<PassageId, Passage>,
    n_passages: u64,
    /// The commands that hooks hear of, if the rules accept them, with the task that each ends. There is one at a time for each
    /// task: of the next, the rules must know what became of it.
    turns: BTreeMap<OperationId, TaskNumber>,
    /// The contents of each member's folder when it ended its last task.
    last_ends: BTreeMap<MemberName, LastEnd>,
    /// How many late merges are under way.
    n_late: usize,
    /// Verifies before each run of a check that a person agreed to it.
    agreement: Agreement,
    /// The environment variables of checks.
    environment: Vec<(OsString, OsString)>,
}

impl Completions {
    pub(super) fn new(agreement: Agreement, environment: Vec<(OsString, OsString)>) -> Self {
        Self {
            passages: BTreeMap::new(),
            n_passages: 0,
            turns: BTreeMap::new(),
            last_ends: BTreeMap::new(),
            n_late: 0,
            agreement,
            environment,
        }
    }

    /// How many passages and late merges are under way.
    pub(super) fn n_under_way(&self) -> usize {
        self.passages.len() + self.n_late
    }

    /// The member that waits for a passage, if one does.
    pub(super) fn runner_of(&self, id: PassageId) -> Option<Runner> {
        self.passages.get(&id)?.intent.runner.clone()
    }

    /// Carries out an intent, after all stages it must pass.
    pub(super) async fn pass(&mut self, office: &mut Office, mut intent: Intent) {
        name_attempt(&office.post.state, &mut intent.request);
        self.advance(office, intent, None).await;
    }

    /// Takes an intent to its next stage. Returns whether that was the board.
    async fn advance(
        &mut self,
        office: &mut Office,
        intent: Intent,
        over: Option<PassageStage>,
    ) -> bool {
        let mut next = None;
        for stage in stages_after(over) {
            next = step(office, &intent, stage);
            if next.is_some() {
                break;
            }
        }
        match next {
            Some(PassageStep::CheckAgent(member)) => self.check_agent(office, intent, member),
            Some(PassageStep::List(departure)) => self.list_files(office, intent, departure, over),
            Some(PassageStep::CheckAttachment) => self.check_attachment(office, intent, over),
            Some(PassageStep::AskRules) if self.take_turn(office, &intent) => {
                self.ask_rules(office, intent, over);
            }
            Some(PassageStep::AskRules) => {
                self.hold(office, intent, Station::Line, over);
            }
            Some(PassageStep::Prove(plan)) => self.prove(office, intent, plan, over),
            Some(PassageStep::Give) | None => {
                office.carry_out(intent).await;
                return true;
            }
        }
        false
    }

    /// Takes the turn to end a task, unless another passage has it. Returns whether the passage may go on.
    fn take_turn(&mut self, office: &Office, intent: &Intent) -> bool {
        let request = &intent.request;
        let ended = attempt_end(&office.post.state, &request.asker.actor, &request.command);
        let Some(AttemptEnd { task, .. }) = ended else { return true };
        let is_free = self.turns.values().all(|it| *it != task);
        if is_free {
            self.turns.insert(request.operation, task);
        }
        is_free
    }

    /// Lets passages go on that waited for others which are over.
    pub(super) async fn end_turns(&mut self, office: &mut Office) {
        let passages = &self.passages;
        let in_line = |it: &Passage| matches!(it.station, Station::Line);
        self.turns.retain(|operation, _| {
            let mut others = passages.values().filter(|it| !in_line(it));
            others.any(|it| it.intent.request.operation == *operation)
        });
        let waiting: Vec<_> =
            passages.iter().filter(|(_, it)| in_line(it)).map(|(id, _)| *id).collect();
        for id in waiting {
            if let Some(Passage { intent, .. }) = self.passages.remove(&id) {
                // It goes to the rules or back in line, so it is not over.
                self.go_on(office, intent, PassageStage::Files).await;
            }
        }
    }

    /// Keeps a passage in a stage. It is counted once for its member, however many stages it has.
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

    /// Continues a passage after a stage.
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

    /// Hooks have judged. `refusal`: why the rules refuse the command by now, if hooks said no and the rules do, too.
    pub(super) async fn judged(
        &mut self,
        office: &mut Office,
        id: PassageId,
        verdict: Verdict,
        refusal: Option<Refusal>,
    ) -> ReleasedRunner {
        let Passage { intent, .. } = self.passages.remove(&id)?;
        let feedback = match verdict {
            Verdict::Continue => return self.go_on(office, intent, PassageStage::Hooks).await,
            // An agent is told what the hook said. A person should also see that a hook said it.
            Verdict::Veto { feedback } => match intent.request.asker.actor.kind {
                ActorKind::Human => format!("a hook says no: {feedback}"),
                ActorKind::Agent | ActorKind::System => feedback,
            },
        };
        if let Some(refusal) = refusal {
            // Something else happened while the hooks judged: the caller hears that, and not of a hook.
            return self.refused_meanwhile(office, intent, &refusal).await;
        }
        if let Some(claim) = done_claim(&office.post.state, &intent.request) {
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

    /// The rules refuse a command that they would have accepted before the hooks judged it.
    async fn refused_meanwhile(
        &mut self,
        office: &mut Office,
        intent: Intent,
        refusal: &Refusal,
    ) -> ReleasedRunner {
        office.gate.forget(intent.request.operation);
        let Intent { runner, request, responder } = intent;
        match (responder, &runner) {
            (Some(responder), _) => refuse_caller(responder, Failure::from(refusal)),
            (None, Some(runner)) => {
                let why = refusal.to_string();
                let refused = RefusedCommand { runner: runner.clone(), request, why };
                self.not_taken(office, refused).await;
            }
            (None, None) => {}
        }
        runner
    }

    /// The proof of a done claim has finished.
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

    /// The board has decided the consequences of an objection: the caller hears it.
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
            // The attempt has failed, or the board says that the task is not its any more, which our state does not show yet:
            // it must not get the task again.
            Station::Refused(DoneRefusal { feedback, notice, .. })
                if failure.is_some() || effect.is_none() =>
            {
                drop(refusal::say_no(office, intent, feedback, notice).await);
            }
            Station::Refused(DoneRefusal { feedback, notice, .. }) => {
                refusal::say_no_to_deed(office, intent, feedback, notice).await;
            }
            Station::SentBack(result) => {
                proof::tell_sent_back(office, intent, result, failure).await;
            }
            Station::Inquiry | Station::Line | Station::Hooks | Station::Proof { .. } => {}
        }
        runner
    }

    /// A task is over or lost its holder: proofs of it are cancelled.
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

    /// The board refused a command of a member. If it was a done claim, the member hears that the task is not done: it still
    /// holds the task and would not report on it again.
    pub(super) async fn not_taken(&mut self, office: &mut Office, refused: RefusedCommand) {
        let RefusedCommand { runner, request, why } = refused;
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

    /// Refuses a done claim. The board counts that against the attempt and decides whether it continues; then the caller hears
    /// it.
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

/// The work of a stage for a command, if it has any.
fn step(office: &Office, intent: &Intent, stage: PassageStage) -> Option<PassageStep> {
    let request = &intent.request;
    let state = &office.post.state;
    match stage {
        PassageStage::Agent => {
            let Command::SpawnMember(spawn) = &request.command else { return None };
            // Other processes hear of it from the start of the member.
            intent.runner.as_ref()?;
            Some(PassageStep::CheckAgent(spawn.member.clone()))
        }
        PassageStage::Files if is_attachment(&request.command) => {
            Some(PassageStep::CheckAttachment)
        }
        PassageStage::Files => departure(state, request).map(PassageStep::List),
        PassageStage::Hooks => {
            office.gate.judges(&request.command).then_some(PassageStep::AskRules)
        }
        PassageStage::Proof => proof::plan(office, request).map(PassageStep::Prove),
        PassageStage::Board => Some(PassageStep::Give),
    }
}

fn is_attachment(command: &Command) -> bool {
    matches!(command, Command::Task(TaskCommand::Attach { .. }))
}

/// Why a done claim is refused.
#[derive(Debug)]
struct DoneRefusal {
    by: RefusedBy,
    /// The reason for the log.
    reason: String,
    /// The reason for the caller.
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

/// The failed attempt in the effect of a command, if there is one.
fn failure(effect: &CommandEffect) -> Option<AttemptFailure> {
    effect.events.iter().find_map(|event| {
        let Fact::TaskFailed { retry_at, .. } = event.fact else { return None };
        Some(if retry_at.is_some() { AttemptFailure::Retried } else { AttemptFailure::Final })
    })
}
