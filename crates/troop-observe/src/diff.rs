//! Tells what changed: before and after in, events out.

use crate::{
    event::What,
    team::{Member, MemberStatus, Task, TaskStatus, Team, TeamRole},
};

/// Something that is no longer what it was.
#[derive(Debug)]
pub(crate) enum Change {
    TeamMade(TeamRole),
    TeamGone(Box<Team>),
    Member {
        before: Option<Member>,
        after: Member,
    },
    /// Afterwards, a task that is gone is `deleted`.
    Task {
        before: Option<Box<Task>>,
        after: Box<Task>,
    },
    /// Something was said, which changes nothing by itself.
    Said(What),
}

/// What there is to tell about a change; nothing where nothing is different.
pub(crate) fn diff(change: Change) -> Option<What> {
    match change {
        Change::TeamMade(role) => Some(What::TeamCreated { role }),
        Change::TeamGone(_) => Some(What::TeamDeleted),
        Change::Member { before, after } => member(before.as_ref(), after),
        Change::Task { before, after } => task(before.as_deref(), *after),
        Change::Said(what) => Some(what),
    }
}

fn member(before: Option<&Member>, member: Member) -> Option<What> {
    let before = before.map(|it| it.status);
    if before == Some(member.status) {
        return None;
    }
    Some(match (before, member.status) {
        (None | Some(MemberStatus::Shutdown), MemberStatus::Active | MemberStatus::Idle)
        | (None, MemberStatus::Shutdown) => What::MemberJoined { member },
        (Some(_), MemberStatus::Active) => What::MemberActive { member },
        (Some(_), MemberStatus::Idle) => What::MemberIdle { member },
        (Some(_), MemberStatus::Shutdown) => What::MemberLeft { member },
    })
}

fn task(before: Option<&Task>, task: Task) -> Option<What> {
    let Some(before) = before else { return Some(What::TaskCreated { task }) };
    if *before == task {
        return None;
    }
    let is_new_status = before.status != task.status;
    let is_new_owner = before.owner != task.owner;
    Some(match task.status {
        TaskStatus::Deleted => What::TaskDeleted { task },
        TaskStatus::Completed if is_new_status => What::TaskCompleted { task },
        TaskStatus::InProgress if task.owner.is_some() && (is_new_status || is_new_owner) => {
            What::TaskClaimed { task }
        }
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => {
            What::TaskUpdated { task }
        }
    })
}
