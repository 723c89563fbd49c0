//! A team at work on one screen: its tasks, its members, and what happened last.

use std::collections::VecDeque;

use troop_app::story::{OpenDecision, Story, rest_of_question, waiting};
use troop_model::{Member, Role, State, Status, Task, Time};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{BOLD, DIM, fit, member_icon, one_line, pad, paint, status_icon, status_style, took};
use crate::report::CallerOptions;

/// The size of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// How many lines are kept; no screen needs more.
const KEPT: usize = 100;

/// The most recent lines of a story.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(VecDeque<String>);

impl Recent {
    pub(crate) fn push(&mut self, line: String) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(line);
    }

    /// The last few, oldest first.
    pub(super) fn last(&self, n_lines: usize) -> impl Iterator<Item = &str> {
        let skipped = self.0.len().saturating_sub(n_lines);
        self.0.iter().skip(skipped).map(String::as_str)
    }
}

/// The team as text that fits a screen of at least 40 columns and 8 lines, with a line to spare for the cursor.
pub(crate) fn live(
    story: &Story,
    recent: &Recent,
    now: Time,
    screen: Screen,
    options: &CallerOptions,
) -> String {
    let Screen { width, height } = screen;
    let state = story.state();
    let mut lines = vec![headline(story, now, width)];
    let members: Vec<_> = state.members().filter(|it| it.role == Role::Member).collect();
    // The headline, the gaps, and the line of the cursor.
    let room = height.saturating_sub(5).max(3);
    let n_members = members.len().min(room / 3);
    let n_tasks = state.tasks().len().min((room - n_members) * 2 / 3);
    let asks = wait_lines(state, width, room / 3, options);
    let n_recent = room.saturating_sub(n_members + n_tasks + asks.len()).min(recent.0.len());
    add(&mut lines, asks);
    add(&mut lines, task_lines(state, now, width, n_tasks));
    add(&mut lines, member_lines(state, &members, now, width, n_members));
    add(&mut lines, recent.last(n_recent).map(|it| paint(DIM, &fit(it, width))).collect());
    lines.truncate(height.saturating_sub(1).max(1));
    lines.join("\n") + "\n"
}

/// Adds a section, after an empty line.
pub(super) fn add(lines: &mut Vec<String>, more: Vec<String>) {
    if !more.is_empty() {
        lines.push(String::new());
        lines.extend(more);
    }
}

/// Requests that wait for a person, and how to answer.
fn wait_lines(state: &State, width: usize, n_lines: usize, options: &CallerOptions) -> Vec<String> {
    let waiting = waiting(state, &[]);
    // A question needs at least two lines: without the command that answers it, it is useless.
    let n_shown = waiting.len().min(n_lines.max(2) / 2);
    let n_each = n_lines.max(2) / n_shown.max(1) - 1;
    let lines = waiting.into_iter().take(n_shown).flat_map(|OpenDecision { what, answer }| {
        let mut lines =
            question_lines(&options.added_to(&what).to_string(), width, n_each, options);
        lines.push(fit(&format!("           {}", options.added_to(&answer)), width));
        lines
    });
    lines.collect()
}

/// A question in at most `n_lines` lines. The last one says how much is missing.
fn question_lines(
    what: &str,
    width: usize,
    n_lines: usize,
    options: &CallerOptions,
) -> Vec<String> {
    let room = width.saturating_sub(11).max(1);
    let mut lines = vec![String::new()];
    for c in what.chars() {
        let line = lines.last_mut().expect("there is a line from the start");
        if line.width() + c.width().unwrap_or(0) > room {
            lines.push(c.to_string());
        } else {
            line.push(c);
        }
    }
    let n_over = lines.len().saturating_sub(n_lines);
    if n_over > 0 && n_lines > 1 {
        let hidden = lines.split_off(n_lines - 1);
        let n_chars = hidden.iter().map(|line| line.chars().count()).sum();
        lines.push(fit(&options.added_to(&rest_of_question(n_chars)).to_string(), room));
    } else if n_over > 0 {
        lines = vec![fit(what, room)];
    }
    let head = |nth: usize| if nth == 0 { "  waits    " } else { "           " };
    lines.iter().enumerate().map(|(nth, line)| format!("{}{line}", head(nth))).collect()
}

