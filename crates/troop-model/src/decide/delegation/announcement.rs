//! What the lead is told when the last of several delegations that belong together has ended: all of it, once.

use std::time::Duration;

use super::End;
use crate::{
    Delegation, DelegationOutcome, DelegationStatus, Fact, MessageKind, Party, Task, TaskNumber,
    Time, decide::Draft, text,
};

/// How many characters of one result are told ...
const RESULT: usize = 4_000;
/// ... and of all results together.
const RESULTS: usize = 24_000;
/// How many delegations are told about one by one.
const SECTIONS: usize = 50;
/// How many files are named.
const FILES: usize = 50;

/// One of the delegations that are told about.
struct Row<'a> {
    delegation: &'a Delegation,
    task: Option<&'a Task>,
    outcome: DelegationOutcome,
    ended_at: Time,
    /// Whether its task is tried again without anybody doing something about it.
    is_retried: bool,
}

/// Tells the lead what came of a delegation and its siblings, unless one of them still runs.
pub(super) fn announce(draft: &mut Draft<'_>, last: &Delegation, ends: &[End<'_>]) {
    if runs_on(draft, last, ends) {
        return;
    }
    let rows = rows(draft, last, ends);
    let lead = Party::member(&last.from);
    let is_own_doing = draft.member() == Some(&last.from)
        && rows.iter().all(|row| ends.iter().any(|(it, _)| it.id == row.delegation.id));
    let delegations = rows.iter().map(|row| row.delegation.id).collect();
    if is_own_doing {
        // Who called all of it off knows.
        draft.push(Fact::DelegationsAnnounced { delegations, message: None });
        return;
    }
    if !draft.has_room(&lead) {
        // It is told with what ends next.
        return;
    }
    let id = draft.new_id();
    let (content, summary) = (content(&rows), summary(&rows));
    let task = match rows.as_slice() {
        [only] => Some(only.delegation.task),
        _ => None,
    };
    draft.push(Fact::MessageSent {
        id,
        from: Party::system(),
        readers: vec![lead.clone()],
        to: lead,
        message_kind: MessageKind::System,
        content,
        summary: Some(summary),
        request_id: None,
        approve: None,
        task,
        supersedes: None,
        origin: last.origin.clone(),
    });
    draft.push(Fact::DelegationsAnnounced { delegations, message: Some(id) });
}

/// Whether a sibling still runs, or has just begun to.
fn runs_on(draft: &Draft<'_>, last: &Delegation, ends: &[End<'_>]) -> bool {
    let running = draft.state.delegated.entries().values();
    let mut running = running.filter_map(|id| draft.state.delegation(*id));
    let has_begun = |fact: &Fact| {
        matches!(fact, Fact::DelegationStarted { from, origin, .. }
            if *from == last.from && *origin == last.origin)
    };
    running.any(|it| it.is_sibling(last) && !ends.iter().any(|(ended, _)| ended.id == it.id))
        || draft.facts.iter().any(has_begun)
}

