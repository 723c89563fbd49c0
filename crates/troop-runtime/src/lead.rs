//! Supervises a team: runs its processes, passes its mail, gives out its work.
//!
//! A lead follows the team's log and acts on what it says; what it sees of its teammates becomes commands again. It holds no
//! truth: whoever wants something of it, from whatever process, gives a command to the board. One loop, the dispatcher, puts
//! everything that comes in into one order.

mod calls;
mod completion;
mod crew;
mod dispatcher;
mod external;
mod follow;
mod gate;
mod hear;
mod idle;
mod input;
mod interruption;
mod launch;
mod lead_state;
mod lease;
mod leases;
mod office;
mod patience;
mod places;
mod policy;
mod post;
mod socket;
mod timers;
mod transcript;

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{Actor, Command, MemberName, Version};
use uuid::Uuid;

use crate::{Agreement, Answers, Board, BoardError, Clock, CommandRequest, Hooks, Worktrees};

pub use launch::{InProcess, Launch, LaunchSpec, LaunchedAgent, Life, Programs, silent_lead};
pub(crate) use lease::dead_sessions;
pub use lease::{LeadEntry, find as find_lead, has_died as lead_has_died, last_project};
pub use policy::restart::{is_to_start_again, was_cut_short};
pub use transcript::{TranscriptEntry, TranscriptLine, TranscriptSource};
pub(crate) use transcript::{former_path as former_transcript_path, path as transcript_path};

/// How many inputs may wait for the dispatcher. Later senders wait, so a flood slows down whoever makes it.
const INPUTS: usize = 256;

/// What a lead needs to begin.
#[derive(Debug)]
pub struct LeadOptions {
    /// The team, opened to follow what others write.
    pub board: Board,
    /// What time it is.
    pub clock: Clock,
    /// Where the team's transcripts, lock and socket are kept.
    pub folder: PathBuf,
    /// Where the team works.
    pub project: PathBuf,
    /// Who leads, for people: a user, a machine, a process.
    pub holder: String,
    /// How members become processes.
    pub launch: Arc<dyn Launch>,
    /// Where the lead's agent runs.
    pub thinks: LeadThinks,
    /// The commands that people want run when something happens.
    pub hooks: Hooks,
    /// How teammates get folders of their own; none if all work in the project.
    pub isolation: Option<Worktrees>,
    /// What must pass before a task is done, besides what the board says.
    pub checks: Vec<String>,
    /// Whether the checks of tasks are what a person agreed to.
    pub agreement: Agreement,
    /// What the checks of tasks find in their environment.
    pub environment: Vec<(OsString, OsString)>,
    /// How long things may take.
    pub timing: Timing,
    /// When it is over.
    pub until: Until,
    /// How far the lead's agent is with what it was told: while that is open, the team has not completed its work.
    pub work: watch::Receiver<LeadWork>,
    /// Where people see at once what members complain about and what cannot be stored. A full channel loses warnings.
    pub warnings: Option<mpsc::Sender<String>>,
}

/// Where the lead's agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadThinks {
    /// troop starts it with the team.
    Here,
    /// It runs elsewhere, for example as an MCP client: troop starts nothing for it, and it reads its mail there.
    Elsewhere,
}

/// How far the lead's agent is with what it was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeadWork {
    /// It was told nothing, or has said its last word about it.
    #[default]
    Done,
    /// It works on it.
    Open,
    /// It could not go on.
    Failed,
    /// It was interrupted, and goes on with the next message.
    Interrupted,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From the start of a process until it says that it is ready.
    pub ready: Duration,
    /// From the request to stop until the process gets a signal.
    pub grace: Duration,
    /// From that signal until troop kills it.
    pub term: Duration,
    /// Between two looks at leases, reminders and retries.
    pub tick: Duration,
    /// Between two signs that this lead is alive.
    pub renew: Duration,
    /// Before troop restarts a teammate that crashed; doubles with every crash.
    pub restart: Duration,
    /// How often troop restarts one teammate.
    pub max_restarts: u32,
    /// How long the team goes on for the last words of a member that troop does not run: many end a task first, and then say
    /// what they found.
    pub last_words: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ready: Duration::from_secs(10),
            grace: Duration::from_secs(3),
            term: Duration::from_secs(2),
            tick: Duration::from_secs(1),
            renew: Duration::from_secs(20),
            restart: Duration::from_millis(200),
            max_restarts: 3,
            last_words: Duration::from_secs(10),
        }
    }
}

/// When a lead's work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When it is told to stop.
    Stopped,
    /// Also when nobody has anything left to do.
    Quiet,
    /// Likewise, once the lead has followed the log up to there: what was asked for before counts.
    QuietAfter(Version),
}

