//! The main loop of a lead: it handles all inputs in one order; each arm is one call.

use std::time::Duration;

use tokio::{sync::mpsc, time::Instant};
use troop_model::{Command, MemberState, Spending, State, TeamStatus, Time, Version};
use troop_process::Mark;

use super::{
    LeadEnd, LeadError, LeadOptions, LeadThinks, Runner, Until,
    completion::Completions,
    crew::Crew,
    gate::HookGate,
    guard::{EndedLead, LeadGuard},
    idle,
    input::{Due, LeadInput},
    lead_state, leases,
    office::Office,
    places::Workplaces,
    policy::{
        ending::{self, Outlook, WorkEnd},
        silence,
    },
    post::{Background, Course, Mandate, NewPost, Post},
    shared::SharedFolders,
    transcript::TranscriptLine,
};
use crate::{Answers, workspace::Workspace};

/// How many inputs are handled before their common consequences.
const DRAIN: usize = 64;

/// How often we check whether watching was turned on.
const WATCH_OFF: Duration = Duration::from_secs(10);

/// The whole state of a running lead.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) office: Office,
    pub(super) completions: Completions,
    pub(super) answers: Answers,
    until: Until,
    thinks: LeadThinks,
    /// When it last checked leases.
    ticked_at: Time,
    guard: LeadGuard,
}

/// The parts a dispatcher starts with.
pub(super) struct LeadStart {
    pub(super) options: LeadOptions,
    pub(super) mandate: Mandate,
    pub(super) answers: Answers,
    pub(super) background: Background,
}

/// The loop.
impl Dispatcher {
    pub(super) async fn new(start: LeadStart) -> Result<Self, LeadError> {
        let LeadStart { options, mandate, answers, background } = start;
        let guard = options
            .launch
            .guard(mandate.session)
            .map_err(|source| LeadError::Folder { path: options.folder.clone(), source })?;
        let guard = LeadGuard::new(guard);
        let state = options.board.look(State::clone).await?;
        let ticked_at = options.clock.now();
        let is_spent = state.spending() == Spending::Spent;
        let shared = SharedFolders::open(Workspace::new(&options.folder), &state).await;
        let places = Workplaces::new(options.isolation, &background.tracker);
        let post = Post::new(NewPost {
            board: options.board,
            state,
            clock: options.clock,
            mandate,
            timing: options.timing,
            background,
            folder: &options.folder,
            warnings: options.warnings,
            lead_work: options.work,
        });
        let office = Office {
            post,
            crew: Crew::new(options.launch, options.project),
            places,
            gate: HookGate::new(options.hooks),
            shared,
            is_spent,
        };
        let completions = Completions::new(options.agreement, options.environment);
        let until = options.until;
        let thinks = options.thinks;
        Ok(Self { office, completions, answers, until, thinks, ticked_at, guard })
    }

