//! A team that is observed: what happens in it, line by line; the team as it is; both on a screen.

use std::collections::{BTreeMap, BTreeSet};

use troop_observe::{
    MemberStatus, ObservedFact, ObservedMember, ObservedSession, ObservedTask, ObservedTaskId,
    ObservedTeam, TaskStatus, TeamEvent, TeamRole,
};
use unicode_width::UnicodeWidthStr;

use super::{
    BOLD, DIM, Recent, Screen, fit, one_line, pad, paint, second, status_icon, status_style,
};

/// The tasks as they were when they were last told of, so that a change can be told as what changed.
#[derive(Debug, Default)]
pub(crate) struct Told(BTreeMap<ObservedTaskId, ObservedTask>);

impl Told {
    /// What is known of a team already.
    pub(crate) fn of(team: Option<&ObservedTeam>) -> Self {
        let tasks = team.into_iter().flat_map(ObservedTeam::tasks);
        Self(tasks.map(|task| (task.id.clone(), task.clone())).collect())
    }

    /// What happened, on one line.
    pub(crate) fn line(&mut self, event: &TeamEvent, width: usize) -> String {
        let at = second(event.at);
        let room = width.saturating_sub(at.width() + 2).max(16);
        let line = format!("{}  {}", paint(DIM, &at), fit(&self.told(event), room));
        if let ObservedFact::TaskCreated { task }
        | ObservedFact::TaskClaimed { task }
        | ObservedFact::TaskCompleted { task }
        | ObservedFact::TaskUpdated { task } = &event.fact
        {
            self.0.insert(task.id.clone(), task.clone());
        }
        line
    }

    fn told(&self, event: &TeamEvent) -> String {
        let ObservedFact::TaskUpdated { task } = &event.fact else { return told(event) };
        match self.0.get(&task.id).map(|before| changes(before, task)) {
            Some(changes) if !changes.is_empty() => {
                format!("{} ({})", told(event), changes.join("; "))
            }
            _ => told(event),
        }
    }
}

/// What is otherwise about a task than it was.
fn changes(before: &ObservedTask, after: &ObservedTask) -> Vec<String> {
    let list = |ids: &BTreeSet<ObservedTaskId>| {
        let ids: Vec<_> = ids.iter().map(|id| one_line(id.as_str())).collect();
        if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
    };
    let status = match after.status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Deleted => "deleted",
    };
    let owner = after.owner.as_deref().map_or_else(|| "nobody".to_owned(), one_line);
    [
        (before.status != after.status, format!("now {status}")),
        (before.owner != after.owner, format!("held by {owner}")),
        (before.blocked_by != after.blocked_by, format!("waits for {}", list(&after.blocked_by))),
        (before.blocks != after.blocks, format!("holds up {}", list(&after.blocks))),
        (before.subject != after.subject, "another subject".to_owned()),
        (before.description != after.description, "another description".to_owned()),
        (before.active_form != after.active_form, "another word for doing it".to_owned()),
    ]
    .into_iter()
    .filter_map(|(is_so, what)| is_so.then_some(what))
    .collect()
}

