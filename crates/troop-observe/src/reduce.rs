//! Applies tool uses and their results to a team. Applying the same one twice changes nothing.

mod background;
mod mail;
mod shelf;
mod tentative;

pub(crate) use background::{find_background, follow_background};
pub(crate) use mail::reduce_mail;
pub(crate) use shelf::Shelf;
pub(crate) use tentative::imagine;

use crate::{
    answer::ToolAnswer,
    correlate::PendingUse,
    diff::ObservedChange,
    event::ObservedFact,
    team::{
        MemberStatus, ObservedMember, ObservedTask, ObservedTaskId, ObservedTeam, TaskStatus,
        TeamRole, name_of_session,
    },
    vocabulary::{LetterKind, ObservedSpawn, ObservedUpdate, Operation, SentLetter},
};

/// The type of a member whose spawn names none.
const GENERAL: &str = "general-purpose";

/// Changes the team, or the tasks that wait for one. An error changes nothing.
pub(crate) fn reduce(
    team: &mut Option<ObservedTeam>,
    shelf: &mut Shelf,
    asked: &PendingUse,
    answer: &ToolAnswer,
    session_id: Option<&str>,
) -> Vec<ObservedChange> {
    if answer.is_error {
        return Vec::new();
    }
    match (&asked.operation, team) {
        (Operation::CreateTeam { name }, team) => {
            // A team that is created explicitly has its own task list.
            shelf.clear();
            create_team(team, answer.team().unwrap_or(name))
        }
        (Operation::DeleteTeam, team) => {
            shelf.clear();
            team.take().map(|team| ObservedChange::TeamGone(Box::new(team))).into_iter().collect()
        }
        (Operation::Spawn(it), team) => {
            let mut changes = find_team_of(team, shelf, answer, session_id);
            changes.extend(spawn(team.as_mut(), it, &asked.id, answer));
            changes
        }
        (operation, Some(team)) => within(team, operation, asked, answer),
        (operation @ (Operation::CreateTask { .. } | Operation::UpdateTask(_)), None) => {
            shelf.change(|team| within(team, operation, asked, answer));
            Vec::new()
        }
        (Operation::ListTasks | Operation::GetTask { .. } | Operation::Send(_), None) => Vec::new(),
    }
}

fn within(
    team: &mut ObservedTeam,
    operation: &Operation,
    asked: &PendingUse,
    answer: &ToolAnswer,
) -> Vec<ObservedChange> {
    match operation {
        Operation::CreateTask { subject, description, active_form } => {
            let Some(id) = answer.created() else { return Vec::new() };
            let mut task = ObservedTask::new(id, subject.clone());
            task.description.clone_from(description);
            task.active_form.clone_from(active_form);
            add_task(team, task).into_iter().collect()
        }
        Operation::UpdateTask(update) => update_task(team, update, asked.actor.as_deref(), answer),
        Operation::ListTasks => catch_up(team, answer),
        Operation::Send(letter) => send(team, letter, asked.actor.as_deref(), answer),
        Operation::GetTask { .. }
        | Operation::CreateTeam { .. }
        | Operation::DeleteTeam
        | Operation::Spawn(_) => Vec::new(),
    }
}

fn create_team(team: &mut Option<ObservedTeam>, name: &str) -> Vec<ObservedChange> {
    match team {
        None => {
            *team = Some(ObservedTeam::new(name.to_owned(), TeamRole::Lead));
            vec![ObservedChange::TeamMade(TeamRole::Lead)]
        }
        Some(team) => {
            // We knew the team before we saw its creation.
            if team.is_partial && team.name == name {
                team.role = TeamRole::Lead;
                team.is_partial = false;
            }
            Vec::new()
        }
    }
}

/// A team that existed before the stream began, or that Claude Code creates implicitly.
pub(crate) fn find_team(
    team: &mut Option<ObservedTeam>,
    name: &str,
    role: TeamRole,
) -> Option<ObservedChange> {
    if team.is_some() {
        return None;
    }
    *team = Some(ObservedTeam { is_partial: true, ..ObservedTeam::new(name.to_owned(), role) });
    Some(ObservedChange::TeamMade(role))
}

