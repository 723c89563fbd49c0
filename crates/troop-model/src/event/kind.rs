//! The one table of event names.

use super::Fact;

/// A place where event names are shown; each has its own spelling of the names in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// `task.created`: the log, the command line, REST, streams.
    Log,
    /// `team_task.created`, `team_updated`: the gateway's WebSocket methods.
    Gateway,
    /// `team:task:created`: observers.
    Observer,
}

impl Fact {
    /// The name of a fact in the log.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TeamCreated { .. } => "team.created",
            Self::TeamUpdated { .. } => "team.updated",
            Self::TeamCompleted {} => "team.completed",
            Self::TeamDeleted {} => "team.deleted",
            Self::TeamStopRequested { .. } => "team.stop_requested",
            Self::LeadTaken { .. } => "lead.taken",
            Self::LeadRenewed { .. } => "lead.renewed",
            Self::LeadReleased {} => "lead.released",
            Self::MemberAdded { .. } => "member.added",
            Self::MemberRemoved { .. } => "member.removed",
            Self::MemberStateChanged { .. } => "member.state_changed",
            Self::MemberInterrupted { .. } => "member.interrupted",
            Self::UsageReported { .. } => "usage.reported",
            Self::MemberModeChanged { .. } => "member.mode_changed",
            Self::LinkSet { .. } => "link.set",
            Self::LinkPurged { .. } => "link.purged",
            Self::TaskCreated { .. } => "task.created",
            Self::TaskUpdated { .. } => "task.updated",
            Self::TaskClaimed { .. } => "task.claimed",
            Self::TaskAssigned { .. } => "task.assigned",
            Self::TaskRenewed { .. } => "task.renewed",
            Self::TaskReleased { .. } => "task.released",
            Self::TaskProgressed { .. } => "task.progressed",
            Self::TaskSubmitted { .. } => "task.submitted",
            Self::TaskCompleted { .. } => "task.completed",
            Self::TaskApproved { .. } => "task.approved",
            Self::TaskStartApproved { .. } => "task.start_approved",
            Self::TaskRejected { .. } => "task.rejected",
            Self::TaskCancelled { .. } => "task.cancelled",
            Self::TaskFailed { .. } => "task.failed",
            Self::TaskRetried { .. } => "task.retried",
            Self::TaskStale { .. } => "task.stale",
            Self::TaskRecovered { .. } => "task.recovered",
            Self::TaskCommented { .. } => "task.commented",
            Self::TaskAttached { .. } => "task.attached",
            Self::TaskChecked { .. } => "task.checked",
            Self::TaskMerged { .. } => "task.merged",
            Self::TaskRefused { .. } => "task.refused",
            Self::TaskAsked { .. } => "task.asked",
            Self::TaskReminded { .. } => "task.reminded",
            Self::TaskAskCleared { .. } => "task.ask_cleared",
            Self::TaskEscalated { .. } => "task.escalated",
            Self::TaskDeleted { .. } => "task.deleted",
            Self::MessageSent { .. } => "message.sent",
            Self::MessageDelivered { .. } => "message.delivered",
            Self::MessageRead { .. } => "message.read",
            Self::FileWritten { .. } => "workspace.written",
            Self::FileDeleted { .. } => "workspace.deleted",
            Self::DelegationStarted { .. } => "delegation.started",
            Self::DelegationCompleted { .. } => "delegation.completed",
            Self::DelegationFailed { .. } => "delegation.failed",
            Self::DelegationCancelled { .. } => "delegation.cancelled",
            Self::DelegationsAnnounced { .. } => "delegation.announced",
        }
    }
}

impl Surface {
    /// This surface's spelling of a name in the log.
    #[must_use]
    pub fn spell(self, kind: &str) -> String {
        match (self, kind.split_once('.')) {
            (Self::Gateway, Some(("team", what))) => format!("team_{what}"),
            (Self::Gateway, Some((noun @ ("task" | "message"), what))) => {
                format!("team_{noun}.{what}")
            }
            (Self::Observer, Some(("team", what))) => format!("team:{what}"),
            (Self::Observer, Some((noun, what))) => format!("team:{noun}:{what}"),
            (Self::Log | Self::Gateway | Self::Observer, _) => kind.to_owned(),
        }
    }
}
