//! A team whose lead is over, and what is left to complain about.

use anyhow::Result;
use troop_app::{agents::SUGGESTED, story::Story};
use troop_model::{
    AgentKind, Assignment, MemberState, Party, Role, Spending, State, Status, Task, TaskNumber,
};
use troop_runtime::{LeadEnd, LeadWork};

use super::TeamHarvest;
use crate::{render, report::Refused};

/// How many tasks are named.
const MAX_NAMED: usize = 5;

/// A team whose lead is over.
#[derive(Debug)]
pub(crate) struct RunOutcome {
    pub(crate) ended: LeadEnd,
    pub(crate) story: Story,
    /// What went wrong with the lead's agent.
    pub(super) fault: Option<String>,
    /// Whether it follows a script, and does not go on with it by itself.
    pub(super) follows: bool,
    /// How it stands with what it was told.
    pub(super) work: LeadWork,
    /// What became of what teammates made in folders of their own, if they had some.
    pub(crate) home: Option<TeamHarvest>,
}

impl RunOutcome {
    /// What is left to complain about, if anything is: the team has not done what it was to do.
    pub(crate) fn check(&self) -> Result<()> {
        let state = self.story.state();
        let name = state.team().map(|team| team.name.to_string()).unwrap_or_default();
        let on = format!("continue: `troop resume {name}`");
        match &self.ended {
            LeadEnd::Superseded => {
                let hint = format!("see what it is doing: `troop --team {name} events --follow`");
                return Err(Refused::new("another session leads the team now", hint).into());
            }
            LeadEnd::Lost { reason } => {
                return Err(
                    Refused::new(format!("contact with the team was lost: {reason}"), on).into()
                );
            }
            LeadEnd::Stopped { .. } | LeadEnd::Quiet => {}
        }
        let is_spent = state.spending() == Spending::Spent && self.ended != LeadEnd::Quiet;
        if let Some(fault) = self.fault.as_ref().filter(|_| !is_spent) {
            let message = format!("the lead could not continue: {}", render::one_line(fault));
            let lead = state.lead().map_or("lead", |lead| lead.name.as_str());
            let see = format!("see what it did: `troop --team {name} log {lead}`");
            let hint = match self.follows {
                true => format!(
                    "{see}; create what is missing by hand (`troop --team {name} task create \"…\"`), or restart the script \
                     by sending it the goal again: `troop --team {name} message send {lead} \"…\"`, then {on}"
                ),
                false => format!("{see}, then {on}"),
            };
            return Err(Refused::new(message, hint).into());
        }
        if let Some(reason) = state.lead().filter(|it| it.state == MemberState::Crashed) {
            let reason = reason.state_reason.as_deref().unwrap_or("no reason is known");
            let message = format!("the lead crashed: {}", render::one_line(reason));
            return Err(Refused::new(message, on).into());
        }
        match Left::of(state) {
            left if is_spent => Err(left.spent(state, &name).into()),
            left if left.n_open == 0 && self.is_open() => Err(Refused::new(left.says(), on).into()),
            left if left.n_open == 0 => self.failed_without_task(&name),
            // Who was stopped goes on where it was; what nobody could do needs something else.
            left if self.ended == LeadEnd::Quiet => Err(left.complaint(state, &name).into()),
            left => Err(Refused::new(left.says(), left.way_on(&name).unwrap_or(on)).into()),
        }
    }

    /// Complains about what a teammate was told without a task and could not do: no task says so.
    fn failed_without_task(&self, name: &str) -> Result<()> {
        let Some((member, reason)) = self.story.tally().failed.first_key_value() else {
            return Ok(());
        };
        let message =
            format!("{member} could not do what it was told: {}", render::one_line(reason));
        let hint = format!(
            "see what it did: `troop --team {name} log {member}`; tell it again: `troop --team {name} message send {member} \"…\"`, \
             then continue: `troop resume {name}`"
        );
        Err(Refused::new(message, hint).into())
    }

    /// Whether the lead ended before it dealt with what people told it.
    fn is_open(&self) -> bool {
        let state = self.story.state();
        let lead = state.lead().map(|lead| Party::member(&lead.name));
        let has_mail = |lead: &Party| {
            state.mailbox().unread_of(lead).any(|message| message.from == Party::user())
        };
        self.work != LeadWork::Done || lead.is_some_and(|lead| has_mail(&lead))
    }
}

/// The tasks that are not done.
#[derive(Debug, Default)]
struct Left {
    n_open: usize,
    /// Nobody holds them, and nothing holds them up.
    pending: Vec<TaskNumber>,
    /// They are not tried again by themselves.
    failed: Vec<TaskNumber>,
    /// Whether the first of these had attempts left.
    is_hopeless: bool,
    /// They wait for approval.
    in_review: Vec<TaskNumber>,
    /// They wait for what was cancelled.
    cut_off: Vec<(TaskNumber, TaskNumber)>,
}

