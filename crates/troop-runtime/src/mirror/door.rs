//! Gives commands about tasks under the locks of their files, so that no program and no command take the same task.
//!
//! The mirror guards the door of its board. For each command it locks the task's file, takes in what lies
//! there, gives the command, and writes the file before it lets go. A command whose file is locked waits, and holds up no other.

use std::{collections::VecDeque, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{State, TaskNumber};

use super::{
    Item, LOCKED, Mirror, MirrorError, MirrorOptions, Settlement, lock,
    rules::{self, DoorTarget},
    tasks::TaskVisit,
};
use crate::{Board, BoardError, CommandRequest, board::DoorJob};

/// How long a command waits for a file that another program has locked.
const LIMIT: Duration = Duration::from_secs(5);
/// How often it tries meanwhile.
const AGAIN: Duration = Duration::from_millis(10);

/// Whether a command changes a task that a program could take at the same time.
pub(crate) fn needs_lock(request: &CommandRequest) -> bool {
    rules::door_target(request).is_some()
}

/// Stands in the door of a board until it is closed.
#[derive(Debug)]
pub struct FileDoor {
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl FileDoor {
    /// From now on, commands about tasks that are given to this board by this process are given under the locks of these files.
    #[must_use]
    pub fn guard(options: MirrorOptions) -> Self {
        let jobs = options.board.guard_door();
        let keeper = DoorKeeper { options, mirror: None, waiting: VecDeque::new(), limit: LIMIT };
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        tracker.spawn(keeper.run(jobs, stop.clone()));
        tracker.close();
        Self { stop, tracker }
    }

    /// Leaves the door. Commands that wait are tried once more, and refused if their file is still locked.
    pub async fn close(self) {
        self.stop.cancel();
        self.tracker.wait().await;
    }
}

impl Drop for FileDoor {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A command that waits for the lock of a file.
struct WaitingCommand {
    job: DoorJob,
    target: DoorTarget,
    since: Instant,
}

/// The command that a visit to a file is for, until it is given.
pub(super) struct VisitCommand {
    pub(super) job: Option<DoorJob>,
    pub(super) target: DoorTarget,
    pub(super) number: TaskNumber,
}

impl VisitCommand {
    /// The command, about the task whose file is visited; none if it was given.
    pub(super) fn request(&self) -> Option<CommandRequest> {
        let mut request = (*self.job.as_ref()?.request).clone();
        request.command = rules::about(request.command, self.number);
        Some(request)
    }
}

/// The outcome of a command at the file of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoorTry {
    Given,
    /// The file is locked, or somebody is writing it.
    Busy,
    /// Somebody took the task just before.
    Taken,
}

struct DoorKeeper {
    options: MirrorOptions,
    /// Opened for the first command.
    mirror: Option<Mirror>,
    waiting: VecDeque<WaitingCommand>,
    /// How long a command waits.
    limit: Duration,
}

impl DoorKeeper {
    async fn run(mut self, mut jobs: mpsc::UnboundedReceiver<DoorJob>, stop: CancellationToken) {
        let mut again = interval(AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                job = jobs.recv() => match job {
                    Some(job) => self.begin(job).await,
                    None => break,
                },
                _ = again.tick(), if !self.waiting.is_empty() => self.try_again().await,
            }
        }
        self.options.board.open_door();
        jobs.close();
        self.limit = Duration::ZERO;
        self.try_again().await;
        while let Some(job) = jobs.recv().await {
            self.begin(job).await;
        }
    }

    async fn begin(&mut self, job: DoorJob) {
        match rules::door_target(&job.request) {
            Some(target) => {
                self.attempt(WaitingCommand { job, target, since: Instant::now() }).await;
            }
            None => give_at_once(&self.options.board, job).await,
        }
    }

    async fn try_again(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            self.attempt(waiting).await;
        }
    }

    /// Gives a command if a file for it can be locked; otherwise it waits on, up to the limit.
    async fn attempt(&mut self, waiting: WaitingCommand) {
        let WaitingCommand { job, target, since } = waiting;
        let Some(mirror) = self.mirror().await else {
            return give_at_once(&self.options.board, job).await;
        };
        let mut job = Some(job);
        // A command goes on if the files cannot be used, because the log is the truth.
        let busy = mirror.try_at_files(&mut job, &target).await.unwrap_or_default();
        let Some(job) = job else { return };
        let Some(number) = busy else { return give_at_once(&self.options.board, job).await };
        let lock = mirror.held_lock(number);
        let waited = since.elapsed();
        if waited < self.limit {
            self.waiting.push_back(WaitingCommand { job, target, since });
            return;
        }
        job.refuse(BoardError::FileInUse { task: number, lock, seconds: waited.as_secs() });
    }

    async fn mirror(&mut self) -> Option<&mut Mirror> {
        if self.mirror.is_none() {
            self.mirror = Mirror::for_commands(self.options.clone()).await.ok();
        }
        self.mirror.as_mut()
    }
}

