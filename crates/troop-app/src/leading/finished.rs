//! A team whose lead has ended, and what is left to complain about.

use troop_model::{
    AgentKind, Assignment, Hint, HintCommand, HintOption, MemberName, MemberState, Role, Spending,
    State, Status, TaskNumber, Team, TeamName, TeamStatus,
};
use troop_runtime::{LeadEnd, LeadWork};

use super::TeamHarvest;
use crate::{
    Error, Result,
    hint::{follow_events, raise_budget, resume},
    story::Story,
    text::one_line,
};

/// How many tasks are named.
const MAX_NAMED: usize = 5;

/// A team whose lead has ended.
#[derive(Debug)]
pub struct RunReport {
    pub ended: LeadEnd,
    pub story: Story,
    /// The fault of the lead's agent.
    pub(super) fault: Option<String>,
    /// The error that the lead's agent was still trying to get over.
    pub(super) setback: Option<String>,
    /// Whether the lead's agent follows a script, which it does not continue by itself.
    pub(super) follows: bool,
    /// How far the lead's agent is with what it was told.
    pub(super) work: LeadWork,
    pub landing: TeamHarvest,
}

impl RunReport {
    /// Refuses a team that has not done what it was to do, and says what to do next.
    pub fn check(&self) -> Result<()> {
        let state = self.story.state();
        let Some(team) = state.team() else { return Ok(()) };
        if team.status == TeamStatus::Deleted {
            return check_deleted(state, team);
        }
        let name = &team.name;
        let on = Hint::to("continue", resume(name));
        match &self.ended {
            LeadEnd::Superseded => {
                let hint = Hint::to("see what it is doing", follow_events(name));
                return Err(Error::refused("another session leads the team now", hint));
            }
            LeadEnd::Lost { reason } => {
                let message = format!("contact with the team was lost: {reason}");
                return Err(Error::refused(message, on));
            }
            LeadEnd::Stopped { .. } | LeadEnd::Quiet => {}
        }
        let is_spent = state.spending() == Spending::Spent && self.ended != LeadEnd::Quiet;
        if let Some(fault) = self.fault.as_ref().filter(|_| !is_spent) {
            let message = format!("the lead could not continue: {}", one_line(fault));
            return Err(Error::refused(message, self.after_fault(name)));
        }
        if let Some(lead) = state.lead().filter(|it| it.state == MemberState::Crashed) {
            let reason = lead.state_reason.as_deref().unwrap_or("no reason is known");
            let message = format!("the lead crashed: {}", one_line(reason));
            return Err(Error::refused(message, on));
        }
        let left = LeftTasks::of(state);
        if is_spent {
            let told = team.settings.budget.told(&team.usage).unwrap_or_default();
            let message = format!("the team's budget is spent: {told}; {}", left.says());
            return Err(Error::refused(message, raise_budget(team)));
        }
        match left.n_open {
            0 if self.has_open_request() => {
                let last =
                    self.setback.as_deref().map(|it| format!("; its last error: {}", one_line(it)));
                Err(Error::refused(left.says() + &last.unwrap_or_default(), on))
            }
            0 => self.failed_without_task(name),
            // A team that was stopped continues where it was; what nobody could do needs something else.
            _ if self.ended == LeadEnd::Quiet => Err(left.complaint(state, name)),
            _ => Err(Error::refused(left.says(), left.way_on(name).unwrap_or(on))),
        }
    }

    /// The hint for a lead whose agent failed.
    fn after_fault(&self, name: &TeamName) -> Hint {
        let lead = self.story.state().lead().map_or("lead", |lead| lead.name.as_str());
        let see = Hint::to("see what it did", HintCommand::troop("log").word(lead).in_team(name));
        let see = match self.follows {
            true => {
                let create = HintCommand::troop("task create").text("…").in_team(name);
                let again = HintCommand::troop("message send").word(lead).text("…").in_team(name);
                see.and("; create what is missing by hand (").and_run(create).and("), or ").and_to(
                    "",
                    "restart the script by sending it the goal again",
                    again,
                )
            }
            false => see,
        };
        see.then_to("continue", resume(name))
    }

    /// Complains about work without a task that a teammate could not do: no task says so.
    fn failed_without_task(&self, name: &TeamName) -> Result<()> {
        let Some((member, reason)) = self.story.tally().failed.first_key_value() else {
            return Ok(());
        };
        let message = format!("{member} could not do what it was told: {}", one_line(reason));
        let log = HintCommand::troop("log").word(member).in_team(name);
        let send = HintCommand::troop("message send").word(member).text("…").in_team(name);
        let hint = Hint::to("see what it did", log)
            .and_to("; ", "tell it again", send)
            .then_to("continue", resume(name));
        Err(Error::refused(message, hint))
    }

    /// Whether the lead ended before it dealt with what people told it.
    fn has_open_request(&self) -> bool {
        self.work != LeadWork::Done || self.story.state().lead_has_request()
    }
}

/// Refuses a team that was deleted before its tasks were done. It cannot continue, and its name may be another's by now.
fn check_deleted(state: &State, team: &Team) -> Result<()> {
    let left = LeftTasks::of(state);
    if left.n_open == 0 {
        return Ok(());
    }
    let events = HintCommand::troop("events").in_team(team.id);
    let message = format!("the team was deleted, and {}", left.says());
    Err(Error::refused(message, Hint::to("see what happened", events)))
}

