//! Applies messages of teammates to a team.

use crate::{
    diff::ObservedChange,
    event::ObservedFact,
    mail::{Content, TeammateMail},
    team::{LEAD, MemberStatus, ObservedMember, ObservedTeam, TaskStatus},
};

use super::{GENERAL, put_member, set_status};

/// Applies a message from a teammate to the observed session.
pub(crate) fn reduce_mail(team: &mut ObservedTeam, mail: TeammateMail) -> Vec<ObservedChange> {
    let mut changes = Vec::new();
    let TeammateMail { from, color, summary, content } = mail;
    if team.may_have_more() && from != LEAD && from != "system" && team.member(&from).is_none() {
        // This member joined before the stream began.
        let member = ObservedMember {
            agent_id: format!("{from}@{}", team.name),
            name: from.clone(),
            agent_type: GENERAL.to_owned(),
            status: MemberStatus::Active,
            model: None,
            color: None,
            tool_use_id: None,
            background: false,
            tokens: None,
            tentative: false,
        };
        changes.push(put_member(team, None, member));
    }
    if let (Some(member), Some(color)) = (team.member_mut(&from), color) {
        member.color.get_or_insert(color);
    }
    let to = team.own_name().to_owned();
    let mut status = None;
    let what = match content {
        Content::Text(content) => ObservedFact::Message {
            from: from.clone(),
            to: Some(to),
            content,
            summary,
            delivery: None,
        },
        Content::Idle { completed } => {
            if let Some(task) = completed.as_ref().and_then(|it| team.tasks.get_mut(it)) {
                let before = Some(Box::new(task.clone()));
                task.status = TaskStatus::Completed;
                changes.push(ObservedChange::Task { before, after: Box::new(task.clone()) });
            }
            status = Some(MemberStatus::Idle);
            ObservedFact::Idle { from: from.clone(), completed_task_id: completed }
        }
        Content::ShutdownRequest { request_id, reason } => {
            ObservedFact::ShutdownRequest { from: from.clone(), to, request_id, reason }
        }
        Content::ShutdownResponse { request_id, approved, reason } => {
            status = approved.then_some(MemberStatus::Shutdown);
            ObservedFact::ShutdownResponse { from: from.clone(), request_id, approved, reason }
        }
        Content::PlanRequest { request_id, plan } => {
            ObservedFact::PlanApprovalRequest { from: from.clone(), to, request_id, plan }
        }
        Content::PlanResponse { request_id, approved, feedback } => {
            ObservedFact::PlanApprovalResponse {
                from: from.clone(),
                to,
                request_id,
                approved,
                feedback,
            }
        }
    };
    changes.push(ObservedChange::Said(what));
    changes.extend(status.and_then(|status| set_status(team, &from, status)));
    changes
}
