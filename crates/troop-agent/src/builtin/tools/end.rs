//! Plans, and ends of a task other than success. Success is the last thing that the model says.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{OwnTool, schema};
use crate::TurnOutcome;

#[derive(Deserialize)]
pub(super) struct EndInput {
    reason: String,
}

pub(super) fn about_plan() -> (&'static str, Map<String, Value>) {
    let about = "Sends your plan to the lead and waits for the answer. Until a plan of yours is approved you may only read.";
    (about, schema(&[("plan", "string", "What you want to do, step by step")], &["plan"]))
}

pub(super) fn about_fail() -> (&'static str, Map<String, Value>) {
    let about = "Ends the task as failed. Use it when the task cannot be done as asked, after you have tried.";
    (
        about,
        schema(&[("reason", "string", "Why it cannot be done, and what you tried")], &["reason"]),
    )
}

pub(super) fn about_give_back() -> (&'static str, Map<String, Value>) {
    let about = "Gives the task back unfinished, for somebody else to do. Use it when you are the wrong one for it.";
    (about, schema(&[("reason", "string", "Why somebody else should do it")], &["reason"]))
}

pub(super) fn end(tool: OwnTool, EndInput { reason }: EndInput) -> TurnOutcome {
    if tool == OwnTool::GiveBack {
        TurnOutcome::GaveBack { reason }
    } else {
        TurnOutcome::Failed { reason }
    }
}
