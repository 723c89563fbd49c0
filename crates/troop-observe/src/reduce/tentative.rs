//! What a team will be if what was asked happens. Nothing of it is kept, so nothing has to be taken back.

use crate::{
    correlate::Pending,
    team::{Member, MemberStatus, Task, TaskId, TaskStatus, Team, TeamRole},
    vocabulary::{Operation, Update},
};

use super::{GENERAL, change_task};

/// Changes a copy of a team as if something had happened, and marks what is different.
pub(crate) fn imagine(team: &mut Option<Team>, asked: &Pending) {
    if let (Operation::CreateTeam { name }, None) = (&asked.operation, &*team) {
        *team = Some(Team { tentative: true, ..Team::new(name.clone(), TeamRole::Lead) });
        return;
    }
    let Some(team) = team else { return };
    match &asked.operation {
        // What is about to end is still there, and it may be refused.
        Operation::DeleteTeam => team.tentative = true,
        Operation::Spawn(spawn) if spawn.team.is_some() && team.member(&spawn.name).is_none() => {
            team.members.push(Member {
                name: spawn.name.clone(),
                agent_id: format!("{}@{}", spawn.name, team.name),
                agent_type: spawn.agent_type.clone().unwrap_or_else(|| GENERAL.to_owned()),
                status: MemberStatus::Active,
                model: spawn.model.clone(),
                color: None,
                tool_use_id: Some(asked.id.clone()),
                tentative: true,
            });
        }
        Operation::CreateTask { subject, description, active_form } => {
            let Some(id) = TaskId::new(&asked.id) else { return };
            let mut task = Task::new(id, subject.clone());
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

fn imagine_update(team: &mut Team, update: &Update) {
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
