//! The announcement to the lead when the last of several related delegations has ended: all results, once.

use std::time::Duration;

use super::DelegationEnd;
use crate::{
    Delegation, DelegationOutcome, DelegationStatus, Evidence, Fact, MemberName, MessageKind,
    Party, Task, Time,
    decide::{Draft, message::MessageDraft},
    text,
};

/// How many characters of one result are shown ...
const RESULT: usize = 4_000;
/// ... and of all results together.
const RESULTS: usize = 24_000;
/// How many characters of the reason why an earlier attempt ended.
const EARLIER: usize = 200;
/// How many delegations get their own section.
const SECTIONS: usize = 50;
/// How many files are named.
const FILES: usize = 50;

/// One task of an announcement.
struct AnnouncementRow<'a> {
    delegation: &'a Delegation,
    task: Option<&'a Task>,
    outcome: DelegationOutcome,
    /// The earlier attempts: the member, and why the attempt ended.
    earlier: Vec<(&'a MemberName, String)>,
    /// When it was first tried.
    began_at: Time,
    ended_at: Time,
}

/// Announces the results of a delegation and its siblings to the lead, unless one of them still runs.
pub(super) fn announce(draft: &mut Draft<'_>, last: &Delegation, ends: &[DelegationEnd<'_>]) {
    if runs_on(draft, last, ends) {
        return;
    }
    let rows = rows(draft, last, ends);
    let lead = Party::member(&last.from);
    let is_own_doing = draft.member() == Some(&last.from)
        && rows.iter().all(|row| ends.iter().any(|(it, _)| it.id == row.delegation.id));
    let delegations = untold(draft, last, ends).into_iter().map(|(it, ..)| it.id).collect();
    if is_own_doing {
        // The lead cancelled all of them itself.
        draft.push(Fact::DelegationsAnnounced { delegations, message: None });
        return;
    }
    if !draft.has_room(&lead) {
        // The next announcement will include it.
        return;
    }
    let content = content(&rows);
    let summary = summary(&rows);
    let task = match rows.as_slice() {
        [only] => Some(only.delegation.task),
        _ => None,
    };
    let id = draft.send(MessageDraft {
        summary: Some(summary),
        task,
        origin: last.origin.clone(),
        ..MessageDraft::new(Party::system(), lead, MessageKind::System, content)
    });
    draft.push(Fact::DelegationsAnnounced { delegations, message: Some(id) });
}

/// Whether a sibling still runs, has just begun, or will be retried.
fn runs_on(draft: &Draft<'_>, last: &Delegation, ends: &[DelegationEnd<'_>]) -> bool {
    let running = draft.state.delegated.entries().values();
    let mut running = running.filter_map(|id| draft.state.delegation(*id));
    let has_begun = |fact: &Fact| {
        matches!(fact, Fact::DelegationStarted { from, origin, .. }
            if *from == last.from && *origin == last.origin)
    };
    running.any(|it| it.is_sibling(last) && !ends.iter().any(|(ended, _)| ended.id == it.id))
        || draft.facts.iter().any(has_begun)
        || untold(draft, last, ends).iter().any(|(it, ..)| is_retried(draft, it))
}

/// A delegation that has ended, how and when.
type UntoldEnd<'a> = (&'a Delegation, DelegationOutcome, Time);

/// The ended siblings that were not announced yet.
fn untold<'a>(
    draft: &Draft<'a>,
    last: &Delegation,
    ends: &[DelegationEnd<'a>],
) -> Vec<UntoldEnd<'a>> {
    let now = ends.iter().map(|(it, outcome)| (*it, outcome.clone(), draft.ctx.now));
    let before = draft.state.delegations().filter(|it| !it.is_announced);
    let before = before.filter_map(|it| Some((it, outcome_of(it)?, it.ended_at?)));
    before.chain(now).filter(|(it, ..)| it.is_sibling(last)).collect()
}

/// One row per task with its latest result, oldest first.
fn rows<'a>(
    draft: &Draft<'a>,
    last: &Delegation,
    ends: &[DelegationEnd<'a>],
) -> Vec<AnnouncementRow<'a>> {
    let mut all = untold(draft, last, ends);
    all.sort_by_key(|(it, ..)| (it.started_at, it.id));
    let mut rows: Vec<AnnouncementRow<'a>> = Vec::new();
    for (delegation, outcome, ended_at) in all {
        let began_at = delegation.started_at;
        match rows.iter_mut().find(|row| row.delegation.task == delegation.task) {
            Some(row) => {
                row.earlier.push((&row.delegation.to, row.outcome.said().to_owned()));
                (row.delegation, row.outcome, row.ended_at) = (delegation, outcome, ended_at);
            }
            None => {
                let task = draft.state.tasks.get(delegation.task);
                let earlier = Vec::new();
                rows.push(AnnouncementRow {
                    delegation,
                    task,
                    outcome,
                    earlier,
                    began_at,
                    ended_at,
                });
            }
        }
    }
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

