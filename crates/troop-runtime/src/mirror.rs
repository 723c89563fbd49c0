//! Keeps a team's files in step with its board, in both directions.
//!
//! The log is the truth; the files are a view of it that others may write. The mirror reads a file under its lock, turns what
//! somebody changed there into commands, and then writes what the board says: so a refused change is put back, and nothing that
//! others wrote is overwritten unread.
//!
//! `rules` decides, and touches nothing. `memory` is what is known between two looks, `worklist` what to look at next. A visit
//! (`tasks`, `mail`, `roster`) reads one item under its lock and takes the steps that the rules give.

mod ages;
mod awaited;
pub(crate) mod difference;
mod door;
mod ear;
mod folders;
mod gate;
pub(crate) mod ids;
pub(crate) mod layout;
mod lock;
mod mail;
mod marks;
mod memory;
pub(crate) mod operation;
mod roster;
pub(crate) mod rules;
mod step;
mod tasks;
mod tell;
mod worklist;
pub(crate) mod written;

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use thiserror::Error;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;
use troop_model::{Member, MemberName, Refusal, State, TeamName, TeamStatus};

use self::{
    ages::Ages,
    ear::FolderWatch,
    gate::CommandGate,
    ids::{FileId, Ids},
    layout::{MirrorPlaces, Names},
    lock::FileLock,
    mail::InboxVisit,
    memory::MirrorMemory,
    roster::ConfigVisit,
    rules::Leavers,
    tasks::TaskVisit,
    worklist::Worklist,
};
use crate::{
    Board, BoardError, Clock, Subscription,
    disk::{self, Stamp},
};

pub use door::FileDoor;
pub(crate) use door::needs_lock;
pub use layout::{Layout, UnknownLayout};

/// How often the mirror polls its files even if the system reports no change.
const POLL: Duration = Duration::from_secs(2);
/// How old half a file must be before we assume that nobody is still writing it.
const HALF: Duration = Duration::from_secs(2);
/// How long a pass waits for files that are half written or locked.
const PASS: Duration = Duration::from_millis(100);
/// How long the mirror waits for a lock that somebody else has. Programs release one soon after they wrote; a file that stays
/// locked longer is visited again later, and delays nothing else.
const LOCKED: Duration = Duration::from_millis(4);
/// How often it tries the lock meanwhile.
const TRIED: Duration = Duration::from_micros(500);
/// How often one pass looks again at files that change each other.
const ROUNDS: usize = 4;

/// The parameters of a mirror.
#[derive(Clone, Debug)]
pub struct MirrorOptions {
    /// The team; opened to follow what others write, if the mirror runs.
    pub board: Board,
    pub clock: Clock,
    /// The folder that holds `teams/` and `tasks/`.
    pub folder: PathBuf,
    pub layout: Layout,
    /// The team's own folder, where its lead is found while one runs. Changes of tasks then pass the lead's hooks.
    pub lead: Option<PathBuf>,
}

/// Why files could not be kept in step.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MirrorError {
    /// The board did not answer.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// A file or folder cannot be used.
    #[error("`{}` cannot be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The folder has the files of another team.
    #[error(
        "`{}` holds the files of another team `{team}`, and perhaps its log; name another folder",
        folder.display()
    )]
    OtherTeam {
        folder: PathBuf,
        /// The name of both.
        team: TeamName,
    },
    /// The folder has the team's files already, in another layout.
    #[error(
        "`{}` holds the files of `{team}` in the layout `{layout}`; keep to that one, or name another folder",
        folder.display()
    )]
    OtherLayout {
        folder: PathBuf,
        team: TeamName,
        /// The layout that they have.
        layout: Layout,
    },
}

/// A notice of the mirror to its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorNotice {
    /// The mirror took what somebody wrote.
    Taken {
        /// Relative to the shared folder.
        path: String,
        what: String,
    },
    /// The board refused what somebody wrote, and the mirror put it back or aside.
    Refused {
        /// Relative to the shared folder.
        path: String,
        reason: String,
    },
}

/// Something that is kept in files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    Config,
    Inbox(String),
    Task(FileId),
    /// Members that were taken out of the config. Last, so that what they did before is taken first.
    Leaving,
}

/// The result of a visit to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    Done,
    /// Somebody is writing it; visit it again soon.
    Later,
    /// The lead has not answered yet; visit it again when it has.
    Waits,
}

/// How many files were used.
#[derive(Clone, Copy, Debug, Default)]
struct FileCounts {
    written: u64,
    /// Files of tasks that were opened.
    read: u64,
}