    /// Runs until the lead ends.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<LeadInput>) -> EndedLead {
        self.begin().await;
        loop {
            let input = self.next(&mut queue).await;
            self.take(input).await;
            // Inputs that already wait are handled together, so that their consequences are one step.
            for _ in 0..DRAIN {
                let Ok(input) = queue.try_recv() else { break };
                self.take(input).await;
            }
            self.settle().await;
            if let Course::Over(how) = &self.office.post.course {
                let how = how.clone();
                return EndedLead { how, guard: self.end(queue).await };
            }
        }
    }

    async fn next(&mut self, queue: &mut mpsc::Receiver<LeadInput>) -> LeadInput {
        let post = &mut self.office.post;
        tokio::select! {
            Some(input) = queue.recv() => input,
            due = post.timers.next() => LeadInput::Due(due),
            Ok(()) = post.lead_work.changed() => LeadInput::LeadWorks,
        }
    }

    async fn take(&mut self, input: LeadInput) {
        let office = &mut self.office;
        match input {
            LeadInput::Log(event) => self.follow(&event).await,
            LeadInput::LogLost(error) => office.post.lost(error),
            LeadInput::Wire(runner, incoming) => self.hear(&runner, incoming).await,
            LeadInput::Launched(launch) => office.launched(*launch).await,
            LeadInput::Exited(runner, exit) => self.exited(&runner, exit).await,
            LeadInput::Complained(runner, line) => self.complained(&runner, &line),
            LeadInput::Found(id, finding) => self.found(id, *finding).await,
            LeadInput::Judged(reply) => self.judged(*reply).await,
            LeadInput::Proved(id, finished) => self.proved(id, *finished).await,
            LeadInput::Decided(id, effect) => self.decided(id, effect).await,
            LeadInput::MergedLate(late) => self.completions.merged_late(office, *late).await,
            LeadInput::Placed(member, place) => office.placed(&member, place).await,
            LeadInput::Begun(begun) => office.begun(*begun).await,
            LeadInput::Shared(folder, path) => office.shared_made(folder, path),
            LeadInput::Waits(member, what) => office.post.tell_of_retry(&member, what),
            LeadInput::Watched(look) => office.places.watched(&mut office.post, *look).await,
            LeadInput::Loose(found) => idle::found_loose(office, *found).await,
            LeadInput::Shown(member, line) => {
                office.post.note(&member, TranscriptLine::note(&line));
            }
            LeadInput::Called(command) => self.called(*command).await,
            LeadInput::Settled(runner, version) => office.settle_offer(&runner, version),
            LeadInput::Refused(refused) => self.completions.not_taken(office, *refused).await,
            LeadInput::NotRestarted(member, why) => office.not_restarted(&member, &why).await,
            LeadInput::NotDelegated(delegation, why) => {
                office.not_delegated(delegation, &why).await;
            }
            LeadInput::Progress(n_decided, version) => self.progressed(n_decided, version).await,
            LeadInput::StoreFails(why) => office.post.tell_of_failing_store(&why),
            LeadInput::LeadWorks => office.post.agenda.is_due = true,
            LeadInput::Superseded => office.post.course = Course::Over(LeadEnd::Superseded),
            LeadInput::Until(until) => self.end_at(until),
            LeadInput::Hurry => self.hurry().await,
            LeadInput::Due(due) => self.take_due(due).await,
        }
    }

    async fn take_due(&mut self, due: Due) {
        let office = &mut self.office;
        let post = &mut office.post;
        match due {
            Due::Ready(runner) => office.crew.ready_is_due(post, &runner),
            Due::Grace(runner) => office.crew.grace_is_over(post, &runner),
            Due::Term(runner) => office.crew.term_is_over(post, &runner),
            Due::BreakOff(runner) => office.break_off_is_due(&runner),
            Due::Bury(runner) => self.bury(&runner).await,
            Due::Restart(member) => office.crew.restart(post, &member).await,
            Due::Start(member) => office.start_again(&member).await,
            Due::Begin(member) => office.begin_again(&member),
            Due::Claimed(runner) => idle::expect_word(office, &runner),
            Due::Report(runner, task) => idle::report_is_due(office, &runner, task).await,
            // It only delayed the end of the team's work.
            Due::LastWords(_) => {}
            Due::Retry(runner) => office.try_again(&runner).await,
            Due::Tick => self.tick().await,
            Due::Renew => self.renew().await,
            Due::Tenure => office.post.check_tenure(),
            Due::Watch => self.watch().await,
        }
    }

    /// Handles the common consequences of several inputs, once.
    async fn settle(&mut self) {
        idle::settle_all(&mut self.office).await;
        if std::mem::take(&mut self.office.post.agenda.is_due) {
            lead_state::note_rest(&mut self.office).await;
            lead_state::note_end_of_work(&mut self.office).await;
            self.office.push_work().await;
            self.look_for_the_end().await;
            self.tell_if_stuck().await;
        }
        self.office.post.flush_transcripts();
    }

    /// Starts the members that should run when this lead begins.
    async fn begin(&mut self) {
        let office = &mut self.office;
        office.post.timers.set(office.post.timing.tick, Due::Tick);
        office.post.timers.set(office.post.timing.renew, Due::Renew);
        let first_look = office.post.tenure.first_look(Instant::now());
        office.post.timers.set(first_look, Due::Tenure);
        self.watch().await;
        let office = &mut self.office;
        office.gate.team_created(&office.post, &office.places);
        // Before any folder is prepared for another task.
        self.completions.merge_all_late(office);
        let state = &office.post.state;
        let lead = match self.thinks {
            LeadThinks::Here => state.lead().map(|lead| lead.name.clone()),
            LeadThinks::Elsewhere => None,
        };
        let waiting = state.members().filter(|it| it.state == MemberState::Spawning);
        let waiting: Vec<_> = waiting.map(|it| it.name.clone()).chain(lead).collect();
        for member in waiting {
            office.start(&member).await;
        }
        office.begin_delegations().await;
    }

    fn complained(&mut self, runner: &Runner, line: &str) {
        if let Some(live) = self.office.crew.in_run(runner) {
            live.obituary.add_complaint(line);
            self.office.post.note(&runner.member, TranscriptLine::complaint(line));
        }
    }

    /// Kills all members that are left, and drains the queue.
    async fn end(mut self, mut queue: mpsc::Receiver<LeadInput>) -> LeadGuard {
        let office = &mut self.office;
        office.post.background.over.cancel();
        office.crew.kill_all(&mut office.post);
        // What is still being launched is killed when it runs: only then nothing more is being started.
        while office.crew.is_launching() {
            let Some(input) = queue.recv().await else { break };
            if let LeadInput::Launched(launch) = input {
                office.crew.end_launch(&mut office.post, *launch);
            }
        }
        // Unblocks senders that wait for room in the queue.
        queue.close();
        while queue.recv().await.is_some() {}
        office.post.close_transcripts().await;
        office.crew.clear();
        // Hooks and their background processes live on.
        let mark = Mark { session: office.post.mandate.session, run: None };
        drop(tokio::task::spawn_blocking(move || mark.kill_members()).await);
        self.guard
    }
}