async fn give_at_once(board: &Board, job: DoorJob) {
    if let Some(answer) = board.give_from_door(job).await {
        answer.deliver();
    }
}

impl Mirror {
    /// Tries a command at the file of each task that it could be about. If it was not given, returns a task whose file is busy;
    /// none if the board needs no file to decide.
    async fn try_at_files(
        &mut self,
        job: &mut Option<DoorJob>,
        target: &DoorTarget,
    ) -> Result<Option<TaskNumber>, MirrorError> {
        loop {
            self.catch_up().await?;
            let wanted = target.clone();
            let candidates =
                self.board.look(move |state: &State| rules::candidates(state, &wanted)).await?;
            let mut busy = None;
            let mut was_taken = false;
            // Only the first lock is waited for.
            self.patience = LOCKED;
            for number in candidates {
                match self.try_at_file(job, target, number).await? {
                    DoorTry::Given => return Ok(None),
                    DoorTry::Busy => busy = busy.or(Some(number)),
                    DoorTry::Taken => was_taken = true,
                }
                self.patience = Duration::ZERO;
            }
            if busy.is_some() || !was_taken {
                return Ok(busy);
            }
        }
    }

    async fn try_at_file(
        &mut self,
        job: &mut Option<DoorJob>,
        target: &DoorTarget,
        number: TaskNumber,
    ) -> Result<DoorTry, MirrorError> {
        let id = self.memory.ids.of(number);
        if self.gate.still_holds(&Item::Task(id.clone())) {
            // The lead has not answered to what the file says.
            return Ok(DoorTry::Busy);
        }
        let mut command = VisitCommand { job: job.take(), target: target.clone(), number };
        let visited = TaskVisit::new(self, &id).settle_for(&mut command).await;
        *job = command.job;
        match visited? {
            _ if job.is_none() => Ok(DoorTry::Given),
            Settlement::Done => Ok(DoorTry::Taken),
            Settlement::Later | Settlement::Waits => self.give_without_lock(job, number).await,
        }
    }

    /// Gives a command without the lock, if it takes nothing from the program that has it.
    async fn give_without_lock(
        &self,
        job: &mut Option<DoorJob>,
        number: TaskNumber,
    ) -> Result<DoorTry, MirrorError> {
        let Some(request) = job.as_ref().map(|it| it.request.clone()) else {
            return Ok(DoorTry::Given);
        };
        let look = move |state: &State| rules::goes_without_lock(state, &request, number);
        if self.board.look(look).await?
            && let Some(job) = job.take()
        {
            give_at_once(&self.board, job).await;
            return Ok(DoorTry::Given);
        }
        Ok(DoorTry::Busy)
    }

    /// The lock of a task's file that somebody else has.
    fn held_lock(&self, number: TaskNumber) -> std::path::PathBuf {
        let path = self.places.task(&self.memory.ids.of(number));
        lock::held(self.places.layout, &path)
    }
}

/// Whether a command is still to be given about a task: a program may have taken the task just before.
pub(super) async fn still_wants(
    board: &Board,
    target: &DoorTarget,
    number: TaskNumber,
) -> Result<bool, MirrorError> {
    let target = target.clone();
    let look = move |state: &State| match &target {
        // The board says why it refuses.
        DoorTarget::Named(_) => true,
        DoorTarget::NextFor(_) => rules::candidates(state, &target).contains(&number),
    };
    Ok(board.look(look).await?)
}
