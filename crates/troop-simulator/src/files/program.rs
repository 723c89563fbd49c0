//! A program that knows only the files: it locks the file of a task, looks again under the lock, writes what it wants beside it and
//! puts that in its place.

use serde_json::{Map, Value};
use troop_model::TaskNumber;

use super::task_path;
use crate::{
    disk::{SystemLock, bytes_of},
    process::ProcessSeat,
};

/// How long it works on a task, in microseconds.
const WORK: u64 = 20_000;
/// How long it waits before it looks for work again.
const PAUSE: u64 = 10_000;

/// Claims and completes tasks until all are done.
pub(crate) async fn program(seat: ProcessSeat) {
    loop {
        seat.boundary().await;
        let files: Vec<_> = seat.world.disk.borrow().list("tasks/").into_iter().collect();
        let mut is_all_done = !files.is_empty();
        let first = seat.one_of(files.len());
        for nth in 0..files.len() {
            let Some(name) = files.get((first + nth) % files.len().max(1)) else { continue };
            let task = OneTask::new(&seat, name);
            match task.look().await {
                FileSight::Free => {
                    is_all_done = false;
                    if task.claim().await {
                        task.work().await;
                    }
                }
                // From before it was killed.
                FileSight::Mine => {
                    is_all_done = false;
                    task.work().await;
                }
                FileSight::Taken => is_all_done = false,
                FileSight::Over => {}
            }
        }
        if is_all_done && !files.is_empty() {
            return;
        }
        seat.sleep(PAUSE).await;
    }
}

/// A program's view of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileSight {
    Free,
    Mine,
    Taken,
    Over,
}

/// A task, as one program sees it.
struct OneTask<'a> {
    seat: &'a ProcessSeat,
    path: String,
    number: TaskNumber,
}

impl<'a> OneTask<'a> {
    fn new(seat: &'a ProcessSeat, name: &str) -> Self {
        let id = name.trim_end_matches(".json");
        let number = id.trim_start_matches("task-").parse().unwrap_or_default();
        Self { seat, path: task_path(id), number: TaskNumber(number) }
    }

    fn read(&self) -> (FileSight, Map<String, Value>) {
        let file = self.seat.world.disk.borrow().read(&self.path);
        let file = file.map(|it| it.object()).unwrap_or_default();
        let said = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let sight = match (said("status"), said("claimed_by")) {
            ("pending", "") => FileSight::Free,
            ("in_progress", owner) if *owner == *self.seat.name => FileSight::Mine,
            ("completed", _) => FileSight::Over,
            _ => FileSight::Taken,
        };
        (sight, file)
    }

    async fn look(&self) -> FileSight {
        self.seat.boundary().await;
        let (sight, _) = self.read();
        if sight != FileSight::Mine {
            self.seat.world.judge.borrow_mut().gave_up(self.number, &self.seat.name);
        }
        sight
    }

    async fn lock(&self) -> Option<SystemLock> {
        self.seat.boundary().await;
        SystemLock::take(&self.seat.world, &self.path)
    }

    /// Takes the task if it is still free under the lock.
    async fn claim(&self) -> bool {
        let Some(_lock) = self.lock().await else { return false };
        self.seat.boundary().await;
        let (sight, file) = self.read();
        if sight != FileSight::Free {
            return false;
        }
        self.write(file, "in_progress").await;
        self.seat.count("a program claimed a task");
        self.seat.world.judge.borrow_mut().claimed(self.number, &self.seat.name);
        true
    }

    /// Does the task, and says so if it still has it.
    async fn work(&self) {
        self.seat.sleep(WORK).await;
        let lock = loop {
            match self.lock().await {
                Some(lock) => break lock,
                None => self.seat.sleep(500).await,
            }
        };
        self.seat.boundary().await;
        let (sight, file) = self.read();
        if sight == FileSight::Mine {
            self.write(file, "completed").await;
            self.seat.count("a program completed a task");
            self.seat.world.judge.borrow_mut().done(self.number, &self.seat.name);
        } else {
            self.seat.count("a program found its task taken away");
            self.seat.world.judge.borrow_mut().gave_up(self.number, &self.seat.name);
        }
        drop(lock);
    }

    async fn write(&self, mut file: Map<String, Value>, status: &str) {
        let owner = Value::from(&*self.seat.name);
        file.insert("status".to_owned(), Value::from(status));
        file.insert("claimedBy".to_owned(), owner.clone());
        file.insert("claimed_by".to_owned(), owner);
        let world = &self.seat.world;
        let stamp = world.disk.borrow_mut().new_stamp(self.seat.now());
        self.seat.boundary().await;
        world.disk.borrow_mut().place(&self.path, bytes_of(&file), stamp);
        self.seat.tell(|| format!("writes {}: {status} `{}`", self.path, self.seat.name));
    }
}
