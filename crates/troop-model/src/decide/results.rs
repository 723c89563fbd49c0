//! Results of the members that troop runs. The lead hears each of them once: with the notice that the member is idle, or, if the
//! member goes on, ends, or says nothing, in a notice about the result alone.
//!
//! The state remembers which results are untold, and the decision that tells one also forgets it, so none is lost or told twice
//! when a lead is killed.

use std::time::Duration;

use super::{Draft, message::MessageDraft};
use crate::{
    Fact, MemberName, MemberState, Message, MessageKind, Notice, Origin, Party, TaskNumber, text,
};

/// How many characters of a result a notice carries ...
const RESULT: usize = 2_000;
/// ... and of all results that wait together for the lead.
const RESULTS: usize = 24_000;

/// How long a result may wait for its member's idle report.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tells the untold results of members that go on to other work or end.
pub(super) fn tell(draft: &mut Draft<'_>) {
    let untold = draft.state.untold.entries().iter();
    let due: Vec<_> =
        untold.filter(|(_, member)| moves_on(draft, member)).map(|it| *it.0).collect();
    tell_all(draft, &due);
}

/// Tells the results that have waited long enough for an idle report.
pub(super) fn tell_overdue(draft: &mut Draft<'_>) {
    let is_overdue = |task: &TaskNumber| {
        let task = draft.state.tasks.get(*task);
        task.is_none_or(|task| draft.ctx.now.since(task.provenance.moved_at) >= PATIENCE)
    };
    let due: Vec<_> = draft.state.untold.entries().keys().copied().filter(is_overdue).collect();
    tell_all(draft, &due);
}

/// Whether a member's next idle report, if one comes, is about something else.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "after everything else its report may still come"
)]
fn moves_on(draft: &Draft<'_>, member: &MemberName) -> bool {
    let ends = |state: MemberState| matches!(state, MemberState::Stopped | MemberState::Crashed);
    draft.facts.iter().any(|fact| match fact {
        Fact::TaskAssigned { owner, .. } | Fact::TaskClaimed { owner, .. } => owner == member,
        Fact::MemberStateChanged { member: who, state, .. } => who == member && ends(*state),
        Fact::MemberRemoved { member: who, .. } => who == member,
        Fact::MessageSent { from, message_kind: MessageKind::Idle, .. } => *from == *member,
        _ => false,
    })
}

/// Tells results, those of each conversation together.
fn tell_all(draft: &mut Draft<'_>, due: &[TaskNumber]) {
    let is_told = |task: &TaskNumber| {
        let told = |fact: &Fact| matches!(fact, Fact::MessageSent { task: Some(about), message_kind: MessageKind::Idle, .. } if about == task);
        draft.facts.iter().any(told)
    };
    let due: Vec<_> = due.iter().copied().filter(|task| !is_told(task)).collect();
    let mut conversations: Vec<Origin> = Vec::new();
    for task in &due {
        let origin = origin_of(draft, *task);
        if !conversations.contains(&origin) {
            conversations.push(origin);
        }
    }
    for origin in conversations {
        let its = due.iter().copied().filter(|task| origin_of(draft, *task) == origin);
        let its: Vec<_> = its.collect();
        its.into_iter().for_each(|task| announce(draft, task, &origin));
    }
}

fn origin_of(draft: &Draft<'_>, task: TaskNumber) -> Origin {
    let task = draft.state.tasks.get(task);
    task.map(|task| task.provenance.origin.clone()).unwrap_or_default()
}

/// Tells the lead one result. It replaces a notice of the same conversation that the lead has not got yet, and repeats its text.
fn announce(draft: &mut Draft<'_>, task: TaskNumber, origin: &Origin) {
    let Some(lead) = draft.state.lead().map(|lead| Party::member(&lead.name)) else { return };
    let Some(member) = draft.state.untold.entries().get(&task).cloned() else { return };
    let content = format!("{member} has finished {}", outcome(draft, task));
    let older = waiting(draft, &lead, origin, content.len());
    if older.is_none() && !draft.has_room(&lead) {
        return;
    }
    let content = match &older {
        Some(older) => format!("{}\n{content}", older.content),
        None => content,
    };
    draft.send(MessageDraft {
        summary: Some(format!("{member} has finished {task}")),
        notice: Some(Notice::Result),
        task: Some(task),
        supersedes: older.map(|older| older.id),
        origin: origin.clone(),
        ..MessageDraft::new(Party::system(), lead, MessageKind::System, content)
    });
}

/// The result of a task, for a notice.
pub(super) fn in_notice(task: TaskNumber, result: &str) -> String {
    text::shortened(result, RESULT, &format!("get {task}"))
}

/// The outcome of a task, for a notice.
pub(super) fn outcome(draft: &Draft<'_>, task: TaskNumber) -> String {
    let found = draft.state.tasks.get(task);
    let Some(found) = found else { return task.to_string() };
    let result = in_notice(task, found.result.as_deref().unwrap_or_default());
    format!("{task}; it is {}: {result}", draft.status(found))
}

/// A notice about results in this conversation that the lead has not got yet: of an earlier decision, or of this one.
fn waiting(draft: &Draft<'_>, lead: &Party, origin: &Origin, n_more: usize) -> Option<OlderNotice> {
    let has_room = |content: &str| content.len() + n_more <= RESULTS;
    let of_this = draft.facts.iter().rev().find_map(|fact| {
        let Fact::MessageSent { id, notice: Some(Notice::Result), content, origin: its, .. } = fact
        else {
            return None;
        };
        (its == origin).then(|| OlderNotice { id: *id, content: content.clone() })
    });
    let is_waiting = |it: &&Message| {
        it.notice == Some(Notice::Result) && it.origin == *origin && it.is_replaceable()
    };
    let of_before = || {
        let found = draft.state.mailbox().unread_of(lead).find(is_waiting)?;
        Some(OlderNotice { id: found.id, content: found.content.clone() })
    };
    of_this.or_else(of_before).filter(|it| has_room(&it.content))
}

/// A notice that a newer one replaces.
struct OlderNotice {
    id: uuid::Uuid,
    content: String,
}
