//! Leads a team from this process: takes its lead, tells what happens, and brings its work home at the end.
//!
//! A surface prepares a [`Leading`] and begins it, sets the [`TeamRun`] to work, takes its events until there are no more, and
//! finishes it. In between it may ask the run to stop, or to hurry.

mod finished;
mod folders;
mod harvest;

use std::{collections::VecDeque, convert::Infallible, fmt, pin::Pin, sync::Arc, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, Interval},
};
use tokio_util::task::TaskTracker;
use troop_model::{Actor, Command, Event, Member, Outgoing, Refusal, Spawn, State, Time};
use troop_process::adopt_orphans;
use troop_runtime::{
    Board, BoardError, Clock, CommandRequest, EndedLead, HookOptions, Hooks, IsolationStart, Lead,
    LeadEnd, LeadHandle, LeadOptions, LeadThinks, Signature, Subscription, Timing, Until,
    Worktrees, lead_held,
};

use crate::{
    Error, FileAct, Result,
    agents::{LeadWatch, RunnableAgents, Thinker, UnfinishedLead},
    story::{Story, StoryLine},
    team::TeamDesk,
    trust::{self, ProjectTrust},
};
pub use finished::RunReport;
pub use folders::Folders;
pub use harvest::{TeamHarvest, ignored_notes};

/// How often we check whether somebody waits for an answer.
const LOOK: Duration = Duration::from_secs(1);
/// How long a team that was told to hurry has to end.
const HURRY: Duration = Duration::from_secs(5);
/// How many warnings may wait to be taken.
const WARNINGS: usize = 64;

/// How a team is to be led from this process.
#[derive(Debug)]
pub struct Leading {
    pub board: Board,
    /// Whether the team was made just now.
    pub is_new: bool,
    pub agents: Arc<RunnableAgents>,
    /// The agent that leads this time, if not the one on the board.
    pub substitute: Option<Thinker>,
    /// Where the lead's agent runs.
    pub thinks: LeadThinks,
    pub terms: LeadTerms,
    /// The work that the lead's agent left undone in an earlier run.
    pub left: Option<UnfinishedLead>,
}

/// How a team ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadTerms {
    /// How long members have to stop before they are killed.
    pub grace: Duration,
    pub when_quiet: WhenQuiet,
}

/// What a team does when nobody has anything left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenQuiet {
    End,
    /// Waits for more until it is stopped.
    Stay,
}

/// The beginning of a run.
#[derive(Debug, Default)]
pub struct Beginning {
    /// The members to start.
    pub members: Vec<Spawn>,
    /// The first message to the lead.
    pub goal: Option<String>,
}

/// A team whose lead can be taken now: its folders are free and ready.
#[derive(Debug)]
pub struct PreparedLead {
    options: LeadOptions,
    site: RunSite,
    ears: RunEars,
    /// Whether the team was made just now.
    is_new: bool,
}

/// The facts about its team that a run needs.
#[derive(Debug)]
struct RunSite {
    board: Board,
    clock: Clock,
    /// The person who leads.
    person: Actor,
    /// The caller.
    signature: Signature,
    agents: Arc<RunnableAgents>,
    watch: LeadWatch,
    when_quiet: WhenQuiet,
    isolation: Option<Worktrees>,
    /// Held until the team's work has landed.
    folders: Folders,
    notices: Vec<String>,
}

/// Hears what happens in a team.
#[derive(Debug)]
struct RunEars {
    story: Story,
    news: Subscription,
    /// Warnings about hooks, from members, and about files that cannot be kept.
    warnings: mpsc::Receiver<String>,
    hooks: TaskTracker,
}

/// A team that is led from this process.
pub struct TeamRun {
    site: RunSite,
    ears: RunEars,
    handle: LeadHandle,
    ending: Pin<Box<dyn Future<Output = EndedLead> + Send>>,
    orphans: Pin<Box<dyn Future<Output = Infallible> + Send>>,
    looks: Interval,
    /// Reminders that have not been taken yet.
    reminders: VecDeque<StoryLine>,
    /// When nothing more is waited for.
    deadline: Option<Instant>,
    /// How the lead ended, once it has.
    end: Option<LeadEnd>,
    /// The lead after its end, as long as its guard is needed.
    guarded: Option<Box<EndedLead>>,
}

/// Something that a surface shows.
#[derive(Clone, Debug)]
pub enum RunEvent {
    /// Something happened in the team. It has a line if people should read it.
    Happened { event: Arc<Event>, line: Option<StoryLine> },
    /// Something went wrong outside the log.
    Warning(String),
    /// Somebody has been waiting for an answer for a while.
    Reminder(StoryLine),
}

