//! One task, team or message in full.

use troop_app::story::{OpenDecision, waiting};
use troop_model::{
    Attachment, Evidence, Member, MemberState, Message, MessageKind, Party, Role, Spending,
    StartGate, State, StateCause, Status, Task, Time, Usage, preview, shortened,
};

use super::{
    BOLD, DIM, clean, member_icon, moment, one_line, paint, span, status_icon, status_style,
};
use crate::report::CallerOptions;

/// A task with its fields, evidence, discussion and history. A result that is longer than this is cut.
pub(crate) fn task_detail(state: &State, task: &Task, n_result_chars: usize) -> String {
    let status = state.tasks().status(task.number).unwrap_or(task.status);
    let mut text = format!(
        "{} {}  {}\n",
        paint(status_style(status), status_icon(status)),
        paint(BOLD, &one_line(&task.subject)),
        paint(DIM, &format!("{} · {status}", task.number)),
    );
    let numbers =
        |numbers: Vec<u32>| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let progress =
        task.hold.progress.as_ref().map(|it| format!("{}% {}", it.percent, one_line(&it.step)));
    let fields = [
        ("owner", task.owner.as_ref().map(ToString::to_string)),
        ("assignee", task.assignee.as_ref().map(ToString::to_string)),
        ("priority", (task.priority != 0).then(|| task.priority.to_string())),
        ("type", (task.task_type != "general").then(|| one_line(&task.task_type))),
        ("waits for", non_empty(numbers(task.blocked_by.iter().map(|it| it.task.0).collect()))),
        (
            "blocks",
            non_empty(numbers(state.tasks().dependents(task.number).map(|it| it.0).collect())),
        ),
        ("progress", progress),
        ("attempts", (task.attempts > 1).then(|| task.attempts.to_string())),
        ("lease until", task.hold.lease_until.map(moment)),
        ("start", (task.start.gate == StartGate::Waiting).then(|| "needs approval".to_owned())),
        ("asks", task.talk.question.as_ref().map(|question| one_line(&question.text))),
        (
            "created",
            Some(format!(
                "{} by {}",
                moment(task.provenance.created_at),
                task.provenance.created_by
            )),
        ),
        ("completed", task.provenance.completed_at.map(moment)),
        ("checks", non_empty(checks(state, task).join("; "))),
        ("unchecked", task.proof.waived.as_deref().map(one_line)),
        ("failed", (task.proof.n_failed > 0).then(|| failed(task.proof.n_failed))),
        ("merged", task.proof.merged.as_ref().map(|it| format!("{} into {}", it.commit, it.into))),
        ("used", (!task.usage.is_nothing()).then(|| task.usage.to_string())),
        ("metadata", metadata(task)),
        ("id", Some(task.id.to_string())),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            line(&mut text, &format!("  {} {value}", paint(DIM, &format!("{name:<11}"))));
        }
    }
    if !task.description.is_empty() {
        section(&mut text, "Description", &task.description);
    }
    if let Some(result) = &task.result {
        section(
            &mut text,
            if status == Status::Failed { "Reason" } else { "Result" },
            &shortened(result, n_result_chars, &format!("troop task get {} --full", task.number.0)),
        );
    }
    evidence(&mut text, task);
    discussion(&mut text, state, task);
    text
}

/// The checks that must pass before a task is done.
fn checks(state: &State, task: &Task) -> Vec<String> {
    let named = state.team().map(|team| task.named_checks(team)).unwrap_or_default();
    named.into_iter().map(one_line).collect()
}

fn failed(n_failed: u32) -> String {
    if n_failed == 1 {
        "failed its checks once".to_owned()
    } else {
        format!("failed its checks {n_failed} times")
    }
}

/// The results of a task's checks.
fn evidence(text: &mut String, task: &Task) {
    if task.proof.evidence.is_empty() {
        return;
    }
    line(text, &format!("\n{}", paint(BOLD, "Evidence")));
    for it in &task.proof.evidence {
        let (mark, how) = evidence_line(it);
        let about = format!("{how}, {}", moment(it.at));
        line(text, &format!("  {mark} {}  {}", one_line(&it.command), paint(DIM, &about)));
        if !it.tail.trim().is_empty() {
            line(text, &indent(&it.tail, 4));
        }
    }
}

