//! What changes by what teammates write.

use crate::{
    diff::Change,
    event::What,
    mail::{Content, Mail},
    team::{LEAD, Member, MemberStatus, TaskStatus, Team},
};

use super::{GENERAL, put_member, set_status};

/// Changes the team by what a teammate wrote to the observed session.
pub(crate) fn reduce_mail(team: &mut Team, mail: Mail) -> Vec<Change> {
    let mut changes = Vec::new();
    let Mail { from, color, summary, content } = mail;
    if team.may_have_more() && from != LEAD && from != "system" && team.member(&from).is_none() {
        // The stream began after this one had joined.
        let member = Member {
            agent_id: format!("{from}@{}", team.name),
            name: from.clone(),
            agent_type: GENERAL.to_owned(),
            status: MemberStatus::Active,
            model: None,
            color,
            tool_use_id: None,
            tentative: false,
        };
        changes.push(put_member(team, None, member));
    }
    let to = team.own_name().to_owned();
    let mut status = None;
    let what = match content {
        Content::Text(content) => {
            What::Message { from: from.clone(), to: Some(to), content, summary }
        }
        Content::Idle { completed } => {
            if let Some(task) = completed.as_ref().and_then(|it| team.tasks.get_mut(it)) {
                let before = Some(Box::new(task.clone()));
                task.status = TaskStatus::Completed;
                changes.push(Change::Task { before, after: Box::new(task.clone()) });
            }
            status = Some(MemberStatus::Idle);
            What::Idle { from: from.clone(), completed_task_id: completed }
        }
        Content::ShutdownRequest { request_id, reason } => {
            What::ShutdownRequest { from: from.clone(), to, request_id, reason }
        }
        Content::ShutdownResponse { request_id, approved, reason } => {
            status = approved.then_some(MemberStatus::Shutdown);
            What::ShutdownResponse { from: from.clone(), request_id, approved, reason }
        }
        Content::PlanRequest { request_id, plan } => {
            What::PlanApprovalRequest { from: from.clone(), to, request_id, plan }
        }
        Content::PlanResponse { request_id, approved, feedback } => {
            What::PlanApprovalResponse { from: from.clone(), to, request_id, approved, feedback }
        }
    };
    changes.push(Change::Said(what));
    changes.extend(status.and_then(|status| set_status(team, &from, status)));
    changes
}