impl Left {
    fn of(state: &State) -> Self {
        let max_attempts = state.team().map_or(0, |team| team.settings.max_attempts);
        let mut left = Self::default();
        for task in state.tasks().iter() {
            let number = task.number;
            let is_worn_out = |task: &Task| task.start.not_before.is_none();
            match state.tasks().status(number).unwrap_or(task.status) {
                Status::Completed | Status::Cancelled => continue,
                Status::Pending => left.pending.push(number),
                Status::Failed if is_worn_out(task) => {
                    if left.failed.is_empty() {
                        left.is_hopeless = task.attempts_used() < max_attempts;
                    }
                    left.failed.push(number);
                }
                Status::InReview => left.in_review.push(number),
                Status::Blocked => left.cut_off.extend(waits_in_vain(state, number)),
                Status::Failed | Status::InProgress | Status::Stale => {}
            }
            left.n_open += 1;
        }
        left
    }

    fn says(&self) -> String {
        match self.n_open {
            0 => "the lead has not yet done what it was asked".to_owned(),
            1 => "1 task is not done".to_owned(),
            n => format!("{n} tasks are not done"),
        }
    }

    /// There was nothing left to spend.
    fn spent(&self, state: &State, name: &str) -> Refused {
        let Some(team) = state.team() else { return Refused::new(self.says(), String::new()) };
        let budget = &team.settings.budget;
        let used = &team.usage;
        let more = budget.more(used);
        let told = budget.told(used).unwrap_or_default();
        let message = format!("the team's budget is spent: {told}; {}", self.says());
        let hint = format!(
            "raise it: `troop team set {name} {more}`, then continue: `troop resume {name}`"
        );
        Refused::new(message, hint)
    }

    /// What must happen before it can go on, if something must.
    fn way_on(&self, name: &str) -> Option<String> {
        let then = format!("then continue: `troop resume {name}`");
        let task = format!("troop --team {name} task");
        if let Some(first) = self.failed.first() {
            let which = if self.failed.len() > 1 { " (and the others)" } else { "" };
            let retry = format!("`{task} retry {}`{which}", first.0);
            return Some(match self.is_hopeless {
                true => {
                    format!("retrying alone does not help; fix the problem, then: {retry}, {then}")
                }
                false => format!("all attempts are used up; retry: {retry}, {then}"),
            });
        }
        if let Some(first) = self.in_review.first() {
            return Some(format!("it waits for approval: `{task} approve {}`, {then}", first.0));
        }
        let (waiting, cancelled) = self.cut_off.first()?;
        let number = waiting.0;
        Some(format!(
            "{waiting} waits for {cancelled}, which was cancelled; make it wait for nothing: `{task} update {number} --unblock`, \
             or cancel it too: `{task} cancel {number} --reason \"…\"`, {then}"
        ))
    }

    /// Nobody has anything left to do, and yet this is not done.
    fn complaint(&self, state: &State, name: &str) -> Refused {
        let on = format!("continue: `troop resume {name}`");
        let Some(first) = self.pending.first() else {
            return Refused::new(self.says(), self.way_on(name).unwrap_or(on));
        };
        let message = match self.pending.as_slice() {
            [task] => format!("nobody can do {task}"),
            tasks => {
                let named: Vec<_> = tasks.iter().take(MAX_NAMED).map(ToString::to_string).collect();
                let more = if tasks.len() > MAX_NAMED { ", …" } else { "" };
                let n = tasks.len();
                format!("nobody can do {n} tasks: {}{more}", named.join(", "))
            }
        };
        Refused::new(message, format!("{}, then {on}", self.way_out(state, *first, name)))
    }

    /// What can be done about a task that nobody does.
    fn way_out(&self, state: &State, task: TaskNumber, name: &str) -> String {
        let number = task.0;
        let assignee = state.tasks().get(task).and_then(|task| task.assignee.clone());
        let mut teammates = state.members().filter(|it| it.role == Role::Member);
        let Some(member) = teammates.next() else {
            // What a model wrote is no command.
            let thinks = state.lead().is_some_and(|lead| AgentKind::Builtin.is(&lead.agent));
            let agent = if thinks { AgentKind::Builtin.key() } else { SUGGESTED };
            return format!(
                "add somebody: `--member ann={agent}`, or now: `troop --team {name} member add ann={agent}`"
            );
        };
        if let Some(assignee) = assignee {
            return format!(
                "it is reserved for {assignee}; free it: `troop --team {name} task update {number} --unassign`"
            );
        }
        let is_given = state.team().is_some_and(|it| it.settings.assignment != Assignment::Claim);
        if is_given {
            let what = if self.pending.len() == 1 { "it" } else { "them" };
            return format!("see what became of {what}: `troop --team {name} log {}`", member.name);
        }
        let to = &member.name;
        format!(
            "idle members are not given work here (`assignment=claim`); assign it: `troop --team {name} task assign {number} {to}`, \
             or: `troop --team {name} task delegate {number} --to {to}`; or let troop assign all work: `troop team set {name} assignment=both`"
        )
    }
}

/// What a blocked task waits for although it was cancelled.
fn waits_in_vain(state: &State, task: TaskNumber) -> Option<(TaskNumber, TaskNumber)> {
    let is_cancelled = |it: &TaskNumber| state.tasks().status(*it) == Some(Status::Cancelled);
    let open = state.tasks().open_dependencies(task);
    open.iter().map(|it| it.task).find(is_cancelled).map(|cancelled| (task, cancelled))
}