fn told(event: &TeamEvent) -> String {
    let name = |it: &str| one_line(it);
    let of_task = |task: &ObservedTask| {
        format!("task {}: {}", one_line(task.id.as_str()), one_line(&task.subject))
    };
    let owner = |task: &ObservedTask| name(task.owner.as_deref().unwrap_or("nobody"));
    let because = |reason: &Option<String>| match reason {
        Some(reason) => format!(": {}", one_line(reason)),
        None => String::new(),
    };
    match &event.fact {
        ObservedFact::TeamCreated { role: TeamRole::Lead } => format!("team {}", name(&event.team)),
        ObservedFact::TeamCreated { role: TeamRole::Teammate } => {
            format!("team {}, seen by a teammate", name(&event.team))
        }
        ObservedFact::TeamDeleted => format!("team {} is over", name(&event.team)),
        ObservedFact::MemberJoined { member } => {
            format!("{} joined ({})", name(&member.name), name(&member.agent_type))
        }
        ObservedFact::MemberLeft { member } => format!("{} left", name(&member.name)),
        ObservedFact::MemberIdle { member } => format!("{} is idle", name(&member.name)),
        ObservedFact::MemberActive { member } => format!("{} works again", name(&member.name)),
        ObservedFact::TaskCreated { task } => format!("new {}", of_task(task)),
        ObservedFact::TaskClaimed { task } => format!("{} does {}", owner(task), of_task(task)),
        ObservedFact::TaskCompleted { task } => format!("done {}", of_task(task)),
        ObservedFact::TaskUpdated { task } => format!("changed {}", of_task(task)),
        ObservedFact::TaskDeleted { task } => format!("deleted {}", of_task(task)),
        ObservedFact::Message { from, to, content, summary } => {
            let to = to.as_deref().map_or("all".to_owned(), name);
            let said = summary.as_deref().filter(|it| !it.is_empty()).unwrap_or(content);
            format!("{} → {to}: {}", name(from), one_line(said))
        }
        ObservedFact::Idle { from, completed_task_id: Some(task) } => {
            format!("{} has completed task {}", name(from), one_line(task.as_str()))
        }
        ObservedFact::Idle { from, completed_task_id: None } => {
            format!("{} has nothing to do", name(from))
        }
        ObservedFact::ShutdownRequest { from, to, reason, .. } => {
            format!("{} asks {} to stop{}", name(from), name(to), because(reason))
        }
        ObservedFact::ShutdownResponse { from, approved, reason, .. } => {
            let answer = if *approved { "agrees to stop" } else { "does not stop" };
            format!("{} {answer}{}", name(from), because(reason))
        }
        ObservedFact::PlanApprovalRequest { from, plan, .. } => {
            format!("{} has a plan: {}", name(from), one_line(plan))
        }
        ObservedFact::PlanApprovalResponse { from, to, approved, feedback, .. } => {
            let answer = if *approved { "approves" } else { "rejects" };
            format!("{} {answer} the plan of {}{}", name(from), name(to), because(feedback))
        }
    }
}

/// The team as it is; nothing where there is none.
pub(crate) fn observed(session: &ObservedSession, width: usize) -> String {
    let Some(team) = &session.team else { return String::new() };
    let mut lines = vec![String::new(), headline(team, "", width)];
    add(&mut lines, member_lines(team, width).collect());
    add(&mut lines, task_lines(team, width).collect());
    lines.join("\n") + "\n"
}

