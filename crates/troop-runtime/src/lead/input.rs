//! All inputs of a lead, in one closed list.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::mpsc;
use troop_model::{Event, MemberName, TaskNumber, Version, WorkspaceFolder};
use troop_protocol::{Inbox, Incoming};
use uuid::Uuid;

use super::{
    Runner, Until,
    completion::{LateMerge, PassageFinding, PassageId},
    crew::{launching::MemberLaunch, lifecycle::MemberExit},
    gate::HookReply,
    places::LooseFiles,
    shared::SharedPath,
    socket::SocketCommand,
};
use crate::{
    BoardError, CommandEffect, CommandRequest, GitError, TaskAttempt, TaskFolder, WatchReport,
    Watcher, WorkReport,
};

/// One thing that a lead reacts to.
#[derive(Debug)]
pub(super) enum LeadInput {
    /// The log has grown.
    Log(Arc<Event>),
    /// The log can no longer be followed; none if the board was closed.
    LogLost(Option<BoardError>),
    /// A member's wire delivered something.
    Wire(Runner, Incoming),
    /// The agent of a member is launched, or cannot be.
    Launched(Box<MemberLaunch>),
    /// A member's process, or its task, has ended.
    Exited(Runner, MemberExit),
    /// A member's process wrote to standard error.
    Complained(Runner, String),
    /// A timer has fired.
    Due(Due),
    /// The answer that a passage waited for has come.
    Found(PassageId, Box<PassageFinding>),
    /// Hooks have given their verdict on something that waited for them.
    Judged(Box<HookReply>),
    /// The proof of a done claim has finished.
    Proved(PassageId, Box<Result<WorkReport, GitError>>),
    /// The board has decided the consequences of an objection to a passage; no effect if it refused the command.
    Decided(PassageId, Option<CommandEffect>),
    /// The late merge of a completed task has finished.
    MergedLate(Box<LateMerge>),
    /// A member's folder exists, or cannot be made.
    Placed(MemberName, Result<PathBuf, GitError>),
    /// A member's folder is ready for a task, or cannot be prepared.
    Begun(Box<FolderStart>),
    /// A workspace folder is made.
    Shared(WorkspaceFolder, SharedPath),
    /// Something for a member cannot be done now, and is retried.
    Waits(MemberName, String),
    /// The files that an idle member changed outside of any task are known.
    Loose(Box<LooseFiles>),
    /// The watcher has compared the members' changes.
    Watched(Box<WatchLook>),
    /// A check of a member's work printed a line.
    Shown(MemberName, String),
    /// Another process sends a command through this lead.
    Called(Box<SocketCommand>),
    /// An offer of work to a member is settled; its effect is in the log up to this version.
    Settled(Runner, Option<Version>),
    /// The board refused a command given for a member, which does not know yet.
    Refused(Box<RefusedCommand>),
    /// A crashed member was not restarted.
    NotRestarted(MemberName, BoardError),
    /// The member of a delegation was not started.
    NotDelegated(Uuid, BoardError),
    /// How many commands of this lead the board has decided, and the version of the log then; none if it cannot be asked.
    Progress(u64, Option<Version>),
    /// The store fails; the write is retried.
    StoreFails(String),
    /// The progress of the lead's agent on its last request has changed.
    LeadWorks,
    /// Another session leads the team.
    Superseded,
    /// The condition for the lead's end has changed.
    Until(Until),
    /// Members that have not stopped yet are killed.
    Hurry,
}

/// The preparation of a member's folder for a task.
#[derive(Debug)]
pub(super) struct FolderStart {
    pub(super) work: TaskAttempt,
    pub(super) folder: Result<TaskFolder, GitError>,
}

/// A comparison of the members' changes, and the watcher that made it.
#[derive(Debug)]
pub(super) struct WatchLook {
    pub(super) watcher: Watcher,
    pub(super) seen: Result<WatchReport, GitError>,
}

/// A command for a member that the board refused.
#[derive(Debug)]
pub(super) struct RefusedCommand {
    pub(super) runner: Runner,
    pub(super) request: CommandRequest,
    pub(super) why: String,
}

/// A timer's purpose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A process should have said that it is ready.
    Ready(Runner),
    /// A process should have stopped by itself.
    Grace(Runner),
    /// A process should have ended after SIGTERM, or after it closed its wire.
    Term(Runner),
    /// A process has ended, and its last output should have arrived.
    Bury(Runner),
    /// A member should have stopped working on a task that it lost.
    BreakOff(Runner),
    /// A crashed member is restarted.
    Restart(MemberName),
    /// The start of a member is retried.
    Start(MemberName),
    /// The preparation of a member's folder is retried.
    Begin(MemberName),
    /// A member said that it is idle, and should have reported on its task by now.
    Report(Runner, TaskNumber),
    /// An external member has ended a task, and should have sent its last messages by now.
    LastWords(MemberName),
    /// A member claimed a task and then said that it is idle: by now the log shows whether it got one.
    Claimed(Runner),
    /// A member whose wire was full may have read something.
    Retry(Runner),
    /// Leases, reminders and retries are checked.
    Tick,
    /// The lease of this lead is renewed.
    Renew,
    /// The lease of this lead should have been renewed.
    Tenure,
    /// The changes of members are compared for conflicts.
    Watch,
}

/// Queues the messages of one member with all other inputs.
#[derive(Debug)]
pub(super) struct WireEar {
    pub(super) runner: Runner,
    pub(super) inputs: mpsc::Sender<LeadInput>,
}

impl Inbox for WireEar {
    async fn deliver(&mut self, incoming: Incoming) {
        // The lead may have ended.
        drop(self.inputs.send(LeadInput::Wire(self.runner.clone(), incoming)).await);
    }
}