/// The icon of a check's result, and how the check ended: exit code, time, commit.
pub(super) fn evidence_line(evidence: &Evidence) -> (String, String) {
    let style = if evidence.is_good() { super::GOOD } else { super::BAD };
    let mark = paint(style, if evidence.is_good() { "✓" } else { "✗" });
    let took = super::took(std::time::Duration::from_millis(evidence.took_ms));
    let commit = evidence.commit.iter().map(|it| format!(", commit {}", preview(it, 10)));
    let commit: String = commit.collect();
    (mark, format!("exit code {}, {took}{commit}", evidence.exit_code))
}

/// The comments, files and history of a task.
fn discussion(text: &mut String, state: &State, task: &Task) {
    if !task.talk.comments.is_empty() {
        line(text, &format!("\n{}", paint(BOLD, "Comments")));
        for comment in &task.talk.comments {
            let said = format!("{} {}", comment.author, paint(DIM, &moment(comment.at)));
            line(text, &format!("  {said}\n{}", indent(&comment.text, 4)));
        }
    }
    if !task.talk.attachments.is_empty() {
        line(text, &format!("\n{}", paint(BOLD, "Files")));
        for attachment in &task.talk.attachments {
            line(
                text,
                &format!(
                    "  {}  {}",
                    clean(&attachment.path),
                    paint(DIM, &provenance(state, attachment))
                ),
            );
        }
    }
    line(text, &format!("\n{}", paint(BOLD, "History")));
    for entry in &task.trail {
        let note = entry.note.as_deref().map(one_line).unwrap_or_default();
        let note = super::fit(&note, 60);
        line(
            text,
            format!(
                "  {}  {:<14} {}  {note}",
                paint(DIM, &moment(entry.at)),
                entry.what,
                entry.actor
            )
            .trim_end(),
        );
    }
}

/// The author of a task's file, its time, and whether it still exists.
fn provenance(state: &State, attachment: &Attachment) -> String {
    let mut parts = vec![format!("by {}", attachment.by), moment(attachment.at)];
    parts.extend(attachment.size.map(super::bytes));
    parts.extend(state.is_gone(attachment).then(|| "gone".to_owned()));
    parts.join(" · ")
}

/// The metadata, without troop's own part, which is shown elsewhere.
fn metadata(task: &Task) -> Option<String> {
    let given: Vec<_> = task.metadata.0.iter().filter(|(key, _)| *key != "snapshot").collect();
    let given: Vec<_> = given.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    non_empty(one_line(&given.join(" ")))
}

/// The state of a team's work.
pub(crate) fn team_status(
    state: &State,
    members: &[Member],
    standing: &str,
    now: Time,
    options: &CallerOptions,
) -> String {
    let Some(team) = state.team() else { return String::new() };
    let tasks = state.tasks();
    let n_done = tasks.n_with(Status::Completed) + tasks.n_archived();
    // Cancelled tasks need no work.
    let n_all = tasks.len() - tasks.n_with(Status::Cancelled) + tasks.n_archived();
    let mut text = format!("{}  {}\n", paint(BOLD, team.name.as_str()), paint(DIM, standing));
    for about in [&team.goal, &team.description].into_iter().filter(|it| !it.is_empty()) {
        line(&mut text, &format!("  {}", one_line(about)));
    }
    line(&mut text, &format!("  members  {}", members.len()));
    line(&mut text, &format!("  tasks    {n_done}/{n_all} completed"));
    let counts =
        Status::ALL.iter().filter(|status| !status.is_finished() && tasks.n_with(**status) > 0);
    for status in counts {
        line(&mut text, &format!("           {} {status}", tasks.n_with(*status)));
    }
    cost(&mut text, state);
    add_waiting(&mut text, state, members, options);
    text.push('\n');
    let who = |member: &Member| {
        let lead = if member.role == Role::Lead { ", lead" } else { "" };
        format!("{} ({}{lead})", member.name, member.agent)
    };
    let width = members.iter().map(|member| who(member).len()).max().unwrap_or(0);
    for member in members {
        let held: Vec<_> = tasks.held_by(&member.name).map(|task| task.to_string()).collect();
        let unread = state.mailbox().n_unread(&Party::member(&member.name));
        let mut notes =
            vec![format!("{} for {}", member.state, span(now.since(member.state_since)))];
        // An interrupted member looks as if it works, but does nothing.
        let is_interrupted = member.state_cause == Some(StateCause::Interrupted);
        if member.state == MemberState::Crashed || is_interrupted {
            notes.extend(member.state_reason.as_deref().map(one_line));
        }
        notes.extend(non_empty(held.join(", ")));
        notes.extend((unread > 0).then(|| format!("{unread} unread")));
        notes.extend(non_empty(used(&member.usage)));
        let icon = member_icon(member.state);
        let notes = paint(DIM, &notes.join(" · "));
        line(&mut text, &format!("  {icon} {:<width$}  {notes}", who(member)));
    }
    text
}