/// What a screen is about.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    Nothing,
    Team(&'a ObservedTeam),
    /// As it was when it ended.
    Over(&'a ObservedTeam),
}

/// The team and what happened last. No line is wider, and there are fewer lines, than the screen has.
pub(crate) fn observed_screen(seen: &Seen<'_>, recent: &Recent, screen: Screen) -> String {
    let Screen { width, height } = screen;
    let (team, note) = match seen {
        Seen::Nothing => return paint(DIM, &fit("no team yet", width)) + "\n",
        Seen::Team(team) => (team, ""),
        Seen::Over(team) => (team, "  it is over"),
    };
    let mut lines = vec![headline(team, note, width)];
    // The head, three gaps, and the line that the cursor is on.
    let room = height.saturating_sub(5).max(3);
    let n_members = team.members().len().min(room / 3);
    let n_tasks = team.tasks().len().min((room - n_members) * 2 / 3);
    add(&mut lines, member_lines(team, width).take(n_members).collect());
    let mut tasks: Vec<_> = task_lines(team, width).take(n_tasks).collect();
    let n_hidden = team.tasks().len() - n_tasks;
    if let (Some(last), true) = (tasks.last_mut(), n_hidden > 0) {
        *last = paint(DIM, &fit(&format!("    and {} more", n_hidden + 1), width));
    }
    add(&mut lines, tasks);
    let n_recent = room.saturating_sub(n_members + n_tasks);
    add(&mut lines, recent.last(n_recent).map(|line| narrow(line, width)).collect());
    lines.truncate(height.saturating_sub(1).max(1));
    lines.join("\n") + "\n"
}

/// A line that may have been told on a wider screen.
fn narrow(line: &str, width: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    if plain.width() <= width { line.to_owned() } else { fit(&plain, width) }
}

fn add(lines: &mut Vec<String>, more: Vec<String>) {
    if !more.is_empty() {
        lines.push(String::new());
        lines.extend(more);
    }
}

fn headline(team: &ObservedTeam, note: &str, width: usize) -> String {
    let n_done = team.tasks().filter(|it| it.status == TaskStatus::Completed).count();
    let partial = if team.is_partial() { "  only partly seen" } else { "" };
    let n_tasks = team.tasks().len();
    let text =
        format!("{}  {n_done} of {n_tasks} tasks done{partial}{note}", one_line(team.name()));
    paint(BOLD, &fit(&text, width))
}

fn member_lines(team: &ObservedTeam, width: usize) -> impl Iterator<Item = String> {
    let who =
        |it: &ObservedMember| format!("{} ({})", one_line(&it.name), one_line(&it.agent_type));
    let who_width = team.members().iter().map(|it| who(it).width()).max().unwrap_or(0);
    let who_width = who_width.min(width / 2);
    team.members().iter().map(move |member| {
        let (icon, state) = match member.status {
            MemberStatus::Active => ("●", "active"),
            MemberStatus::Idle => ("○", "idle"),
            MemberStatus::Shutdown => ("×", "shutdown"),
        };
        let doubt = if member.tentative { ", not confirmed" } else { "" };
        let room = width.saturating_sub(4 + who_width + 2);
        let note = fit(&format!("{state}{doubt}"), room);
        format!("  {icon} {}  {}", pad(&who(member), who_width), paint(DIM, &note))
    })
}

fn task_lines(team: &ObservedTeam, width: usize) -> impl Iterator<Item = String> {
    // The tentative have long names of their own, which nobody wants to see.
    let id = |task: &ObservedTask| {
        if task.tentative && task.id.as_str().len() > 8 {
            "…".to_owned()
        } else {
            one_line(task.id.as_str())
        }
    };
    let id_width = team.tasks().map(|it| id(it).width()).max().unwrap_or(0).min(12);
    team.tasks().map(move |task| {
        let is_open = |it: &ObservedTaskId| {
            team.task(it.as_str()).is_none_or(|it| it.status != TaskStatus::Completed)
        };
        let open: Vec<_> = task
            .blocked_by
            .iter()
            .filter(|it| is_open(it))
            .map(|it| one_line(it.as_str()))
            .collect();
        let status = match task.status {
            TaskStatus::Pending if !open.is_empty() => troop_model::Status::Blocked,
            TaskStatus::Pending => troop_model::Status::Pending,
            TaskStatus::InProgress => troop_model::Status::InProgress,
            TaskStatus::Completed => troop_model::Status::Completed,
            TaskStatus::Deleted => troop_model::Status::Cancelled,
        };
        let mut notes: Vec<_> = task.owner.as_deref().map(one_line).into_iter().collect();
        if status == troop_model::Status::Blocked {
            notes.push(format!("after {}", open.join(", ")));
        }
        notes.extend(task.in_cycle.then(|| "in a cycle".to_owned()));
        notes.extend(task.tentative.then(|| "not confirmed".to_owned()));
        let note = notes.join(", ");
        let icon = paint(status_style(status), status_icon(status));
        let room = width.saturating_sub(4 + id_width + 2);
        let subject = fit(&one_line(&task.subject), room);
        let left = room.saturating_sub(subject.width() + 2);
        let note = if left < 4 { String::new() } else { paint(DIM, &fit(&note, left)) };
        format!("  {icon} {}  {subject}  {note}", pad(&id(task), id_width)).trim_end().to_owned()
    })
}

#[cfg(test)]
mod tests;