/// Keeps one team's files in step with its board.
#[derive(Debug)]
pub struct Mirror {
    board: Board,
    gate: CommandGate,
    clock: Clock,
    places: MirrorPlaces,
    memory: MirrorMemory,
    work: Worklist,
    /// How long the current visit waits for a lock.
    patience: Duration,
    /// Since when files were seen half written or locked.
    ages: Ages,
    /// How often the mirror polls its files.
    poll: Duration,
    notices: Option<mpsc::UnboundedSender<MirrorNotice>>,
    counts: FileCounts,
    /// Whether a file could not be used, so that everything is visited again.
    has_failed: bool,
}

impl Mirror {
    /// Prepares to mirror a team, and makes the folders that its files need.
    pub async fn open(options: MirrorOptions) -> Result<Self, MirrorError> {
        let mut mirror = Self::for_commands(options).await?;
        mirror.recall_step().await?;
        Ok(mirror)
    }

    /// Prepares to visit only the files of tasks that commands are about.
    async fn for_commands(options: MirrorOptions) -> Result<Self, MirrorError> {
        let MirrorOptions { board, clock, folder, layout, lead } = options;
        let look = move |state: &State| {
            let name = state.team().map(|team| team.name.clone()).ok_or(Refusal::NoTeam)?;
            let members: BTreeSet<_> = state.members().map(|it| it.id).collect();
            let memory = MirrorMemory::new(Ids::new(layout, state), state.tasks().last());
            Ok::<_, Refusal>((name, memory, members))
        };
        let (team, memory, members) = board.look(look).await?.map_err(BoardError::from)?;
        // The file system's notices have absolute paths.
        let folder = std::path::absolute(&folder).map_err(unusable(&folder))?;
        let places = MirrorPlaces::new(layout, &folder, team);
        folders::check(&places, &members)?;
        let mirror = Self {
            gate: CommandGate::new(board.clone(), lead),
            board,
            clock,
            places,
            memory,
            work: Worklist::default(),
            patience: LOCKED,
            ages: Ages::default(),
            poll: POLL,
            notices: None,
            counts: FileCounts::default(),
            has_failed: false,
        };
        mirror.make_folders()?;
        Ok(mirror)
    }

    /// Polls the files this often instead of every two seconds: the safety net for systems that report no changes.
    pub fn poll_every(&mut self, pause: Duration) {
        self.poll = pause;
    }

    /// Reports what the mirror takes and refuses from now on.
    pub fn notices(&mut self) -> mpsc::UnboundedReceiver<MirrorNotice> {
        let (sender, notices) = mpsc::unbounded_channel();
        self.notices = Some(sender);
        notices
    }

    /// How many files were written so far.
    #[must_use]
    pub fn n_written(&self) -> u64 {
        self.counts.written
    }

    /// How many files of tasks were opened so far.
    #[must_use]
    pub fn n_read(&self) -> u64 {
        self.counts.read
    }

    /// Looks once at all files that changed, and at everything that changed on the board.
    pub async fn pass(&mut self) -> Result<(), MirrorError> {
        let version = self.board.catch_up().await?;
        let mut news = self.board.subscribe(version);
        self.mark_everything().await?;
        let mut deadline = Instant::now() + PASS;
        let mut n_tries = 0;
        loop {
            self.settle_all(&mut news).await?;
            // However long it took: some files only wait for others that are visited after them.
            let is_in_time = n_tries < ROUNDS || Instant::now() < deadline;
            if self.work.has_postponed() && is_in_time {
                n_tries += 1;
                sleep(LOCKED).await;
                self.work.resume();
            } else if !self.gate.is_empty() {
                let item = self.gate.next().await;
                self.work.mark(item);
                deadline = Instant::now() + PASS;
                n_tries = 0;
            } else {
                let kept = self.keep_step(news.version()).await;
                self.bear(kept)?;
                self.work.resume();
                return Ok(());
            }
        }
    }

