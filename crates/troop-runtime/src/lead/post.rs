//! The post of a lead: what all its modules share. The board and the state that follows it, the clock and the timers, the queue
//! of inputs, the transcripts, and functions that give commands and send messages.

use std::{collections::BTreeMap, path::Path, time::Duration};

use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{
    Asker, Command, MemberName, MemberState, Origin, Outgoing, Refusal, State, StateCause,
    TaskNumber, TeamName,
};
use uuid::Uuid;

use super::{
    LeadEnd, LeadWork, Timing,
    input::{Due, LeadInput},
    policy::{
        asking::{RuleVerdict, occasion, ruling, would_take},
        tenure::{Tenure, TenureVerdict},
    },
    progress::BoardProgress,
    timers::Timers,
    transcript::{TranscriptEntry, TranscriptLine, Transcripts},
};
use crate::{
    Board, BoardError, BoardResult, Clock, CommandEffect, CommandRequest, PendingCommand,
    Subscription, hooks::Occasion,
};

/// How long we wait before we retry a failing store ...
const STORE_RETRY: Duration = Duration::from_millis(500);
/// ... and how often.
const N_STORE_RETRIES: u32 = 60;

/// The things that all rooms of a lead share.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) board: Board,
    /// The state of the log, as far as this lead has followed it.
    pub(super) state: State,
    pub(super) clock: Clock,
    pub(super) mandate: Mandate,
    pub(super) tenure: Tenure,
    pub(super) timing: Timing,
    pub(super) timers: Timers,
    pub(super) background: Background,
    transcripts: Transcripts,
    /// The task that each member works on: its transcript lines belong to the session of that work.
    engaged: BTreeMap<MemberName, TaskNumber>,
    people: People,
    /// The progress of the lead's agent on its last request.
    pub(super) lead_work: watch::Receiver<LeadWork>,
    pub(super) course: Course,
    /// The deletion of the team that the lead's agent wants, until the end of its turn.
    pub(super) last_act: Option<CommandRequest>,
    pub(super) agenda: Agenda,
    pub(super) progress: BoardProgress,
}

/// The right to lead, as commands carry it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mandate {
    pub(super) session: Uuid,
    pub(super) fence: u64,
}

/// Runs background work, and cancels it.
#[derive(Clone, Debug)]
pub(super) struct Background {
    pub(super) inputs: mpsc::Sender<LeadInput>,
    pub(super) tracker: TaskTracker,
    /// Cancelled at the end of the lead.
    pub(super) over: CancellationToken,
    /// Cancelled when a person does not want to wait for the end any longer.
    pub(super) hurried: CancellationToken,
}

impl Background {
    pub(super) fn new(
        inputs: mpsc::Sender<LeadInput>,
        tracker: TaskTracker,
        hurried: CancellationToken,
    ) -> Self {
        Self { inputs, tracker, over: CancellationToken::new(), hurried }
    }

    /// Runs a background task. The lead waits for it at its end.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Runs a background task whose outcome comes back as an input.
    pub(super) fn spawn_input(
        &self,
        task: impl Future<Output = Option<LeadInput>> + Send + 'static,
    ) {
        let inputs = self.inputs.clone();
        self.tracker.spawn(async move {
            if let Some(input) = task.await {
                // The lead may have ended.
                drop(inputs.send(input).await);
            }
        });
    }
}

/// Warnings to people who watch.
#[derive(Debug)]
pub(super) struct People {
    warnings: Option<mpsc::Sender<String>>,
    /// When the store last failed.
    store_failed_at: Option<Instant>,
}

/// The phase of a lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// It gives out work.
    Running,
    /// It stops all members; then it ends this way.
    Stopping(LeadEnd),
    /// The loop ends after this step.
    Over(LeadEnd),
}

/// Changes that are not yet acted on.
#[derive(Debug)]
pub(super) struct Agenda {
    /// Whether a change may have made work available, or ended the team's work.
    pub(super) is_due: bool,
    /// Whether tasks changed since the last context was sent.
    pub(super) has_new_context: bool,
    /// How often the contents of TEAM.md have changed.
    pub(super) n_teams: u64,
}

/// The parts a post starts with.
pub(super) struct NewPost<'a> {
    pub(super) board: Board,
    pub(super) state: State,
    pub(super) clock: Clock,
    pub(super) mandate: Mandate,
    pub(super) timing: Timing,
    pub(super) background: Background,
    pub(super) folder: &'a Path,
    pub(super) warnings: Option<mpsc::Sender<String>>,
    pub(super) lead_work: watch::Receiver<LeadWork>,
}

