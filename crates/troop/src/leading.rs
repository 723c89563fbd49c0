//! Leads a team from this process, and shows what happens, until it is over.

mod finished;
mod folders;
mod isolation;
mod view;

use std::{pin::pin, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::task::TaskTracker;
use troop_app::{
    agents::{LeadWatch, RunnableAgents, Thinker, UnfinishedLead},
    story::Story,
    team::TeamDesk,
    trust::{self, ProjectTrust},
};
use troop_model::{Actor, Command, Member, Outgoing, Refusal, Spawn, State};
use troop_runtime::{
    Board, BoardError, CommandRequest, HookOptions, Hooks, IsolationStart, Lead, LeadEnd,
    LeadError, LeadHandle, LeadOptions, LeadThinks, Subscription, Timing, Until, Worktrees,
};

use crate::{cli::LeadArgs, output::Printer, report::CallerOptions, signals::Signals};
pub(crate) use finished::RunOutcome;
pub(crate) use folders::Folders;
pub(crate) use isolation::{TeamHarvest, ignored_lines};
use view::View;

/// How often a screen is drawn anew.
const FRAME: Duration = Duration::from_millis(100);
/// How often is looked whether somebody waits for an answer.
const LOOK: Duration = Duration::from_secs(1);
/// How long a team that was told to hurry is waited for.
const HURRY: Duration = Duration::from_secs(5);
/// How many warnings may wait to be shown.
const WARNINGS: usize = 64;

/// What a team begins with when somebody takes its lead.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    /// Who is started.
    pub(crate) members: Vec<Spawn>,
    /// What the lead is told.
    pub(crate) goal: Option<String>,
}

/// Somebody who leads a team from this process.
pub(crate) struct Leading<'a> {
    pub(crate) desk: &'a TeamDesk,
    pub(crate) board: Board,
    /// Whether it was made right now.
    pub(crate) is_new: bool,
    pub(crate) printer: &'a Printer,
    pub(crate) trust: &'a ProjectTrust,
    pub(crate) agents: Arc<RunnableAgents>,
    /// Who leads this time, if not who did before.
    pub(crate) instead: Option<Thinker>,
    /// Where what thinks for the lead runs.
    pub(crate) thinks: LeadThinks,
    pub(crate) args: LeadArgs,
    /// How the lead's agent stands with what it was told before, and why, if it has not done that.
    pub(crate) left: Option<UnfinishedLead>,
}

/// A lead that has begun.
pub(crate) struct LeadRun<'a> {
    leading: Leading<'a>,
    lead: Lead,
    ears: Ears,
    watch: LeadWatch,
    isolation: Option<Worktrees>,
    /// Held until what the team made is brought home.
    folders: Option<Folders>,
    /// What people should know about it.
    notices: Vec<String>,
}

/// All by which is heard how a team is doing.
struct Ears {
    story: Story,
    news: Subscription,
    signals: Signals,
    /// What is wrong with hooks, what members complain about, and what cannot be kept.
    warnings: mpsc::Receiver<String>,
    hooks: TaskTracker,
}

