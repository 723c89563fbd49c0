//! The one loop of a lead: everything that comes in, in one order; each arm is one call.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    process::Child,
    sync::{mpsc, watch},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{
    Actor, Asker, Command, Context, Member, MemberName, MemberState, OperationId, Outgoing,
    Spending, State, StateCause, TaskNumber, TeamName, Time, decide,
};
use uuid::Uuid;

use super::{
    Ended, LeadError, LeadOptions, LeadThinks, LeadWork, Runner, Timing, Until,
    delegations::Conversation,
    files::FileDesk,
    gate::Seen,
    input::{Due, Input},
    launch::Launch,
    link::Link,
    patience::Failing,
    places::Places,
    restarts::Restarts,
    stop::TeamStop,
    timers::Timers,
    transcript::{Entry, Line, Transcripts},
};
use crate::{
    Agreement, Board, BoardError, BoardResult, Clock, Done, Given, Hooks, Request, Signature,
    Subscription, workspace::Workspace,
};

/// How many inputs are taken before what they have in common is done.
const DRAIN: usize = 64;

/// How long a store that does not do its part is waited for before it is asked again ...
const PATIENCE: Duration = Duration::from_millis(500);
/// ... and how often.
const N_PATIENCE: u32 = 60;

/// How often is looked whether members are to be watched, where they are not.
const WATCH_OFF: Duration = Duration::from_secs(10);

/// All that a lead knows and holds.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) board: Board,
    /// What the log amounts to, as far as it has been followed.
    pub(super) state: State,
    pub(super) clock: Clock,
    pub(super) session: Uuid,
    pub(super) fence: u64,
    /// From when on no lead may have been told what happened before this one began.
    heard_until: Option<Time>,
    pub(super) project: PathBuf,
    pub(super) files: FileDesk,
    pub(super) workspace: Workspace,
    pub(super) launch: Arc<dyn Launch>,
    thinks: LeadThinks,
    pub(super) hooks: Arc<Hooks>,
    pub(super) timing: Timing,
    pub(super) until: Until,
    /// How the lead's agent stands with what it was told.
    pub(super) work: watch::Receiver<LeadWork>,
    /// Where people see what members complain about.
    pub(super) warnings: Option<mpsc::Sender<String>>,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) tracker: TaskTracker,
    pub(super) links: BTreeMap<MemberName, Link>,
    pub(super) n_runs: u64,
    pub(super) restarts: Restarts,
    /// Who could not be started and is tried again.
    pub(super) starts: Failing,
    pub(super) timers: Timers,
    /// When it last looked at leases.
    ticked_at: Time,
    /// When the store last did not do its part.
    failed_at: Option<Instant>,
    pub(super) transcripts: Transcripts,
    pub(super) stop: Option<TeamStop>,
    /// How it ended, once it has.
    pub(super) ended: Option<Ended>,
    /// What has been through hooks already.
    pub(super) gated: Seen,
    /// How many things wait for hooks.
    pub(super) n_gated: usize,
    /// Where members work.
    pub(super) places: Places,
    /// Whether checks are what a person agreed to.
    pub(super) agreement: Agreement,
    /// What checks find in their environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// How often somebody said in an attempt that a task is done, and it was not.
    pub(super) refusals: BTreeMap<(TaskNumber, u32), u32>,
    /// What is being found out, for which task, and what ends that.
    pub(super) proofs: BTreeMap<OperationId, (TaskNumber, CancellationToken)>,
    /// Ends what would otherwise be waited for at the end.
    pub(super) over: CancellationToken,
    /// Set when somebody does not want to wait for the end any longer.
    pub(super) hurried: CancellationToken,
    /// The conversation in which the lead's agent acts.
    pub(super) conversation: Conversation,
    /// How often what TEAM.md is made from has changed.
    pub(super) n_teams: u64,
    /// Whether the team has spent what it may.
    pub(super) is_spent: bool,
    /// Whether members have not been told yet how the tasks stand.
    pub(super) has_new_context: bool,
    /// Whether something happened that may have made work available.
    pub(super) has_news: bool,
    /// Ends all that runs when this process is gone, however it went.
    guard: Option<Child>,
}

/// What a dispatcher begins with.
pub(super) struct Start {
    pub(super) options: LeadOptions,
    pub(super) session: Uuid,
    pub(super) fence: u64,
    pub(super) heard_until: Option<Time>,
    pub(super) files: FileDesk,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) hurried: CancellationToken,
    pub(super) tracker: TaskTracker,
}