impl Post {
    pub(super) fn new(new: NewPost<'_>) -> Self {
        let news = new.board.subscribe(new.state.version());
        new.background.spawn(pass_on(news, new.background.inputs.clone()));
        let tenure = Tenure::new(new.state.limits.lead_lease, Instant::now());
        Self {
            board: new.board,
            tenure,
            state: new.state,
            clock: new.clock,
            mandate: new.mandate,
            timing: new.timing,
            timers: Timers::default(),
            background: new.background,
            transcripts: Transcripts::new(new.folder),
            engaged: BTreeMap::new(),
            people: People { warnings: new.warnings, store_failed_at: None },
            lead_work: new.lead_work,
            course: Course::Running,
            last_act: None,
            agenda: Agenda { is_due: true, has_new_context: false, n_teams: 1 },
            progress: BoardProgress::default(),
        }
    }

    pub(super) fn is_lead(&self, member: &MemberName) -> bool {
        self.state.lead().is_some_and(|lead| lead.name == *member)
    }

    pub(super) fn team_name(&self) -> TeamName {
        let team = self.state.team().expect("a lead begins with a team that exists");
        team.name.clone()
    }

    /// Whether the lead stops, so that no more work is begun.
    pub(super) fn is_ending(&self) -> bool {
        self.course != Course::Running
    }

    /// The board can no longer be used: the lead ends.
    pub(super) fn lost(&mut self, error: Option<BoardError>) {
        let reason = error.map_or_else(|| "the board was closed".to_owned(), |it| it.to_string());
        self.course = Course::Over(LeadEnd::Lost { reason });
    }

    /// Looks whether this lead may still lead.
    pub(super) fn check_tenure(&mut self) {
        match self.tenure.look(Instant::now()) {
            TenureVerdict::Holds(time) => self.timers.set(time, Due::Tenure),
            TenureVerdict::Over => {
                let reason = "its lease could not be renewed, so another may lead now".to_owned();
                self.course = Course::Over(LeadEnd::Lost { reason });
            }
        }
    }

    /// The cause that the log records if the lead's agent has not finished its last request.
    pub(super) fn left_open(&self) -> Option<StateCause> {
        match *self.lead_work.borrow() {
            LeadWork::Done => None,
            LeadWork::Open | LeadWork::Interrupted => Some(StateCause::LeftOpen),
            LeadWork::Failed => Some(StateCause::CouldNot),
        }
    }

    /// Whether a tick would have an effect now, by the rules of the board.
    pub(super) fn is_tick_due(&self) -> bool {
        let tick = self.own(Command::Tick);
        tick.judged(&self.state, self.clock.now()).is_ok_and(|events| !events.is_empty())
    }

    /// Whether the board would accept a command, proof aside.
    pub(super) fn would_take(&self, request: &CommandRequest) -> bool {
        would_take(&self.state, request, self.clock.now())
    }

    /// The rules on all that the board has by now.
    pub(super) fn newest(&self) -> NewestRules {
        NewestRules { board: self.board.clone(), clock: self.clock.clone() }
    }
}

/// Commands.
impl Post {
    /// A command of the lead itself.
    pub(super) fn own(&self, command: Command) -> CommandRequest {
        let origin = Origin { channel: Some("teammate".into()), ..Origin::default() };
        let asker = Asker { origin, ..Asker::system() };
        CommandRequest { fence: Some(self.mandate.fence), ..CommandRequest::new(asker, command) }
    }

    /// Puts a command in the board's queue.
    pub(super) async fn enqueue(&mut self, request: CommandRequest) -> Option<PendingCommand> {
        self.progress.give();
        match self.board.give(request).await {
            Ok(given) => Some(given),
            Err(error) => {
                self.lost(Some(error));
                None
            }
        }
    }

    /// Gives a command of the lead itself. The board decides commands in order. The effect comes back through the log; a
    /// refusal means that our state was outdated, and the log corrects that.
    pub(super) async fn give(&mut self, command: Command) {
        self.give_signed(self.own(command)).await;
    }

    pub(super) async fn give_signed(&mut self, request: CommandRequest) {
        self.give_or(request, end_of_lead).await;
    }

