//! The contract of a store. The conformance suite holds every backend to it.

#[cfg(test)]
mod tests;

use std::{
    fmt,
    fs::File,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
    pin::Pin,
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use troop_model::{OperationId, TeamId, Version};

use crate::StoreResult;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The return type of [`Store`]'s methods, so that a store can be used behind `dyn`.
pub type StoreFuture<'a, T> = BoxFuture<'a, StoreResult<T>>;

/// How many bytes of its bell file a watch reads in a glance.
const GLANCED: usize = 64;

/// A team that is about to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTeam {
    /// Its identity, new to this store.
    pub id: TeamId,
    /// Its name, which no other team in use has.
    pub name: String,
}

/// A team that a store knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamEntry {
    /// Its identity.
    pub id: TeamId,
    /// Its name; a retired team's name may meanwhile be another team's too.
    pub name: String,
    /// Whether the team was retired: its log stays readable, its name is free.
    pub is_retired: bool,
}

/// One stored event: a line of JSON that is opaque to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its position in the team's log. The first event of a log has version 1.
    pub version: Version,
    /// One line of JSON, without line breaks.
    pub body: String,
}

/// The events that one atomic step appends to a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Names this append, so that repeating it has one effect.
    pub operation: OperationId,
    /// The version of the log on which the events were decided.
    pub after: Version,
    /// The events' bodies, at least one.
    pub bodies: Vec<String>,
}

impl Batch {
    /// The version of the log once this batch is in it.
    #[must_use]
    pub fn end(&self) -> Version {
        self.after.plus(self.bodies.len())
    }
}

/// The result of an append.
#[derive(Debug)]
pub enum AppendOutcome {
    /// The batch is in the log, durably, and the log ended here.
    Done(Version),
    /// Others appended first. The caller holds the append slot: nobody else can append until it is used or dropped.
    Behind(AppendSlot),
}

/// The right to append next, for a caller that was behind.
///
/// It guarantees progress: a caller that loses once gets all that it missed and cannot lose again. Decide at once; a store may
/// take back a slot that is held for longer than [`AppendSlot::PATIENCE`], and then refuses its append as `Unavailable`.
#[derive(Debug)]
pub struct AppendSlot {
    missed: Vec<Entry>,
    writer: Box<dyn SlotWriter>,
}

impl AppendSlot {
    /// How long a store lets a slot be held.
    pub const PATIENCE: Duration = Duration::from_secs(5);

    /// Makes a slot after the entries in `missed`.
    #[must_use]
    pub fn new(missed: Vec<Entry>, writer: Box<dyn SlotWriter>) -> Self {
        Self { missed, writer }
    }

    /// Takes the entries that others appended since the version that the failed append was decided on.
    pub fn take_missed(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.missed)
    }

    /// Appends a batch that was decided on all missed entries, and gives the slot back.
    pub async fn append(self, batch: Batch) -> StoreResult<Version> {
        self.writer.append(batch).await
    }
}

/// A backend's side of an [`AppendSlot`]. Dropping it gives the slot back without an append.
pub trait SlotWriter: fmt::Debug + Send {
    /// Appends the batch, which starts where the missed entries ended, and gives the slot back.
    fn append(self: Box<Self>, batch: Batch) -> StoreFuture<'static, Version>;
}

/// A state of the log, so that opening the log need not replay its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The version of the log that the state stands for.
    pub version: Version,
    /// The state, opaque to the store.
    pub state: Bytes,
}

/// A task that left the live state, or that was erased after it had left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedTask {
    /// The task's number.
    pub number: u32,
    /// The task, opaque to the store; `None` erases it.
    pub body: Option<Vec<u8>>,
}

/// Tells when a log may have grown.
///
/// Growth after the watch was made is never missed; a wake-up without growth is allowed. Notices can be lost (a writer is
/// killed between its commit and its bell), so a wait ends after [`Watch::PATIENCE`] at the latest and the caller reads the
/// log itself.
#[derive(Debug)]
pub struct Watch {
    bell: watch::Receiver<u64>,
    /// When the current wait ends. It survives a cancelled wait, so that repeated short waits end in time, too.
    deadline: Instant,
    /// A small file whose beginning changes with every append. It stays open: opening it would wake all listeners.
    sign: Option<File>,
}

/// A cheap fingerprint of a log. Two equal ones mean that no append was acknowledged in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance([u8; GLANCED]);

impl Watch {
    /// The longest time for which a lost notice can go unseen.
    pub const PATIENCE: Duration = Duration::from_secs(1);

    /// Makes a watch that wakes whenever the number behind `bell` changes.
    #[must_use]
    pub fn new(mut bell: watch::Receiver<u64>) -> Self {
        bell.mark_unchanged();
        Self { bell, deadline: Instant::now() + Self::PATIENCE, sign: None }
    }