impl Dispatcher {
    pub(super) async fn new(start: Start) -> Result<Self, LeadError> {
        let Start { options, session, fence, heard_until, files, inputs, hurried, tracker } = start;
        let guard = options
            .launch
            .guard(session)
            .map_err(|source| LeadError::Folder { path: options.folder.clone(), source })?;
        let state = options.board.look(State::clone).await?;
        let (news, ticked_at) = (options.board.subscribe(state.version()), options.clock.now());
        tracker.spawn(pass_on(news, inputs.clone()));
        let is_spent = state.spending() == Spending::Spent;
        Ok(Self {
            board: options.board,
            state,
            clock: options.clock,
            session,
            fence,
            heard_until,
            project: options.project,
            files,
            workspace: Workspace::new(&options.folder),
            launch: options.launch,
            hooks: Arc::new(options.hooks),
            thinks: options.thinks,
            timing: options.timing,
            until: options.until,
            work: options.work,
            warnings: options.warnings,
            inputs,
            links: BTreeMap::new(),
            n_runs: 0,
            restarts: Restarts::default(),
            starts: Failing::default(),
            timers: Timers::default(),
            ticked_at,
            failed_at: None,
            transcripts: Transcripts::new(&options.folder),
            stop: None,
            ended: None,
            gated: Seen::new(),
            n_gated: 0,
            places: Places::new(options.isolation, &tracker),
            agreement: options.agreement,
            environment: options.environment,
            refusals: BTreeMap::new(),
            proofs: BTreeMap::new(),
            over: CancellationToken::new(),
            hurried,
            tracker,
            conversation: Conversation::default(),
            n_teams: 1,
            is_spent,
            has_new_context: false,
            has_news: true,
            guard,
        })
    }