fn headline(story: &Story, now: Time, width: usize) -> String {
    let state = story.state();
    let name = state.team().map(|team| team.name.to_string()).unwrap_or_default();
    let tasks = state.tasks();
    let n_done = tasks.n_with(Status::Completed);
    let took = took(now.since(story.tally().since));
    let n_tasks = tasks.len() - tasks.n_with(Status::Cancelled);
    let text = format!("{name}  {n_done} of {n_tasks} tasks done  {took}");
    paint(BOLD, &fit(&text, width))
}

/// The tasks that fit. If not all do, unfinished ones go first.
fn task_lines(state: &State, now: Time, width: usize, n_lines: usize) -> Vec<String> {
    let mut tasks: Vec<&Task> = state.tasks().iter().collect();
    let n_hidden = if tasks.len() > n_lines { tasks.len() + 1 - n_lines.max(1) } else { 0 };
    if n_hidden > 0 {
        tasks.sort_by_key(|task| task.status.is_terminal());
        tasks.truncate(n_lines.saturating_sub(1));
        tasks.sort_by_key(|task| task.number);
    }
    let who_width = state.members().map(|it| it.name.as_str().width()).max().unwrap_or(0).min(16);
    let subject_width = tasks.iter().map(|task| one_line(&task.subject).width()).max().unwrap_or(0);
    let number_width = state.tasks().last().0.to_string().len().max(3);
    // The icon and the number, with the gaps between them.
    let taken = 4 + number_width + 2;
    let subject_width = subject_width.min(width.saturating_sub(taken + 16 + who_width).max(10));
    let note_width = width.saturating_sub(taken + subject_width + 2 + who_width + 2);
    let line = |task: &&Task| {
        let status = state.tasks().status(task.number).unwrap_or(task.status);
        let who = task.owner.as_ref().or(task.assignee.as_ref());
        format!(
            "  {} {:>number_width$}  {}  {}  {}",
            paint(status_style(status), status_icon(status)),
            task.number.0,
            pad(&one_line(&task.subject), subject_width),
            pad(&who.map(ToString::to_string).unwrap_or_default(), who_width),
            paint(DIM, &fit(&note(state, task, status, now), note_width)),
        )
    };
    let mut lines: Vec<_> = tasks.iter().map(line).collect();
    if n_hidden > 0 && n_lines > 0 {
        lines.push(paint(DIM, &fit(&format!("    and {n_hidden} more"), width)));
    }
    lines
}

fn note(state: &State, task: &Task, status: Status, now: Time) -> String {
    let attempt =
        if task.attempts > 1 { format!(", attempt {}", task.attempts) } else { String::new() };
    match status {
        Status::InProgress => {
            let since = task.hold.since.map(|since| took(now.since(since))).unwrap_or_default();
            let progress = task.hold.progress.as_ref().map(|it| format!(" {}%", it.percent));
            format!("{since}{}{attempt}", progress.unwrap_or_default())
        }
        Status::Blocked => {
            let open = state.tasks().open_dependencies(task.number);
            let open: Vec<_> = open.iter().map(|it| it.task.0.to_string()).collect();
            format!("after {}", open.join(", "))
        }
        Status::Completed => format!("done{attempt}"),
        Status::Pending | Status::InReview | Status::Failed | Status::Cancelled | Status::Stale => {
            format!("{status}{attempt}")
        }
    }
}

fn member_lines(
    state: &State,
    members: &[&Member],
    now: Time,
    width: usize,
    n_lines: usize,
) -> Vec<String> {
    let who = |member: &Member| format!("{} ({})", member.name, member.agent);
    let who_width = members.iter().map(|it| who(it).width()).max().unwrap_or(0).min(width / 2);
    let line = |member: &&Member| {
        let held: Vec<_> = state.tasks().held_by(&member.name).map(|it| it.to_string()).collect();
        let reason = member.state_reason.as_deref().map(one_line).unwrap_or_default();
        let about = if held.is_empty() { reason } else { held.join(", ") };
        let since = took(now.since(member.state_since));
        let text = format!("{} {since}  {about}", member.state);
        let room = width.saturating_sub(4 + who_width + 2);
        format!(
            "  {} {}  {}",
            member_icon(member.state),
            pad(&who(member), who_width),
            paint(DIM, &fit(text.trim_end(), room)),
        )
    };
    members.iter().take(n_lines).map(line).collect()
}