impl<'a> Leading<'a> {
    /// Takes the lead. Refused while somebody else has it.
    pub(crate) async fn begin(self) -> Result<LeadRun<'a>> {
        let Self { desk, board, .. } = &self;
        let surroundings = &desk.surroundings;
        let (warn, warnings) = mpsc::channel(WARNINGS);
        let hooks = TaskTracker::new();
        let agreement = trust::agreement(surroundings, self.trust);
        let options = HookOptions {
            folder: surroundings.project.clone(),
            environment: surroundings.environment.variables(),
            agreement: agreement.clone(),
            tracker: hooks.clone(),
            warnings: warn.clone(),
        };
        let allowed = trust::allowed_hooks(surroundings, self.trust);
        let watch = LeadWatch::of_left(self.left.clone());
        let (story, news) = follow(board, desk).await?;
        self.agents.look_at_project(story.state()).await;
        let folder = desk.folder(board.team());
        let taken = Folders::take(&folder).await;
        let folders = taken.with_context(|| format!("`{}` cannot be used", folder.display()))?;
        let IsolationStart { isolation, notices } = match folders {
            Some(_) => isolation::open(desk, board, self.is_new).await?,
            // Somebody leads the team, which is refused below.
            None => IsolationStart { isolation: None, notices: Vec::new() },
        };
        let options = LeadOptions {
            board: board.clone(),
            clock: desk.clock.clone(),
            folder,
            project: surroundings.project.clone(),
            holder: holder(&surroundings.user),
            launch: Arc::clone(&self.agents).launch(watch.clone(), self.instead.clone()),
            thinks: self.thinks,
            hooks: Hooks::new(allowed, options),
            isolation: isolation.clone(),
            checks: trust::allowed_checks(surroundings, self.trust),
            agreement,
            environment: surroundings.environment.variables(),
            timing: Timing { grace: Duration::from_secs(self.args.grace), ..Timing::default() },
            until: Until::Stopped,
            work: watch.work(),
            warnings: Some(warn),
        };
        let signals = Signals::listen()?;
        let lead = Lead::start(options).await.map_err(refusal)?;
        let leading = self;
        let ears = Ears { story, news, signals, warnings, hooks };
        Ok(LeadRun { leading, lead, ears, watch, isolation, folders, notices })
    }
}

/// The team as it is now, and what happens from now on.
async fn follow(board: &Board, desk: &TeamDesk) -> Result<(Story, Subscription)> {
    let state = board.look(State::clone).await?;
    let news = board.subscribe(state.version());
    Ok((Story::new(state, desk.clock.now()), news))
}

/// Hints may be pasted in another folder, where another team is meant, so that they name this one.
fn options_about(story: &Story) -> CallerOptions {
    CallerOptions::typed().about(story.state().team().map(|team| team.name.as_str()))
}

impl LeadRun<'_> {
    /// Sets the team to work and follows it until it is over.
    pub(crate) async fn run(self, beginning: Beginning) -> Result<RunOutcome> {
        let LeadRun { leading, lead, mut ears, watch, isolation, folders, notices } = self;
        let mut notices = notices.iter().filter(|_| !leading.printer.json);
        let told = notices.try_for_each(|notice| leading.printer.line(notice));
        let begun = told.and(leading.set_to_work(beginning, &lead.handle()).await);
        if begun.is_err() {
            lead.stop("it could not begin").await.map_err(refusal)?;
        }
        let (ended, shown) = leading.watch(lead, &mut ears).await;
        let mut story = ears.story;
        story.end(leading.desk.clock.now());
        let home = isolation::land(isolation, &ended, leading.printer).await;
        drop(folders);
        begun.and(shown)?;
        let work = *watch.work().borrow();
        let fault = watch.fault();
        let follows = |lead: &Member| leading.agents.follows(&lead.agent, lead.model.as_deref());
        let follows = story.state().lead().is_some_and(follows);
        Ok(RunOutcome { ended, story, fault, follows, work, home })
    }
}