/// The usage in short: `12.3k tokens $0.12`. Empty if nothing was used.
pub(crate) fn used(usage: &Usage) -> String {
    if usage.is_nothing() {
        return String::new();
    }
    let money = if usage.unpriced == usage.tokens() && usage.unpriced > 0 {
        "$?".to_owned()
    } else {
        usage.dollars.to_string()
    };
    let tokens = match usage.tokens() {
        n @ 0..1_000 => n.to_string(),
        n @ 1_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        n => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    };
    format!("{tokens} tokens {money}")
}

/// The usage and the budget of a team.
fn cost(text: &mut String, state: &State) {
    let Some(team) = state.team() else { return };
    if !team.usage.is_nothing() {
        line(text, &format!("  used     {}", team.usage));
    }
    if let Some(told) = team.settings.budget.told(&team.usage) {
        let how = match state.spending() {
            Spending::Within => "",
            Spending::Near => "  almost spent",
            Spending::Spent => "  spent: nothing new is started",
        };
        line(text, &format!("  budget   {told}{how}"));
    }
}

/// Adds what waits for a person, and how to answer.
fn add_waiting(text: &mut String, state: &State, members: &[Member], options: &CallerOptions) {
    for OpenDecision { what, answer } in waiting(state, members) {
        line(text, &format!("  waits    {}", options.added_to(&what)));
        line(text, &paint(DIM, &format!("           {}", options.added_to(&answer))));
    }
}

pub(crate) fn message(message: &Message, with_receipts: bool) -> String {
    let kind = if message.kind == MessageKind::Message {
        String::new()
    } else {
        format!(" · {}", message.kind)
    };
    let mut text = format!(
        "{} → {}  {}\n{}\n",
        paint(BOLD, message.from.as_str()),
        message.to,
        paint(DIM, &format!("{}{kind}", moment(message.sent_at))),
        indent(&message.content, 2),
    );
    if let Some(id) = message.request_id {
        let answer = match message.approve {
            Some(true) => "approved ",
            Some(false) => "denied ",
            None => "",
        };
        line(&mut text, &paint(DIM, &format!("  {answer}request {id}")));
    }
    if with_receipts {
        for receipt in &message.receipts {
            let stage = match (receipt.delivered_at, receipt.read_at) {
                (_, Some(at)) => format!("read {}", moment(at)),
                (Some(at), None) => format!("delivered {}", moment(at)),
                (None, None) => "stored".to_owned(),
            };
            line(&mut text, &paint(DIM, &format!("  {}: {stage}", receipt.reader)));
        }
    }
    text
}

fn section(text: &mut String, heading: &str, body: &str) {
    line(text, &format!("\n{}\n{}", paint(BOLD, heading), indent(body, 2)));
}

fn indent(text: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    clean(text).lines().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
