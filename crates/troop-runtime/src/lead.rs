//! Supervises a team: runs its processes, passes its mail, gives out its work.
//!
//! A lead follows the team's log and acts on it; its observations of teammates become commands again. It is not a source of
//! truth: to make it do something, any process gives a command to the board. One loop, the dispatcher, puts all inputs into one
//! order.

mod calls;
mod completion;
pub(crate) mod crew;
mod dispatcher;
mod external;
mod follow;
mod gate;
mod guard;
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
pub(crate) mod policy;
mod post;
mod progress;
mod shared;
mod socket;
mod timers;
mod transcript;
mod unheard;

use std::{ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use troop_model::{Actor, Command, MemberName, Version};
use uuid::Uuid;

use crate::{
    Agreement, Answers, Board, BoardError, Clock, CommandRequest, GitError, Hooks, Worktrees,
};

pub use guard::{EndedLead, GUARD_WORD};
pub use launch::{InProcess, Launch, LaunchSpec, LaunchedAgent, Life, Programs, silent_lead};
pub(crate) use lease::dead_sessions;
pub use lease::{LeadEntry, find as find_lead, has_died as lead_has_died, last_project, lead_held};
pub use policy::restart::{is_to_start_again, was_cut_short};
pub use transcript::{TranscriptEntry, TranscriptLine, TranscriptSource};
pub(crate) use transcript::{former_path as former_transcript_path, path as transcript_path};

/// How many inputs may wait for the dispatcher. Later senders wait, so a flood slows down its sender.
const INPUTS: usize = 256;

/// The options a lead starts with.
#[derive(Debug)]
pub struct LeadOptions {
    /// The team, opened to follow what others write.
    pub board: Board,
    /// The source of the current time.
    pub clock: Clock,
    /// Where the team's transcripts, lock and socket are kept.
    pub folder: PathBuf,
    /// Where the team works.
    pub project: PathBuf,
    /// The name of the lead's holder for people: a user, a machine, a process.
    pub holder: String,
    /// How members become processes.
    pub launch: Arc<dyn Launch>,
    /// Where the lead's agent runs.
    pub thinks: LeadThinks,
    /// The commands that people configured to run on events.
    pub hooks: Hooks,
    /// Gives teammates their own worktrees; none if all work in the project.
    pub isolation: Option<Worktrees>,
    /// Checks that must pass before a task is done, in addition to those on the board.
    pub checks: Vec<String>,
    /// Verifies before each run of a task's check that a person agreed to it.
    pub agreement: Agreement,
    /// The environment variables of the checks of tasks.
    pub environment: Vec<(OsString, OsString)>,
    /// How long things may take.
    pub timing: Timing,
    /// When the lead ends.
    pub until: Until,
    /// The progress of the lead's agent on its last request: while that is open, the team has not completed its work.
    pub work: watch::Receiver<LeadWork>,
    /// Shows people at once the complaints of members and failures of the store. A full channel loses warnings.
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

/// The progress of the lead's agent on its last request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LeadWork {
    /// There is no request, or the agent has finished it.
    #[default]
    Done,
    /// The agent works on it.
    Open,
    /// The agent could not finish it.
    Failed,
    /// The agent was interrupted, and continues with the next message.
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
    /// Between two checks of leases, reminders and retries.
    pub tick: Duration,
    /// Between two signs that this lead is alive.
    pub renew: Duration,
    /// Before troop restarts a teammate that crashed; doubles with every crash.
    pub restart: Duration,
    /// How often troop restarts one teammate.
    pub max_restarts: u32,
    /// How long the team waits for messages of an external member after it has ended a task: many end a task first, and then
    /// report their findings.
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
    /// When it is stopped.
    Stopped,
    /// Or when no member has anything left to do.
    Quiet,
    /// Like `Quiet`, but not before the lead has followed the log up to this version, so that earlier requests count.
    QuietAfter(Version),
}

/// How a lead's work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeadEnd {
    /// It was stopped, and so were all its teammates.
    Stopped { reason: String },
    /// No member had anything left to do.
    Quiet,
    /// Another session leads the team now.
    Superseded,
    /// It could no longer follow the board.
    Lost { reason: String },
}

/// Why a lead could not begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeadError {
    /// The board refuses it, for example because there is another lead.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// Nobody can tell what a former lead has merged, so that its work might be done twice.
    #[error("what the former lead of this team has merged cannot be read")]
    Merges(#[source] GitError),
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
    ended: oneshot::Receiver<EndedLead>,
    tracker: TaskTracker,
}

impl Lead {
    /// Takes the lead of a team and begins. Refused while there is another lead.
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
            // The receiver may be gone.
            drop(tell.send(how));
        });
        tracker.close();
        Ok(Self { board, fence, handle, ended, tracker })
    }

    /// The fencing number that distinguishes commands of this lead from those of earlier ones.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// A handle for requests that only the process of the lead may make.
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

    /// Waits for the end of the lead.
    pub async fn ended(self) -> LeadEnd {
        let mut ended = self.ended_with_guard().await;
        ended.dismiss_guard().await;
        ended.how
    }

    /// Waits for the end of the lead, and keeps the guard: its hooks may still run.
    pub async fn ended_with_guard(self) -> EndedLead {
        let ended = self.ended.await;
        self.tracker.wait().await;
        ended.unwrap_or_else(|_| {
            let how = LeadEnd::Lost { reason: "the dispatcher met a fault".to_owned() };
            EndedLead { how, guard: guard::LeadGuard::default() }
        })
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

/// Controls a lead in this process.
#[derive(Clone, Debug)]
pub struct LeadHandle {
    inputs: mpsc::Sender<input::LeadInput>,
    /// Also cuts hooks short, which the dispatcher may be waiting for.
    hurried: CancellationToken,
}

impl LeadHandle {
    /// Changes when the lead ends.
    pub async fn end(&self, until: Until) {
        // The lead may have ended already; so below.
        drop(self.inputs.send(input::LeadInput::Until(until)).await);
    }

    /// Kills all teammates that have not stopped yet, and running hooks soon after.
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
