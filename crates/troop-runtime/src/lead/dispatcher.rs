//! The one loop of a lead: everything that comes in, in one order; each arm is one call.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use tokio::{io::AsyncWriteExt as _, process::Child, sync::mpsc};
use tokio_util::sync::CancellationToken;
use troop_model::{
    Actor, Command, Member, MemberName, MemberState, OperationId, Spending, State, StateCause,
    TaskNumber, Time,
};

use super::{
    LeadEnd, LeadError, LeadOptions, LeadThinks, Runner, Until,
    delegations::Conversation,
    gate::Seen,
    input::{Due, LeadInput},
    launch::Launch,
    link::LiveMember,
    patience::Failing,
    places::Workplaces,
    post::{Background, Course, Mandate, NewPost, Post},
    restarts::Restarts,
    transcript::TranscriptLine,
};
use crate::{Agreement, Answers, CommandRequest, Hooks, Signature, workspace::Workspace};

/// How many inputs are taken before what they have in common is done.
const DRAIN: usize = 64;

/// How often we check whether members need a watch, while the team has none.
const WATCH_OFF: Duration = Duration::from_secs(10);

/// All that a lead knows and holds.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) post: Post,
    /// From when on no lead may have been told what happened before this one began.
    heard_until: Option<Time>,
    pub(super) project: PathBuf,
    pub(super) answers: Answers,
    pub(super) workspace: Workspace,
    pub(super) launch: Arc<dyn Launch>,
    thinks: LeadThinks,
    pub(super) hooks: Arc<Hooks>,
    pub(super) until: Until,
    pub(super) links: BTreeMap<MemberName, LiveMember>,
    pub(super) n_runs: u64,
    pub(super) restarts: Restarts,
    /// Who could not be started and is tried again.
    pub(super) starts: Failing,
    /// When it last looked at leases.
    ticked_at: Time,
    /// What has been through hooks already.
    pub(super) gated: Seen,
    /// How many things wait for hooks.
    pub(super) n_gated: usize,
    /// Where members work.
    pub(super) places: Workplaces,
    /// Whether checks are what a person agreed to.
    pub(super) agreement: Agreement,
    /// What checks find in their environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// How often somebody said in an attempt that a task is done, and it was not.
    pub(super) refusals: BTreeMap<(TaskNumber, u32), u32>,
    /// What is being found out, for which task, and what ends that.
    pub(super) proofs: BTreeMap<OperationId, (TaskNumber, CancellationToken)>,
    /// The conversation in which the lead's agent acts.
    pub(super) conversation: Conversation,
    /// Whether the team has spent what it may.
    pub(super) is_spent: bool,
    /// Ends all that runs when this process is gone, however it went.
    guard: Option<Child>,
}

/// What a dispatcher begins with.
pub(super) struct Start {
    pub(super) options: LeadOptions,
    pub(super) mandate: Mandate,
    pub(super) heard_until: Option<Time>,
    pub(super) answers: Answers,
    pub(super) background: Background,
}

impl Dispatcher {
    pub(super) async fn new(start: Start) -> Result<Self, LeadError> {
        let Start { options, mandate, heard_until, answers, background } = start;
        let guard = options
            .launch
            .guard(mandate.session)
            .map_err(|source| LeadError::Folder { path: options.folder.clone(), source })?;
        let state = options.board.look(State::clone).await?;
        let ticked_at = options.clock.now();
        let is_spent = state.spending() == Spending::Spent;
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
        Ok(Self {
            post,
            heard_until,
            project: options.project,
            answers,
            workspace: Workspace::new(&options.folder),
            launch: options.launch,
            hooks: Arc::new(options.hooks),
            thinks: options.thinks,
            until: options.until,
            links: BTreeMap::new(),
            n_runs: 0,
            restarts: Restarts::default(),
            starts: Failing::default(),
            ticked_at,
            gated: Seen::new(),
            n_gated: 0,
            places,
            agreement: options.agreement,
            environment: options.environment,
            refusals: BTreeMap::new(),
            proofs: BTreeMap::new(),
            conversation: Conversation::default(),
            is_spent,
            guard,
        })
    }