/// The team whose name we learn from its first teammate; a session with a named background agent is a team itself. The
/// session that spawned it leads, and the session's tasks become the team's.
fn find_team_of(
    team: &mut Option<ObservedTeam>,
    shelf: &mut Shelf,
    answer: &ToolAnswer,
    session_id: Option<&str>,
) -> Vec<ObservedChange> {
    let name = if answer.has_launched() {
        Some(name_of_session(session_id))
    } else {
        answer.team().filter(|_| answer.has_spawned()).map(str::to_owned)
    };
    let made = name.and_then(|name| find_team(team, &name, TeamRole::Lead));
    let given = team.as_mut().filter(|_| made.is_some()).map(|team| shelf.give_to(team));
    made.into_iter().chain(given.into_iter().flatten()).collect()
}

fn spawn(
    team: Option<&mut ObservedTeam>,
    spawn: &ObservedSpawn,
    id: &str,
    answer: &ToolAnswer,
) -> Option<ObservedChange> {
    let team = team?;
    let background = answer.has_launched();
    if !(answer.has_spawned() || spawn.team.is_some() || (background && team.is_implicit())) {
        return None;
    }
    // Teammates hear from the client which name they got, if theirs was taken.
    let fields = &answer.fields;
    let name = fields.name.as_ref().unwrap_or(&spawn.name);
    let name = &if background { free_name(team, name, id) } else { name.clone() };
    let known = team.member(name);
    if known.is_some_and(|it| {
        it.status != MemberStatus::Shutdown || it.tool_use_id.as_deref() == Some(id)
    }) {
        return None;
    }
    let before = known.cloned();
    let agent_type = fields.agent_type.as_ref().or(spawn.agent_type.as_ref());
    let after = ObservedMember {
        name: name.to_owned(),
        agent_id: fields.agent_id.clone().unwrap_or_else(|| format!("{name}@{}", team.name)),
        agent_type: agent_type.map_or(GENERAL, String::as_str).to_owned(),
        status: MemberStatus::Active,
        model: fields.model.clone().or_else(|| spawn.model.clone()),
        color: fields.color.clone(),
        tool_use_id: Some(id.to_owned()),
        background,
        tokens: None,
        tentative: false,
    };
    Some(put_member(team, before, after))
}

/// A name for a background agent. The client lets several have the same one, and we do not.
fn free_name(team: &ObservedTeam, name: &str, id: &str) -> String {
    let is_free = |name: &str| {
        team.member(name).is_none_or(|it| {
            it.status == MemberStatus::Shutdown || it.tool_use_id.as_deref() == Some(id)
        })
    };
    let others = (2..).map(|nth: usize| format!("{name}-{nth}"));
    let mut names = std::iter::once(name.to_owned()).chain(others);
    names.find(|it| is_free(it)).unwrap_or_default()
}

fn put_member(
    team: &mut ObservedTeam,
    before: Option<ObservedMember>,
    after: ObservedMember,
) -> ObservedChange {
    match team.member_mut(&after.name) {
        Some(member) => *member = after.clone(),
        None => team.members.push(after.clone()),
    }
    ObservedChange::Member { before, after }
}

/// Changes a member's status by what its tasks say. Of a background agent, the stream itself says when it works.
pub(crate) fn infer_status(
    team: &mut ObservedTeam,
    name: &str,
    status: MemberStatus,
) -> Option<ObservedChange> {
    team.member(name).filter(|it| !it.background)?;
    set_status(team, name, status)
}

/// Changes a member's status. A member that has shut down stays so.
pub(crate) fn set_status(
    team: &mut ObservedTeam,
    name: &str,
    status: MemberStatus,
) -> Option<ObservedChange> {
    let member = team.member_mut(name)?;
    if member.status == status || member.status == MemberStatus::Shutdown {
        return None;
    }
    let before = Some(member.clone());
    member.status = status;
    Some(ObservedChange::Member { before, after: member.clone() })
}

