//! What members did that troop does not run: the lead is told, also of what they did while nobody led.

use troop_model::{
    Actor, ActorKind, Event, Fact, Member, MemberName, MessageKind, Party, State, Status, Task,
    TaskNumber, Time, TrailEntry, TrailKind, Version,
};

use super::{input::Due, post::Post};
use crate::CommandRequest;

/// How many characters of a result a notice carries.
const RESULT: usize = 2_000;

/// From when on it is not sure that a lead was told what happened: since the last one stopped; if it was killed, since it began.
pub(super) fn heard_until(state: &State) -> Option<Time> {
    let killed = state.team()?.lead_lease.as_ref().map(|lease| lease.since);
    killed.or_else(|| Some(state.lead()?.state_since))
}

/// How a task came to its end, if nobody works on it any more and it ended since then.
fn ended_since(task: &Task, since: Time) -> Option<&TrailEntry> {
    let is_over = match task.status {
        Status::Completed | Status::InReview => true,
        // The rules themselves tell the lead of a task that has failed for good.
        Status::Failed => task.start.not_before.is_some(),
        Status::Pending
        | Status::InProgress
        | Status::Cancelled
        | Status::Blocked
        | Status::Stale => false,
    };
    let is_end = |it: &&TrailEntry| {
        matches!(it.what, TrailKind::Completed | TrailKind::Submitted | TrailKind::Failed)
    };
    let end = task.trail.iter().rev().find(is_end);
    end.filter(|it| is_over && it.at >= since)
}

/// Tells the lead what became of a task of a member that troop does not run. A member that runs here says itself that it is
/// idle.
pub(super) async fn tell(post: &mut Post, event: &Event) {
    let (Fact::TaskCompleted { task, .. }
    | Fact::TaskSubmitted { task, .. }
    | Fact::TaskFailed { task, retry_at: Some(_), .. }) = event.fact
    else {
        return;
    };
    let Some(word) = word_about(post, task, &event.actor) else { return };
    if let Ok(member) = event.actor.name.parse() {
        let due = Due::LastWords(member);
        post.timers.forget(&due);
        post.timers.set(post.timing.last_words, due);
    }
    post.give_signed(word.request).await;
}

/// A member that says it is idle has said all about what it was at.
pub(super) fn end_last_words(post: &mut Post, from: &Party, kind: MessageKind) {
    let member = from.as_str().parse::<MemberName>().ok();
    if let Some(member) = member.filter(|_| kind == MessageKind::Idle) {
        post.timers.forget(&Due::LastWords(member));
    }
}

/// Tells the lead the same of what was done while nobody led.
pub(super) async fn tell_before(post: &mut Post, heard_until: Time) {
    let tasks = post.state.tasks().iter();
    let ended = tasks.filter_map(|task| Some((task, ended_since(task, heard_until)?)));
    let words: Vec<_> = ended
        .filter_map(|(task, end)| Some((end.version, word_about(post, task.number, &end.actor)?)))
        .collect();
    let Some(first) = words.iter().map(|(version, _)| *version).min() else { return };
    let said = said_since(post, first).await;
    for (version, word) in words {
        let is_it = |(at, text): &(Version, String)| {
            *at > version && text.starts_with(word.beginning.as_str())
        };
        if !said.iter().any(is_it) {
            post.give_signed(word.request).await;
        }
    }
}

/// What troop itself has said to anybody since then.
async fn said_since(post: &Post, version: Version) -> Vec<(Version, String)> {
    let mut said = Vec::new();
    let mut log = post.board.subscribe(version);
    // A log that cannot be read ends this lead elsewhere.
    while let Ok(Some(event)) = log.next_stored().await {
        if let Fact::MessageSent { content, .. } = &event.fact
            && event.actor.kind == ActorKind::System
        {
            said.push((event.version, content.clone()));
        }
    }
    said
}

/// What the lead is told about a task that a member has ended.
struct ExternalWord {
    /// How it begins, whatever the result is.
    beginning: String,
    request: CommandRequest,
}

/// What the lead is told about a task that a member has ended, if troop does not run it.
fn word_about(post: &Post, task: TaskNumber, actor: &Actor) -> Option<ExternalWord> {
    let state = &post.state;
    let member = actor.name.parse::<MemberName>().ok()?;
    let is_external =
        actor.kind == ActorKind::Agent && state.member(&member).is_some_and(Member::is_external);
    // What came of a delegation is announced.
    let is_delegated = state.delegations().any(|it| it.task == task && it.to == member);
    let found = state.tasks().get(task).filter(|_| is_external && !is_delegated)?;
    let result: String = found.result.iter().flat_map(|it| it.chars()).take(RESULT).collect();
    let beginning = format!("{member} has finished {task};");
    let content = format!("{beginning} it is {}: {result}", found.status);
    let origin = found.provenance.origin.clone();
    let mut request = post.word_to_lead(content);
    request.asker.origin = origin;
    Some(ExternalWord { beginning, request })
}