impl Leading<'_> {
    async fn set_to_work(&self, beginning: Beginning, handle: &LeadHandle) -> Result<()> {
        let is_again = beginning.goal.is_none();
        for spawn in beginning.members {
            let request = self.desk.request(Command::SpawnMember(spawn))?;
            match self.board.submit(request).await {
                // To whom something was delegated while nobody led, that begins with its lead.
                Err(BoardError::Refused(Refusal::AlreadyRunning { .. })) if is_again => {}
                done => drop(done?),
            }
        }
        if let Some(content) = beginning.goal {
            let goal = Outgoing::message("lead", content);
            self.board.submit(self.desk.request(Command::Send(goal))?).await?;
        }
        if !self.args.keep {
            let version = self.board.look(State::version).await?;
            handle.end(Until::QuietAfter(version)).await;
        }
        Ok(())
    }

    /// Follows the team until its lead is over. What cannot be shown stops the team, and is told in the end.
    async fn watch(&self, lead: Lead, ears: &mut Ears) -> (LeadEnd, Result<()>) {
        let Ears { story, news, signals, warnings, hooks } = ears;
        let mut stopper = Stopper::new(self, lead.handle(), signals);
        let mut view = View::new(self.printer, options_about(story));
        let mut shown = Ok(());
        let mut frames = tokio::time::interval(FRAME);
        let mut looks = tokio::time::interval(LOOK);
        let mut ended = pin!(lead.ended());
        let mut orphans = pin!(troop_process::adopt_orphans());
        let how = loop {
            let show = tokio::select! {
                biased;
                how = &mut ended => break how,
                wanted = stopper.wanted() => match wanted {
                    Some(signal) => {
                        stopper.stop(&format!("it got {signal}")).await;
                        Ok(())
                    }
                    None => {
                        let reason = "it did not stop when it was told to hurry".to_owned();
                        break LeadEnd::Lost { reason };
                    }
                },
                Ok(Some(event)) = news.next() => {
                    story.tell(&event).iter().try_for_each(|line| view.show(line))
                }
                Some(warning) = warnings.recv() => view.warn(&warning),
                never = &mut orphans => match never {},
                // On a screen it stands as long as it waits.
                _ = looks.tick(), if !view.is_screen() => {
                    let lines = story.remind(self.desk.clock.now());
                    lines.iter().try_for_each(|line| view.show(line))
                }
                _ = frames.tick(), if view.is_screen() => view.draw(story, self.desk.clock.now()),
            };
            if let Err(error) = show {
                view.close();
                shown = Err(error);
                stopper.stop("nobody sees any more what it does").await;
            }
        };
        // What was written last, and then what was said last, also by hooks.
        while let Ok(Some(event)) = news.next_stored().await {
            let told = story.tell(&event).iter().try_for_each(|line| view.show(line));
            shown = shown.and(told);
        }
        stopper.wait_for(hooks).await;
        while let Ok(warning) = warnings.try_recv() {
            shown = shown.and(view.warn(&warning));
        }
        (how, shown.and(view.clear()))
    }
}

/// Stops the team when somebody wants that: first in good order, then at once.
struct Stopper<'a> {
    leading: &'a Leading<'a>,
    handle: LeadHandle,
    signals: &'a mut Signals,
    n_asked: usize,
    /// When nothing more is waited for.
    deadline: Option<Instant>,
}

impl<'a> Stopper<'a> {
    fn new(leading: &'a Leading<'a>, handle: LeadHandle, signals: &'a mut Signals) -> Self {
        Self { leading, handle, signals, n_asked: 0, deadline: None }
    }

    /// Waits for the hooks that outlive their team, unless somebody is in a hurry.
    async fn wait_for(&mut self, hooks: &TaskTracker) {
        hooks.close();
        if self.deadline.is_none() {
            tokio::select! {
                () = hooks.wait() => {}
                _ = self.signals.next() => {}
            }
        }
    }

    /// Waits for a signal to stop, and says which it was; none if the team had time enough.
    async fn wanted(&mut self) -> Option<&'static str> {
        let deadline = self.deadline;
        let patience = async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            wanted = self.signals.next() => Some(wanted.name),
            () = patience => None,
        }
    }

    async fn stop(&mut self, reason: &str) {
        self.n_asked += 1;
        if self.n_asked == 1 {
            let Leading { desk, board, .. } = self.leading;
            let person = Actor::human(&desk.surroundings.user);
            let command = Command::StopTeam { reason: Some(reason.to_owned()) };
            if board.submit(CommandRequest::new(person, command)).await.is_err() {
                // The board does not take it, so the lead must hear of it in another way.
                self.handle.hurry().await;
            }
        } else {
            self.handle.hurry().await;
            self.deadline.get_or_insert_with(|| Instant::now() + HURRY);
        }
    }
}

/// Who leads, for people.
fn holder(user: &str) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{user} on {host}, process {}", std::process::id())
}

/// What the board is against is told as that.
fn refusal(error: LeadError) -> anyhow::Error {
    match error {
        LeadError::Board(error) => error.into(),
        other @ (LeadError::Folder { .. } | _) => other.into(),
    }
}