    /// Works until it is over.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Input>) -> Ended {
        self.timers.set(self.timing.tick, Due::Tick);
        self.timers.set(self.timing.renew, Due::Renew);
        self.time_to_watch();
        self.begin().await;
        loop {
            let input = self.next(&mut queue).await;
            self.take(input).await;
            // What is there already is taken together, so that its consequences are one step.
            for _ in 0..DRAIN {
                let Ok(input) = queue.try_recv() else { break };
                self.take(input).await;
            }
            self.settle().await;
            if let Some(how) = self.ended.take() {
                self.end(queue).await;
                return how;
            }
        }
    }

    async fn next(&mut self, queue: &mut mpsc::Receiver<Input>) -> Input {
        tokio::select! {
            Some(input) = queue.recv() => input,
            due = self.timers.next() => Input::Due(due),
            Ok(()) = self.work.changed() => Input::LeadWorks,
        }
    }

    async fn take(&mut self, input: Input) {
        match input {
            Input::Log(event) => self.follow(&event).await,
            Input::LogLost(error) => self.lost(error),
            Input::Wire(runner, incoming) => self.hear(&runner, incoming).await,
            Input::Exited(runner, exit) => self.exited(&runner, exit).await,
            Input::Complained(runner, line) => self.complained(&runner, &line),
            Input::Passed(passed) => self.passed(*passed).await,
            Input::Proved(proved) => self.proved(*proved).await,
            Input::Late(late) => self.merged_late(*late).await,
            Input::Placed(member, place) => self.placed(&member, place).await,
            Input::Begun(begun) => self.begun(begun.0, begun.1).await,
            Input::Waits(member, what) => self.waits(&member, what),
            Input::Watched(seen) => self.watched(seen.0, seen.1).await,
            Input::Shown(member, line) => self.note(&member, Line::note(&line)),
            Input::Called(called) => self.called(*called).await,
            Input::Settled(runner, version) => self.settled(&runner, version),
            Input::Refused(refused) => self.not_taken(*refused).await,
            Input::NotRestarted(member, why) => self.not_restarted(&member, &why).await,
            Input::NotDelegated(delegation, why) => self.not_delegated(delegation, &why).await,
            Input::StoreFails(why) => self.store_fails(&why),
            Input::LeadWorks => self.has_news = true,
            Input::Superseded => self.ended = Some(Ended::Superseded),
            Input::Until(until) => (self.until, self.has_news) = (until, true),
            Input::Hurry => self.hurry().await,
            Input::Due(Due::Ready(runner)) => self.not_ready(&runner),
            Input::Due(Due::Grace(runner)) => self.grace_is_over(&runner),
            Input::Due(Due::Term(runner)) => self.term_is_over(&runner),
            Input::Due(Due::BreakOff(runner)) => self.does_not_break_off(&runner),
            Input::Due(Due::Bury(runner)) => self.bury(&runner).await,
            Input::Due(Due::Restart(member)) => self.restart(&member).await,
            Input::Due(Due::Start(member)) => self.start_again(&member).await,
            Input::Due(Due::Begin(member)) => self.begin_again(&member),
            Input::Due(Due::Claimed(runner)) => self.expect_word(&runner),
            Input::Due(Due::Word(runner, task)) => self.word_is_due(&runner, task).await,
            // The end was only held up by it.
            Input::Due(Due::LastWords(_)) => {}
            Input::Due(Due::Retry(runner)) => self.try_again(&runner).await,
            Input::Due(Due::Tick) => self.tick().await,
            Input::Due(Due::Renew) => self.renew().await,
            Input::Due(Due::Watch) => self.time_to_watch(),
        }
    }

    /// Does what many inputs may have made necessary, once.
    async fn settle(&mut self) {
        self.settle_all_idle().await;
        if std::mem::take(&mut self.has_news) {
            self.note_rest_of_lead().await;
            self.note_end_of_work_of_lead().await;
            self.push_work().await;
            self.look_for_the_end().await;
            self.tell_if_stuck().await;
        }
        self.transcripts.flush();
    }

    /// Starts what was to run when this lead began.
    async fn begin(&mut self) {
        self.fire_created();
        self.merge_all_late();
        if let Some(heard_until) = self.heard_until {
            self.tell_of_external_before(heard_until).await;
        }
        let lead = match self.thinks {
            LeadThinks::Here => self.state.lead().map(|lead| lead.name.clone()),
            LeadThinks::Elsewhere => None,
        };
        let waiting = self.state.members().filter(|it| it.state == MemberState::Spawning);
        let waiting: Vec<_> = waiting.map(|it| it.name.clone()).chain(lead).collect();
        for member in waiting {
            self.start(&member).await;
        }
        self.begin_delegations().await;
    }

    fn complained(&mut self, runner: &Runner, line: &str) {
        if let Some(link) = self.link(runner) {
            link.note_complaint(line);
            self.note(&runner.member, Line::complaint(line));
        }
    }

    pub(super) fn lost(&mut self, error: Option<BoardError>) {
        let reason = error.map_or_else(|| "the board was closed".to_owned(), |it| it.to_string());
        self.ended = Some(Ended::Lost { reason });
    }

    async fn tick(&mut self) {
        self.timers.set(self.timing.tick, Due::Tick);
        if self.was_away() {
            // Nobody was silent: nobody listened.
            self.renew_all_leases().await;
        } else {
            self.renew_leases().await;
            self.end_silent();
            if self.is_something_due() {
                self.give(Command::Tick).await;
            }
        }
        self.send_contexts();
        self.note_work_of_lead().await;
        self.has_news = true;
    }

    /// Says that the lead works, if it has been at something for a while: who thinks, or waits for leave, is not idle.
    pub(super) async fn note_work_of_lead(&mut self) {
        self.move_lead(false, MemberState::Working).await;
    }

    /// Says that the lead is idle, once it has dealt with what it was at.
    async fn note_rest_of_lead(&mut self) {
        self.move_lead(true, MemberState::Idle).await;
    }

    /// Says that nothing is left of what the lead was told, although it still waits for the end of something.
    async fn note_end_of_work_of_lead(&mut self) {
        let cause = self.state.lead().and_then(|lead| lead.state_cause);
        if cause == Some(StateCause::LeftOpen) && self.left_open().is_none() {
            self.note_work_of_lead().await;
        }
    }

    /// Says what the lead does, and whether something is left of what it was told: whoever leads next must know.
    async fn move_lead(&mut self, rests: bool, to: MemberState) {
        let is_moving = |it: &&Member| matches!(it.state, MemberState::Idle | MemberState::Working);
        let Some(lead) = self.state.lead().filter(is_moving) else { return };
        let holds_task = self.state.tasks().held_by(&lead.name).next().is_some();
        let link = self.links.get(&lead.name).filter(|link| link.is_open());
        let Some(link) = link.filter(|link| link.is_at_rest == rests && !holds_task) else {
            return;
        };
        let is_left = |it: &StateCause| matches!(it, StateCause::LeftOpen | StateCause::CouldNot);
        let cause = self.left_open();
        if lead.state == to && lead.state_cause.filter(is_left) == cause {
            return;
        }
        let (member, pid) = (lead.name.clone(), Some(link.body.process()));
        let reason = cause.map(|it| it.in_words().to_owned());
        self.set_state(&member, to, reason, cause, pid).await;
    }

    /// How the log says that the lead's agent has not done what it was told, if it has not.
    pub(super) fn left_open(&self) -> Option<StateCause> {
        match *self.work.borrow() {
            LeadWork::Done => None,
            LeadWork::Open | LeadWork::Interrupted => Some(StateCause::LeftOpen),
            LeadWork::Failed => Some(StateCause::CouldNot),
        }
    }

    /// Whether so much time has passed since the last look that this process, or the whole machine, must have been asleep.
    fn was_away(&mut self) -> bool {
        let now = self.clock.now();
        let since = now.since(std::mem::replace(&mut self.ticked_at, now));
        let lease = self.state.team().map(|team| team.settings.lease()).unwrap_or_default();
        since > 2 * self.timing.tick + lease / 3
    }

    /// Whether the passing of time has an effect now, by the rules themselves.
    fn is_something_due(&self) -> bool {
        let ctx = Context {
            now: self.clock.now(),
            asker: Asker::system(),
            operation: OperationId(Uuid::now_v7()),
            fence: Some(self.fence),
        };
        decide(&self.state, &Command::Tick, &ctx).is_ok_and(|events| !events.is_empty())
    }

    /// Looks from time to time whether what members are doing fits together.
    fn time_to_watch(&mut self) {
        let seconds = self.state.team().map_or(0, |team| team.settings.isolation_watch_seconds);
        let pause = if seconds == 0 { WATCH_OFF } else { Duration::from_secs(seconds.into()) };
        self.timers.set(pause, Due::Watch);
        self.watch();
    }

    async fn renew(&mut self) {
        self.timers.set(self.timing.renew, Due::Renew);
        self.give(Command::RenewLead).await;
    }

    /// Ends whatever is left, and says goodbye to the board.
    async fn end(mut self, mut queue: mpsc::Receiver<Input>) {
        self.over.cancel();
        let runners: Vec<_> = self.links.values().map(|link| link.runner.clone()).collect();
        runners.iter().for_each(|runner| self.kill(runner));
        // Who waits to say something, does not have to any more.
        queue.close();
        while queue.recv().await.is_some() {}
        self.transcripts.flush();
        self.links.clear();
        if let Some(mut guard) = self.guard.take() {
            // It ends with what it reads, and sees that nobody is left. A word says that nothing is being started any more.
            if let Some(mut words) = guard.stdin.take() {
                drop(words.write_all(b"over\n").await);
            }
            drop(guard.wait().await);
        }
    }

    /// The link of a member, if it is still the same run.
    pub(super) fn link(&mut self, runner: &Runner) -> Option<&mut Link> {
        self.links.get_mut(&runner.member).filter(|link| link.runner.run == runner.run)
    }

    pub(super) fn is_lead(&self, member: &MemberName) -> bool {
        self.state.lead().is_some_and(|lead| lead.name == *member)
    }

    /// Whether no more work is begun.
    pub(super) fn is_ending(&self) -> bool {
        self.stop.is_some() || self.ended.is_some()
    }

    pub(super) fn team_name(&self) -> TeamName {
        let team = self.state.team().expect("a lead begins with a team that exists");
        team.name.clone()
    }

    pub(super) fn note(&mut self, member: &MemberName, line: Line) {
        let session = self.own_session(member).map(|session| session.to_string());
        self.transcripts.write(member, &Entry { at: self.clock.now(), session, line });
    }

    /// A command of the supervisor's own.
    pub(super) fn own(&self, command: Command) -> Request {
        self.signed(Actor::system(), command)
    }

    /// A command that a member gives by way of this lead.
    pub(super) fn signed(&self, actor: Actor, command: Command) -> Request {
        let is_lead = self.state.lead().is_some_and(|lead| Actor::agent(&lead.name) == actor);
        let origin = self.origin_of(&actor, &command);
        let signature = Signature { origin, ..Signature::new(actor) };
        let request = Request { fence: Some(self.fence), ..signature.on(command) };
        if is_lead { self.in_conversation(request) } else { request }
    }

    /// Gives a command of the supervisor's own. What was given before is decided before it. What comes of it is in the log;
    /// if it is refused, things were not as they seemed, and the log says how they are.
    pub(super) async fn give(&mut self, command: Command) {
        self.give_signed(self.own(command)).await;
    }

    pub(super) async fn give_signed(&mut self, request: Request) {
        let Some(given) = self.enqueue(request.clone()).await else { return };
        let (board, inputs) = (self.board.clone(), self.inputs.clone());
        self.tracker.spawn(async move {
            let input = match insist(&board, request, given, &inputs).await {
                Err(BoardError::Refused(troop_model::Refusal::Superseded)) => Input::Superseded,
                Err(error @ BoardError::Store(_)) => Input::LogLost(Some(error)),
                Ok(_) | Err(_) => return,
            };
            drop(inputs.send(input).await);
        });
    }

    /// Tells people, once for each time that the store does not do its part for a while: nothing moves meanwhile.
    fn store_fails(&mut self, why: &str) {
        let is_known = self.failed_at.is_some_and(|at| at.elapsed() < PATIENCE * N_PATIENCE);
        self.failed_at = Some(Instant::now());
        if !is_known {
            let seconds = (PATIENCE * N_PATIENCE).as_secs();
            self.tell_people(format!("nothing can be stored; retrying for {seconds} s: {why}"));
        }
    }

    /// Something is tried again that a fault of the machine keeps from being done: who watches hears why nothing moves.
    pub(super) fn waits(&mut self, member: &MemberName, what: String) {
        self.note(member, Line::trouble(&what));
        self.tell_people(what);
    }

    /// Shows people something at once, as far as they read so fast.
    pub(super) fn tell_people(&self, warning: String) {
        if let Some(warnings) = &self.warnings {
            drop(warnings.try_send(warning));
        }
    }

    /// Puts a command in the board's queue.
    pub(super) async fn enqueue(&mut self, request: Request) -> Option<Given> {
        match self.board.give(request).await {
            Ok(given) => Some(given),
            Err(error) => {
                self.lost(Some(error));
                None
            }
        }
    }

    /// Tells the lead something about a member.
    pub(super) async fn tell_lead(&mut self, about: &MemberName, content: String) {
        if !self.is_lead(about) {
            self.give_signed(self.word_to_lead(content)).await;
        }
    }

    pub(super) fn word_to_lead(&self, content: String) -> Request {
        self.own(Command::Send(Outgoing::system("lead", content)))
    }
}

