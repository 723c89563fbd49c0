//! Keeps a team's files in step with its board, in both directions.
//!
//! The log is the truth; the files are a view of it that others may write. Under a file's lock it is read, what somebody
//! changed there becomes commands, and then the file says what the board says: so what was refused is put back, and nothing
//! that others wrote is overwritten unread.

mod difference;
mod disk;
mod ear;
mod gate;
mod ids;
mod layout;
mod lock;
mod mail;
mod marks;
mod operation;
mod roster;
mod tasks;
mod tell;

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
    time::{Instant, MissedTickBehavior, sleep_until},
};
use tokio_util::sync::CancellationToken;
use troop_model::{Member, MemberName, Refusal, State, TeamStatus};

use self::{
    disk::Stamp,
    ear::Ear,
    gate::Gate,
    ids::{FileId, Ids},
    layout::{Names, Places},
    lock::Lock,
    mail::Inbox,
    roster::Config,
    tasks::Known,
};
use crate::{Board, BoardError, Clock};

pub use layout::{Layout, UnknownLayout};

/// What thinks for a member that troop does not run: some other program, which shares files with the team.
pub const EXTERNAL: &str = "external";

/// How often files are looked at although nobody was told that they changed.
const POLL: Duration = Duration::from_secs(2);
/// How soon a file is looked at again that was half written or locked.
const AGAIN: Duration = Duration::from_millis(20);
/// How old a file must be for nobody to be still writing it.
const HALF: Duration = Duration::from_secs(2);
/// How often files are looked at again in one pass, where they wait for each other.
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
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// What a mirror tells those who look on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
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
        /// Why.
        reason: String,
    },
}

/// Something that is kept in files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Config,
    Inbox(String),
    Task(FileId),
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
    dirty: BTreeSet<Item>,
    later: BTreeSet<Item>,
    notices: Option<mpsc::UnboundedSender<Notice>>,
    n_written: u64,
    /// Whether a file could not be used, so that all is to be looked at again.
    has_failed: bool,
    /// New tasks that waited once for those that they wait for.
    waited: BTreeSet<FileId>,
}

impl Mirror {
    /// Prepares to mirror a team, and makes the folders that its files need.
    pub async fn open(options: MirrorOptions) -> Result<Self, MirrorError> {
        let MirrorOptions { board, clock, folder, layout, lead } = options;
        let look = move |state: &State| {
            let name = state.team().map(|team| team.name.clone()).ok_or(Refusal::NoTeam)?;
            Ok::<_, Refusal>((name, Ids::new(layout, state)))
        };
        let (team, ids) = board.look(look).await?.map_err(BoardError::from)?;
        let places = Places::new(layout, &folder, team);
        for folder in [places.tasks(), places.inboxes()] {
            std::fs::create_dir_all(&folder).map_err(unusable(&folder))?;
        }
        Ok(Self {
            gate: Gate::new(board.clone(), lead),
            board,
            clock,
            places,
            ids: Arc::new(ids),
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            config: None,
            dirty: BTreeSet::new(),
            later: BTreeSet::new(),
            notices: None,
            n_written: 0,
            has_failed: false,
            waited: BTreeSet::new(),
        })
    }

    /// Hears from now on what the mirror takes and refuses.
    pub fn notices(&mut self) -> mpsc::UnboundedReceiver<Notice> {
        let (sender, notices) = mpsc::unbounded_channel();
        self.notices = Some(sender);
        notices
    }

    /// How many files were written so far.
    #[must_use]
    pub fn n_written(&self) -> u64 {
        self.n_written
    }

