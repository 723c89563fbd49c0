//! Locks that git leaves when it is killed, and places of worktrees that it has only just begun. Git removes them at every other
//! end, so that a lock either belongs to a git that runs, or was left by one that was killed, and then blocks all others for
//! good.
//!
//! Before a command of ours, a note is written: what runs, since when, and which locks were there. It is removed when the command
//! has ended by itself. A lock that came while a command of such a note ran, and to which no running git can belong, was left by
//! it. Locks of others are never touched.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use troop_model::{Time, lock};
use troop_process::{ProcessStat, is_at_work};

use crate::disk::{self, Stamp};

/// How long a command may take: its locks cannot be younger.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);

/// How long, and how often, we wait for a git that runs in the repository.
const BETWEEN: Duration = Duration::from_millis(50);
const N_LOOKS: u32 = 40;

/// How old a lock must be where the system does not tell whether git runs.
const OLD: Duration = Duration::from_secs(5);

/// How long a lock lasts that doctor names.
const LASTING: Duration = Duration::from_secs(1);

/// Where a repository has the places of its worktrees.
const PLACES: &str = "worktrees";

/// The folders of a repository in which git makes no locks, and that may be large.
const WITHOUT_LOCKS: [&str; 4] = ["objects", "hooks", "logs", "lfs"];

/// The first file that git writes when it makes the place of a worktree ...
const BEGUN: &str = "locked";
/// ... and what it writes there, until the worktree is whole.
const HALF_MADE: &str = "initializing";

/// How deep we look for locks: branches have folders in their names.
const DEEPEST: usize = 16;

/// A lock in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GitLock {
    pub(crate) path: PathBuf,
    stamp: Stamp,
}

/// A command of ours that runs, or was killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CommandNote {
    command: String,
    began_at: Time,
    /// The git that runs it, once it was started.
    process: Option<NotedProcess>,
    /// The locks that were there before.
    locks: Vec<GitLock>,
}

/// A process that cannot be mistaken for a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NotedProcess {
    id: u32,
    started: u64,
}

impl NotedProcess {
    fn of(id: u32) -> Option<Self> {
        let started = ProcessStat::read(id)?.started;
        Some(Self { id, started })
    }

    fn is_alive(self) -> bool {
        let stat = ProcessStat::read(self.id);
        stat.is_some_and(|it| !it.is_dead() && it.started == self.started)
    }
}

impl CommandNote {
    /// Whether this command may have left a lock: it came while the command could run.
    fn may_have_left(&self, lock: &GitLock) -> bool {
        let at = lock.stamp.at;
        let is_in_time = self.began_at <= at && at.since(self.began_at) <= LONGEST;
        // Another command may have had a lock of the same name, and have ended since.
        let is_same = |it: &GitLock| it.path == lock.path && it.stamp.is_same_file(lock.stamp);
        is_in_time && !self.locks.iter().any(is_same)
    }
}

/// The facts about a lock that may be left over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LockFacts {
    /// Whether a killed command of ours may have left it, or only troop works where it is.
    is_ours: bool,
    /// Whether git runs in the repository, if the system tells.
    is_git_at_work: Option<bool>,
    age: Duration,
}

/// The handling of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockCase {
    /// It is not ours.
    Leave,
    /// Somebody may still have it.
    Wait,
    Remove,
}

fn lock_case(facts: LockFacts) -> LockCase {
    match facts {
        LockFacts { is_ours: false, .. } => LockCase::Leave,
        LockFacts { is_git_at_work: Some(true), .. } => LockCase::Wait,
        LockFacts { is_git_at_work: None, age, .. } if age < OLD => LockCase::Wait,
        LockFacts { .. } => LockCase::Remove,
    }
}

/// Whether locks of killed commands are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sweep {
    Clean,
    Waits,
}

/// The notes of one team about its git commands in one repository.
#[derive(Debug)]
pub(crate) struct CommandNotes {
    /// Where the notes are.
    folder: PathBuf,
    /// The folder that all worktrees of the repository share.
    shared: PathBuf,
    /// Where our git commands run.
    places: Vec<PathBuf>,
    n_notes: AtomicU64,
    /// The commands that were killed.
    killed: Mutex<Vec<(PathBuf, CommandNote)>>,
}

