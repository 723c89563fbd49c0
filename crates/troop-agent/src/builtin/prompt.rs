//! The words that only the built-in agent's model reads: how it ends its work, and what was wrong with its last words.

use troop_model::Role;

const TASK_ENDS: &str = "\
- When the task is done, say in a few sentences what the result is. That ends the task, and others read your words as its result. If \
the task cannot be done, call FailTask. If somebody else should do it, call GiveBackTask. Never say that something is done when it is \
not.";
const LEAD_ENDS: &str = "\
- The user reads what you say at the end of a turn. Never say that something is done when it is not.";

pub(crate) const EMPTY: &str = "You said nothing. Continue your work, or say what the result is.";
pub(crate) const CUT_OFF: &str =
    "Your answer was cut off because it was too long. Continue where it ended, and repeat nothing.";
pub(crate) const MAIL_WAITS: &str =
    "mail from teammates waits until a person, the lead or a new task gives it work";
const TAKEN_AS_PLAN: &str = "You may only read until a plan of yours is approved. Your answer was therefore taken as your plan.";

/// How the agent ends its work.
pub(crate) fn ending(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::Lead) => LEAD_ENDS,
        Some(Role::Member) | None => TASK_ENDS,
    }
}

/// Where the files are that the team shares.
pub(crate) fn workspace(folder: &str) -> String {
    format!(
        "\nThe team shares files outside the repository in `{folder}`: notes, drafts, results. Read, Write, Edit and LS work there, \
         too; a file that you write there belongs to this task.\n"
    )
}

/// The approved plan, which the model must not forget.
pub(crate) fn approved_plan(plan: &str) -> String {
    format!("Your approved plan:\n{plan}")
}

/// For a model whose last words were taken as its plan, which was approved.
pub(crate) fn plan_approved() -> String {
    format!(
        "{TAKEN_AS_PLAN} It was approved: now do what it says. If there is nothing left to do because your answer was the result \
         already, say the whole result again: that ends the task."
    )
}

/// For a model whose last words were taken as its plan, which was rejected.
pub(crate) fn plan_rejected(answer: &str) -> String {
    format!("{TAKEN_AS_PLAN} The answer: {answer}")
}

/// For a model whose call did not arrive whole.
pub(crate) fn call_cut_off(max_tokens: u32) -> String {
    format!(
        "this call was cut off after {max_tokens} tokens, the most that you can write at once, so nothing was done; write it in \
         smaller pieces: create the file with its first part, then add the rest with further calls"
    )
}

/// For a model that reported its task done too early.
pub(crate) fn not_done(why: &str) -> String {
    format!("Your task is not done yet: {why}")
}
