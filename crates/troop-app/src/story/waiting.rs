//! Decisions that a team waits for and a person can make, and how to make them.

use troop_model::{Hint, HintCommand, Member, Need, NeedKind, State, TaskNumber, preview};
use uuid::Uuid;

use crate::text::{every_line, one_line};

/// How much of a question is shown at most. The text says how much is missing.
const MAX_SHOWN: usize = 2_000;

/// Something that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDecision {
    /// A sentence about who waits for what. It may end in a hint where to read the rest.
    pub what: Hint,
    /// How to answer.
    pub answer: Hint,
}

/// Everything that waits, even if the lead may decide it too. Members that are gone wait for nothing.
#[must_use]
pub fn waiting(state: &State, members: &[Member]) -> Vec<OpenDecision> {
    let needs = state.needs(members);
    let asks_once = |need: &Need| needs.iter().filter(|it| it.from == need.from).count() == 1;
    needs.iter().filter_map(|need| of_need(need, asks_once(need))).collect()
}

/// `asks_once`: nothing else waits that the same member asks.
fn of_need(need: &Need, asks_once: bool) -> Option<OpenDecision> {
    let from = need.from.as_str();
    let subject = one_line(&need.text);
    let asks =
        || Hint::from(format!("{from} for {}: ", need.to)).and_hint(shown_question(&need.text));
    Some(match need.kind {
        NeedKind::Permission => OpenDecision { what: asks(), answer: permit("", from, need.id) },
        NeedKind::Plan if asks_once => OpenDecision { what: asks(), answer: answer("", from) },
        NeedKind::Plan => OpenDecision { what: asks(), answer: permit("", from, need.id) },
        NeedKind::Question => {
            let task = need.task?;
            OpenDecision { what: asks().and(format!(" ({task})")), answer: reply("", from, task) }
        }
        NeedKind::Review => {
            let task = need.task?;
            let what = format!("{task} for approval: {subject}").into();
            OpenDecision { what, answer: judge("", task) }
        }
        NeedKind::Start => {
            let task = need.task?;
            let what = format!("{task} for approval to start: {subject}").into();
            OpenDecision { what, answer: approve("", task) }
        }
        NeedKind::Conflict => {
            let task = need.task?;
            let what = format!("{task} of {from} is done and not merged: {subject}").into();
            OpenDecision { what, answer: Hint::to("", HintCommand::troop("doctor")) }
        }
    })
}

/// A question on one line, as much of it as can be shown, and where to read the rest.
#[must_use]
pub fn shown_question(text: &str) -> Hint {
    let shown = every_line(text);
    match shown.chars().count().saturating_sub(MAX_SHOWN) {
        0 => shown.into(),
        n_more => Hint::from(preview(&shown, MAX_SHOWN)).and_hint(rest_of_question(n_more)),
    }
}

/// Where to read the rest of a question that is cut.
#[must_use]
pub fn rest_of_question(n_chars: usize) -> Hint {
    let read = HintCommand::troop("message read").word("--all");
    Hint::from(format!("… ({n_chars} ")).and_to("", "more characters", read).and(")")
}

/// How to say yes to this request of a member, and to no other that it may make by then.
pub(super) fn permit(say: &str, from: &str, request: Uuid) -> Hint {
    // The first 13 characters hold the time of the request to the millisecond.
    let request: String = request.to_string().chars().take(13).collect();
    Hint::to(say, yes(from).word("--request").word(request)).and(", or `no`")
}

/// How to answer a member's plan.
pub(super) fn answer(say: &str, from: &str) -> Hint {
    Hint::to(say, yes(from)).and(", or `no`")
}

fn yes(from: &str) -> HintCommand {
    HintCommand::troop("message answer").word(from).word("yes")
}

/// How to accept a result or to send it back.
pub(super) fn judge(say: &str, task: TaskNumber) -> Hint {
    let reject = HintCommand::troop("task reject").word(task.0);
    let reject = reject.words(["--mode", "revise", "--reason"]).text("…");
    approve(say, task).or_to("send it back", reject)
}

/// How to accept a result, or to let a task start.
pub(super) fn approve(say: &str, task: TaskNumber) -> Hint {
    Hint::to(say, HintCommand::troop("task approve").word(task.0))
}

/// How to tell a member something.
pub(super) fn send(say: &str, to: &str) -> Hint {
    Hint::to(say, HintCommand::troop("message send").word(to).text("…"))
}

/// How to answer a question to the user.
pub(super) fn reply(say: &str, from: &str, task: TaskNumber) -> Hint {
    send(say, from).then_to("", HintCommand::troop("task clear-ask-user").word(task.0))
}