impl CommandNotes {
    /// Finds the commands that former leads of a team left running or killed. Only one process at a time has the folder.
    pub(crate) fn open(team: &Path, shared: &Path, places: &[PathBuf]) -> Self {
        let folder = team.join("git");
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut killed = Vec::new();
        for path in entries.map(|it| it.path()) {
            match read(&path) {
                Some(note) => killed.push((path, note)),
                // It was killed while it wrote its note, and has begun no command.
                None => drop(fs::remove_file(path)),
            }
        }
        let mut all = places.to_vec();
        all.extend([shared.to_owned(), team.join("worktrees")]);
        Self {
            folder,
            shared: shared.to_owned(),
            places: all,
            n_notes: AtomicU64::new(0),
            killed: Mutex::new(killed),
        }
    }

    /// Notes that a command begins in a folder. A full disk keeps no command from running: then there is no note.
    pub(crate) fn begin(&self, command: &str) -> Option<RunningNote<'_>> {
        let nth = self.n_notes.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{}-{nth}.json", std::process::id()));
        let mut locks = Vec::new();
        find(&self.shared, 1, &mut locks);
        fs::create_dir_all(&self.folder).ok()?;
        // By the clock that also stamps locks.
        let began_at = disk::put(&path, b"").ok()?.at;
        let note = CommandNote { command: command.to_owned(), began_at, process: None, locks };
        let running = RunningNote { notes: self, path, note, has_ended: false };
        running.write();
        Some(running)
    }

    /// Removes locks that killed commands left, also below places that only troop works in, where nothing may run. Waits a while
    /// for git commands that still run.
    pub(crate) async fn clear(&self, own: &[PathBuf]) {
        for _ in 0..N_LOOKS {
            if self.sweep(own) == Sweep::Clean {
                break;
            }
            sleep(BETWEEN).await;
        }
    }

    /// Removes locks that killed commands left, as far as that can be done now.
    pub(crate) fn clear_now(&self) {
        let (Sweep::Clean | Sweep::Waits) = self.sweep(&[]);
    }

    fn sweep(&self, own: &[PathBuf]) -> Sweep {
        let mut killed = lock(&self.killed);
        if killed.is_empty() && own.is_empty() {
            return Sweep::Clean;
        }
        let mut locks = Vec::new();
        find(&self.shared, DEEPEST, &mut locks);
        let is_running =
            killed.iter().any(|(_, it)| it.process.is_some_and(NotedProcess::is_alive));
        let mut sweep = if is_running { Sweep::Waits } else { Sweep::Clean };
        for lock in locks {
            let is_own = own.iter().any(|it| lock.path.starts_with(it));
            let is_left = |(_, note): &(_, CommandNote)| note.may_have_left(&lock);
            let is_ours = is_own || killed.iter().any(is_left);
            match if is_ours { lock_case(self.facts(&lock)) } else { LockCase::Leave } {
                LockCase::Leave => {}
                LockCase::Wait => sweep = Sweep::Waits,
                // Not one that was made while we asked.
                LockCase::Remove if Stamp::of(&lock.path).ok().flatten() == Some(lock.stamp) => {
                    remove(&lock.path);
                }
                LockCase::Remove => sweep = Sweep::Waits,
            }
        }
        if sweep == Sweep::Clean {
            killed.drain(..).for_each(|(path, _)| drop(fs::remove_file(path)));
        }
        sweep
    }

    fn facts(&self, lock: &GitLock) -> LockFacts {
        let places: Vec<_> = self.places.iter().map(PathBuf::as_path).collect();
        let is_git_at_work = is_at_work("git", &places);
        let age = self.now().map_or(Duration::ZERO, |now| now.since(lock.stamp.at));
        LockFacts { is_ours: true, is_git_at_work, age }
    }

    /// The time by the clock that stamps files.
    fn now(&self) -> Option<Time> {
        let probe = self.folder.join(".now");
        fs::write(&probe, "").ok()?;
        let now = Stamp::of(&probe).ok()??.at;
        drop(fs::remove_file(probe));
        Some(now)
    }
}

/// The note of a command that runs. It stays if the command is killed, or is no longer waited for.
#[derive(Debug)]
pub(crate) struct RunningNote<'a> {
    notes: &'a CommandNotes,
    path: PathBuf,
    note: CommandNote,
    has_ended: bool,
}

