//! The verdict of a hook: continue or veto, and complaints about the hook itself.

use std::{fmt, os::unix::process::ExitStatusExt as _};

use serde_json::{Map, Value};
use troop_model::preview;

use super::{Hook, HookEvent, run::HookOutcome};

/// The exit code for a veto.
const VETO: i32 = 2;
/// How much of a command or its output a complaint quotes.
const MAX_QUOTE: usize = 200;

/// Whether an occasion may happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    #[default]
    Continue,
    Veto {
        /// Why, for the agent.
        feedback: String,
    },
}

/// The result of all hooks for one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookReport {
    /// The first veto in the order of the configuration, if any.
    pub verdict: Verdict,
    /// Failures of hooks, for people. The team is not affected.
    pub complaints: Vec<Complaint>,
}

/// A fault of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub event: HookEvent,
    pub command: String,
    pub what: String,
}

/// The result of one hook.
#[derive(Debug, Default)]
pub(super) struct HookJudgement {
    pub(super) verdict: Verdict,
    pub(super) complaint: Option<Complaint>,
}

impl HookReport {
    pub(super) fn add(&mut self, judged: HookJudgement) {
        if self.verdict == Verdict::Continue {
            self.verdict = judged.verdict;
        }
        self.complaints.extend(judged.complaint);
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hook `{}` on {} {}", quote(&self.command), self.event, self.what)
    }
}

/// Judges a hook that was waited for.
pub(super) fn judge(event: HookEvent, hook: &Hook, outcome: HookOutcome) -> HookJudgement {
    let complain = |what| HookJudgement {
        verdict: Verdict::Continue,
        complaint: Some(Complaint { event, command: hook.command.clone(), what }),
    };
    match read(hook, outcome) {
        Ok(Verdict::Continue) => HookJudgement::default(),
        Ok(Verdict::Veto { feedback }) if !event.can_be_vetoed() => complain(format!(
            "said no, but it is too late to prevent anything: {}",
            quote(&feedback)
        )),
        Ok(verdict) => HookJudgement { verdict, complaint: None },
        Err(what) => complain(what),
    }
}

/// Judges an asynchronous hook: its veto is only a complaint.
pub(super) fn judge_late(event: HookEvent, hook: &Hook, outcome: HookOutcome) -> HookJudgement {
    let judged = judge(event, hook, outcome);
    let Verdict::Veto { feedback } = judged.verdict else { return judged };
    let what = format!("said no, but an `async` hook cannot veto: {}", quote(&feedback));
    let complaint = Some(Complaint { event, command: hook.command.clone(), what });
    HookJudgement { verdict: Verdict::Continue, complaint }
}

/// The verdict of a hook, or what is wrong with it.
fn read(hook: &Hook, outcome: HookOutcome) -> Result<Verdict, String> {
    let (status, out, err) = match outcome {
        HookOutcome::Ended { status, out, err } => (status, out, err),
        HookOutcome::TimedOut => {
            return Err(format!("took longer than {:?} and was killed", hook.timeout));
        }
        HookOutcome::NotRun(error) => return Err(format!("could not be run: {error}")),
        HookOutcome::Fault(what) => return Err(format!("met a fault in troop: {what}")),
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => answer(&out, &err),
        (Some(VETO), _) => Ok(veto([err, out])),
        (Some(code), _) => Err(format!("ended with exit code {code}{}", said(&err))),
        (None, Some(signal)) => Err(format!("was ended by signal {signal}{}", said(&err))),
        (None, None) => Err(format!("ended with {status}{}", said(&err))),
    }
}

/// Reads the output of a hook that succeeded. Only an output that begins like an object is an answer.
fn answer(out: &str, err: &str) -> Result<Verdict, String> {
    if !out.starts_with('{') {
        return Ok(Verdict::Continue);
    }
    let answer: Map<String, Value> = serde_json::from_str(out)
        .map_err(|error| format!("printed something that is not JSON ({error}): {}", quote(out)))?;
    let is_veto = match (answer.get("continue"), answer.get("decision")) {
        (Some(Value::Bool(false)), _) => true,
        (None | Some(Value::Bool(true)), Some(Value::String(decision))) => decision == "block",
        (None | Some(Value::Bool(true)), None) => false,
        _ => return Err(format!("gave an answer that cannot be understood: {}", quote(out))),
    };
    if !is_veto {
        return Ok(Verdict::Continue);
    }
    let text = |key| answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(veto([text("reason"), text("stopReason"), err.to_owned()]))
}

/// A veto with the first reason that is not blank.
fn veto(reasons: impl IntoIterator<Item = String>) -> Verdict {
    let feedback = reasons.into_iter().find(|reason| !reason.trim().is_empty());
    Verdict::Veto {
        feedback: feedback.unwrap_or_else(|| "a hook said no, without a reason".to_owned()),
    }
}

fn said(err: &str) -> String {
    if err.is_empty() { String::new() } else { format!(": {}", quote(err)) }
}

/// The beginning of a text, on one line.
fn quote(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted = preview(&line, MAX_QUOTE);
    if quoted.len() < line.len() { format!("{quoted}…") } else { quoted }
}
