//! Tasks as a board: those in progress on top, those that wait below.

use troop_model::{State, Status, Task, Time};
use unicode_width::UnicodeWidthStr;

use super::{BOLD, DIM, fit, one_line, pad, paint, span, status_icon, status_style};

/// One task on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    number: u32,
    priority: i32,
    subject: String,
    status: Status,
    /// The holder, or the member that it is reserved for.
    who: String,
    note: String,
    age: String,
}

/// The groups of the board, in the order in which people look for them.
const ORDER: [(Status, &str); 8] = [
    (Status::InProgress, "In progress"),
    (Status::Stale, "Stale"),
    (Status::InReview, "In review"),
    (Status::Failed, "Failed"),
    (Status::Pending, "Ready"),
    (Status::Blocked, "Blocked"),
    (Status::Completed, "Completed"),
    (Status::Cancelled, "Cancelled"),
];

impl Row {
    pub(crate) fn new(state: &State, task: &Task, now: Time) -> Self {
        let status = state.tasks().status(task.number).unwrap_or(task.status);
        let reserved = task.assignee.as_ref().map(|assignee| format!("→ {assignee}"));
        let owner = task.owner.as_ref().map(ToString::to_string);
        Self {
            number: task.number.0,
            priority: task.priority,
            subject: one_line(&task.subject),
            status,
            who: owner.or(reserved).unwrap_or_default(),
            note: note(state, task, status, now),
            age: span(now.since(task.provenance.moved_at)),
        }
    }
}

/// The board as text, in lines of at most `width` columns.
pub(crate) fn board(rows: &[Row], width: usize) -> String {
    let number_width = rows.iter().map(|row| row.number.to_string().len()).max().unwrap_or(1);
    let who_width = rows.iter().map(|row| row.who.width()).max().unwrap_or(0).min(20);
    let note_width = rows.iter().map(|row| row.note.width()).max().unwrap_or(0).min(width * 2 / 5);
    // Icon, number, holder, note and age, with the gaps between them.
    let taken = 4 + number_width + 2 + 2 + who_width + 2 + note_width + 2 + 4;
    let subject_width = rows.iter().map(|row| row.subject.width()).max().unwrap_or(0);
    let subject_width = subject_width.min(width.saturating_sub(taken).max(16));
    let mut text = String::new();
    for (status, heading) in ORDER {
        let mut group: Vec<&Row> = rows.iter().filter(|row| row.status == status).collect();
        if status == Status::Pending {
            // In the order in which they would be claimed.
            group.sort_by_key(|row| (std::cmp::Reverse(row.priority), row.number));
        }
        if group.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!(
            "{} {}\n",
            paint(BOLD, heading),
            paint(DIM, &group.len().to_string())
        ));
        for row in group {
            let line = format!(
                "  {} {:>number_width$}  {}  {}  {}  {}",
                paint(status_style(status), status_icon(status)),
                row.number,
                pad(&row.subject, subject_width),
                pad(&row.who, who_width),
                paint(DIM, &pad(&fit(&row.note, note_width), note_width)),
                paint(DIM, &row.age),
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

fn note(state: &State, task: &Task, status: Status, now: Time) -> String {
    let mut notes = Vec::new();
    if task.priority != 0 {
        notes.push(format!("P{}", task.priority));
    }
    match status {
        Status::InProgress | Status::Stale => {
            if let Some(progress) = &task.hold.progress {
                notes.push(
                    format!("{}% {}", progress.percent, one_line(&progress.step))
                        .trim_end()
                        .to_owned(),
                );
            }
            if task.attempts > 1 {
                notes.push(format!("attempt {}", task.attempts));
            }
            let expired = task.hold.lease_until.filter(|until| *until <= now);
            notes.extend(
                expired.map(|until| format!("lease ran out {} ago", span(now.since(until)))),
            );
        }
        Status::Blocked => {
            notes.extend(waits(state, task));
        }
        Status::Failed => {
            let retry = task.start.not_before.filter(|at| *at > now);
            notes.extend(retry.map(|at| format!("again in {}", span(at.since(now)))));
            notes.extend(task.result.as_deref().map(one_line));
        }
        Status::Pending => {
            if task.start.gate == troop_model::StartGate::Waiting {
                notes.push("needs approval to start".to_owned());
            }
            let rests = task.start.not_before.filter(|at| *at > now);
            notes.extend(rests.map(|at| format!("rests for {}", span(at.since(now)))));
        }
        Status::InReview | Status::Cancelled => notes.extend(task.result.as_deref().map(one_line)),
        Status::Completed => notes.extend(summary(task)),
    }
    notes.extend(checked(task));
    if task.talk.question.is_some() {
        notes.push("asks the user".to_owned());
    }
    notes.join(", ")
}

/// The result of the task's checks, in short.
fn checked(task: &Task) -> Option<String> {
    let n_good = task.proof.evidence.iter().filter(|it| it.is_good()).count();
    let n_bad = task.proof.evidence.len() - n_good;
    match (n_good, n_bad) {
        (0, 0) => task.proof.waived.as_ref().map(|_| "not checked".to_owned()),
        (1, 0) => Some("1 check passed".to_owned()),
        (n, 0) => Some(format!("{n} checks passed")),
        (_, _) => Some("a check failed".to_owned()),
    }
}

/// The open dependencies of a blocked task, and those that will never be completed.
fn waits(state: &State, task: &Task) -> Vec<String> {
    let open: Vec<u32> =
        state.tasks().open_dependencies(task.number).iter().map(|it| it.task.0).collect();
    let ended =
        |number: &u32, how| state.tasks().status(troop_model::TaskNumber(*number)) == Some(how);
    let (failed, open): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|it| ended(it, Status::Failed));
    let (cancelled, open): (Vec<_>, Vec<_>) =
        open.into_iter().partition(|it| ended(it, Status::Cancelled));
    let list =
        |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let mut notes = Vec::new();
    notes.extend((!open.is_empty()).then(|| format!("waits for {}", list(&open))));
    notes.extend(failed.iter().map(|number| format!("dependency {number} failed")));
    notes.extend(cancelled.iter().map(|number| format!("dependency {number} was cancelled")));
    notes
}

/// The summary of a task's result, from its snapshot.
fn summary(task: &Task) -> Option<String> {
    let snapshot = task.metadata.0.get("snapshot")?;
    snapshot.get("ai_summary")?.as_str().map(one_line)
}
