//! Rules of a task's contents: creating, changing, deleting it, comments, files, questions.

use std::time::Duration;

use super::{Draft, Standing, proof, supervision};
use crate::{
    Dependency, Fact, MemberName, MessageKind, Metadata, NewTask, Party, Refusal, Status, Task,
    TaskAction, TaskChange, TaskCreation, TaskNumber, TaskRef, TaskUpdate, Version,
    query::is_visible, text, workspace::workspace_path,
};

/// How many comments one task takes.
const MAX_COMMENTS: usize = 10_000;
/// How many tasks a refusal names.
const MAX_NAMED: usize = 10;
/// How many dependencies one task may have.
const MAX_DEPENDENCIES: usize = 1_000;
/// troop itself runs the checks, whatever the permissions of the member that named them.
const NAME_CHECKS: &str = "say what is run to check tasks";

pub(super) fn create(draft: &mut Draft<'_>, new: &NewTask) -> Result<TaskNumber, Refusal> {
    let settings = &draft.team()?.settings;
    if settings.task_creation == TaskCreation::Lead {
        draft.only_lead("create tasks")?;
    }
    if !new.checks.is_empty() {
        draft.only_lead(NAME_CHECKS)?;
    }
    if let Some(seen) = new.seen {
        check_seen(draft, seen)?;
    }
    let number =
        draft.state.tasks.last().0.checked_add(1).map(TaskNumber).ok_or(Refusal::NoMoreNumbers)?;
    let id = match new.id {
        Some(id) => check_id(draft, id)?,
        None => draft.new_id(),
    };
    let assignee = match &new.assignee {
        Some(assignee) => Some(draft.state.find_member(assignee.as_str())?.name.clone()),
        None => None,
    };
    let blocked_by = dependencies(draft, &new.blocked_by, new.until.unwrap_or(settings.unblock))?;
    let approve_start = new.approve_start.unwrap_or(settings.approve_start);
    if approve_start && settings.version < TaskAction::Approve.first_version() {
        return Err(Refusal::NeedsVersion2 { action: TaskAction::Approve });
    }
    draft.push(Fact::TaskCreated {
        task: number,
        id,
        subject: text::line("subject", &new.subject)?,
        description: text::optional_block("description", &new.description)?,
        priority: new.priority,
        task_type: label(new.task_type.as_deref().unwrap_or("general"))?,
        assignee,
        blocked_by,
        approve_start,
        checks: proof::checks(&new.checks)?,
        origin: draft.ctx.asker.origin.clone(),
        metadata: free_data(&new.metadata)?,
    });
    Ok(number)
}

pub(super) fn update(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    update: &TaskUpdate,
) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    let settings = &draft.team()?.settings;
    let is_own = settings.task_creation == TaskCreation::Members
        && task.provenance.created_by == draft.actor();
    if !is_own {
        draft.only_lead("change tasks")?;
    }
    if update.checks.is_some() {
        draft.only_lead(NAME_CHECKS)?;
    }
    if task.status.is_finished() {
        let status = draft.status(task);
        return Err(Refusal::WrongStatus { task: task.number, status, action: TaskAction::Update });
    }
    let mut change = TaskChange {
        priority: update.priority,
        metadata: update.metadata.as_ref().map(free_data).transpose()?,
        ..TaskChange::default()
    };
    change.subject = update.subject.as_deref().map(|it| text::line("subject", it)).transpose()?;
    change.description = update
        .description
        .as_deref()
        .map(|it| text::optional_block("description", it))
        .transpose()?;
    change.task_type = update.task_type.as_deref().map(label).transpose()?;
    change.assignee = match &update.assignee {
        Some(Some(assignee)) => {
            Some(Some(draft.state.find_member(assignee.as_str())?.name.clone()))
        }
        Some(None) => Some(None),
        None => None,
    };
    check_not_taken(task, change.assignee.as_ref().and_then(Option::as_ref))?;
    change.checks = update.checks.as_deref().map(proof::checks).transpose()?;
    change.blocked_by = new_dependencies(draft, task, update)?;
    if change == TaskChange::default() {
        return Err(Refusal::NothingToChange);
    }
    draft.push(Fact::TaskUpdated { task: task.number, change: Box::new(change) });
    Ok(())
}

