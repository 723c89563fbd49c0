//! Everything that can come to a lead, in one closed list.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::mpsc;
use troop_model::{Event, MemberName, TaskNumber, Version};
use troop_protocol::{Inbox, Incoming, Responder};
use uuid::Uuid;

use super::{
    Runner, Until,
    completion::{FileListing, LateMerge, PassageId},
    crew::lifecycle::MemberExit,
    gate::HookReply,
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
    /// The log cannot be followed any more; none if the board was closed.
    LogLost(Option<BoardError>),
    /// A member's wire says something.
    Wire(Runner, Incoming),
    /// A member's process, or its task, has ended.
    Exited(Runner, MemberExit),
    /// A member's process wrote to standard error.
    Complained(Runner, String),
    /// A moment has come.
    Due(Due),
    /// The files of a task are listed, which its holder lets go.
    FilesListed(PassageId, Box<FileListing>),
    /// Hooks have spoken about something that waited for them.
    Judged(Box<HookReply>),
    /// It is known whether something is done that was said to be.
    Proved(PassageId, Box<Result<WorkReport, GitError>>),
    /// The board has decided what follows from an objection to a passage; no effect if it refused to.
    Decided(PassageId, Option<CommandEffect>),
    /// It is known what became of work that could not be merged when it was done.
    MergedLate(Box<LateMerge>),
    /// A member's folder is there, or cannot be made.
    Placed(MemberName, Result<PathBuf, GitError>),
    /// A member's folder is ready for a task, or cannot be made so.
    Begun(Box<(TaskAttempt, Result<TaskFolder, GitError>)>),
    /// Something for a member cannot be done now, and is tried again.
    Waits(MemberName, String),
    /// What was seen of what members are doing.
    Watched(Box<(Watcher, Result<WatchReport, GitError>)>),
    /// A check of a member's work printed a line.
    Shown(MemberName, String),
    /// Another process gives a command by way of this lead.
    Called(Box<(CommandRequest, Responder)>),
    /// A member was given work, or was not; what came of it is in the log up to there.
    Settled(Runner, Option<Version>),
    /// The board refused what was given for a member, which does not know yet.
    Refused(Box<(Runner, CommandRequest, String)>),
    /// A member that crashed was not started again.
    NotRestarted(MemberName, BoardError),
    /// The member to whom something was delegated was not started.
    NotDelegated(Uuid, BoardError),
    /// The store fails; what was to be written is given to it again.
    StoreFails(String),
    /// The lead's agent stands otherwise with what it was told than before.
    LeadWorks,
    /// Another session leads the team.
    Superseded,
    /// The work is over at another moment than was said before.
    Until(Until),
    /// Members that have not stopped yet are ended at once.
    Hurry,
}

/// A moment that we waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// A process should have said that it is ready.
    Ready(Runner),
    /// A process should have stopped by itself.
    Grace(Runner),
    /// A process should have stopped on being told to.
    Term(Runner),
    /// A process has ended, and its last words should have been heard.
    Bury(Runner),
    /// A member should have broken off what is not its own any more.
    BreakOff(Runner),
    /// A member that crashed is started again.
    Restart(MemberName),
    /// A member that could not be started is tried again.
    Start(MemberName),
    /// A member's folder that could not be made ready is tried again.
    Begin(MemberName),
    /// A member said that it is idle, and should have said by now how its task stands.
    Word(Runner, TaskNumber),
    /// A member that troop does not run has ended a task, and should have said by now what else there is to say.
    LastWords(MemberName),
    /// A member asked for a task and then said that it is idle: by now the log says whether it got one.
    Claimed(Runner),
    /// A member that could not be written to may have read something.
    Retry(Runner),
    /// It is time to look at leases, reminders and retries.
    Tick,
    /// It is time to say that this lead is alive.
    Renew,
    /// It is time to look whether what members are doing fits together.
    Watch,
}

/// Puts what one member says in line with everything else.
#[derive(Debug)]
pub(super) struct WireEar {
    pub(super) runner: Runner,
    pub(super) inputs: mpsc::Sender<LeadInput>,
}

impl Inbox for WireEar {
    async fn deliver(&mut self, incoming: Incoming) {
        // After the lead's end nobody listens.
        drop(self.inputs.send(LeadInput::Wire(self.runner.clone(), incoming)).await);
    }
}