impl Leading {
    /// Gets everything ready that the lead needs. Waits for a former lead that is still bringing the team's work home.
    pub async fn prepare(self, desk: &mut TeamDesk, trust: &ProjectTrust) -> Result<PreparedLead> {
        let is_new = self.is_new;
        let prepared = self.ready(desk, trust).await;
        if prepared.is_err() {
            give_up(desk, is_new).await;
        }
        prepared
    }

    async fn ready(self, desk: &TeamDesk, trust: &ProjectTrust) -> Result<PreparedLead> {
        let is_new = self.is_new;
        let Self { board, agents, substitute, thinks, terms, .. } = self;
        let surroundings = &desk.surroundings;
        let environment = surroundings.environment.variables();
        let (warn, warnings) = mpsc::channel(WARNINGS);
        let hooks = TaskTracker::new();
        let agreement = trust::agreement(surroundings, trust);
        let hook_options = HookOptions {
            folder: surroundings.project.clone(),
            environment: environment.clone(),
            agreement: agreement.clone(),
            tracker: hooks.clone(),
            warnings: warn.clone(),
        };
        let watch = LeadWatch::of_left(self.left);
        let state = board.look(State::clone).await?;
        let news = board.subscribe(state.version());
        agents.look_at_project(&state).await;
        let folder = desk.folder(board.team());
        let folders = Folders::take(&folder).await.map_err(|source| Error::File {
            path: folder.clone(),
            act: FileAct::Used,
            source,
        })?;
        let Some(folders) = folders else {
            return Err(lead_held(&board, &desk.clock).await.into());
        };
        let IsolationStart { isolation, notices } =
            harvest::open_worktrees(desk, &board, self.is_new).await?;
        let options = LeadOptions {
            board: board.clone(),
            clock: desk.clock.clone(),
            folder,
            project: surroundings.project.clone(),
            holder: holder(&surroundings.user),
            launch: Arc::clone(&agents).launch(watch.clone(), substitute),
            thinks,
            hooks: Hooks::new(trust::allowed_hooks(surroundings, trust), hook_options),
            isolation: isolation.clone(),
            checks: trust::allowed_checks(surroundings, trust),
            agreement,
            environment,
            timing: Timing { grace: terms.grace, ..Timing::default() },
            until: Until::Stopped,
            work: watch.work(),
            warnings: Some(warn),
        };
        let clock = desk.clock.clone();
        let ears = RunEars { story: Story::new(state, clock.now()), news, warnings, hooks };
        let site = RunSite {
            board,
            clock,
            person: Actor::human(&surroundings.user),
            signature: desk.signature()?,
            agents,
            watch,
            when_quiet: terms.when_quiet,
            isolation,
            folders,
            notices,
        };
        Ok(PreparedLead { options, site, ears, is_new })
    }
}

impl PreparedLead {
    /// Takes the lead. Refused while somebody else has it. A new team whose lead cannot be taken is erased.
    pub async fn begin(self, desk: &mut TeamDesk) -> Result<TeamRun> {
        let Self { options, site, ears, is_new } = self;
        let lead = match Box::pin(Lead::start(options)).await {
            Ok(lead) => lead,
            Err(error) => {
                drop(site);
                give_up(desk, is_new).await;
                return Err(error.into());
            }
        };
        Ok(TeamRun {
            site,
            ears,
            handle: lead.handle(),
            ending: Box::pin(lead.ended_with_guard()),
            orphans: Box::pin(adopt_orphans()),
            looks: tokio::time::interval(LOOK),
            reminders: VecDeque::new(),
            deadline: None,
            end: None,
            guarded: None,
        })
    }
}

impl TeamRun {
    /// The team as far as its events were taken.
    #[must_use]
    pub fn story(&self) -> &Story {
        &self.ears.story
    }