impl RunningNote<'_> {
    /// Git was started.
    pub(crate) fn started(&mut self, id: Option<u32>) {
        self.note.process = id.and_then(NotedProcess::of);
        self.write();
    }

    /// It ended by itself, with all its locks.
    pub(crate) fn ended(mut self) {
        self.has_ended = true;
        drop(fs::remove_file(&self.path));
    }

    /// Replaces the note in one step: a lead may be killed at any moment, and half a note would name a later beginning.
    fn write(&self) {
        if let Ok(text) = disk::pretty(&self.note) {
            drop(disk::put(&self.path, &text));
        }
    }
}

impl Drop for RunningNote<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            lock(&self.notes.killed).push((self.path.clone(), self.note.clone()));
        }
    }
}

/// A note that a former lead left. One that is cut short, as when the machine has lost power, names its time only.
fn read(path: &Path) -> Option<CommandNote> {
    if disk::is_temporary(path) {
        return None;
    }
    let text = fs::read(path).ok()?;
    let began_at = Stamp::of(path).ok()??.at;
    let nameless =
        || CommandNote { command: String::new(), began_at, process: None, locks: Vec::new() };
    Some(serde_json::from_slice(&text).unwrap_or_else(|_| nameless()))
}

/// The locks in a repository that last: not those of commands that run just now.
pub(crate) async fn lasting_locks(shared: &Path) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    find(shared, DEEPEST, &mut locks);
    // The others block nobody.
    locks.retain(|it| it.path.extension().is_some() && it.path.is_file());
    if !locks.is_empty() {
        sleep(LASTING).await;
        locks.retain(|it| Stamp::of(&it.path).ok().flatten() == Some(it.stamp));
    }
    locks.into_iter().map(|it| it.path).collect()
}

/// Removes the locks in a folder and below. Nothing may run there.
pub(crate) fn remove_locks(folder: &Path) {
    let mut locks = Vec::new();
    find(folder, DEEPEST, &mut locks);
    locks.into_iter().for_each(|it| remove(&it.path));
}

/// Removes a lock, and the place of a worktree that it was all of. A place is removed only if it is empty.
fn remove(lock: &Path) {
    drop(fs::remove_file(lock).or_else(|_| fs::remove_dir(lock)));
    if lock.ends_with(BEGUN)
        && let Some(place) = lock.parent()
    {
        drop(fs::remove_dir(place));
    }
}

/// Whether a file is a lock: of a file of the same name, or of the place of a worktree of which git has written nothing else yet.
/// A branch may be called `locked`.
fn is_lock(folder: &Path, name: &str) -> bool {
    let is_begun = || is_half_made(folder) && !folder.join("gitdir").exists();
    name.ends_with(".lock") || name == BEGUN && is_begun()
}

/// Whether a folder is the place of a worktree of which git made only a half. It may have been killed before it wrote that into the
/// file; a person's lock may be empty as well, but of a whole worktree.
pub(crate) fn is_half_made(place: &Path) -> bool {
    let is_whole = || place.join("gitdir").exists();
    let why = fs::read_to_string(place.join(BEGUN));
    why.is_ok_and(|why| why.trim_end() == HALF_MADE || why.is_empty() && !is_whole())
}

/// Whether a folder is the place of a worktree into which git has written nothing yet.
fn is_empty_place(folder: &Path, path: &Path) -> bool {
    folder.ends_with(PLACES) && fs::read_dir(path).is_ok_and(|mut it| it.next().is_none())
}

fn find(folder: &Path, depth: usize, found: &mut Vec<GitLock>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let path = entry.path();
        let is_found = match entry.file_type().is_ok_and(|it| it.is_dir()) {
            true => {
                if depth > 1 && !WITHOUT_LOCKS.iter().any(|it| name == *it) {
                    find(&path, depth - 1, found);
                }
                is_empty_place(folder, &path)
            }
            false => is_lock(folder, &name.to_string_lossy()),
        };
        if is_found && let Ok(Some(stamp)) = Stamp::of(&path) {
            found.push(GitLock { path, stamp });
        }
    }
}

#[cfg(test)]
mod tests;