    /// Works until it is over.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<LeadInput>) -> LeadEnd {
        self.post.timers.set(self.post.timing.tick, Due::Tick);
        self.post.timers.set(self.post.timing.renew, Due::Renew);
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
            if let Course::Over(how) = &self.post.course {
                let how = how.clone();
                self.end(queue).await;
                return how;
            }
        }
    }

    async fn next(&mut self, queue: &mut mpsc::Receiver<LeadInput>) -> LeadInput {
        tokio::select! {
            Some(input) = queue.recv() => input,
            due = self.post.timers.next() => LeadInput::Due(due),
            Ok(()) = self.post.lead_work.changed() => LeadInput::LeadWorks,
        }
    }

    async fn take(&mut self, input: LeadInput) {
        match input {
            LeadInput::Log(event) => self.follow(&event).await,
            LeadInput::LogLost(error) => self.post.lost(error),
            LeadInput::Wire(runner, incoming) => self.hear(&runner, incoming).await,
            LeadInput::Exited(runner, exit) => self.exited(&runner, exit).await,
            LeadInput::Complained(runner, line) => self.complained(&runner, &line),
            LeadInput::Passed(passed) => self.passed(*passed).await,
            LeadInput::Proved(proved) => self.proved(*proved).await,
            LeadInput::Late(late) => self.merged_late(*late).await,
            LeadInput::Placed(member, place) => self.placed(&member, place).await,
            LeadInput::Begun(begun) => self.begun(begun.0, begun.1).await,
            LeadInput::Waits(member, what) => self.post.tell_of_retry(&member, what),
            LeadInput::Watched(seen) => self.watched(seen.0, seen.1).await,
            LeadInput::Shown(member, line) => self.post.note(&member, TranscriptLine::note(&line)),
            LeadInput::Called(called) => self.called(*called).await,
            LeadInput::Settled(runner, version) => self.settled(&runner, version),
            LeadInput::Refused(refused) => self.not_taken(*refused).await,
            LeadInput::NotRestarted(member, why) => self.not_restarted(&member, &why).await,
            LeadInput::NotDelegated(delegation, why) => self.not_delegated(delegation, &why).await,
            LeadInput::StoreFails(why) => self.post.tell_of_failing_store(&why),
            LeadInput::LeadWorks => self.post.agenda.is_due = true,
            LeadInput::Superseded => self.post.course = Course::Over(LeadEnd::Superseded),
            LeadInput::Until(until) => self.is_over_at(until),
            LeadInput::Hurry => self.hurry().await,
            LeadInput::Due(Due::Ready(runner)) => self.not_ready(&runner),
            LeadInput::Due(Due::Grace(runner)) => self.grace_is_over(&runner),
            LeadInput::Due(Due::Term(runner)) => self.term_is_over(&runner),
            LeadInput::Due(Due::BreakOff(runner)) => self.does_not_break_off(&runner),
            LeadInput::Due(Due::Bury(runner)) => self.bury(&runner).await,
            LeadInput::Due(Due::Restart(member)) => self.restart(&member).await,
            LeadInput::Due(Due::Start(member)) => self.start_again(&member).await,
            LeadInput::Due(Due::Begin(member)) => self.begin_again(&member),
            LeadInput::Due(Due::Claimed(runner)) => self.expect_word(&runner),
            LeadInput::Due(Due::Word(runner, task)) => self.word_is_due(&runner, task).await,
            // The end was only held up by it.
            LeadInput::Due(Due::LastWords(_)) => {}
            LeadInput::Due(Due::Retry(runner)) => self.try_again(&runner).await,
            LeadInput::Due(Due::Tick) => self.tick().await,
            LeadInput::Due(Due::Renew) => self.renew().await,
            LeadInput::Due(Due::Watch) => self.time_to_watch(),
        }
    }

    /// Does what many inputs may have made necessary, once.
    async fn settle(&mut self) {
        self.settle_all_idle().await;
        if std::mem::take(&mut self.post.agenda.is_due) {
            self.note_rest_of_lead().await;
            self.note_end_of_work_of_lead().await;
            self.push_work().await;
            self.look_for_the_end().await;
            self.tell_if_stuck().await;
        }
        self.post.flush_transcripts();
    }

    /// Starts what was to run when this lead began.
    async fn begin(&mut self) {
        self.fire_created();
        self.merge_all_late();
        if let Some(heard_until) = self.heard_until {
            self.tell_of_external_before(heard_until).await;
        }
        let lead = match self.thinks {
            LeadThinks::Here => self.post.state.lead().map(|lead| lead.name.clone()),
            LeadThinks::Elsewhere => None,
        };
        let waiting = self.post.state.members().filter(|it| it.state == MemberState::Spawning);
        let waiting: Vec<_> = waiting.map(|it| it.name.clone()).chain(lead).collect();
        for member in waiting {
            self.start(&member).await;
        }
        self.begin_delegations().await;
    }

    fn complained(&mut self, runner: &Runner, line: &str) {
        if let Some(link) = self.link(runner) {
            link.note_complaint(line);
            self.post.note(&runner.member, TranscriptLine::complaint(line));
        }
    }

    /// Somebody says that the work is over at another moment than was said before.
    fn is_over_at(&mut self, until: Until) {
        self.until = until;
        self.post.agenda.is_due = true;
    }

    async fn tick(&mut self) {
        self.post.timers.set(self.post.timing.tick, Due::Tick);
        if self.was_away() {
            // Nobody was silent: nobody listened.
            self.renew_all_leases().await;
        } else {
            self.renew_leases().await;
            self.end_silent();
            if self.post.is_tick_due() {
                self.post.give(Command::Tick).await;
            }
        }
        self.send_contexts();
        self.note_work_of_lead().await;
        self.post.agenda.is_due = true;
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
        let cause = self.post.state.lead().and_then(|lead| lead.state_cause);
        if cause == Some(StateCause::LeftOpen) && self.post.left_open().is_none() {
            self.note_work_of_lead().await;
        }
    }

    /// Says what the lead does, and whether something is left of what it was told: whoever leads next must know.
    async fn move_lead(&mut self, rests: bool, to: MemberState) {
        let is_moving = |it: &&Member| matches!(it.state, MemberState::Idle | MemberState::Working);
        let Some(lead) = self.post.state.lead().filter(is_moving) else { return };
        let holds_task = self.post.state.tasks().held_by(&lead.name).next().is_some();
        let link = self.links.get(&lead.name).filter(|link| link.is_open());
        let Some(link) = link.filter(|link| link.is_at_rest == rests && !holds_task) else {
            return;
        };
        let is_left = |it: &StateCause| matches!(it, StateCause::LeftOpen | StateCause::CouldNot);
        let cause = self.post.left_open();
        if lead.state == to && lead.state_cause.filter(is_left) == cause {
            return;
        }
        let (member, pid) = (lead.name.clone(), Some(link.body.process()));
        let reason = cause.map(|it| it.in_words().to_owned());
        self.post.set_state(&member, to, reason, cause, pid).await;
    }

    /// Whether so much time has passed since the last look that this process, or the whole machine, must have been asleep.
    fn was_away(&mut self) -> bool {
        let now = self.post.clock.now();
        let since = now.since(std::mem::replace(&mut self.ticked_at, now));
        let lease = self.post.state.team().map(|team| team.settings.lease()).unwrap_or_default();
        since > 2 * self.post.timing.tick + lease / 3
    }

    /// Looks from time to time whether what members are doing fits together.
    fn time_to_watch(&mut self) {
        let seconds =
            self.post.state.team().map_or(0, |team| team.settings.isolation_watch_seconds);
        let pause = if seconds == 0 { WATCH_OFF } else { Duration::from_secs(seconds.into()) };
        self.post.timers.set(pause, Due::Watch);
        self.watch();
    }

    async fn renew(&mut self) {
        self.post.timers.set(self.post.timing.renew, Due::Renew);
        self.post.give(Command::RenewLead).await;
    }

    /// Ends whatever is left, and says goodbye to the board.
    async fn end(mut self, mut queue: mpsc::Receiver<LeadInput>) {
        self.post.background.over.cancel();
        let runners: Vec<_> = self.links.values().map(|link| link.runner.clone()).collect();
        runners.iter().for_each(|runner| self.kill(runner));
        // Who waits to say something, does not have to any more.
        queue.close();
        while queue.recv().await.is_some() {}
        self.post.flush_transcripts();
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
    pub(super) fn link(&mut self, runner: &Runner) -> Option<&mut LiveMember> {
        self.links.get_mut(&runner.member).filter(|link| link.runner.run == runner.run)
    }

    /// A command that a member gives by way of this lead.
    pub(super) fn signed(&self, actor: Actor, command: Command) -> CommandRequest {
        let is_lead = self.post.state.lead().is_some_and(|lead| Actor::agent(&lead.name) == actor);
        let origin = self.origin_of(&actor, &command);
        let signature = Signature { origin, ..Signature::new(actor) };
        let request =
            CommandRequest { fence: Some(self.post.mandate.fence), ..signature.on(command) };
        if is_lead { self.in_conversation(request) } else { request }
    }
}
