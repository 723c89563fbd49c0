//! Keeps a team's files in step with its board, in both directions.
//!
//! The log is the truth; the files are a view of it that others may write. Under a file's lock it is read, what somebody
//! changed there becomes commands, and then the file says what the board says: so what was refused is put back, and nothing
//! that others wrote is overwritten unread.

mod ages;
mod awaited;
mod difference;
mod ear;
mod folders;
mod gate;
mod ids;
mod layout;
mod lock;
mod mail;
mod marks;
mod operation;
mod roster;
mod step;
mod tasks;
mod tell;
mod written;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
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
    awaited::Awaited,
    ear::Ear,
    gate::Gate,
    ids::{FileId, Ids},
    layout::{Names, Places},
    lock::Lock,
    mail::Inbox,
    roster::{Config, Leavers},
    step::InStep,
    tasks::Known,
};
use crate::{
    Board, BoardError, Clock, Subscription,
    disk::{self, Stamp},
};

pub use layout::{Layout, UnknownLayout};

/// How often files are looked at although nobody was told that they changed.
const POLL: Duration = Duration::from_secs(2);
/// How soon a file is looked at again that was half written or locked.
const AGAIN: Duration = Duration::from_millis(20);
/// How old half a file must be for nobody to be still writing it.
const HALF: Duration = Duration::from_secs(2);
/// How long a pass waits for what is half written or locked.
const PASS: Duration = Duration::from_millis(100);
/// How long a lock is waited for that somebody else has. Programs let go of one soon after they wrote; what is kept longer is
/// looked at again later, and holds up nothing else.
const LOCKED: Duration = Duration::from_millis(4);
/// How often a lock is tried meanwhile.
const TRIED: Duration = Duration::from_micros(500);
/// How often files are looked at again in one pass, where they change each other.
const ROUNDS: usize = 4;

/// What a mirror needs to begin.
#[derive(Clone, Debug)]
pub struct MirrorOptions {
    /// The team; opened to follow what others write, if the mirror is to run.
    pub board: Board,
    /// What time it is.
    pub clock: Clock,
    /// The folder that holds `teams/` and `tasks/`.
    pub folder: PathBuf,
    /// Whose files.
    pub layout: Layout,
    /// The team's own folder, where its lead is found while one runs. What others do to tasks passes the lead's hooks then.
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
        /// Which folder.
        folder: PathBuf,
        /// What both are called.
        team: TeamName,
    },
    /// The folder has the team's files already, in another layout.
    #[error(
        "`{}` holds the files of `{team}` in the layout `{layout}`; keep to that one, or name another folder",
        folder.display()
    )]
    OtherLayout {
        /// Which folder.
        folder: PathBuf,
        /// Whose files.
        team: TeamName,
        /// The layout that they have.
        layout: Layout,
    },
}

/// What a mirror tells those who look on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorNotice {
    /// What somebody wrote was taken.
    Taken {
        /// Where, seen from the shared folder.
        path: String,
        /// What it was.
        what: String,
    },
    /// What somebody wrote was refused, and put back or aside.
    Refused {
        /// Where, seen from the shared folder.
        path: String,
        reason: String,
    },
}

/// Something that is kept in files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Config,
    Inbox(String),
    Task(FileId),
    /// Who was taken out of the config. Last, so that what it did before is taken first.
    Leaving,
}

/// What came of looking at an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    Done,
    /// Somebody is at it; look again soon.
    Later,
    /// The lead has not answered yet; look again when it has.
    Waits,
}

/// Keeps one team's files in step with its board.
#[derive(Debug)]
pub struct Mirror {
    board: Board,
    gate: Gate,
    clock: Clock,
    places: Places,
    ids: Arc<Ids>,
    tasks: BTreeMap<FileId, Known>,
    inboxes: BTreeMap<String, Inbox>,
    config: Option<Config>,
    /// The config whose newcomers were let in or refused, which is told once.
    joined: Option<Stamp>,
    dirty: BTreeSet<Item>,
    later: BTreeSet<Item>,
    /// What was locked or half written when it was looked at last.
    locked: BTreeSet<Item>,
    /// When those are looked at again.
    again: Option<Instant>,
    /// How long the lock of what is looked at now is waited for.
    patience: Duration,
    /// Since when what is half written or locked was seen so.
    ages: Ages,
    /// How often files are looked at unasked.
    poll: Duration,
    notices: Option<mpsc::UnboundedSender<MirrorNotice>>,
    n_written: u64,
    n_read: u64,
    /// Which files need not be looked at.
    in_step: InStep,
    /// Whether a file could not be used, so that all is to be looked at again.
    has_failed: bool,
    /// New tasks that wait for others which are still to be taken.
    awaited: Awaited,
}

impl Mirror {
    /// Prepares to mirror a team, and makes the folders that its files need.
    pub async fn open(options: MirrorOptions) -> Result<Self, MirrorError> {
        let MirrorOptions { board, clock, folder, layout, lead } = options;
        let look = move |state: &State| {
            let name = state.team().map(|team| team.name.clone()).ok_or(Refusal::NoTeam)?;
            let members: BTreeSet<_> = state.members().map(|it| it.id).collect();
            Ok::<_, Refusal>((name, Ids::new(layout, state), members))
        };
        let (team, ids, members) = board.look(look).await?.map_err(BoardError::from)?;
        // The file system's notices have whole paths.
        let folder = std::path::absolute(&folder).map_err(unusable(&folder))?;
        let places = Places::new(layout, &folder, team);
        folders::check(&places, &members)?;
        let mut mirror = Self {
            gate: Gate::new(board.clone(), lead),
            board,
            clock,
            places,
            ids: Arc::new(ids),
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            config: None,
            joined: None,
            dirty: BTreeSet::new(),
            later: BTreeSet::new(),
            locked: BTreeSet::new(),
            again: None,
            patience: LOCKED,
            ages: Ages::default(),
            poll: POLL,
            notices: None,
            n_written: 0,
            n_read: 0,
            in_step: InStep::default(),
            has_failed: false,
            awaited: Awaited::default(),
        };
        mirror.make_folders()?;
        mirror.recall_step().await?;
        Ok(mirror)
    }