    /// Gives a command of the lead itself. Its effect comes back as an input; none if the board refuses it.
    pub(super) async fn give_then(
        &mut self,
        command: Command,
        then: impl FnOnce(Option<CommandEffect>) -> LeadInput + Send + 'static,
    ) {
        let request = self.own(command);
        let Some(given) = self.enqueue(request.clone()).await else { return };
        let board = self.board.clone();
        let inputs = self.background.inputs.clone();
        self.background.spawn_input(async move {
            match insist(&board, request, given, &inputs).await {
                Ok(effect) => Some(then(Some(effect))),
                Err(error) => Some(end_of_lead(error).unwrap_or_else(|| then(None))),
            }
        });
    }

    /// Gives a command; if the board refuses it, `otherwise` may turn the error into an input.
    pub(super) async fn give_or(
        &mut self,
        request: CommandRequest,
        otherwise: impl FnOnce(BoardError) -> Option<LeadInput> + Send + 'static,
    ) {
        let Some(given) = self.enqueue(request.clone()).await else { return };
        let board = self.board.clone();
        let inputs = self.background.inputs.clone();
        self.background.spawn_input(async move {
            insist(&board, request, given, &inputs).await.err().and_then(otherwise)
        });
    }

    /// Records a member's state in the log, and why.
    pub(super) async fn set_state(&mut self, member: &MemberName, to: MemberMove) {
        let MemberMove { to: state, reason, cause, process: pid } = to;
        let member = member.clone();
        self.give(Command::SetMemberState { member, state, reason, cause, pid }).await;
    }
}

/// A change of a member's state, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberMove {
    to: MemberState,
    /// For people.
    reason: Option<String>,
    cause: Option<StateCause>,
    process: Option<u32>,
}

impl MemberMove {
    pub(super) fn to(state: MemberState) -> Self {
        Self { to: state, reason: None, cause: None, process: None }
    }

    /// Adds the reason, in words for people.
    pub(super) fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// Adds the cause, if there is one. Without a reason, its words are the reason.
    pub(super) fn caused_by(self, cause: impl Into<Option<StateCause>>) -> Self {
        let cause = cause.into();
        let reason = self.reason.or_else(|| cause.map(|it| it.in_words().to_owned()));
        Self { reason, cause, ..self }
    }

    /// Adds the process in which the member runs, if it has one.
    pub(super) fn in_process(self, process: impl Into<Option<u32>>) -> Self {
        Self { process: process.into(), ..self }
    }
}

/// Transcripts, warnings and messages.
impl Post {
    /// Writes a line into a member's transcript.
    pub(super) fn note(&mut self, member: &MemberName, line: TranscriptLine) {
        let task = self.engaged.get(member).copied();
        let delegation = task.and_then(|task| self.state.delegation_of(task));
        let own = delegation.filter(|it| it.to == *member);
        let session = own.map(|it| it.session().to_string());
        let at = self.clock.now();
        self.transcripts.write(member, &TranscriptEntry { at, session, line });
    }

    pub(super) fn flush_transcripts(&mut self) {
        self.transcripts.flush();
    }

    pub(super) async fn close_transcripts(&mut self) {
        self.transcripts.close().await;
    }

    /// Notes which task a member works on, if any.
    pub(super) fn engage(&mut self, member: &MemberName, task: Option<TaskNumber>) {
        match task {
            Some(task) => self.engaged.insert(member.clone(), task),
            None => self.engaged.remove(member),
        };
    }

    /// Warns people. The warning is lost if they do not read fast enough.
    pub(super) fn tell_people(&self, warning: String) {
        if let Some(warnings) = &self.people.warnings {
            drop(warnings.try_send(warning));
        }
    }

    /// Work of a member is retried after a fault of the machine: people hear why nothing happens.
    pub(super) fn tell_of_retry(&mut self, member: &MemberName, what: String) {
        self.note(member, TranscriptLine::trouble(&what));
        self.tell_people(what);
    }

    /// Warns people that the store fails, once per outage: nothing happens meanwhile.
    pub(super) fn tell_of_failing_store(&mut self, why: &str) {
        let told_at = self.people.store_failed_at.replace(Instant::now());
        if told_at.is_none_or(|at| at.elapsed() >= STORE_RETRY * N_STORE_RETRIES) {
            let seconds = (STORE_RETRY * N_STORE_RETRIES).as_secs();
            self.tell_people(format!("nothing can be stored; retrying for {seconds} s: {why}"));
        }
    }

