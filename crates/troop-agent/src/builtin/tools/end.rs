//! Plans, and ends of a task other than success. Success is the model's last words.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{OwnTool, schema};
use crate::TurnOutcome;

#[derive(Deserialize)]
pub(super) struct EndInput {
    reason: String,
}

pub(super) fn about_plan() -> (&'static str, Map<String, Value>) {
    let about = "Proposes your plan to the lead and waits for the answer. You may only read until a plan of yours is approved.";
    (about, schema(&[("plan", "string", "The steps that you want to take")], &["plan"]))
}

pub(super) fn about_fail() -> (&'static str, Map<String, Value>) {
    let about =
        "Ends the task as failed. Call it if you tried, and the task cannot be done as asked.";
    (
        about,
        schema(&[("reason", "string", "Why it cannot be done, and what you tried")], &["reason"]),
    )
}

pub(super) fn about_give_back() -> (&'static str, Map<String, Value>) {
    let about =
        "Gives the unfinished task back to the board. Call it if somebody else should do the task.";
    (about, schema(&[("reason", "string", "Why somebody else should do it")], &["reason"]))
}

pub(super) fn end(tool: OwnTool, EndInput { reason }: EndInput) -> TurnOutcome {
    if tool == OwnTool::GiveBack {
        TurnOutcome::GaveBack { reason }
    } else {
        TurnOutcome::Failed { reason }
    }
}