/// Whether a delegation failed and troop will retry its task.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else changes whether it is")]
fn is_retried(draft: &Draft<'_>, delegation: &Delegation) -> bool {
    let task = delegation.task;
    let change = |fact: &Fact| match fact {
        Fact::TaskFailed { task: failed, retry_at, .. } if *failed == task => {
            Some(retry_at.is_some())
        }
        Fact::TaskRetried { task: other, .. }
        | Fact::TaskCancelled { task: other, .. }
        | Fact::TaskDeleted { task: other }
            if *other == task =>
        {
            Some(false)
        }
        _ => None,
    };
    let rests = || super::failed(draft.state, task).is_some_and(|it| it.id == delegation.id);
    draft.facts.iter().rev().find_map(change).unwrap_or_else(rests)
}

fn summary(rows: &[AnnouncementRow<'_>]) -> String {
    let n_done = rows.iter().filter(|row| row.is_done()).count();
    match rows {
        [only] => format!("the delegation of {} has ended", only.delegation.task),
        _ => format!("{n_done} of {} delegations completed", rows.len()),
    }
}

/// The whole text: the results, then what the lead can do next.
fn content(rows: &[AnnouncementRow<'_>]) -> String {
    let n = rows.len();
    let began = rows.iter().map(|row| row.began_at).min().unwrap_or_default();
    let over = rows.iter().map(|row| row.ended_at).max().unwrap_or_default();
    let took = took(over.since(began));
    let n_done = rows.iter().filter(|row| row.is_done()).count();
    let failed: Vec<_> = rows.iter().filter(|row| row.has_failed()).collect();
    let mut text = match (n, n_done) {
        (1, 1) => format!("The task that you delegated is done, after {took}.\n"),
        (1, 0) if failed.is_empty() => {
            format!("The task that you delegated was called off, after {took}.\n")
        }
        (1, 0) => {
            format!("The task that you delegated did not work out this time, after {took}.\n")
        }
        (_, 0) if failed.is_empty() => {
            format!("All {n} tasks that you delegated were called off, after {took}.\n")
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
    match failed.as_slice() {
        [] if n_done == 0 => text.push_str(AFTER_END),
        failed if n_done == 0 => text.push_str(&after_failure(failed)),
        _ => text.push_str(NEXT),
    }
    text
}

/// The options of the lead when everything failed. Only failed tasks can be retried.
fn after_failure(failed: &[&AnnouncementRow<'_>]) -> String {
    let shown = failed.iter().take(SECTIONS).map(|row| row.delegation.task.to_string());
    let tasks = shown.collect::<Vec<_>>().join(", ");
    AFTER_FAILURE.replace("{tasks}", &tasks)
}

const NEXT: &str = "
What you can do now:
- tell the user what came of it, in your own words, with the files
- delegate what follows from it: create a task first, then delegate it
- ask for changes: create a task that says what should be different
";

const AFTER_FAILURE: &str = "
That happens. Before anything is tried again, tell the user in a sentence that there was a hitch. Then you can:
- try again: retry {tasks}, then delegate it, perhaps to another teammate
- do it yourself
";

const AFTER_END: &str = "
What you can do now:
- if it is still wanted, create a new task and delegate that
";

fn section(row: &AnnouncementRow<'_>, room: usize) -> String {
    let AnnouncementRow { delegation, task, outcome, .. } = row;
    let number = delegation.task;
    let subject = task.map(|task| format!(" ({})", task.subject)).unwrap_or_default();
    let how = match outcome {
        DelegationOutcome::Completed(_) => "completed",
        DelegationOutcome::Failed(_) => "failed",
        DelegationOutcome::Cancelled(_) => "was called off",
    };
    let took = took(row.ended_at.since(row.began_at));
    let mut text = format!("\n## {}: {number}{subject} {how} after {took}\n", delegation.to);
    let said = outcome.said().trim();
    text.push_str(&text::shortened(said, room, &format!("get {number}")));
    text.push('\n');
    for (who, why) in &row.earlier {
        let why = text::preview(why.trim().lines().next().unwrap_or_default(), EARLIER);
        text.push_str(&format!("tried before by {who}: {why}\n"));
    }
    let proved: Vec<_> = task.iter().flat_map(|it| &it.proof.evidence).map(proved).collect();
    if !proved.is_empty() {
        text.push_str(&format!("checks: {}\n", proved.join(", ")));
    }
    let files: Vec<_> =
        task.iter().flat_map(|it| &it.talk.attachments).map(|it| &*it.path).collect();
    if !files.is_empty() {
        let named: Vec<_> = files.iter().take(FILES).copied().collect();
        let more = files.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more: get {number}") } else { String::new() };
        text.push_str(&format!("files: {}{more}\n", named.join(", ")));
    }
    text
}

/// The result of a check, in short.
fn proved(evidence: &Evidence) -> String {
    let how = match evidence.exit_code {
        0 => "passed".to_owned(),
        code => format!("ended with exit code {code}"),
    };
    let on = evidence.commit.as_ref().map(|commit| format!(" on {}", text::preview(commit, 10)));
    format!("`{}` {how}{}", evidence.command, on.unwrap_or_default())
}

impl AnnouncementRow<'_> {
    fn has_failed(&self) -> bool {
        matches!(self.outcome, DelegationOutcome::Failed(_))
    }

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
