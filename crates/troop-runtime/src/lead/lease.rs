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
    /// The dead session from which it takes the lead over, until it has done so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<Uuid>,
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
    file.try_lock_shared().is_ok() && read(&mut file).is_some_and(|it| it.names(session))
}

impl LeadEntry {
    fn names(&self, session: Uuid) -> bool {
        self.session == session || self.former == Some(session)
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
        let is_ours = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        };
        let lease = current(options).await?;
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
        let dead = read(&mut file);
        let lease = lease.filter(|it| dead.is_some_and(|dead| dead.names(it.session)));
        let (over, former) = lease.map(|it| (it.fence, it.session)).unzip();
        // From now on the file says who died, if we do, whether we have come to lead or not.
        let entry = LeadEntry { session, pid: std::process::id(), socket: None, former };
        write(&mut file, &entry).map_err(unusable)?;
        let holder = options.holder.clone();
        let command = Command::TakeLead { session, holder, over };
        options.board.submit(Request::new(Actor::system(), command)).await?;
        let fence = current(options).await?.filter(|it| it.session == session);
        let fence = fence.ok_or(BoardError::from(Refusal::Superseded))?.fence;
        Ok(Self { fence, session, file })
    }

    /// Says where this lead takes commands.
    pub(super) fn announce(&mut self, socket: &Path) -> io::Result<()> {
        let (pid, socket) = (std::process::id(), Some(socket.to_owned()));
        let session = self.session;
        write(&mut self.file, &LeadEntry { session, pid, socket, former: None })
    }
}

async fn current(options: &LeadOptions) -> BoardResult<Option<LeadLease>> {
    options.board.catch_up().await?;
    options.board.look(|state| state.team().and_then(|team| team.lead_lease.clone())).await
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

/// Writes in one step, so that whoever is killed meanwhile leaves the old entry or the new one. What is behind the first line
/// is no part of it.
fn write(file: &mut File, entry: &LeadEntry) -> io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(entry)?);
    file.rewind()?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)
}
