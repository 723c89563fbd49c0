//! The events of an observed team as lines. No paint, no width.

use std::collections::{BTreeMap, BTreeSet};

use troop_observe::{
    MailDelivery, ObservedFact, ObservedTask, ObservedTaskId, ObservedTeam, TaskStatus, TeamEvent,
    TeamRole,
};

use crate::text::one_line;

/// Tells events. It remembers the tasks as they were last told, so that it can tell what changed.
#[derive(Debug, Default)]
pub struct ObservedStory(BTreeMap<ObservedTaskId, ObservedTask>);

impl ObservedStory {
    /// A story that continues with a team as it is known.
    #[must_use]
    pub fn new(team: Option<&ObservedTeam>) -> Self {
        let tasks = team.into_iter().flat_map(ObservedTeam::tasks);
        Self(tasks.map(|task| (task.id.clone(), task.clone())).collect())
    }

    /// The event, on one line.
    pub fn tell(&mut self, event: &TeamEvent) -> String {
        let mut text = line(event);
        if let ObservedFact::TaskUpdated { task } = &event.fact {
            let before = self.0.get(&task.id);
            let changes = before.map(|before| changes(before, task)).unwrap_or_default();
            if !changes.is_empty() {
                text = format!("{text} ({})", changes.join("; "));
            }
        }
        if let ObservedFact::TaskCreated { task }
        | ObservedFact::TaskClaimed { task }
        | ObservedFact::TaskCompleted { task }
        | ObservedFact::TaskUpdated { task } = &event.fact
        {
            self.0.insert(task.id.clone(), task.clone());
        }
        text
    }
}

/// How a task differs from what it was.
fn changes(before: &ObservedTask, after: &ObservedTask) -> Vec<String> {
    let list = |ids: &BTreeSet<ObservedTaskId>| {
        let ids: Vec<_> = ids.iter().map(|id| one_line(id.as_str())).collect();
        if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
    };
    let status = match after.status {
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Deleted => "deleted",
    };
    let owner = after.owner.as_deref().map_or_else(|| "nobody".to_owned(), one_line);
    [
        (before.status != after.status, format!("now {status}")),
        (before.owner != after.owner, format!("held by {owner}")),
        (before.blocked_by != after.blocked_by, format!("waits for {}", list(&after.blocked_by))),
        (before.blocks != after.blocks, format!("blocks {}", list(&after.blocks))),
        (before.subject != after.subject, "new subject".to_owned()),
        (before.description != after.description, "new description".to_owned()),
        (before.active_form != after.active_form, "new active form".to_owned()),
    ]
    .into_iter()
    .filter_map(|(is_so, what)| is_so.then_some(what))
    .collect()
}

fn line(event: &TeamEvent) -> String {
    let of_task = |task: &ObservedTask| {
        format!("task {}: {}", one_line(task.id.as_str()), one_line(&task.subject))
    };
    let owner = |task: &ObservedTask| one_line(task.owner.as_deref().unwrap_or("nobody"));
    let because = |reason: &Option<String>| match reason {
        Some(reason) => format!(": {}", one_line(reason)),
        None => String::new(),
    };
    match &event.fact {
        ObservedFact::TeamCreated { role: TeamRole::Lead } => {
            format!("team {}", one_line(&event.team))
        }
        ObservedFact::TeamCreated { role: TeamRole::Teammate } => {
            format!("team {}, seen by a teammate", one_line(&event.team))
        }
        ObservedFact::TeamDeleted => format!("team {} is over", one_line(&event.team)),
        ObservedFact::MemberJoined { member } => {
            format!("{} joined ({})", one_line(&member.name), one_line(&member.agent_type))
        }
        ObservedFact::MemberLeft { member } => format!("{} left", one_line(&member.name)),
        ObservedFact::MemberIdle { member } => format!("{} is idle", one_line(&member.name)),
        ObservedFact::MemberActive { member } => format!("{} works again", one_line(&member.name)),
        ObservedFact::TaskCreated { task } => format!("new {}", of_task(task)),
        ObservedFact::TaskClaimed { task } => format!("{} does {}", owner(task), of_task(task)),
        ObservedFact::TaskCompleted { task } => format!("done {}", of_task(task)),
        ObservedFact::TaskUpdated { task } => format!("changed {}", of_task(task)),
        ObservedFact::TaskDeleted { task } => format!("deleted {}", of_task(task)),
        ObservedFact::Message { from, to, content, summary, delivery } => {
            let to = to.as_deref().map_or("all".to_owned(), one_line);
            let said = summary.as_deref().filter(|it| !it.is_empty()).unwrap_or(content);
            let delivery = match delivery {
                Some(MailDelivery::Queued) => " (queued)",
                Some(MailDelivery::Delivered) => " (delivered)",
                None => "",
            };
            format!("{} → {to}: {}{delivery}", one_line(from), one_line(said))
        }
        ObservedFact::Idle { from, completed_task_id: Some(task) } => {
            format!("{} has completed task {}", one_line(from), one_line(task.as_str()))
        }
        ObservedFact::Idle { from, completed_task_id: None } => {
            format!("{} has nothing to do", one_line(from))
        }
        ObservedFact::ShutdownRequest { from, to, reason, .. } => {
            format!("{} asks {} to stop{}", one_line(from), one_line(to), because(reason))
        }
        ObservedFact::ShutdownResponse { from, approved, reason, .. } => {
            let answer = if *approved { "agrees to stop" } else { "does not stop" };
            format!("{} {answer}{}", one_line(from), because(reason))
        }
        ObservedFact::PlanApprovalRequest { from, plan, .. } => {
            format!("{} has a plan: {}", one_line(from), one_line(plan))
        }
        ObservedFact::PlanApprovalResponse { from, to, approved, feedback, .. } => {
            let answer = if *approved { "approves" } else { "rejects" };
            format!("{} {answer} the plan of {}{}", one_line(from), one_line(to), because(feedback))
        }
    }
}
