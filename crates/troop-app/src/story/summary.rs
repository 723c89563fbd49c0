//! The summary of a team's work, as JSON.

use serde_json::{Value, json};
use troop_model::EvidenceView;

use super::Story;

/// The report of a team's work, for programs.
#[must_use]
pub fn summary_json(story: &Story) -> Value {
    let state = story.state();
    let tally = story.tally();
    let team = state.team();
    let tasks: Vec<_> = state
        .tasks()
        .iter()
        .map(|task| {
            let work = tally.completion(task.number);
            json!({
                "number": task.number, "subject": task.subject, "owner": task.owner, "attempts": task.attempts,
                "status": state.tasks().status(task.number), "result": task.result,
                "evidence": task.proof.evidence.iter().map(EvidenceView::new).collect::<Vec<_>>(),
                "checks_waived": task.proof.waived, "merged": task.proof.merged, "usage": task.usage,
                "began_at": work.map(|work| work.began_at), "ended_at": work.map(|work| work.ended_at),
            })
        })
        .collect();
    let members: Vec<_> = tally
        .workers(state)
        .into_iter()
        .map(|(name, work)| {
            let completed: Vec<_> = work.completed.iter().map(|it| it.task).collect();
            json!({
                "name": name, "agent": state.member(name).map(|it| &it.agent), "completed": completed,
                "worked_seconds": work.worked.as_secs_f64(), "messages": work.n_messages, "crashes": work.n_crashes,
                "usage": state.member(name).map(|it| &it.usage),
            })
        })
        .collect();
    let recoveries: Vec<_> = tally
        .recoveries
        .iter()
        .map(|it| json!({"at": it.at, "task": it.task, "from": it.from, "reason": it.reason, "to": it.to.as_ref().map(|(to, _)| to)}))
        .collect();
    let vetoes: Vec<_> = tally
        .vetoes
        .iter()
        .map(|it| json!({"at": it.at, "member": it.member, "about": it.about, "feedback": it.feedback}))
        .collect();
    let troubles: Vec<_> = tally
        .troubles
        .iter()
        .map(|it| json!({"at": it.at, "what": it.what, "about": it.about}))
        .collect();
    let plans: Vec<_> = tally
        .answers
        .iter()
        .map(|it| json!({"at": it.at, "member": it.member, "approved": it.is_yes, "feedback": it.feedback}))
        .collect();
    json!({
        "team": team.map(|team| &team.name), "id": team.map(|team| team.id), "began_at": tally.since,
        "ended_at": tally.until, "messages": tally.n_messages, "tasks": tasks, "members": members,
        "recoveries": recoveries, "vetoes": vetoes, "troubles": troubles, "plans": plans, "answer": tally.answer,
        "usage": team.map(|team| &team.usage), "budget": team.map(|team| &team.settings.budget), "spending": state.spending(),
    })
}