/// Waits for what comes of a command, and gives it again as long as the store does not do its part: what was seen of a
/// member must not be lost because a disk was full for a while. The same operation again has one effect.
pub(super) async fn insist(
    board: &Board,
    request: Request,
    given: Given,
    inputs: &mpsc::Sender<Input>,
) -> BoardResult<Done> {
    let mut done = given.done().await;
    for nth in 0..N_PATIENCE {
        let Err(BoardError::Store(error)) = &done else { break };
        if inputs.is_closed() {
            break;
        }
        if nth == 0 {
            drop(inputs.try_send(Input::StoreFails(error.to_string())));
        }
        tokio::time::sleep(PATIENCE).await;
        done = board.submit(request.clone()).await;
    }
    done
}

/// Puts the log in line with everything else.
async fn pass_on(mut news: Subscription, inputs: mpsc::Sender<Input>) {
    let mut n_failures = 0;
    loop {
        let next = tokio::select! {
            next = news.next() => next,
            () = inputs.closed() => return,
        };
        let input = match next {
            Err(BoardError::Store(_)) if n_failures < N_PATIENCE => {
                n_failures += 1;
                tokio::time::sleep(PATIENCE).await;
                continue;
            }
            Ok(Some(event)) => {
                n_failures = 0;
                Input::Log(event)
            }
            Ok(None) => Input::LogLost(None),
            Err(error) => Input::LogLost(Some(error)),
        };
        let is_last = matches!(input, Input::LogLost(_));
        if inputs.send(input).await.is_err() || is_last {
            return;
        }
    }
}