    /// Looks at all files and all of the board once.
    pub async fn pass(&mut self) -> Result<(), MirrorError> {
        let version = self.board.catch_up().await?;
        let mut news = self.board.subscribe(version);
        self.mark_everything().await?;
        loop {
            for _ in 0..ROUNDS {
                self.settle().await?;
                self.dirty.append(&mut self.later);
                // What was taken from one file may change another.
                let mut numbers = Vec::new();
                while let Some(event) = news.next_stored().await? {
                    numbers.extend(self.mark_event(&event));
                }
                self.mark_tasks(numbers).await?;
                if self.dirty.is_empty() {
                    break;
                }
            }
            if self.gate.is_empty() {
                return Ok(());
            }
            let item = self.gate.next().await;
            self.dirty.insert(item);
        }
    }

    /// Keeps files and board in step until it is told to stop, or the team is gone.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), MirrorError> {
        let mut ear = Ear::new(&self.places);
        let version = self.board.look(State::version).await?;
        let mut news = self.board.subscribe(version);
        self.mark_everything().await?;
        self.settle().await?;
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let again = Instant::now() + AGAIN;
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                event = news.next() => match event? {
                    Some(event) => self.follow(&event, &mut news).await?,
                    None => return Ok(()),
                },
                path = ear.next() => self.mark_paths(path, &mut ear),
                item = self.gate.next() => drop(self.dirty.insert(item)),
                () = sleep_until(again), if !self.later.is_empty() => {
                    self.dirty.append(&mut self.later);
                }
                _ = poll.tick() => self.look_around().await?,
            }
            if self.is_over().await? {
                return self.clear();
            }
            self.settle().await?;
        }
    }

    /// Looks at all that is marked.
    async fn settle(&mut self) -> Result<(), MirrorError> {
        // Members first, so that their names are known; then what they do.
        while let Some(item) = self.dirty.pop_first() {
            if self.gate.holds(&item) {
                continue;
            }
            let settled = match &item {
                Item::Config => self.settle_config().await,
                Item::Inbox(owner) => self.settle_inbox(owner).await,
                Item::Task(id) => self.settle_task(id).await,
            };
            match settled {
                Ok(Settled::Done) => self.gate.forget(&item),
                Ok(Settled::Waits) => {}
                Ok(Settled::Later) => drop(self.later.insert(item)),
                Err(error @ MirrorError::Board(_)) => return Err(error),
                // One file that cannot be used is no reason to leave the others.
                Err(MirrorError::File { path, source }) => {
                    self.notice_refused(&path, &source.to_string());
                    self.has_failed = true;
                }
            }
        }
        Ok(())
    }

    async fn is_over(&self) -> Result<bool, MirrorError> {
        let status = self.board.look(|state| state.team().map(|team| team.status)).await?;
        Ok(status == Some(TeamStatus::Deleted))
    }

    /// Takes the files of a team away that is gone.
    pub fn clear(self) -> Result<(), MirrorError> {
        let config = self.places.config();
        disk::remove(&config).map_err(unusable(&config))?;
        for folder in [self.places.tasks(), self.places.inboxes(), self.places.all_noted()] {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(unusable(&folder)(error));
                }
                _ => {}
            }
        }
        // Another program may keep more there.
        drop(std::fs::remove_dir(self.places.team()));
        Ok(())
    }

    async fn names(&self) -> Result<Names, MirrorError> {
        Ok(self.board.look(Names::new).await?)
    }

    async fn lock(&self, path: &Path) -> Result<Option<Lock>, MirrorError> {
        Lock::take(self.places.layout, path, &self.clock).await.map_err(unusable(path))
    }

    fn write(&mut self, path: &Path, value: &Value) -> Result<Stamp, MirrorError> {
        self.n_written += 1;
        disk::write(path, value).map_err(unusable(path))
    }
}

fn unusable(path: &Path) -> impl Fn(io::Error) -> MirrorError {
    let path = path.to_owned();
    move |source| MirrorError::File { path: path.clone(), source }
}

fn is_external_in(state: &State, member: &MemberName) -> bool {
    state.member(member).is_some_and(is_external)
}

/// Whether some other program is this member, which troop never starts.
pub(crate) fn is_external(member: &Member) -> bool {
    member.agent == EXTERNAL
}