/// Refuses to reserve a task for a member while another works on it: that would neither move it nor stop anybody.
fn check_not_taken(task: &Task, assignee: Option<&MemberName>) -> Result<(), Refusal> {
    let is_held = matches!(task.status, Status::InProgress | Status::Stale);
    let held = task.owner.clone().zip(task.hold.since).filter(|_| is_held);
    match (held, assignee) {
        (Some((owner, since)), Some(to)) if owner != *to => {
            Err(Refusal::TaskTaken { task: task.number, to: to.clone(), owner, since })
        }
        _ => Ok(()),
    }
}

pub(super) fn delete(draft: &mut Draft<'_>, task: &TaskRef) -> Result<(), Refusal> {
    draft.only_lead("delete tasks")?;
    let number = draft.state.resolve(task)?;
    let tasks = &draft.state.tasks;
    let status = tasks.status(number).unwrap_or(Status::Completed);
    if !status.is_terminal() {
        return Err(Refusal::WrongStatus { task: number, status, action: TaskAction::Delete });
    }
    let needed_by: Vec<_> = tasks
        .dependents(number)
        .filter(|dependent| !tasks.status(*dependent).is_some_and(Status::is_finished))
        .filter(|dependent| tasks.open_dependencies(*dependent).iter().any(|it| it.task == number))
        .collect();
    if !needed_by.is_empty() {
        return Err(Refusal::StillNeeded { task: number, by: needed_by });
    }
    draft.push(Fact::TaskDeleted { task: number });
    Ok(())
}

pub(super) fn comment(draft: &mut Draft<'_>, task: &TaskRef, text: &str) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    if task.talk.comments.len() >= MAX_COMMENTS {
        let n = task.talk.comments.len() + 1;
        return Err(Refusal::TooMany { what: "comments", n, limit: MAX_COMMENTS });
    }
    draft.push(Fact::TaskCommented { task: task.number, text: text::block("comment", text)? });
    Ok(())
}

pub(super) fn attach(draft: &mut Draft<'_>, task: &TaskRef, path: &str) -> Result<(), Refusal> {
    supervision::check_may_change(draft)?;
    let task = draft.live(task)?;
    let path = workspace_path(path)?;
    if task.talk.attachments.iter().all(|attachment| attachment.path != path) {
        draft.push(Fact::TaskAttached { task: task.number, path });
    }
    Ok(())
}

pub(super) fn ask_user(
    draft: &mut Draft<'_>,
    task: &TaskRef,
    question: &str,
) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    let Some(asked_by) = draft.member().cloned() else {
        return Err(Refusal::OnlyMembersAsk { task: task.number });
    };
    if task.owner.as_ref() != Some(&asked_by) {
        return Err(Refusal::NotYours {
            task: task.number,
            member: asked_by,
            owner: task.owner.clone(),
        });
    }
    if task.status.is_terminal() {
        let status = draft.status(task);
        return Err(Refusal::WrongStatus {
            task: task.number,
            status,
            action: TaskAction::AskUser,
        });
    }
    let question = text::block("question", question)?;
    let next_at = draft.ctx.now + interval(draft)?;
    let content = format!("{asked_by} asks about {} ({}): {question}", task.number, task.subject);
    draft.push(Fact::TaskAsked { task: task.number, question, asked_by, next_at });
    draft.tell(Party::user(), MessageKind::System, content, Some(task.number));
    Ok(())
}

pub(super) fn clear_ask_user(draft: &mut Draft<'_>, task: &TaskRef) -> Result<(), Refusal> {
    let task = draft.live(task)?;
    if let Standing::Member(member) = &draft.who
        && task.owner.as_ref() != Some(member)
    {
        let member = member.clone();
        let owner = task.owner.clone();
        return Err(Refusal::NotYours { task: task.number, member, owner });
    }
    if task.talk.question.is_none() {
        return Err(Refusal::NoQuestion { task: task.number });
    }
    draft.push(Fact::TaskAskCleared { task: task.number });
    Ok(())
}

