//! Compares before and after, and makes events of the difference.

use crate::{
    event::ObservedFact,
    team::{MemberStatus, ObservedMember, ObservedTask, ObservedTeam, TaskStatus, TeamRole},
};

/// A change of a team.
#[derive(Debug)]
pub(crate) enum ObservedChange {
    TeamMade(TeamRole),
    TeamGone(Box<ObservedTeam>),
    Member {
        before: Option<ObservedMember>,
        after: ObservedMember,
    },
    /// A removed task has the status `deleted` afterwards.
    Task {
        before: Option<Box<ObservedTask>>,
        after: Box<ObservedTask>,
    },
    /// A message, which changes nothing by itself.
    Said(ObservedFact),
}

/// The event for a change; `None` if nothing is different.
pub(crate) fn diff(change: ObservedChange) -> Option<ObservedFact> {
    match change {
        ObservedChange::TeamMade(role) => Some(ObservedFact::TeamCreated { role }),
        ObservedChange::TeamGone(_) => Some(ObservedFact::TeamDeleted),
        ObservedChange::Member { before, after } => member(before.as_ref(), after),
        ObservedChange::Task { before, after } => task(before.as_deref(), *after),
        ObservedChange::Said(what) => Some(what),
    }
}

fn member(before: Option<&ObservedMember>, member: ObservedMember) -> Option<ObservedFact> {
    let before = before.map(|it| it.status);
    if before == Some(member.status) {
        return None;
    }
    Some(match (before, member.status) {
        (None | Some(MemberStatus::Shutdown), MemberStatus::Active | MemberStatus::Idle)
        | (None, MemberStatus::Shutdown) => ObservedFact::MemberJoined { member },
        (Some(_), MemberStatus::Active) => ObservedFact::MemberActive { member },
        (Some(_), MemberStatus::Idle) => ObservedFact::MemberIdle { member },
        (Some(_), MemberStatus::Shutdown) => ObservedFact::MemberLeft { member },
    })
}

fn task(before: Option<&ObservedTask>, task: ObservedTask) -> Option<ObservedFact> {
    let Some(before) = before else { return Some(ObservedFact::TaskCreated { task }) };
    if *before == task {
        return None;
    }
    let is_new_status = before.status != task.status;
    let is_new_owner = before.owner != task.owner;
    Some(match task.status {
        TaskStatus::Deleted => ObservedFact::TaskDeleted { task },
        TaskStatus::Completed if is_new_status => ObservedFact::TaskCompleted { task },
        TaskStatus::InProgress if task.owner.is_some() && (is_new_status || is_new_owner) => {
            ObservedFact::TaskClaimed { task }
        }
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => {
            ObservedFact::TaskUpdated { task }
        }
    })
}