    /// The time by the team's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.site.clock.now()
    }

    /// Warnings about the members' worktrees before the team begins.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.site.notices
    }

    /// Starts the members and tells the lead its goal. If that fails the team stops, and the run is still to be finished.
    pub async fn set_to_work(&mut self, beginning: Beginning) -> Result<()> {
        let begun = self.give_work(beginning).await;
        if begun.is_err() {
            self.stop_by(Actor::system(), "it could not begin").await;
        }
        begun
    }

    async fn give_work(&self, beginning: Beginning) -> Result<()> {
        let RunSite { board, when_quiet, .. } = &self.site;
        let is_resumed = beginning.goal.is_none();
        for spawn in beginning.members {
            match board.submit(self.request(Command::SpawnMember(spawn))).await {
                // A member that got work while nobody led starts with its lead.
                Err(BoardError::Refused(Refusal::AlreadyRunning { .. })) if is_resumed => {}
                done => drop(done?),
            }
        }
        if let Some(content) = beginning.goal {
            let goal = Outgoing::goal(content);
            board.submit(self.request(Command::Send(goal))).await?;
        }
        if *when_quiet == WhenQuiet::End {
            let version = board.look(State::version).await?;
            self.handle.end(Until::QuietAfter(version)).await;
        }
        Ok(())
    }

    /// A command, signed by the caller.
    fn request(&self, command: Command) -> CommandRequest {
        CommandRequest::new(self.site.signature.asker.clone(), command)
    }

    /// Waits for the next event. None once the lead has ended and every event was taken. Nothing is lost if the caller stops
    /// waiting.
    pub async fn next_event(&mut self) -> Option<RunEvent> {
        loop {
            if let Some(line) = self.reminders.pop_front() {
                return Some(RunEvent::Reminder(line));
            }
            if self.end.is_some() {
                return self.last_event().await;
            }
            let event = self.listen().await;
            if event.is_some() {
                return event;
            }
        }
    }

    /// Waits until something happens. None if there is no event for it, as for the end of the lead.
    async fn listen(&mut self) -> Option<RunEvent> {
        let deadline = self.deadline;
        let too_late = async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            ended = &mut self.ending => {
                self.end = Some(ended.how.clone());
                self.guarded = Some(Box::new(ended));
                None
            }
            () = too_late => {
                let reason = "it did not stop when it was told to hurry".to_owned();
                self.end = Some(LeadEnd::Lost { reason });
                None
            }
            Ok(Some(event)) = self.ears.news.next() => Some(self.ears.happened(event)),
            Some(warning) = self.ears.warnings.recv() => Some(RunEvent::Warning(warning)),
            never = &mut self.orphans => match never {},
            _ = self.looks.tick() => {
                self.reminders.extend(self.ears.story.remind(self.site.clock.now()));
                None
            }
        }
    }

    /// The events that are left after the end of the lead: first those of the log, then warnings, also from hooks.
    async fn last_event(&mut self) -> Option<RunEvent> {
        if let Ok(Some(event)) = self.ears.news.next_stored().await {
            return Some(self.ears.happened(event));
        }
        self.ears.hooks.close();
        // Hooks may outlive their team.
        if self.deadline.is_none() {
            self.ears.hooks.wait().await;
        }
        if let Some(ended) = &mut self.guarded {
            ended.dismiss_guard().await;
        }
        self.ears.warnings.try_recv().ok().map(RunEvent::Warning)
    }

    /// Whether the lead has ended. Hooks may still run.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Asks the team to stop in good order. If it has already ended, only hooks are left, and they are not waited for.
    pub async fn stop(&mut self, reason: &str) {
        self.stop_by(self.site.person.clone(), reason).await;
    }

    async fn stop_by(&mut self, actor: Actor, reason: &str) {
        let command = Command::StopTeam { reason: Some(reason.to_owned()) };
        match self.site.board.submit(CommandRequest::new(actor, command)).await {
            Ok(_) => {}
            Err(BoardError::Refused(_)) => self.hurry().await,
            // The board does not take it, so the lead must hear of it in another way.
            Err(_) => self.handle.hurry().await,
        }
    }

    /// Ends the team at once: it has a few seconds, and hooks that outlive it are not waited for.
    pub async fn hurry(&mut self) {
        self.handle.hurry().await;
        self.deadline.get_or_insert_with(|| Instant::now() + HURRY);
    }

    /// Waits for the end, drops the events that are left, and brings the team's work into the project.
    pub async fn finish(mut self) -> RunReport {
        while self.next_event().await.is_some() {}
        let Self { site, ears: RunEars { mut story, .. }, end, .. } = self;
        let RunSite { clock, agents, watch, isolation, folders, .. } = site;
        let ended = end.unwrap_or(LeadEnd::Quiet);
        story.end(clock.now());
        let landing = harvest::land(isolation, &ended).await;
        drop(folders);
        let work = *watch.work().borrow();
        let follows = |lead: &Member| agents.follows(&lead.agent, lead.model.as_deref());
        let follows = story.state().lead().is_some_and(follows);
        let fault = watch.fault();
        let setback = watch.setback();
        RunReport { ended, story, fault, setback, follows, work, landing }
    }
}

impl RunEars {
    fn happened(&mut self, event: Arc<Event>) -> RunEvent {
        let line = self.story.tell(&event);
        RunEvent::Happened { event, line }
    }
}

impl fmt::Debug for TeamRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { site, ears, end, .. } = self;
        f.debug_struct("TeamRun").field("site", site).field("ears", ears).field("end", end).finish()
    }
}

/// Erases a new team whose lead could not be taken: nobody has used it, and the next try would find its name taken.
async fn give_up(desk: &mut TeamDesk, is_new: bool) {
    if is_new {
        // If it cannot be erased, the reason why it could not be led matters more.
        drop(desk.erase_new_team().await);
    }
}

/// The holder of the lead, for people.
fn holder(user: &str) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{user} on {host}, process {}", std::process::id())
}

#[cfg(test)]
mod tests;
