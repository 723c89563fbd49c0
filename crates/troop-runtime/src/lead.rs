//! Supervises a team: runs its processes, passes its mail, gives out its work.
//!
//! A lead follows the team's log and acts on what it says; what it sees of its teammates becomes commands again. It holds no
//! truth: whoever wants something of it, from whatever process, gives a command to the board. One loop, the dispatcher, puts
//! everything that comes in into one order.

mod breaking;
mod budget;
mod calls;
mod delegations;
mod delivery;
mod dispatcher;
mod external;
mod follow;
mod gate;
mod hear;
mod idle;
mod input;
mod late;
mod launch;
mod lease;
mod link;
mod patience;
mod places;
mod post;
mod proof;
mod restarts;
mod socket;
mod stop;
mod supervisor;
mod timers;
mod transcript;
mod work;
mod written;

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
pub use stop::{is_to_start_again, was_cut_short};
pub use transcript::{TranscriptEntry, TranscriptLine, TranscriptSource, read as read_transcript};
pub(crate) use transcript::{former_path as former_transcript_path, path as transcript_path};

/// How many things may wait for the dispatcher. Who comes later waits, so a flood slows down those who make it.
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
    /// Where what thinks for the lead runs.
    pub thinks: LeadThinks,
    /// What people have run when something happens.
    pub hooks: Hooks,
    /// How teammates get folders of their own; none if all work in the project's.
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
    /// How the lead's agent stands with what it was told: while that is open, the team has not completed its work.
    pub work: watch::Receiver<LeadWork>,
    /// Where people see at once what members complain about and what cannot be kept; who has no room for it misses it.
    pub warnings: Option<mpsc::Sender<String>>,
}

/// Where what thinks for the lead runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadThinks {
    /// It is started with the team.
    Here,
    /// Elsewhere, as an MCP client for example: nothing is started for it, and it reads its mail there.
    Elsewhere,
}

/// How the lead's agent stands with what it was told last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeadWork {
    /// It was told nothing, or has said its last word about it.
    #[default]
    Done,
    /// It is at it.
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
    /// From the request to stop until the process is told to by a signal.
    pub grace: Duration,
    /// From that signal until it is killed.
    pub term: Duration,
    /// Between two looks at leases, reminders and retries.
    pub tick: Duration,
    /// Between two signs that this lead is alive.
    pub renew: Duration,
    /// Before a teammate that crashed is started again; doubles with every crash.
    pub restart: Duration,
    /// How often one teammate is started again.
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
    /// Likewise, once the log is known up to there: what was asked for before counts.
    QuietAfter(Version),
}

/// How a lead's work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadEnd {
    /// It was told to stop, and all its teammates have.
    Stopped { reason: String },
    /// Nobody had anything left to do.
    Quiet,
    /// Another session leads the team now.
    Superseded,
    /// The board could not be followed any more.
    Lost { reason: String },
}

/// Why a lead could not begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The board is against it, for example because somebody else leads.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The folder of the team cannot be used.
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
        let start = dispatcher::Start {
            options,
            mandate: post::Mandate { session, fence },
            heard_until: lock.heard_until,
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

    /// The number by which what this lead passes on is told from what a former one does.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// For what only those who started it may ask of it.
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

/// Does all that can go wrong before a lead begins.
async fn prepare(
    start: dispatcher::Start,
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
    /// Heard also by those for whom the dispatcher waits.
    hurried: CancellationToken,
}

impl LeadHandle {
    /// Says when its work is over.
    pub async fn end(&self, until: Until) {
        // One that has ended needs no word any more; so below.
        drop(self.inputs.send(input::LeadInput::Until(until)).await);
    }

    /// Ends all teammates that have not stopped yet at once, and hooks soon.
    pub async fn hurry(&self) {
        self.hurried.cancel();
        drop(self.inputs.send(input::LeadInput::Hurry).await);
    }
}

/// Which run of a member's process something is about; a name can run many times.
pub(crate) type RunNumber = u64;

/// Who is meant, and in which run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Runner {
    pub(crate) member: MemberName,
    pub(crate) run: RunNumber,
}