fn add_task(team: &mut ObservedTeam, task: ObservedTask) -> Option<ObservedChange> {
    let id = task.id.clone();
    if team.tasks.contains_key(&id) || team.deleted.contains(&id) {
        return None;
    }
    let mut task = task;
    if team.missing.remove(&id) {
        // Other tasks named this one before it existed.
        for other in team.tasks.values() {
            if other.blocked_by.contains(&id) {
                task.blocks.insert(other.id.clone());
            }
            if other.blocks.contains(&id) {
                task.blocked_by.insert(other.id.clone());
            }
        }
    }
    team.tasks.insert(id, task.clone());
    Some(ObservedChange::Task { before: None, after: Box::new(task) })
}

fn update_task(
    team: &mut ObservedTeam,
    update: &ObservedUpdate,
    actor: Option<&str>,
    answer: &ToolAnswer,
) -> Vec<ObservedChange> {
    let Some(task) = team.tasks.get(&update.task) else { return Vec::new() };
    let before = Box::new(task.clone());
    if update.status == Some(TaskStatus::Deleted) {
        return delete_task(team, *before);
    }
    let mut update = update.clone();
    if update.owner.is_none() && answer.has_updated("owner") {
        // A member that starts an unowned task becomes its owner implicitly.
        update.owner = Some(actor.unwrap_or(team.own_name()).to_owned());
    }
    let neighbours = change_task(team, &update);
    let Some(after) = team.tasks.get(&update.task).cloned() else { return Vec::new() };
    let mut changes =
        vec![ObservedChange::Task { before: Some(before), after: Box::new(after.clone()) }];
    changes.extend(neighbours);
    if let (Some(TaskStatus::InProgress), Some(owner)) = (update.status, &after.owner) {
        changes.extend(infer_status(team, owner, MemberStatus::Active));
    }
    changes
}

/// Applies an update; returns the other tasks whose dependencies changed.
fn change_task(team: &mut ObservedTeam, update: &ObservedUpdate) -> Vec<ObservedChange> {
    let id = &update.task;
    if let Some(task) = team.tasks.get_mut(id) {
        task.status = update.status.unwrap_or(task.status);
        if let Some(owner) = &update.owner {
            task.owner = Some(owner.clone()).filter(|it| !it.is_empty());
        }
        if let Some(subject) = &update.subject {
            task.subject.clone_from(subject);
        }
        task.description = update.description.clone().or(task.description.take());
        task.active_form = update.active_form.clone().or(task.active_form.take());
        task.blocked_by.extend(update.add_blocked_by.iter().cloned());
        task.blocks.extend(update.add_blocks.iter().cloned());
    }
    for other in &update.add_blocked_by {
        match team.tasks.get_mut(other) {
            Some(other) => drop(other.blocks.insert(id.clone())),
            None => drop(team.missing.insert(other.clone())),
        }
    }
    let mut changes = Vec::new();
    for other in &update.add_blocks {
        let Some(task) = team.tasks.get_mut(other) else {
            team.missing.insert(other.clone());
            continue;
        };
        let before = Some(Box::new(task.clone()));
        if task.blocked_by.insert(id.clone()) && other != id {
            changes.push(ObservedChange::Task { before, after: Box::new(task.clone()) });
        }
    }
    changes
}

fn delete_task(team: &mut ObservedTeam, task: ObservedTask) -> Vec<ObservedChange> {
    team.tasks.remove(&task.id);
    team.deleted.insert(task.id.clone());
    let mut changes = Vec::new();
    for other in &task.blocked_by {
        if let Some(other) = team.tasks.get_mut(other) {
            other.blocks.remove(&task.id);
        }
    }
    for other in &task.blocks {
        let Some(other) = team.tasks.get_mut(other) else { continue };
        let before = Some(Box::new(other.clone()));
        if other.blocked_by.remove(&task.id) {
            changes.push(ObservedChange::Task { before, after: Box::new(other.clone()) });
        }
    }
    let after = ObservedTask { status: TaskStatus::Deleted, ..task.clone() };
    changes
        .insert(0, ObservedChange::Task { before: Some(Box::new(task)), after: Box::new(after) });
    changes
}

