//! The right to lead: a lease in the log, and a lock on this machine that tells at once when its holder is dead.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use troop_model::{Actor, Command, LeadLease, Refusal};
use uuid::Uuid;

use super::{LeadError, LeadOptions};
use crate::{BoardError, BoardResult, Request};

/// What the holder of a lock says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadEntry {
    /// Its session.
    pub session: Uuid,
    /// Its process.
    pub pid: u32,
    /// Where it takes commands.
    pub socket: Option<PathBuf>,
}

/// The lead of a team that runs on this machine, if one does.
#[must_use]
pub fn find(folder: &Path) -> Option<LeadEntry> {
    let mut file = File::open(path(folder)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read(&mut file),
        // Nobody holds it, or nobody can know.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Whether a session led the team from this machine and is dead, without having said so.
#[must_use]
pub fn has_died(folder: &Path, session: Uuid) -> bool {
    let Ok(mut file) = File::open(path(folder)) else { return false };
    file.try_lock_shared().is_ok() && read(&mut file).is_some_and(|it| it.session == session)
}

fn path(folder: &Path) -> PathBuf {
    folder.join("lead.lock")
}

fn read(file: &mut File) -> Option<LeadEntry> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The right to lead, as long as this is held.
#[derive(Debug)]
pub(super) struct Lock {
    pub(super) fence: u64,
    session: Uuid,
    /// Locked; when this process ends, however it ends, it is not locked any more.
    file: File,
}

impl Lock {
    /// Takes the lead.
    pub(super) async fn take(options: &LeadOptions, session: Uuid) -> Result<Self, LeadError> {
        let unusable = |source| LeadError::Folder { path: options.folder.clone(), source };
        fs::create_dir_all(&options.folder).map_err(unusable)?;
        let mut file = open(&path(&options.folder)).map_err(unusable)?;
        let lease = current(options).await?;
        let is_ours = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        };
        if !is_ours {
            let refusal = match lease {
                Some(LeadLease { holder, since, .. }) => Refusal::LeadHeld { holder, since },
                None => Refusal::LeadHeld {
                    holder: "another process on this machine".to_owned(),
                    since: options.clock.now(),
                },
            };
            return Err(BoardError::from(refusal).into());
        }
        // Whoever wrote this does not hold the lock any more, so it is dead.
        let dead = read(&mut file).map(|entry| entry.session);
        let over = lease.filter(|it| Some(it.session) == dead).map(|it| it.fence);
        let holder = options.holder.clone();
        let command = Command::TakeLead { session, holder, over };
        options.board.submit(Request::new(Actor::system(), command)).await?;
        let fence = current(options).await?.filter(|it| it.session == session);
        let fence = fence.ok_or(BoardError::from(Refusal::Superseded))?.fence;
        // From now on the file says who died, if we do.
        let entry = LeadEntry { session, pid: std::process::id(), socket: None };
        write(&mut file, &entry).map_err(unusable)?;
        Ok(Self { fence, session, file })
    }

    /// Says where this lead takes commands.
    pub(super) fn announce(&mut self, socket: &Path) -> io::Result<()> {
        let (pid, socket) = (std::process::id(), Some(socket.to_owned()));
        write(&mut self.file, &LeadEntry { session: self.session, pid, socket })
    }
}

async fn current(options: &LeadOptions) -> BoardResult<Option<LeadLease>> {
    options.board.catch_up().await?;
    options.board.look(|state| state.team().and_then(|team| team.lead_lease.clone())).await
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn write(file: &mut File, entry: &LeadEntry) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(entry)?)?;
    file.flush()
}
