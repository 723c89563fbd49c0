//! The right to lead: a lease in the log, and a lock on this machine that tells at once when its holder is dead.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use troop_model::{Actor, Command, Fact, LeadLease, Refusal};
use uuid::Uuid;

use super::{LeadError, LeadOptions};
use crate::{Board, BoardError, BoardResult, CommandEffect, CommandRequest};

/// How often we try the lock ...
const N_TRIES: u32 = 10;
/// ... and how long we wait between two tries: a process that only looks whether it is held holds it for less.
const PAUSE: Duration = Duration::from_millis(10);

/// How many sessions that did not come to lead we remember.
const MAX_FORMER: usize = 16;

/// What the holder of a lock says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadEntry {
    /// Its session.
    pub session: Uuid,
    /// Its process.
    pub pid: u32,
    /// Where it takes commands.
    pub socket: Option<PathBuf>,
    /// The folder in which the team works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// The dead sessions from which it takes the lead over, until it has done so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Uuid>,
}

/// The lead of a team that runs on this machine, if one does.
#[must_use]
pub fn find(folder: &Path) -> Option<LeadEntry> {
    let mut file = File::open(path(folder)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read(&mut file),
        // Nobody holds it, or we cannot know.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The folder in which the team worked when a lead last ran on this machine, if that is known.
#[must_use]
pub fn last_project(folder: &Path) -> Option<PathBuf> {
    read(&mut File::open(path(folder)).ok()?)?.project
}

/// Whether a session led the team from this machine and is dead, without having said so.
#[must_use]
pub fn has_died(folder: &Path, session: Uuid) -> bool {
    dead_sessions(folder).contains(&session)
}

/// The sessions that led the team from this machine and are dead, without having said so.
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

/// Whoever wrote this, if nobody holds the lock: all of them are dead.
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
        if !lock(&file).await.map_err(unusable)? {
            let lease = current(&options.board).await?;
            let (holder, since) = match lease {
                Some(lease) => (lease.holder, lease.since),
                None => ("another process on this machine".to_owned(), options.clock.now()),
            };
            return Err(BoardError::from(Refusal::LeadHeld { holder, since }).into());
        }
        let dead = dead(&mut file);
        // If we die from now on, the file says so, whether we have come to lead or not.
        let pid = std::process::id();
        let former = dead.clone();
        let project = options.project.clone();
        // If we do not come to lead, the team still works where it did before.
        let before = last_project(&options.folder).or_else(|| Some(project.clone()));
        let entry = LeadEntry { session, pid, socket: None, project: before, former };
        write(&mut file, &entry).map_err(unusable)?;
        options.board.catch_up().await?;
        let fence = take_from(&dead, options, session).await?;
        Ok(Self { fence, session, project, file })
    }

    /// Says where this lead takes commands.
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

    /// Gives up the right to lead, before anything was done with it.
    pub(super) async fn release(self, board: &Board) {
        let request = CommandRequest::new(Actor::system(), Command::ReleaseLead);
        // If the board cannot be told, the free lock and the end of the lease tell others.
        drop(board.submit(CommandRequest { fence: Some(self.fence), ..request }).await);
    }
}

/// Locks the file, unless a lead holds it. Returns whether it did.
async fn lock(file: &File) -> io::Result<bool> {
    for nth in 0..N_TRIES {
        if nth > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Takes the lead, also from a session that is known to be dead.
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
        // The store may have completed only now what a dead session had begun.
        let held = held_by(dead, &options.board).await?;
        if held == over {
            return Err(refusal);
        }
        over = held;
    }
}

fn fence(done: &CommandEffect) -> Option<u64> {
    done.events.iter().find_map(|event| {
        let Fact::LeadTaken { fence, .. } = &event.fact else { return None };
        Some(*fence)
    })
}

/// The number of the lease, if one of these has it.
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

/// Writes in one step, so that a process that is killed meanwhile leaves the old entry or the new one. Readers ignore what
/// follows the first line.
fn write(file: &mut File, entry: &LeadEntry) -> io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(entry)?);
    file.rewind()?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)
}
