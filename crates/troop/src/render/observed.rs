//! An observed team: what happens in it, line by line; the team as it is; both on a screen.

use troop_model::{Status, Time};
use troop_observe::{
    MemberStatus, ObservedMember, ObservedSession, ObservedTask, ObservedTaskId, ObservedTeam,
    TaskStatus,
};
use unicode_width::UnicodeWidthStr;

use super::{
    BOLD, DIM, Recent, Screen, fit, live::add, one_line, pad, paint, second, status_icon,
    status_style,
};

/// One line of what happens in a team.
pub(crate) fn observed_line(at: Time, text: &str, width: usize) -> String {
    let at = second(at);
    let room = width.saturating_sub(at.width() + 2).max(16);
    format!("{}  {}", paint(DIM, &at), fit(text, room))
}

/// The team as it is; empty if there is none.
pub(crate) fn observed(session: &ObservedSession, width: usize) -> String {
    let Some(team) = &session.team else { return String::new() };
    let mut lines = vec![String::new(), headline(team, "", width)];
    add(&mut lines, member_lines(team, width).collect());
    add(&mut lines, task_lines(team, width).collect());
    lines.join("\n") + "\n"
}

/// The content of the screen.
#[derive(Debug)]
pub(crate) enum ScreenContent<'a> {
    Nothing,
    Team(&'a ObservedTeam),
    /// The team as it was when it ended.
    Over(&'a ObservedTeam),
}

/// The team and what happened last. It fits the screen, with a line to spare for the cursor.
pub(crate) fn observed_screen(seen: &ScreenContent<'_>, recent: &Recent, screen: Screen) -> String {
    let Screen { width, height } = screen;
    let (team, note) = match seen {
        ScreenContent::Nothing => return paint(DIM, &fit("no team yet", width)) + "\n",
        ScreenContent::Team(team) => (team, ""),
        ScreenContent::Over(team) => (team, "  it is over"),
    };
    let mut lines = vec![headline(team, note, width)];
    // The headline, three gaps, and the line of the cursor.
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

/// A line that may have been made for a wider screen.
fn narrow(line: &str, width: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    if plain.width() <= width { line.to_owned() } else { fit(&plain, width) }
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
        let tokens = member.tokens.map(|it| format!(", {it} tokens")).unwrap_or_default();
        let room = width.saturating_sub(4 + who_width + 2);
        let note = fit(&format!("{state}{doubt}{tokens}"), room);
        format!("  {icon} {}  {}", pad(&who(member), who_width), paint(DIM, &note))
    })
}

fn task_lines(team: &ObservedTeam, width: usize) -> impl Iterator<Item = String> {
    // Tentative tasks have long ids that mean nothing to people.
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
            TaskStatus::Pending if !open.is_empty() => Status::Blocked,
            TaskStatus::Pending => Status::Pending,
            TaskStatus::InProgress => Status::InProgress,
            TaskStatus::Completed => Status::Completed,
            TaskStatus::Deleted => Status::Cancelled,
        };
        let mut notes: Vec<_> = task.owner.as_deref().map(one_line).into_iter().collect();
        if status == Status::Blocked {
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