/// What has not been told yet, in the order in which it began.
fn rows<'a>(draft: &Draft<'a>, last: &Delegation, ends: &[End<'a>]) -> Vec<Row<'a>> {
    let now = ends.iter().map(|(it, outcome)| (*it, outcome.clone(), draft.ctx.now));
    let before = draft.state.delegations().filter(|it| !it.is_announced);
    let before = before.filter_map(|it| Some((it, outcome_of(it)?, it.ended_at?)));
    let siblings = before.chain(now).filter(|(it, ..)| it.is_sibling(last));
    let mut rows: Vec<_> = siblings
        .map(|(delegation, outcome, ended_at)| Row {
            delegation,
            task: draft.state.tasks.get(delegation.task),
            outcome,
            ended_at,
            is_retried: is_retried(draft, delegation.task),
        })
        .collect();
    rows.sort_by_key(|row| (row.delegation.started_at, row.delegation.id));
    rows
}

fn outcome_of(delegation: &Delegation) -> Option<DelegationOutcome> {
    let said = delegation.result.clone().unwrap_or_default();
    match delegation.status {
        DelegationStatus::Running => None,
        DelegationStatus::Completed => Some(DelegationOutcome::Completed(said)),
        DelegationStatus::Failed => Some(DelegationOutcome::Failed(said)),
        DelegationStatus::Cancelled => Some(DelegationOutcome::Cancelled(said)),
    }
}

fn is_retried(draft: &Draft<'_>, number: TaskNumber) -> bool {
    let rests = draft.state.tasks.get(number).is_some_and(|task| task.not_before.is_some());
    let will_rest = |fact: &Fact| matches!(fact, Fact::TaskFailed { task, retry_at: Some(_), .. } if *task == number);
    rests || draft.facts.iter().any(will_rest)
}

fn summary(rows: &[Row<'_>]) -> String {
    let n_done = rows.iter().filter(|row| row.is_done()).count();
    match rows {
        [only] => format!("the delegation of {} has ended", only.delegation.task),
        _ => format!("{n_done} of {} delegations completed", rows.len()),
    }
}

/// The whole text: what came of each, then what can be done about it.
fn content(rows: &[Row<'_>]) -> String {
    let n = rows.len();
    let began = rows.iter().map(|row| row.delegation.started_at).min().unwrap_or_default();
    let over = rows.iter().map(|row| row.ended_at).max().unwrap_or_default();
    let took = took(over.since(began));
    let n_done = rows.iter().filter(|row| row.is_done()).count();
    let mut text = match (n, n_done) {
        (1, 1) => format!("The task that you delegated is done, after {took}.\n"),
        (1, 0) => {
            format!("The task that you delegated did not work out this time, after {took}.\n")
        }
        (_, 0) => format!(
            "None of the {n} tasks that you delegated worked out this time, after {took}.\n"
        ),
        _ => format!("All {n} tasks that you delegated have ended, after {took}: {n_done} done.\n"),
    };
    let room = (RESULTS / n.clamp(1, SECTIONS)).min(RESULT);
    for row in rows.iter().take(SECTIONS) {
        text.push_str(&section(row, room));
    }
    if n > SECTIONS {
        text.push_str(&format!("\n… and {} more: list the tasks\n", n - SECTIONS));
    }
    text.push_str(if n_done == 0 { AFTER_FAILURE } else { NEXT });
    text
}

const NEXT: &str = "
What you can do now:
- tell the user what came of it, in your own words, with the files
- delegate what follows from it: create a task first, then delegate it
- ask for changes: create a task that says what should be different
";

const AFTER_FAILURE: &str = "
That happens. Before anything is tried again, tell the user in a sentence that there was a hitch. Then you can:
- try again: retry the task, or delegate it to another teammate
- do it yourself
";

fn section(row: &Row<'_>, room: usize) -> String {
    let Row { delegation, task, outcome, .. } = row;
    let number = delegation.task;
    let subject = task.map(|task| format!(" ({})", task.subject)).unwrap_or_default();
    let (how, then) = match outcome {
        DelegationOutcome::Completed(_) => ("completed", ""),
        DelegationOutcome::Failed(_) if row.is_retried => {
            ("failed", "; it is tried again by itself")
        }
        DelegationOutcome::Failed(_) => ("failed", ""),
        DelegationOutcome::Cancelled(_) => ("was called off", ""),
    };
    let took = took(row.ended_at.since(delegation.started_at));
    let mut text = format!("\n## {}: {number}{subject} {how} after {took}{then}\n", delegation.to);
    let said = outcome.said().trim();
    text.push_str(&text::preview(said, room));
    if said.chars().nth(room).is_some() {
        text.push_str(&format!("\n… the rest of it: get {number}"));
    }
    text.push('\n');
    let files: Vec<_> = task.iter().flat_map(|it| &it.attachments).map(|it| &*it.path).collect();
    if !files.is_empty() {
        let named: Vec<_> = files.iter().take(FILES).copied().collect();
        let more = files.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more: get {number}") } else { String::new() };
        text.push_str(&format!("files: {}{more}\n", named.join(", ")));
    }
    text
}

impl Row<'_> {
    fn is_done(&self) -> bool {
        matches!(self.outcome, DelegationOutcome::Completed(_))
    }
}

fn took(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