/// Timers.
impl Dispatcher {
    async fn tick(&mut self) {
        let office = &mut self.office;
        office.post.timers.set(office.post.timing.tick, Due::Tick);
        let now = office.post.clock.now();
        let since_tick = now.since(std::mem::replace(&mut self.ticked_at, now));
        if silence::was_asleep(&office.post.state, since_tick, office.post.timing.tick) {
            // The members were not silent: the lead did not listen.
            leases::renew_all(office).await;
        } else {
            leases::renew(office).await;
            leases::end_silent(office);
            if office.post.is_tick_due() {
                office.post.give(Command::Tick).await;
            }
        }
        office.send_contexts();
        lead_state::note_work(office).await;
        office.post.agenda.is_due = true;
    }

    async fn renew(&mut self) {
        let post = &mut self.office.post;
        post.timers.set(post.timing.renew, Due::Renew);
        post.tenure.ask(Instant::now());
        post.give(Command::RenewLead).await;
    }

    /// Compares the members' changes for conflicts, and sets the next time.
    async fn watch(&mut self) {
        let post = &mut self.office.post;
        let seconds = post.state.team().map_or(0, |team| team.settings.isolation.watch_seconds);
        let pause = if seconds == 0 { WATCH_OFF } else { Duration::from_secs(seconds.into()) };
        post.timers.set(pause, Due::Watch);
        self.office.watch();
    }
}