/// How a lead's work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadEnd {
    /// It was told to stop, and all its teammates have stopped.
    Stopped { reason: String },
    /// Nobody had anything left to do.
    Quiet,
    /// Another session leads the team now.
    Superseded,
    /// It could not follow the board any more.
    Lost { reason: String },
}

/// Why a lead could not begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The board refuses it, for example because somebody else leads.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The team's folder cannot be used.
    #[error("`{}` cannot be used", path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// A lead at work.
#[derive(Debug)]
pub struct Lead {
    board: Board,
    fence: u64,
    handle: LeadHandle,
    ended: oneshot::Receiver<LeadEnd>,
    tracker: TaskTracker,
}

impl Lead {
    /// Takes the lead of a team and begins. Refused while somebody else leads it.
    pub async fn start(options: LeadOptions) -> Result<Self, LeadError> {
        let session = Uuid::now_v7();
        let mut lock = lease::LeadLock::take(&options, session).await?;
        let board = options.board.clone();
        let (inputs, queue) = mpsc::channel(INPUTS);
        let tracker = TaskTracker::new();
        let fence = lock.fence;
        let handle = LeadHandle { inputs: inputs.clone(), hurried: CancellationToken::new() };
        let answers = Answers::new(board.clone(), &options.folder).for_lead(fence);
        let host = socket::SocketHost {
            board: board.clone(),
            answers: answers.clone(),
            inputs: inputs.clone(),
            tracker: tracker.clone(),
        };
        let hurried = handle.hurried.clone();
        let start = dispatcher::LeadStart {
            options,
            mandate: post::Mandate { session, fence },
            answers,
            background: post::Background::new(inputs, tracker.clone(), hurried),
        };
        let (socket, dispatcher) = match prepare(start, &mut lock).await {
            Ok(prepared) => prepared,
            Err(error) => {
                lock.release(&board).await;
                return Err(error);
            }
        };
        let (tell, ended) = oneshot::channel();
        tracker.spawn(socket.serve(host));
        tracker.spawn(async move {
            let how = Box::pin(dispatcher.run(queue)).await;
            drop(lock);
            // Nobody may be waiting for it.
            drop(tell.send(how));
        });
        tracker.close();
        Ok(Self { board, fence, handle, ended, tracker })
    }

    /// The number that tells what this lead passes on from what a former one does.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// For requests that only the process that started it may make.
    #[must_use]
    pub fn handle(&self) -> LeadHandle {
        self.handle.clone()
    }

    /// Asks the lead to stop all its teammates and then itself.
    pub async fn stop(&self, reason: &str) -> Result<(), LeadError> {
        let reason = Some(reason.to_owned());
        let request = CommandRequest::new(Actor::system(), Command::StopTeam { reason });
        self.board.submit(request).await?;
        Ok(())
    }

    /// Waits until it is over.
    pub async fn ended(self) -> LeadEnd {
        let how = self.ended.await;
        self.tracker.wait().await;
        how.unwrap_or_else(|_| LeadEnd::Lost { reason: "the dispatcher met a fault".to_owned() })
    }
}

/// Does everything that can fail before a lead begins.
async fn prepare(
    start: dispatcher::LeadStart,
    lock: &mut lease::LeadLock,
) -> Result<(socket::LeadSocket, dispatcher::Dispatcher), LeadError> {
    let folder = start.options.folder.clone();
    let unusable = |source| LeadError::Folder { path: folder.clone(), source };
    let socket = socket::LeadSocket::open(&folder).map_err(unusable)?;
    lock.announce(&socket.path).map_err(unusable)?;
    Ok((socket, dispatcher::Dispatcher::new(start).await?))
}

/// Speaks to a lead of this process.
#[derive(Clone, Debug)]
pub struct LeadHandle {
    inputs: mpsc::Sender<input::LeadInput>,
    /// Also heard by tasks that the dispatcher waits for.
    hurried: CancellationToken,
}

impl LeadHandle {
    /// Says when its work is over.
    pub async fn end(&self, until: Until) {
        // A lead that has ended needs no word any more; so below.
        drop(self.inputs.send(input::LeadInput::Until(until)).await);
    }

    /// Ends all teammates that have not stopped yet at once, and hooks soon after.
    pub async fn hurry(&self) {
        self.hurried.cancel();
        drop(self.inputs.send(input::LeadInput::Hurry).await);
    }
}

/// Tells the runs of one member apart: a member can run many times.
pub(crate) type RunNumber = u64;

/// A member in one of its runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Runner {
    pub(crate) member: MemberName,
    pub(crate) run: RunNumber,
}
