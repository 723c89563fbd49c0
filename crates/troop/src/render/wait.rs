//! What a team waits for that a person can decide, and what to type then.

use troop_model::{Member, Need, NeedKind, State, TaskNumber, preview};
use uuid::Uuid;

use super::{every_line, one_line};
use crate::report::CallerOptions;

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
pub(super) fn waits(state: &State, members: &[Member], typed: &CallerOptions) -> Vec<Wait> {
    state.needs(members).iter().filter_map(|need| of_need(need, typed)).collect()
}

fn of_need(need: &Need, typed: &CallerOptions) -> Option<Wait> {
    let from = need.from.as_str();
    let subject = one_line(&need.text);
    let asks = || format!("{from} for {}: {}", need.to, question(&need.text, typed));
    Some(match need.kind {
        NeedKind::Permission => Wait { what: asks(), how: allow(from, need.id, typed) },
        NeedKind::Plan => Wait { what: asks(), how: answer(from, typed) },
        NeedKind::Question => {
            let task = need.task?;
            Wait { what: format!("{} ({task})", asks()), how: reply(from, task, typed) }
        }
        NeedKind::Review => {
            let task = need.task?;
            Wait { what: format!("{task} for approval: {subject}"), how: judge(task, typed) }
        }
        NeedKind::Start => {
            let task = need.task?;
            let what = format!("{task} for approval to start: {subject}");
            Wait { what, how: let_begin(task, typed) }
        }
    })
}

/// A question, as far as it can be shown, and how to see the rest.
pub(crate) fn question(text: &str, typed: &CallerOptions) -> String {
    let shown = every_line(text);
    let n_more = shown.chars().count().saturating_sub(MAX_SHOWN);
    if n_more == 0 { shown } else { preview(&shown, MAX_SHOWN) + &more(n_more, typed) }
}

/// What is said where a question is cut.
pub(super) fn more(n_chars: usize, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!("… ({n_chars} more characters: `troop message read --all`)"))
}

/// How a member is allowed what it asks for, and nothing else that it may ask for by then.
pub(super) fn allow(from: &str, request: Uuid, typed: &CallerOptions) -> String {
    // So much of it tells when it was asked, to the millisecond.
    let request: String = request.to_string().chars().take(13).collect();
    typed.added_to_text(&format!("`troop message answer {from} yes --request {request}`, or `no`"))
}

/// How a question of a member is answered.
pub(super) fn answer(from: &str, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!("`troop message answer {from} yes`, or `no`"))
}

/// How a result is taken or sent back.
pub(super) fn judge(task: TaskNumber, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!(
        "`troop task approve {0}`, or send it back: `troop task reject {0} --mode revise --reason \"…\"`",
        task.0
    ))
}

/// How a task may begin.
pub(super) fn let_begin(task: TaskNumber, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!("`troop task approve {}`", task.0))
}

/// How somebody is told something.
pub(super) fn word(to: &str, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!("`troop message send {to} \"…\"`"))
}

/// How a question to the user is answered.
pub(super) fn reply(from: &str, task: TaskNumber, typed: &CallerOptions) -> String {
    typed.added_to_text(&format!(
        "`troop message send {from} \"…\"`, then `troop task clear-ask-user {}`",
        task.0
    ))
}