/// The end of the team's work.
impl Dispatcher {
    /// Evaluates a rule about the end of the team's work.
    fn with_outlook<T>(&self, decide: impl FnOnce(&Outlook<'_>) -> T) -> T {
        let office = &self.office;
        let crew = office.crew.facts();
        decide(&Outlook {
            state: &office.post.state,
            crew: &crew,
            restarts: office.crew.restarts(),
            lead_work: *office.post.lead_work.borrow(),
            is_spent: office.is_spent,
            n_under_way: self.completions.n_under_way()
                + office.gate.n_waiting()
                + office.places.n_looks(),
            awaits_last_words: office.post.timers.has(|due| matches!(due, Due::LastWords(_))),
            until: self.until,
        })
    }

    /// The board has said how far it is: the team's work may be over, or stuck.
    async fn progressed(&mut self, n_decided: u64, version: Option<Version>) {
        self.office.post.note_progress(n_decided, version);
        if version.is_some() {
            self.look_for_the_end().await;
            self.tell_if_stuck().await;
        }
    }

    /// Stops the team when its work is over, and ends the lead when all members have stopped.
    async fn look_for_the_end(&mut self) {
        match self.office.post.course {
            Course::Running => {
                let Some(end) = self.with_outlook(ending::end_of_work) else { return };
                if !self.office.post.has_followed_all() {
                    return self.office.post.ask_progress();
                }
                match end {
                    WorkEnd::Quiet => {
                        self.stop_team(LeadEnd::Quiet, "nobody has anything left to do").await;
                    }
                    WorkEnd::Spent => {
                        let reason = self.office.why_spent();
                        self.begin_team_stop(&reason).await;
                    }
                }
            }
            Course::Stopping(_) if self.office.crew.is_empty() => self.say_goodbye().await,
            Course::Stopping(_) | Course::Over(_) => {}
        }
    }

    /// Stops all members, and then this lead.
    pub(super) async fn begin_team_stop(&mut self, reason: &str) {
        self.stop_team(LeadEnd::Stopped { reason: reason.to_owned() }, reason).await;
    }

    async fn stop_team(&mut self, how: LeadEnd, reason: &str) {
        let office = &mut self.office;
        office.crew.stop_all(&mut office.post, &mut office.places, how, reason).await;
    }

    /// Kills all members that have not stopped yet.
    async fn hurry(&mut self) {
        self.begin_team_stop("it was told to, at once").await;
        self.office.crew.kill_all(&mut self.office.post);
    }

    /// Changes the condition for the lead's end.
    fn end_at(&mut self, until: Until) {
        self.until = until;
        self.office.post.agenda.is_due = true;
    }

    async fn say_goodbye(&mut self) {
        let office = &mut self.office;
        office.gate.team_shut_down(&mut office.post).await;
        let state = &office.post.state;
        let is_deleted = state.team().is_none_or(|team| team.status == TeamStatus::Deleted);
        if !is_deleted {
            let is_over = state.tasks().iter().all(|task| task.status.is_finished());
            // A team that ends before all is done is stopped, and can continue. A lead that was cut short may have had more in
            // mind.
            if is_over && !leaves_something_open(&office.post) {
                office.post.give(Command::CompleteTeam).await;
            }
            let request = office.post.own(Command::ReleaseLead);
            if let Some(given) = office.post.enqueue(request).await {
                // A refusal is left to the next lead.
                drop(given.done().await);
            }
        }
        // Unless something else ended the lead meanwhile.
        if let Course::Stopping(how) = &office.post.course {
            office.post.course = Course::Over(how.clone());
        }
    }

    /// Tells the lead's agent, which may wait for the end of all tasks, that no member can begin the remaining ones.
    async fn tell_if_stuck(&mut self) {
        let is_running = self.office.post.course == Course::Running;
        if !is_running || !self.with_outlook(ending::is_stuck) {
            return;
        }
        let version = self.office.post.state.version();
        if !self.office.post.has_followed_all() {
            return self.office.post.ask_progress();
        }
        let Some(lead) = self.office.post.state.lead().map(|lead| lead.name.clone()) else {
            return;
        };
        let Some(live) = self.office.crew.get_mut(&lead) else { return };
        if live.facts.briefing.stuck_at.replace(version) != Some(version) {
            self.office.send_context(&lead);
        }
    }
}

/// Whether the lead ends before it has handled all requests of people.
fn leaves_something_open(post: &Post) -> bool {
    let Some(lead) = post.state.lead() else { return false };
    lead.state == MemberState::Crashed
        || post.left_open().is_some()
        || post.state.lead_has_request()
}
