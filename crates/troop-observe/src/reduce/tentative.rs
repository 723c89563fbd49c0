//! Predicts a team from tool uses without results. The prediction is a copy, so nothing needs undoing.

use crate::{
    correlate::PendingUse,
    team::{
        MemberStatus, ObservedMember, ObservedTask, ObservedTaskId, ObservedTeam, TaskStatus,
        TeamRole,
    },
    vocabulary::{ObservedUpdate, Operation},
};

use super::{GENERAL, change_task};

/// Changes a copy of a team as if a tool use had succeeded, and marks the difference as tentative.
pub(crate) fn imagine(team: &mut Option<ObservedTeam>, asked: &PendingUse) {
    if let (Operation::CreateTeam { name }, None) = (&asked.operation, &*team) {
        *team = Some(ObservedTeam {
            tentative: true,
            ..ObservedTeam::new(name.clone(), TeamRole::Lead)
        });
        return;
    }
    let Some(team) = team else { return };
    match &asked.operation {
        // The team still exists, and the deletion may be refused.
        Operation::DeleteTeam => team.tentative = true,
        Operation::Spawn(spawn) if spawn.team.is_some() && team.member(&spawn.name).is_none() => {
            team.members.push(ObservedMember {
                name: spawn.name.clone(),
                agent_id: format!("{}@{}", spawn.name, team.name),
                agent_type: spawn.agent_type.clone().unwrap_or_else(|| GENERAL.to_owned()),
                status: MemberStatus::Active,
                model: spawn.model.clone(),
                color: None,
                tool_use_id: Some(asked.id.clone()),
                background: false,
                tokens: None,
                tentative: true,
            });
        }
        Operation::CreateTask { subject, description, active_form } => {
            let Some(id) = ObservedTaskId::new(&asked.id) else { return };
            let mut task = ObservedTask::new(id, subject.clone());
            task.description.clone_from(description);
            task.active_form.clone_from(active_form);
            task.tentative = true;
            team.tasks.entry(task.id.clone()).or_insert(task);
        }
        Operation::UpdateTask(update) => imagine_update(team, update),
        Operation::CreateTeam { .. }
        | Operation::Spawn(_)
        | Operation::ListTasks
        | Operation::GetTask { .. }
        | Operation::Send(_) => {}
    }
}

fn imagine_update(team: &mut ObservedTeam, update: &ObservedUpdate) {
    if !team.tasks.contains_key(&update.task) {
        return;
    }
    let is_deletion = update.status == Some(TaskStatus::Deleted);
    if !is_deletion {
        change_task(team, update);
    }
    if let Some(task) = team.tasks.get_mut(&update.task) {
        task.tentative = true;
    }
}