    /// Looks at files unasked that often, if not every two seconds. It is a safety net for where the system gives no notices.
    pub fn poll_every(&mut self, pause: Duration) {
        self.poll = pause;
    }

    /// Hears from now on what the mirror takes and refuses.
    pub fn notices(&mut self) -> mpsc::UnboundedReceiver<MirrorNotice> {
        let (sender, notices) = mpsc::unbounded_channel();
        self.notices = Some(sender);
        notices
    }

    /// How many files were written so far.
    #[must_use]
    pub fn n_written(&self) -> u64 {
        self.n_written
    }

    /// How many files of tasks were opened so far.
    #[must_use]
    pub fn n_read(&self) -> u64 {
        self.n_read
    }

    /// Looks once at all files that changed, and at all that changed on the board.
    pub async fn pass(&mut self) -> Result<(), MirrorError> {
        let version = self.board.catch_up().await?;
        let mut news = self.board.subscribe(version);
        self.mark_everything().await?;
        let (mut deadline, mut n_tries) = (Instant::now() + PASS, 0);
        loop {
            self.settle_all(&mut news).await?;
            // However long it took: some files only wait for others that were looked at after them.
            let is_in_time = n_tries < ROUNDS || Instant::now() < deadline;
            if !self.later.is_empty() && is_in_time {
                n_tries += 1;
                sleep(LOCKED).await;
                self.dirty.append(&mut self.later);
            } else if !self.gate.is_empty() {
                let item = self.gate.next().await;
                self.dirty.insert(item);
                (deadline, n_tries) = (Instant::now() + PASS, 0);
            } else {
                let kept = self.keep_step(news.version()).await;
                self.bear(kept)?;
                self.dirty.append(&mut self.later);
                return Ok(());
            }
        }
    }

    /// Looks at all that is marked, and at what that changes.
    async fn settle_all(&mut self, news: &mut Subscription) -> Result<(), MirrorError> {
        for _ in 0..ROUNDS {
            self.settle().await?;
            let mut numbers = Vec::new();
            while let Some(event) = news.next_stored().await? {
                numbers.extend(self.mark_event(&event));
            }
            self.mark_tasks(numbers).await?;
            if self.dirty.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps files and board in step until it is told to stop, or the team is gone.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), MirrorError> {
        let mut ear = Ear::new(&self.places);
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
                // Before what comes without end.
                () = until(self.again) => {
                    self.again = None;
                    self.dirty.append(&mut self.later);
                }
                event = news.next() => match event? {
                    Some(event) => self.follow(&event, &mut news).await?,
                    None => return Ok(()),
                },
                path = ear.next() => self.mark_paths(path, &mut ear),
                item = self.gate.next() => drop(self.dirty.insert(item)),
                _ = poll.tick() => {
                    let looked = self.look_around(&mut ear).await;
                    self.bear(looked)?;
                }
            }
            if self.is_over().await? {
                return self.clear();
            }
            self.settle().await?;
        }
    }

    /// Looks at all that is marked.
    async fn settle(&mut self) -> Result<(), MirrorError> {
        // Who joins comes first, so that its name is known; then what members do; then who leaves.
        while let Some(item) = self.dirty.pop_first() {
            if self.gate.holds(&item) {
                continue;
            }
            // What was locked before is tried once: others must not wait for it.
            self.patience = if self.locked.contains(&item) { Duration::ZERO } else { LOCKED };
            let settled = match &item {
                Item::Config => self.settle_config(Leavers::Stay).await,
                Item::Inbox(owner) => self.settle_inbox(owner).await,
                Item::Task(id) => self.settle_task(id).await,
                Item::Leaving => self.settle_leaving().await,
            };
            match self.bear(settled)? {
                Some(Settled::Later) => {
                    self.again.get_or_insert_with(|| Instant::now() + AGAIN);
                    self.locked.insert(item.clone());
                    self.later.insert(item);
                    continue;
                }
                Some(Settled::Done) => self.gate.forget(&item),
                Some(Settled::Waits) | None => {}
            }
            self.locked.remove(&item);
        }
        Ok(())
    }

    /// One file that cannot be used is no reason to leave the others.
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

    /// Takes the lock of a file; none if somebody else keeps it.
    async fn lock(&mut self, path: &Path) -> Result<Option<Lock>, MirrorError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let now = self.clock.now();
            let taken = Lock::take(self.places.layout, path, &mut self.ages, now);
            match taken.map_err(unusable(path))? {
                None if Instant::now() < deadline => sleep(TRIED).await,
                taken => return Ok(taken),
            }
        }
    }

    /// Whether nobody is still writing a file that was half written then.
    fn is_abandoned(&mut self, path: &Path, stamp: Stamp) -> bool {
        self.ages.is_over(path, stamp, self.clock.now(), HALF)
    }

    fn write(&mut self, path: &Path, value: &Value) -> Result<Stamp, MirrorError> {
        self.n_written += 1;
        disk::write(path, value).map_err(unusable(path))
    }
}

/// Waits until then; for ever, if there is no such moment.
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
