//! Rules of proof: the evidence that a task is done, and who may record it.

use super::{
    Draft, Standing,
    work::{self, RetryRule},
};
use crate::{
    Fact, Proof, Refusal, RefusalRecord, Status, Task, TaskAction, can_repair,
    proof::{MAX_CHECKS, MAX_TAIL},
    text,
};

/// Records the results of checks and where the work was merged. Members cannot record that themselves.
pub(super) fn prove(draft: &mut Draft<'_>, proof: &Proof) -> Result<(), Refusal> {
    if !matches!(draft.who, Standing::System | Standing::Person) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say that checks passed",
            may: "troop itself, which runs them when the task is completed,",
        });
    }
    let task = draft.live(&proof.task)?;
    // The next lead merges work that was completed while nobody led.
    let is_late = draft.who == Standing::System
        && task.status == Status::Completed
        && task.proof.merged.is_none();
    if task.status.is_finished() && !is_late {
        let status = draft.status(task);
        return Err(Refusal::WrongStatus { task: task.number, status, action: TaskAction::Prove });
    }
    // No evidence and no merge: nothing of it is left to merge.
    let is_settled = is_late && task.proof.conflict.is_some() && proof.merge.is_none();
    let known = task.proof.evidence.clone();
    let task = task.number;
    let waived = proof.waived.as_deref().map(|it| text::block("reason", it)).transpose()?;
    if waived.is_some() && draft.who != Standing::Person {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "do without checks",
            may: "a person",
        });
    }
    let n = proof.evidence.len();
    // The team, the lead and the task may each name that many.
    if n > 3 * MAX_CHECKS {
        return Err(Refusal::TooMany { what: "pieces of evidence", n, limit: 3 * MAX_CHECKS });
    }
    if let Some(it) = proof.evidence.iter().find(|it| it.tail.len() > 16 * MAX_TAIL) {
        let n_chars = it.tail.chars().count();
        return Err(Refusal::TooLong { field: "tail", n_chars, limit: MAX_TAIL });
    }
    if n > 0 || waived.is_some() {
        let evidence = proof.evidence.iter().map(crate::Evidence::kept).collect();
        draft.push(Fact::TaskChecked { task, evidence, waived });
    } else if is_settled {
        draft.push(Fact::TaskChecked { task, evidence: known, waived });
    }
    if let Some(merge) = &proof.merge {
        let into = text::line("branch", &merge.into)?;
        let commit = text::line("commit", &merge.commit)?;
        draft.push(Fact::TaskMerged { task, into, commit });
    }
    Ok(())
}

/// Records a refusal that only the caller has seen. A refused completion counts against its attempt.
pub(super) fn refused(draft: &mut Draft<'_>, record: &RefusalRecord) -> Result<(), Refusal> {
    if draft.who != Standing::System {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say what was refused",
            may: "the supervisor",
        });
    }
    let task = record.task.as_ref().map(|task| draft.live(task)).transpose()?;
    if let (Some(task), Some(attempt)) = (task, record.attempt) {
        work::check_held(draft, task, Some(attempt), TaskAction::Complete)?;
    }
    let subject = record.subject.as_deref().map(|it| text::line("subject", it)).transpose()?;
    let reason = text::block("reason", &record.reason)?;
    let details = record.details.as_deref().map(|it| text::block("details", it)).transpose()?;
    let details = details.unwrap_or_else(|| reason.clone());
    draft.push(Fact::TaskRefused {
        task: task.map(|task| task.number),
        subject,
        who: record.who.clone(),
        by: record.by,
        reason,
        attempt: record.attempt,
    });
    match task.filter(|_| record.attempt.is_some()) {
        Some(task) if is_hopeless(draft, task) => {
            work::fail_now(draft, task, &details, RetryRule::AsConfigured)
        }
        _ => Ok(()),
    }
}

/// Whether one more refusal ends the attempt: its holder cannot repair its work, or was refused too often.
fn is_hopeless(draft: &Draft<'_>, task: &Task) -> bool {
    let n_refusals = task.proof.n_refusals.saturating_add(1);
    n_refusals >= draft.state.limits.refusals || !holder_can_repair(draft, task)
}

/// Whether the holder of a task can repair a refused result. Others would only submit the same again.
pub(super) fn holder_can_repair(draft: &Draft<'_>, task: &Task) -> bool {
    let holder = task.owner.as_ref().and_then(|owner| draft.state.member(owner));
    holder.is_none_or(|it| can_repair(&it.agent))
}

/// Refuses a completion whose checks have not passed.
pub(super) fn check_proved(draft: &Draft<'_>, task: &Task) -> Result<(), Refusal> {
    let has_passed =
        |check: &&str| task.proof.evidence.iter().any(|it| it.command == **check && it.is_good());
    let required = task.required_checks(draft.team()?);
    let missing: Vec<_> =
        required.into_iter().filter(|check| !has_passed(check)).map(str::to_owned).collect();
    if missing.is_empty() { Ok(()) } else { Err(Refusal::NotProved { task: task.number, missing }) }
}

/// Checks a list of check commands and removes duplicates.
pub fn checks(named: &[String]) -> Result<Vec<String>, Refusal> {
    let mut checks: Vec<String> = Vec::new();
    for check in named {
        let check = text::line("check", check)?;
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    if checks.len() > MAX_CHECKS {
        return Err(Refusal::TooMany { what: "checks", n: checks.len(), limit: MAX_CHECKS });
    }
    Ok(checks)
}
