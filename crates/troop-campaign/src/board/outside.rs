//! A program that knows only a team's files. It takes the lock of a task, looks again under it, writes its claim and renames it
//! into place; a moment later it completes the task under the same lock.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::random::Random;

/// How long it works on a task.
const WORK: Duration = Duration::from_millis(20);
/// How long it waits when there is nothing to do.
const IDLE: Duration = Duration::from_millis(10);
/// The client's own limit for a lock that is a folder.
const STALE: Duration = Duration::from_secs(10);
/// Between two tries to take a lock.
const BETWEEN: Duration = Duration::from_millis(1);

/// The effects that a program believes it had.
#[derive(Clone, Debug, Default)]
pub(super) struct Belief {
    pub(super) name: String,
    pub(super) claimed: Vec<u64>,
    pub(super) completed: Vec<u64>,
    /// Tasks that somebody took from it.
    pub(super) lost: Vec<u64>,
}

/// Works until a file tells it to stop.
#[derive(Debug)]
pub(super) struct OutsideProgram {
    pub(super) name: String,
    pub(super) tasks: PathBuf,
    pub(super) is_claude: bool,
    pub(super) over: PathBuf,
    pub(super) seed: u64,
}

impl OutsideProgram {
    pub(super) async fn work(self) -> Result<Belief> {
        let mut random = Random::of_trial(self.seed, 0);
        let mut belief = Belief { name: self.name.clone(), ..Belief::default() };
        while !self.over.exists() {
            let mut numbers = self.numbers();
            let nth = random.within(0..numbers.len().max(1) as u64) as usize;
            numbers.rotate_left(nth);
            let Some(number) = self.claim_one(numbers).await? else {
                sleep(IDLE).await;
                continue;
            };
            belief.claimed.push(number);
            sleep(WORK).await;
            match self.complete(number).await? {
                true => belief.completed.push(number),
                false => belief.lost.push(number),
            }
        }
        Ok(belief)
    }

    fn prefix(&self) -> &'static str {
        if self.is_claude { "" } else { "task-" }
    }

    fn owner(&self) -> &'static str {
        if self.is_claude { "owner" } else { "claimed_by" }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.tasks.join(format!("{}{number}.json", self.prefix()))
    }

    fn numbers(&self) -> Vec<u64> {
        let entries = fs::read_dir(&self.tasks).into_iter().flatten().flatten();
        let number = |name: String| {
            name.strip_prefix(self.prefix())?.strip_suffix(".json")?.parse::<u64>().ok()
        };
        let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
        let mut numbers: Vec<_> = names.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    fn read(&self, number: u64) -> Result<Value> {
        let text = fs::read(self.path(number)).context("a task's file is not there")?;
        serde_json::from_slice(&text).context("a task's file is no JSON")
    }

    fn write(&self, number: u64, task: &Value) -> Result<()> {
        let path = self.path(number);
        let half = path.with_extension(format!("{}.half", self.name));
        fs::write(&half, task.to_string())?;
        Ok(fs::rename(half, path)?)
    }

    fn is_free(&self, task: &Value) -> bool {
        let has_owner =
            task.get(self.owner()).and_then(Value::as_str).is_some_and(|it| !it.is_empty());
        task.get("status") == Some(&json!("pending")) && !has_owner && !is_blocked(task)
    }

    /// Claims the first task that is free.
    async fn claim_one(&self, numbers: Vec<u64>) -> Result<Option<u64>> {
        for number in numbers {
            if self.is_free(&self.read(number)?) && self.claim(number).await? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// False if somebody was first.
    async fn claim(&self, number: u64) -> Result<bool> {
        let _lock = TaskFileLock::take(&self.path(number), self.is_claude).await?;
        let mut task = self.read(number)?;
        if !self.is_free(&task) {
            return Ok(false);
        }
        let fields = task.as_object_mut().context("a task is an object")?;
        fields.insert("status".to_owned(), json!("in_progress"));
        fields.insert(self.owner().to_owned(), json!(self.name));
        self.write(number, &task)?;
        Ok(true)
    }

    /// False if it has the task no longer.
    async fn complete(&self, number: u64) -> Result<bool> {
        let _lock = TaskFileLock::take(&self.path(number), self.is_claude).await?;
        let mut task = self.read(number)?;
        let status = task.get("status").and_then(Value::as_str).unwrap_or_default();
        let is_begun = ["in_progress", "claimed"].contains(&status);
        if !is_begun || task.get(self.owner()) != Some(&json!(self.name)) {
            return Ok(false);
        }
        let fields = task.as_object_mut().context("a task is an object")?;
        fields.insert("status".to_owned(), json!("completed"));
        self.write(number, &task)?;
        Ok(true)
    }
}

fn is_blocked(task: &Value) -> bool {
    let waits = ["dependsOn", "blockedBy"].map(|it| task.get(it).and_then(Value::as_array));
    waits.into_iter().flatten().any(|it| !it.is_empty())
}

/// The lock of a task's file, as the programs of its layout take it.
enum TaskFileLock {
    Flock { _held: File },
    Folder(PathBuf),
}

impl TaskFileLock {
    async fn take(task: &Path, is_claude: bool) -> Result<Self> {
        let since = Instant::now();
        if !is_claude {
            let file = File::create(task.with_extension("lock"))?;
            while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
                ensure!(since.elapsed() < STALE, "a task's lock is held for ever");
                sleep(BETWEEN).await;
            }
            return Ok(Self::Flock { _held: file });
        }
        let folder = task.with_extension("json.lock");
        loop {
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Self::Folder(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
            if since.elapsed() > STALE {
                // Its holder was killed.
                drop(fs::remove_dir(&folder));
            }
            sleep(BETWEEN).await;
        }
    }
}

impl Drop for TaskFileLock {
    fn drop(&mut self) {
        if let Self::Folder(folder) = self {
            drop(fs::remove_dir(folder));
        }
    }
}