/// The interval between reminders of a question.
pub(super) fn interval(draft: &Draft<'_>) -> Result<Duration, Refusal> {
    Ok(Duration::from_secs(60 * u64::from(draft.team()?.settings.followup.interval_minutes)))
}

/// Refuses a new task if others were created in the same conversation after `seen`, which the creator has not looked at.
fn check_seen(draft: &Draft<'_>, seen: Version) -> Result<(), Refusal> {
    let created = |task: &Task| task.trail.first().map_or(Version::ZERO, |entry| entry.version);
    let newer = draft.state.tasks.iter().rev().take_while(|task| created(task) > seen);
    let mut unseen: Vec<_> = newer
        .filter(|task| is_visible(task, &draft.ctx.asker.origin))
        .map(|task| task.number)
        .take(MAX_NAMED)
        .collect();
    if unseen.is_empty() {
        return Ok(());
    }
    unseen.reverse();
    Err(Refusal::BoardChanged { tasks: unseen })
}

fn check_id(draft: &Draft<'_>, id: uuid::Uuid) -> Result<uuid::Uuid, Refusal> {
    if id.is_nil() {
        return Err(Refusal::Empty { field: "id" });
    }
    match draft.state.tasks.with_id_prefix(&id.to_string()).next() {
        Some(task) => Err(Refusal::DuplicateTask { id, task }),
        None => Ok(id),
    }
}

fn free_data(metadata: &Metadata) -> Result<Metadata, Refusal> {
    let n_chars = serde_json::to_string(&metadata.0).map_or(usize::MAX, |json| json.len());
    if n_chars > text::MAX_TEXT {
        return Err(Refusal::TooLong { field: "metadata", n_chars, limit: text::MAX_TEXT });
    }
    Ok(metadata.clone())
}

fn label(text: &str) -> Result<smol_str::SmolStr, Refusal> {
    text::line("type", text).map(Into::into)
}

/// Resolves dependencies: each once, and all must exist.
fn dependencies(
    draft: &Draft<'_>,
    on: &[TaskRef],
    until: crate::Condition,
) -> Result<Vec<Dependency>, Refusal> {
    if on.len() > MAX_DEPENDENCIES {
        return Err(Refusal::TooMany {
            what: "dependencies",
            n: on.len(),
            limit: MAX_DEPENDENCIES,
        });
    }
    let mut found: Vec<Dependency> = Vec::new();
    for task in on {
        let task = draft.state.resolve(task)?;
        if found.iter().all(|it| it.task != task) {
            found.push(Dependency { task, until });
        }
    }
    Ok(found)
}

/// The dependencies after an update, if they change; a cycle is refused.
fn new_dependencies(
    draft: &Draft<'_>,
    task: &Task,
    update: &TaskUpdate,
) -> Result<Option<Vec<Dependency>>, Refusal> {
    if update.blocked_by.is_none() && update.add_blocked_by.is_empty() {
        return Ok(None);
    }
    if !matches!(task.status, Status::Pending | Status::Failed) {
        let status = draft.status(task);
        return Err(Refusal::WrongStatus { task: task.number, status, action: TaskAction::Update });
    }
    let until = update.until.unwrap_or(draft.team()?.settings.unblock);
    let mut all = match &update.blocked_by {
        Some(on) => dependencies(draft, on, until)?,
        None => task.blocked_by.clone(),
    };
    for added in dependencies(draft, &update.add_blocked_by, until)? {
        all.retain(|it| it.task != added.task);
        all.push(added);
    }
    for dependency in &all {
        if let Some(mut path) = draft.state.tasks.path_between(dependency.task, task.number) {
            path.insert(0, task.number);
            return Err(Refusal::Cycle { cycle: path });
        }
    }
    Ok(Some(all))
}
