//! The right to lead: a lease in the log, and a file lock on this machine that shows at once when its holder is dead.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use troop_model::{Actor, Command, Fact, LeadLease, Refusal};
use uuid::Uuid;

use super::{LeadError, LeadOptions, unheard};
use crate::{Board, BoardError, BoardResult, Clock, CommandEffect, CommandRequest};

/// How often we try to take the lock ...
const N_TRIES: u32 = 10;
/// ... and how long we wait between two tries: a process that only checks for a lead holds it for less.
const PAUSE: Duration = Duration::from_millis(10);
/// How often we try to take the lock of a lead that has ended. A program that it was just starting may hold the lock until it
/// runs.
const N_TRIES_OF_DEAD: u32 = 1_000;

/// How many dead sessions we remember.
const MAX_FORMER: usize = 16;

/// The entry that the holder of the lock writes about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadEntry {
    /// Its session.
    pub session: Uuid,
    /// Its process.
    pub pid: u32,
    /// The socket on which it takes commands.
    pub socket: Option<PathBuf>,
    /// The folder in which the team works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The dead sessions from which it takes over, until it has done so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Uuid>,
}

/// The lead of a team on this machine, if one runs.
#[must_use]
pub fn find(folder: &Path) -> Option<LeadEntry> {
    let mut file = File::open(path(folder)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read(&mut file),
        // The lock is free, or cannot be checked.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The folder in which the team last worked on this machine, if known.
#[must_use]
pub fn last_project(folder: &Path) -> Option<PathBuf> {
    read(&mut File::open(path(folder)).ok()?)?.project
}

/// Whether a session led the team from this machine and died without releasing its lease.
#[must_use]
pub fn has_died(folder: &Path, session: Uuid) -> bool {
    dead_sessions(folder).contains(&session)
}

/// The sessions that led the team from this machine and died without releasing their lease.
pub(crate) fn dead_sessions(folder: &Path) -> Vec<Uuid> {
    match File::open(path(folder)) {
        Ok(mut file) if file.try_lock_shared().is_ok() => dead(&mut file),
        _ => Vec::new(),
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("lead.lock")
}

fn read(file: &mut File) -> Option<LeadEntry> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(text.lines().next()?).ok()
}

/// The sessions in the file. If the lock is free, all of them are dead.
fn dead(file: &mut File) -> Vec<Uuid> {
    let entry = read(file).into_iter();
    entry.flat_map(|it| [it.session].into_iter().chain(it.former)).take(MAX_FORMER).collect()
}

/// The right to lead, as long as this is held.
#[derive(Debug)]
pub(super) struct LeadLock {
    pub(super) fence: u64,
    session: Uuid,
    project: PathBuf,
    /// Locked. The system unlocks it when this process ends, however it ends.
    file: File,
}

impl LeadLock {
    /// Takes the lead.
    pub(super) async fn take(options: &LeadOptions, session: Uuid) -> Result<Self, LeadError> {
        let unusable = |source| LeadError::Folder { path: options.folder.clone(), source };
        fs::create_dir_all(&options.folder).map_err(unusable)?;
        let mut file = open(&path(&options.folder)).map_err(unusable)?;
        if !lock(&file, &options.folder).await.map_err(unusable)? {
            return Err(lead_held(&options.board, &options.clock).await.into());
        }
        let dead = dead(&mut file);
        // If we die from now on, the file shows it, whether we got the lease or not.
        let pid = std::process::id();
        let former = dead.clone();
        let project = options.project.clone();
        // If we do not get the lease, the project stays the previous one.
        let before = last_project(&options.folder).or_else(|| Some(project.clone()));
        let entry = LeadEntry { session, pid, socket: None, project: before, former };
        write(&mut file, &entry).map_err(unusable)?;
        options.board.catch_up().await?;
        if is_free(&dead, options).await? {
            // Before the tasks of the former lead's members are given back.
            Box::pin(unheard::record(options)).await?;
        }
        let fence = take_from(&dead, options, session).await?;
        Ok(Self { fence, session, project, file })
    }

    /// Writes into the lock file where this lead takes commands.
    pub(super) fn announce(&mut self, socket: &Path) -> io::Result<()> {
        let entry = LeadEntry {
            session: self.session,
            pid: std::process::id(),
            socket: Some(socket.to_owned()),
            project: Some(self.project.clone()),
            former: Vec::new(),
        };
        write(&mut self.file, &entry)
    }

    /// Gives up the lease before it was used.
    pub(super) async fn release(self, board: &Board) {
        let request = CommandRequest::new(Actor::system(), Command::ReleaseLead);
        // If the board cannot be reached, the free lock and the expiry of the lease let others lead.
        drop(board.submit(CommandRequest { fence: Some(self.fence), ..request }).await);
    }
}

/// Locks the file, unless a lead holds it. Returns whether it did.
async fn lock(file: &File, folder: &Path) -> io::Result<bool> {
    for nth in 0..N_TRIES_OF_DEAD {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) if nth >= N_TRIES && !is_dead(folder) => break,
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Whether the lock is held, and not by the lead that wrote itself into it: that one has ended.
fn is_dead(folder: &Path) -> bool {
    find(folder).is_some_and(|lead| troop_process::has_ended(lead.pid))
}

/// The refusal to lead a team that is already led on this machine.
pub async fn lead_held(board: &Board, clock: &Clock) -> BoardError {
    let (holder, since) = match current(board).await {
        Ok(Some(lease)) => (lease.holder, lease.since),
        Ok(None) => ("another process on this machine".to_owned(), clock.now()),
        Err(error) => return error,
    };
    Refusal::LeadHeld { holder, since }.into()
}

/// Takes the lease, also from a session that is known to be dead.
async fn take_from(dead: &[Uuid], options: &LeadOptions, session: Uuid) -> BoardResult<u64> {
    let mut over = held_by(dead, &options.board).await?;
    loop {
        let holder = options.holder.clone();
        let checks = options.checks.clone();
        let command = Command::TakeLead { session, holder, over, checks };
        let refusal =
            match options.board.submit(CommandRequest::new(Actor::system(), command)).await {
                Ok(done) => return fence(&done).ok_or(Refusal::Superseded.into()),
                Err(refusal @ BoardError::Refused(Refusal::LeadHeld { .. })) => refusal,
                Err(error) => return Err(error),
            };
        // The store may only now have completed an append of a dead session.
        let held = held_by(dead, &options.board).await?;
        if held == over {
            return Err(refusal);
        }
        over = held;
    }
}

/// Whether nobody leads the team, as far as is known here.
async fn is_free(dead: &[Uuid], options: &LeadOptions) -> BoardResult<bool> {
    let now = options.clock.now();
    let lease = current(&options.board).await?.filter(|it| it.is_held(now));
    Ok(lease.is_none_or(|it| dead.contains(&it.session)))
}

fn fence(done: &CommandEffect) -> Option<u64> {
    done.events.iter().find_map(|event| {
        let Fact::LeadTaken { fence, .. } = &event.fact else { return None };
        Some(*fence)
    })
}

/// The fence of the lease, if one of these sessions holds it.
async fn held_by(sessions: &[Uuid], board: &Board) -> BoardResult<Option<u64>> {
    let lease = current(board).await?.filter(|it| sessions.contains(&it.session));
    Ok(lease.map(|it| it.fence))
}

async fn current(board: &Board) -> BoardResult<Option<LeadLease>> {
    board.catch_up().await?;
    board.look(|state| state.team().and_then(|team| team.lead_lease.clone())).await
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Writes in one step, so that a process that is killed meanwhile leaves the old entry or the new one. Readers ignore
/// everything after the first line.
fn write(file: &mut File, entry: &LeadEntry) -> io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(entry)?);
    file.rewind()?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)
}