    /// Visits everything that is marked, and what those visits change.
    async fn settle_all(&mut self, news: &mut Subscription) -> Result<(), MirrorError> {
        for _ in 0..ROUNDS {
            self.settle().await?;
            let mut numbers = Vec::new();
            while let Some(event) = news.next_stored().await? {
                numbers.extend(self.mark_event(&event));
            }
            self.mark_tasks(numbers).await?;
            if self.work.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps files and board in step until `stop`, or until the team is gone.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), MirrorError> {
        let mut watch = FolderWatch::new(&self.places);
        let version = self.board.look(State::version).await?;
        let mut news = self.board.subscribe(version);
        let marked = self.mark_everything().await;
        self.bear(marked)?;
        self.settle().await?;
        let mut poll = interval_at(Instant::now() + self.poll, self.poll);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    let kept = self.keep_step(news.version()).await;
                    return self.bear(kept).map(drop);
                }
                // First, because events may come without end.
                () = until(self.work.again()) => self.work.resume_on_time(),
                event = news.next() => match event? {
                    Some(event) => self.follow(&event, &mut news).await?,
                    None => return Ok(()),
                },
                path = watch.next() => self.mark_paths(path, &mut watch),
                item = self.gate.next() => drop(self.work.mark(item)),
                _ = poll.tick() => {
                    let looked = self.look_around(&mut watch).await;
                    self.bear(looked)?;
                }
            }
            if self.is_over().await? {
                return self.clear();
            }
            self.settle().await?;
        }
    }

    /// Visits everything that is marked.
    async fn settle(&mut self) -> Result<(), MirrorError> {
        while let Some(item) = self.work.next() {
            if self.gate.holds(&item) {
                continue;
            }
            // A lock that somebody had before is tried once: other files must not wait for it.
            self.patience = if self.work.was_locked(&item) { Duration::ZERO } else { LOCKED };
            let settled = match &item {
                Item::Config => ConfigVisit::new(self).settle(Leavers::Stay).await,
                Item::Inbox(owner) => InboxVisit::new(self, owner).settle().await,
                Item::Task(id) => TaskVisit::new(self, id).settle().await,
                Item::Leaving => ConfigVisit::new(self).settle_leaving().await,
            };
            match self.bear(settled)? {
                Some(Settlement::Later) => {
                    self.work.postpone(item, Instant::now());
                    continue;
                }
                Some(Settlement::Done) => self.gate.forget(&item),
                Some(Settlement::Waits) | None => {}
            }
            self.work.settle(&item);
        }
        Ok(())
    }

    /// Continues after a file that cannot be used: the others must not wait for it.
    fn bear<T>(&mut self, result: Result<T, MirrorError>) -> Result<Option<T>, MirrorError> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(MirrorError::File { path, source }) => {
                self.notice_refused(&path, &source.to_string());
                self.has_failed = true;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn is_over(&self) -> Result<bool, MirrorError> {
        let status = self.board.look(|state| state.team().map(|team| team.status)).await?;
        Ok(status == Some(TeamStatus::Deleted))
    }

    async fn names(&self) -> Result<Names, MirrorError> {
        Ok(self.board.look(Names::new).await?)
    }

    /// Takes the lock of a file; none if somebody else has it.
    async fn lock(&mut self, path: &Path) -> Result<Option<FileLock>, MirrorError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let now = self.clock.now();
            let taken = FileLock::take(self.places.layout, path, &mut self.ages, now);
            match taken.map_err(unusable(path))? {
                None if Instant::now() < deadline => sleep(TRIED).await,
                taken => return Ok(taken),
            }
        }
    }

    /// Takes the lock of an inbox; none if somebody else has it. Where other programs have none for it, mirrors still need one:
    /// they must not take what another one puts there or takes away for the doing of its owner.
    async fn lock_inbox(
        &mut self,
        owner: &str,
        inbox: &Path,
    ) -> Result<Option<FileLock>, MirrorError> {
        if self.places.layout == Layout::Claude {
            return self.lock(inbox).await;
        }
        let folder = self.places.all_noted();
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(unusable(&folder)(error));
            }
            _ => {}
        }
        let path = self.places.inbox_lock(owner);
        let deadline = Instant::now() + self.patience;
        loop {
            match FileLock::take_own(&path).map_err(unusable(&path))? {
                None if Instant::now() < deadline => sleep(TRIED).await,
                taken => return Ok(taken),
            }
        }
    }

    /// Whether a file has been unchanged for so long that nobody is still writing it. Counting begins with the first call.
    fn outlasts(&mut self, path: &Path, stamp: Stamp) -> bool {
        self.ages.age(path, stamp, self.clock.now(), Instant::now()) > HALF
    }

    fn write(&mut self, path: &Path, value: &Value) -> Result<Stamp, MirrorError> {
        self.counts.written += 1;
        disk::write(path, value).map_err(unusable(path))
    }
}

/// Waits until a moment; for ever, if there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn unusable(path: &Path) -> impl Fn(io::Error) -> MirrorError {
    let path = path.to_owned();
    move |source| MirrorError::File { path: path.clone(), source }
}

fn is_external_in(state: &State, member: &MemberName) -> bool {
    state.member(member).is_some_and(Member::is_external)
}
