//! Results of external members. troop does not run them, so nothing else informs the lead when they end a task.

use super::{Draft, results};
use crate::{Fact, Member, Status, TaskNumber};

/// Tells the lead of the tasks that an external member has ended.
pub(super) fn tell(draft: &mut Draft<'_>) {
    let Some(member) = draft.member().and_then(|name| draft.state.member(name)) else { return };
    if !member.is_external() {
        return;
    }
    let ends: Vec<_> = draft.facts.iter().filter_map(|fact| end(draft, member, fact)).collect();
    for (task, status, result) in ends {
        let result = results::in_notice(task, &result);
        let content = format!("{} has finished {task}; it is {status}: {result}", member.name);
        draft.tell_lead(content, task);
    }
}

/// The task that a fact ends, its new status, and the result. Leaves out tasks that failed for good and delegated tasks: the
/// rules of failing and the announcement tell the lead about those.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other fact ends a member's work")]
fn end(draft: &Draft<'_>, member: &Member, fact: &Fact) -> Option<(TaskNumber, Status, String)> {
    let end = match fact {
        Fact::TaskCompleted { task, result, .. } => (*task, Status::Completed, result.clone()),
        Fact::TaskSubmitted { task, result } => {
            let before = || draft.state.tasks.get(*task).and_then(|it| it.result.clone());
            let result = result.clone().or_else(before).unwrap_or_default();
            (*task, Status::InReview, result)
        }
        Fact::TaskFailed { task, reason, retry_at: Some(_) } => {
            (*task, Status::Failed, reason.clone())
        }
        _ => return None,
    };
    let mut delegations = draft.state.delegations();
    let is_delegated = delegations.any(|it| it.task == end.0 && it.to == member.name);
    (!is_delegated).then_some(end)
}