    /// Adds a small file to glance at, which every writer changes before it answers.
    #[must_use]
    pub fn with_sign(self, sign: &Path) -> Self {
        Self { sign: File::open(sign).ok(), ..self }
    }

    /// Checks whether the log may have grown, much faster than by reading it. `None` if only reading can tell.
    ///
    /// An acknowledged append shows at once. An append that a killed writer had not acknowledged yet may show later;
    /// [`Watch::changed`] reports it in time.
    #[must_use]
    pub fn glance(&self) -> Option<Glance> {
        let sign = self.sign.as_ref()?;
        let mut seen = [0; GLANCED];
        let n_bytes = sign.read_at(&mut seen, 0).ok()?;
        let is_there = sign.metadata().is_ok_and(|metadata| metadata.nlink() > 0);
        (n_bytes > 0 && is_there).then_some(Glance(seen))
    }

    /// Waits until the log may have grown since it last returned, or since the watch was made.
    ///
    /// It is cancel safe: neither notices nor patience are lost.
    pub async fn changed(&mut self) {
        // In every case the caller reads the log: it grew, a notice was lost, or the store went away.
        match timeout_at(self.deadline, self.bell.changed()).await {
            Ok(Ok(())) | Err(_) => {}
            // The store is gone. Without the wait, the caller would read in a tight loop.
            Ok(Err(_)) => sleep_until(self.deadline).await,
        }
        self.deadline = Instant::now() + Self::PATIENCE;
    }
}

/// How a process hears that another one made a log grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthNotice {
    /// Growth is announced at once.
    Sent,
    /// It looks this often: something between it and the store passes on no notices.
    Polled(Duration),
}

/// Keeps, for each team, an ordered log of events, a snapshot, and the tasks that left the live state.
///
/// Obligations of every implementation:
///
/// - Any number of processes may have the same store open. Nothing needs a daemon.
/// - An acknowledged change is durable: it survives `kill -9` at any moment, and a power cut if the disk keeps its
///   promises. Any other change is wholly there or wholly absent.
/// - Every changing method is repeatable: the same call again has one effect and gives the same answer.
/// - Data is checked when it is read. Damage is `Corrupt`, never a guess, never a rewrite, never a panic.
/// - Writers wait in line, so that none starves; the wait ends as `Unavailable` after a while.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Makes a team and the beginning of its log in one step. `first` is decided on version zero.
    ///
    /// `Conflict` if a team that is not retired has the name. Repeating it with the same id and operation is harmless.
    fn create(&self, team: NewTeam, first: Batch) -> StoreFuture<'_, Version>;

    /// Lists the teams, retired ones too, oldest first.
    fn teams(&self) -> StoreFuture<'_, Vec<TeamEntry>>;

    /// Frees a team's name. Its log stays readable by its id.
    fn retire(&self, team: TeamId) -> StoreFuture<'_, ()>;

    /// Erases a team with everything it has. Erasing an unknown team is harmless.
    fn purge(&self, team: TeamId) -> StoreFuture<'_, ()>;

    /// Appends a batch if the log is at the version that it was decided on; durable when it returns.
    ///
    /// If the log has grown, and what follows `batch.after` is this very operation, it is `Done`: the first answer was
    /// lost. If it has grown otherwise, the caller is `Behind` and gets the append slot. A log that is shorter than
    /// `batch.after` is `Corrupt`: it has lost events that the caller saw.
    fn append(&self, team: TeamId, batch: Batch) -> StoreFuture<'_, AppendOutcome>;

    /// Reads up to `limit` entries that follow `after`, in order and without gaps.
    fn read(&self, team: TeamId, after: Version, limit: usize) -> StoreFuture<'_, Vec<Entry>>;

    /// Watches a team's log, whichever process makes it grow.
    fn watch(&self, team: TeamId) -> StoreFuture<'_, Watch>;

    /// How growth by other processes is noticed, as far as known by now.
    fn notice(&self) -> GrowthNotice {
        GrowthNotice::Sent
    }

    /// Loads the newest snapshot, if there is one.
    fn load_snapshot(&self, team: TeamId) -> StoreFuture<'_, Option<Snapshot>>;

    /// Saves a snapshot together with the tasks that left the state since the one before, in one step.
    ///
    /// Does nothing if the stored one is as new or newer.
    fn save_snapshot(
        &self,
        team: TeamId,
        snapshot: Snapshot,
        archived: Vec<ArchivedTask>,
    ) -> StoreFuture<'_, ()>;

    /// Reads one archived task.
    fn read_archived(&self, team: TeamId, number: u32) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Reads up to `limit` archived tasks with numbers below `below`, highest number first.
    fn list_archived(
        &self,
        team: TeamId,
        below: u32,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(u32, Vec<u8>)>>;
}
