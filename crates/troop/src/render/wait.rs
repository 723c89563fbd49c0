//! What a team waits for that a person can decide, and what to type then.

use troop_model::{
    Member, MemberState, MessageKind, Party, StartGate, State, Status, Task, TaskNumber, preview,
};

use uuid::Uuid;

use super::{every_line, one_line};
use crate::report::Typed;

/// How much of a question is shown at most. What is cut is said to be.
const MAX_SHOWN: usize = 2_000;

/// Something that waits for somebody's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Who waits, for whom, and about what.
    pub(super) what: String,
    /// What to type.
    pub(super) how: String,
}

/// Everything that waits, whoever else may decide it. Members who are gone wait for nothing.
pub(super) fn waits(state: &State, members: &[Member], typed: &Typed) -> Vec<Wait> {
    let is_gone = |from: &Party| {
        let mut members = members.iter();
        members.any(|it| *from == it.name && it.state == MemberState::Crashed)
    };
    let asked = |id| state.mailbox().iter().find(|it| it.id == id);
    let open = state.requests().filter(|(_, it)| it.kind != MessageKind::ShutdownRequest);
    let requests = open.filter(|(_, it)| !is_gone(&it.from)).map(|(id, request)| {
        let content = asked(*id).map(|it| question(&it.content, typed));
        let what = format!("{} for {}: {}", request.from, request.to, content.unwrap_or_default());
        let how = if request.kind == MessageKind::PermissionRequest {
            allow(&request.from, *id, typed)
        } else {
            answer(&request.from, typed)
        };
        Wait { what, how }
    });
    requests.chain(state.tasks().iter().filter_map(|task| of_task(state, task, typed))).collect()
}

/// A question, as far as it can be shown, and how to see the rest.
pub(crate) fn question(text: &str, typed: &Typed) -> String {
    let shown = every_line(text);
    let n_more = shown.chars().count().saturating_sub(MAX_SHOWN);
    if n_more == 0 { shown } else { preview(&shown, MAX_SHOWN) + &more(n_more, typed) }
}

/// What is said where a question is cut.
pub(super) fn more(n_chars: usize, typed: &Typed) -> String {
    typed.kept_in(&format!("… ({n_chars} more characters: `troop message read --all`)"))
}

/// What a task waits for.
fn of_task(state: &State, task: &Task, typed: &Typed) -> Option<Wait> {
    let (number, subject) = (task.number, one_line(&task.subject));
    let status = state.tasks().status(number).unwrap_or(task.status);
    if let Some(question) = task.talk.question.as_ref().filter(|_| !status.is_finished()) {
        let (from, text) = (&question.asked_by, self::question(&question.text, typed));
        let what = format!("{from} for {}: {text} ({number})", Party::user());
        return Some(Wait { what, how: reply(from.as_str(), number, typed) });
    }
    if status == Status::InReview {
        let what = format!("{number} for approval: {subject}");
        return Some(Wait { what, how: judge(number, typed) });
    }
    let is_next = status == Status::Pending && task.start.gate == StartGate::Waiting;
    is_next.then(|| Wait {
        what: format!("{number} for approval to start: {subject}"),
        how: let_begin(number, typed),
    })
}

/// What a member waits for, in a few words.
pub(crate) fn waits_for(state: &State, member: &Member) -> Option<&'static str> {
    let asker = Party::member(&member.name);
    let is_open =
        |kind| state.requests().any(|(_, request)| request.from == asker && request.kind == kind);
    if is_open(MessageKind::PlanApprovalRequest) {
        return Some("waits for approval of its plan");
    }
    is_open(MessageKind::PermissionRequest).then_some("waits for an answer")
}

/// How a member is allowed what it asks for, and nothing else that it may ask for by then.
pub(super) fn allow(from: &Party, request: Uuid, typed: &Typed) -> String {
    // So much of it tells when it was asked, to the millisecond.
    let request: String = request.to_string().chars().take(13).collect();
    typed.kept_in(&format!("`troop message answer {from} yes --request {request}`, or `no`"))
}

/// How a question of a member is answered.
pub(super) fn answer(from: &Party, typed: &Typed) -> String {
    typed.kept_in(&format!("`troop message answer {from} yes`, or `no`"))
}

/// How a result is taken or sent back.
pub(super) fn judge(task: TaskNumber, typed: &Typed) -> String {
    typed.kept_in(&format!(
        "`troop task approve {0}`, or send it back: `troop task reject {0} --mode revise --reason \"…\"`",
        task.0
    ))
}

/// How a task may begin.
pub(super) fn let_begin(task: TaskNumber, typed: &Typed) -> String {
    typed.kept_in(&format!("`troop task approve {}`", task.0))
}

/// How somebody is told something.
pub(super) fn word(to: &str, typed: &Typed) -> String {
    typed.kept_in(&format!("`troop message send {to} \"…\"`"))
}

/// How a question to the user is answered.
pub(super) fn reply(from: &str, task: TaskNumber, typed: &Typed) -> String {
    typed.kept_in(&format!(
        "`troop message send {from} \"…\"`, then `troop task clear-ask-user {}`",
        task.0
    ))
}