/// A list never changes known tasks. It only adds tasks from before the stream began.
fn catch_up(team: &mut ObservedTeam, answer: &ToolAnswer) -> Vec<ObservedChange> {
    if !team.may_have_more() {
        return Vec::new();
    }
    let mut changes = Vec::new();
    for listed in answer.listed() {
        let mut task = ObservedTask::new(listed.task.clone(), listed.subject.to_owned());
        task.status = listed.status;
        task.owner = listed.owner.map(str::to_owned);
        if let Some(change) = add_task(team, task) {
            let update = blocked_by(listed.task, listed.blocked_by);
            change_task(team, &update);
            changes.push(match (change, team.tasks.get(&update.task)) {
                (ObservedChange::Task { before, .. }, Some(task)) => {
                    ObservedChange::Task { before, after: Box::new(task.clone()) }
                }
                (change, _) => change,
            });
        }
    }
    changes
}

fn blocked_by(task: ObservedTaskId, add_blocked_by: Vec<ObservedTaskId>) -> ObservedUpdate {
    ObservedUpdate {
        task,
        status: None,
        owner: None,
        subject: None,
        description: None,
        active_form: None,
        add_blocks: Vec::new(),
        add_blocked_by,
    }
}

fn send(
    team: &mut ObservedTeam,
    letter: &SentLetter,
    actor: Option<&str>,
    answer: &ToolAnswer,
) -> Vec<ObservedChange> {
    if let (None, Some(sender)) = (actor, &answer.fields.sender) {
        team.own_name = Some(sender.clone());
    }
    let from = actor.unwrap_or(team.own_name()).to_owned();
    let to = receiver(team, letter, answer).unwrap_or_default();
    let request_id = letter.request_id.clone().or_else(|| answer.fields.request_id.clone());
    let content = letter.content.clone();
    let said = Some(content.clone()).filter(|it| !it.is_empty());
    let approved = letter.approve.unwrap_or(false);
    let mut changes = Vec::new();
    let what = match letter.kind {
        LetterKind::Message | LetterKind::Broadcast => ObservedFact::Message {
            from,
            to: receiver(team, letter, answer),
            content,
            summary: letter.summary.clone(),
            delivery: answer.fields.delivery,
        },
        LetterKind::ShutdownRequest => {
            ObservedFact::ShutdownRequest { from, to, request_id, reason: said }
        }
        LetterKind::ShutdownResponse => {
            let from = who_stops(team, from, request_id.as_deref(), &to);
            if approved {
                changes.extend(set_status(team, &from, MemberStatus::Shutdown));
            }
            ObservedFact::ShutdownResponse { from, request_id, approved, reason: said }
        }
        LetterKind::PlanApprovalRequest => {
            ObservedFact::PlanApprovalRequest { from, to, request_id, plan: content }
        }
        LetterKind::PlanApprovalResponse => {
            ObservedFact::PlanApprovalResponse { from, to, request_id, approved, feedback: said }
        }
    };
    changes.insert(0, ObservedChange::Said(what));
    changes
}

/// The receiver's name. A background agent can be named by its id; if several have a name, the result says which it was.
fn receiver(team: &ObservedTeam, letter: &SentLetter, answer: &ToolAnswer) -> Option<String> {
    let named = [answer.fields.receiver.as_deref(), letter.to.as_deref()];
    let mut members = named.into_iter().flatten().map(|it| team.member_with_agent_id(it));
    let member = members.find_map(|it| it).map(|it| it.name.clone());
    member.or_else(|| letter.to.clone())
}

/// The member that answers a shutdown request: the speaker if it is a member, else the one in the request's id:
/// `shutdown-123@alice`.
fn who_stops(team: &ObservedTeam, from: String, request_id: Option<&str>, to: &str) -> String {
    let named = request_id.and_then(|it| it.rsplit_once('@')).map(|(_, name)| name);
    let is_member = |name: &&str| team.member(name).is_some();
    let found = [Some(from.as_str()), named, Some(to)].into_iter().flatten().find(is_member);
    found.map(str::to_owned).unwrap_or(from)
}
