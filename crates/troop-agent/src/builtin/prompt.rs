//! What only the built-in agent's model is told: what went wrong with its last words, and how it ends its work.

use troop_model::Role;

const TASK_ENDS: &str = "\
- When a task is done, say in a few sentences what came of it: that ends the task, and others read it as the result. If the task \
cannot be done, use FailTask; if somebody else should do it, use GiveBackTask. Never say that something is done when it is not.";
const LEAD_ENDS: &str = "\
- The user reads what you say at the end of a turn. Never say that something is done when it is not.";

pub(crate) const EMPTY: &str = "You said nothing. Go on with the work, or say what came of it.";
pub(crate) const CUT_OFF: &str = "Your answer was cut off because it was too long. Go on where it ended, and do not repeat what you have said.";
pub(crate) const MAIL_WAITS: &str =
    "mail from teammates waits until a person, the lead or a new task gives it work";
pub(crate) const TAKEN_AS_PLAN: &str =
    "You may only read until a plan of yours is approved, so your answer was taken as your plan";
pub(crate) const PLAN_APPROVED: &str = "You may only read until a plan of yours is approved, so your answer was taken as your plan. It was approved: do now what it \
says. If there is nothing to do because it was the result already, say the whole result again: that ends the task.";

/// How the agent ends its work.
pub(crate) fn ending(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Lead) => LEAD_ENDS,
        Some(Role::Member) | None => TASK_ENDS,
    }
}

/// For a model whose call did not arrive whole.
pub(crate) fn call_cut_off(max_tokens: u32) -> String {
    format!(
        "this call was cut off after {max_tokens} tokens, the most that you can say at once, so nothing was done; write it in \
         smaller pieces: create the file with its first part, and add the rest with further calls"
    )
}

/// For a model that said its task is done when it is not.
pub(crate) fn not_done(why: &str) -> String {
    format!("Your task is not done yet: {why}")
}
