//! The task that a fact is about.

use super::Fact;
use crate::TaskNumber;

impl Fact {
    /// The task that a fact is about.
    #[must_use]
    pub fn task(&self) -> Option<TaskNumber> {
        match self {
            Self::TaskCreated { task, .. }
            | Self::TaskUpdated { task, .. }
            | Self::TaskClaimed { task, .. }
            | Self::TaskAssigned { task, .. }
            | Self::TaskRenewed { task, .. }
            | Self::TaskReleased { task, .. }
            | Self::TaskProgressed { task, .. }
            | Self::TaskSubmitted { task, .. }
            | Self::TaskCompleted { task, .. }
            | Self::TaskApproved { task, .. }
            | Self::TaskStartApproved { task }
            | Self::TaskRejected { task, .. }
            | Self::TaskCancelled { task, .. }
            | Self::TaskFailed { task, .. }
            | Self::TaskRetried { task, .. }
            | Self::TaskStale { task }
            | Self::TaskRecovered { task }
            | Self::TaskCommented { task, .. }
            | Self::TaskAttached { task, .. }
            | Self::TaskChecked { task, .. }
            | Self::TaskMerged { task, .. }
            | Self::TaskAsked { task, .. }
            | Self::TaskReminded { task, .. }
            | Self::TaskAskCleared { task }
            | Self::TaskEscalated { task, .. }
            | Self::TaskDeleted { task }
            | Self::DelegationStarted { task, .. } => Some(*task),
            Self::MessageSent { task, .. }
            | Self::FileWritten { task, .. }
            | Self::TaskRefused { task, .. }
            | Self::UsageReported { task, .. } => *task,
            Self::TeamCreated { .. }
            | Self::TeamUpdated { .. }
            | Self::TeamCompleted {}
            | Self::TeamDeleted {}
            | Self::TeamStopRequested { .. }
            | Self::LeadTaken { .. }
            | Self::LeadRenewed { .. }
            | Self::LeadReleased {}
            | Self::MemberInterrupted { .. }
            | Self::MemberAdded { .. }
            | Self::MemberRemoved { .. }
            | Self::MemberStateChanged { .. }
            | Self::MemberModeChanged { .. }
            | Self::LinkSet { .. }
            | Self::LinkPurged { .. }
            | Self::MessageDelivered { .. }
            | Self::MessageRead { .. }
            | Self::FileDeleted { .. }
            | Self::DelegationCompleted { .. }
            | Self::DelegationFailed { .. }
            | Self::DelegationCancelled { .. }
            | Self::DelegationsAnnounced { .. } => None,
        }
    }
}