/// The tasks that are not done.
#[derive(Debug, Default)]
struct LeftTasks {
    n_open: usize,
    /// Nobody holds them, and nothing holds them up.
    pending: Vec<TaskNumber>,
    /// They are not tried again by themselves.
    failed: Vec<TaskNumber>,
    /// Whether the first of those that failed had attempts left.
    is_hopeless: bool,
    /// They wait for approval.
    in_review: Vec<TaskNumber>,
    /// The first that waits for a task that was cancelled.
    cut_off: Option<CutOffTask>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CutOffTask {
    task: TaskNumber,
    cancelled: TaskNumber,
}

impl LeftTasks {
    fn of(state: &State) -> Self {
        let max_attempts = state.team().map_or(0, |team| team.settings.max_attempts);
        let mut left = Self::default();
        for task in state.tasks().iter() {
            let number = task.number;
            match state.tasks().status(number).unwrap_or(task.status) {
                Status::Completed | Status::Cancelled => continue,
                Status::Pending => left.pending.push(number),
                Status::Failed if task.start.not_before.is_none() => {
                    if left.failed.is_empty() {
                        left.is_hopeless = task.attempts_used() < max_attempts;
                    }
                    left.failed.push(number);
                }
                Status::InReview => left.in_review.push(number),
                Status::Blocked => left.cut_off = left.cut_off.or_else(|| cut_off(state, number)),
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

    /// The step before the team can continue, if one is needed.
    fn way_on(&self, name: &TeamName) -> Option<Hint> {
        let task =
            |path: &str, task: TaskNumber| HintCommand::troop(path).word(task.0).in_team(name);
        if let Some(first) = self.failed.first() {
            let why = match self.is_hopeless {
                true => "retrying alone does not help; fix the problem, then: ",
                false => "all attempts are used up; retry: ",
            };
            let others = if self.failed.len() > 1 { " (and the others)" } else { "" };
            let retry = Hint::from(why).and_run(task("task retry", *first)).and(others);
            return Some(retry.then_to("continue", resume(name)));
        }
        if let Some(first) = self.in_review.first() {
            let approve = Hint::to("it waits for approval", task("task approve", *first));
            return Some(approve.then_to("continue", resume(name)));
        }
        let CutOffTask { task: waiting, cancelled } = self.cut_off?;
        let unblock = task("task update", waiting).word("--unblock");
        let cancel = task("task cancel", waiting).word("--reason").text("…");
        let hint = Hint::from(format!("{waiting} waits for {cancelled}, which was cancelled; "))
            .and_to("", "make it wait for nothing", unblock)
            .or_to("cancel it too", cancel);
        Some(hint.then_to("continue", resume(name)))
    }

    /// Nobody has anything left to do, and yet this is not done.
    fn complaint(&self, state: &State, name: &TeamName) -> Error {
        let Some(first) = self.pending.first() else {
            let on = || Hint::to("continue", resume(name));
            return Error::refused(self.says(), self.way_on(name).unwrap_or_else(on));
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
        Error::refused(message, self.way_out(state, *first, name).then_to("continue", resume(name)))
    }

    /// The hint for a task that nobody does.
    fn way_out(&self, state: &State, task: TaskNumber, name: &TeamName) -> Hint {
        let number = task.0;
        let mut teammates = state.members().filter(|it| it.role == Role::Member);
        let Some(member) = teammates.next() else {
            // The agent `command` would run a text that a model wrote.
            let thinks = state.lead().is_some_and(|lead| AgentKind::Builtin.is(&lead.agent));
            let agent = if thinks { AgentKind::Builtin } else { AgentKind::PROPOSED }.key();
            let add = HintCommand::troop("member add").word(format!("ann={agent}")).in_team(name);
            let member = HintOption::new("member", format!("ann={agent}"));
            return Hint::from("add somebody: ").and_option(member).or_to("now", add);
        };
        let is_given = state.team().is_some_and(|it| it.settings.assignment != Assignment::Claim);
        let assignee = state.tasks().get(task).and_then(|task| task.assignee.as_ref());
        if let Some(assignee) = assignee.filter(|_| is_given) {
            let free = HintCommand::troop("task update").word(number).word("--unassign");
            let reserved = format!("it is reserved for {assignee}; ");
            return Hint::from(reserved).and_to("", "free it", free.in_team(name));
        }
        if is_given {
            let what = if self.pending.len() == 1 { "it" } else { "them" };
            let log = HintCommand::troop("log").word(&member.name).in_team(name);
            return Hint::to(format!("see what became of {what}"), log);
        }
        let is_ours = |it: &&MemberName| state.member(it).is_some_and(|it| !it.is_external());
        assign_by_hand(task, assignee.filter(is_ours).unwrap_or(&member.name), name)
    }
}

fn assign_by_hand(task: TaskNumber, to: &MemberName, name: &TeamName) -> Hint {
    let assign = HintCommand::troop("task assign").word(task.0).word(to).in_team(name);
    let delegate = HintCommand::troop("task delegate").word(task.0).word("--to").word(to);
    let set = HintCommand::troop("team set").team(name).word("assignment=both");
    Hint::from("nobody gave it out, and members claim their work here (`assignment=claim`); ")
        .and_to("", "assign it", assign)
        .and(", or: ")
        .and_run(delegate.in_team(name))
        .and_to("; or ", "let troop assign all work", set)
}

/// A blocked task that waits for a task that was cancelled.
fn cut_off(state: &State, task: TaskNumber) -> Option<CutOffTask> {
    let is_cancelled = |it: &TaskNumber| state.tasks().status(*it) == Some(Status::Cancelled);
    let open = state.tasks().open_dependencies(task);
    let cancelled = open.iter().map(|it| it.task).find(is_cancelled)?;
    Some(CutOffTask { task, cancelled })
}

#[cfg(test)]
mod tests;