    /// Sends a message to a member.
    pub(super) async fn tell(&mut self, member: &MemberName, content: String) {
        self.give(Command::Send(Outgoing::system(member.to_string(), content))).await;
    }

    /// Sends a message about another member to the lead.
    pub(super) async fn tell_lead(&mut self, about: &MemberName, content: String) {
        if !self.is_lead(about) {
            self.give_signed(self.word_to_lead(content)).await;
        }
    }

    pub(super) fn word_to_lead(&self, content: String) -> CommandRequest {
        self.own(Command::Send(Outgoing::system("lead", content)))
    }
}

/// The rules on all that the board has by now, also from other processes. They wait for the store: never ask them in the loop.
#[derive(Debug)]
pub(super) struct NewestRules {
    board: Board,
    clock: Clock,
}

impl NewestRules {
    /// The occasion on which hooks are asked before a command is given, if there is one.
    pub(super) async fn occasion_of(&self, request: &CommandRequest) -> Option<Occasion> {
        let now = self.clock.now();
        let request = request.clone();
        self.look(move |state| occasion(state, &request, now)).await?
    }

    /// Why the rules refuse a command, if they do.
    pub(super) async fn refusal_of(&self, request: &CommandRequest) -> Option<Refusal> {
        let now = self.clock.now();
        let request = request.clone();
        let look = move |state: &State| match ruling(state, &request, now) {
            RuleVerdict::Refused(refusal) => Some(refusal),
            RuleVerdict::Accepted(_) | RuleVerdict::NeedsProof => None,
        };
        self.look(look).await?
    }

    /// Looks at the newest state. None if the board cannot be asked.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Option<T> {
        // If the store fails, the board says so when it gets the command.
        drop(self.board.catch_up().await);
        self.board.look(look).await.ok()
    }
}

/// How the lead ends after an error of its own command: another session leads, or the store is lost. None if the board only
/// refuses the command.
fn end_of_lead(error: BoardError) -> Option<LeadInput> {
    if matches!(error, BoardError::Refused(Refusal::Superseded)) {
        return Some(LeadInput::Superseded);
    }
    let is_lost = matches!(error, BoardError::Store(_));
    is_lost.then_some(LeadInput::LogLost(Some(error)))
}

/// Waits for the effect of a command, and repeats it while the store fails: observations of a member must not be lost because a
/// disk was full for a while. Repeating the same operation is safe.
async fn insist(
    board: &Board,
    request: CommandRequest,
    given: PendingCommand,
    inputs: &mpsc::Sender<LeadInput>,
) -> BoardResult<CommandEffect> {
    let mut done = given.done().await;
    for nth in 0..N_STORE_RETRIES {
        let Err(BoardError::Store(error)) = &done else { break };
        if inputs.is_closed() {
            break;
        }
        if nth == 0 {
            drop(inputs.try_send(LeadInput::StoreFails(error.to_string())));
        }
        tokio::time::sleep(STORE_RETRY).await;
        done = match outdated(&request.command) {
            Some(refusal) => Err(refusal.into()),
            None => board.submit(request.clone()).await,
        };
    }
    done
}

/// Why a command is not repeated: it says that a process runs which has ended since. The log may know of a later one by now.
fn outdated(command: &Command) -> Option<Refusal> {
    let Command::SetMemberState { member, state, pid: Some(pid), .. } = command else {
        return None;
    };
    let says_it_runs =
        matches!(state, MemberState::Idle | MemberState::Working | MemberState::Planning);
    let refusal = || Refusal::NotRunning { member: member.clone(), state: *state };
    (says_it_runs && troop_process::has_ended(*pid)).then(refusal)
}

/// Queues the events of the log with all other inputs.
async fn pass_on(mut news: Subscription, inputs: mpsc::Sender<LeadInput>) {
    let mut n_failures = 0;
    loop {
        let next = tokio::select! {
            next = news.next() => next,
            () = inputs.closed() => return,
        };
        let input = match next {
            Err(BoardError::Store(_)) if n_failures < N_STORE_RETRIES => {
                n_failures += 1;
                tokio::time::sleep(STORE_RETRY).await;
                continue;
            }
            Ok(Some(event)) => {
                n_failures = 0;
                LeadInput::Log(event)
            }
            Ok(None) => LeadInput::LogLost(None),
            Err(error) => LeadInput::LogLost(Some(error)),
        };
        let is_last = matches!(input, LeadInput::LogLost(_));
        if inputs.send(input).await.is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
