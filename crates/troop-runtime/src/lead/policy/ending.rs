//! When a team's work is over, because no member has anything left to do or the budget is spent; and when it is stuck.

use troop_model::{
    Assignment, Member, MemberName, MemberState, Party, Role, State, StateCause, Status, Team,
    work_to_give,
};

use super::restart::Restarts;
use crate::lead::{LeadWork, Until, crew::facts::MemberFacts};

/// Everything that determines whether a team's work goes on.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Outlook<'a> {
    pub(in super::super) state: &'a State,
    /// The members that run.
    pub(in super::super) crew: &'a [(&'a MemberName, &'a MemberFacts)],
    /// The members that will be restarted.
    pub(in super::super) restarts: &'a Restarts,
    /// The progress of the lead's agent on its last request.
    pub(in super::super) lead_work: LeadWork,
    /// Whether the team's budget is spent.
    pub(in super::super) is_spent: bool,
    /// How many commands wait for files, hooks, proof or a late merge.
    pub(in super::super) n_under_way: usize,
    /// Whether an external member may still send its last messages.
    pub(in super::super) awaits_last_words: bool,
    pub(in super::super) until: Until,
}

/// Why a team's work is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum WorkEnd {
    /// No member has anything left to do.
    Quiet,
    /// The budget is spent, and all members are idle.
    Spent,
}

/// Whether the team's work is over, and why.
pub(in super::super) fn end_of_work(outlook: &Outlook<'_>) -> Option<WorkEnd> {
    if !may_end(outlook) {
        None
    } else if is_quiet(outlook) {
        Some(WorkEnd::Quiet)
    } else if ends_spent(outlook) {
        Some(WorkEnd::Spent)
    } else {
        None
    }
}

/// Whether the lead waits for tasks that no member can begin.
pub(in super::super) fn is_stuck(outlook: &Outlook<'_>) -> bool {
    let Some(lead) = outlook.state.lead() else { return false };
    let mut others = outlook.crew.iter().filter(|(name, _)| **name != lead.name);
    may_end(outlook)
        && outlook.state.tasks().n_with(Status::Pending) > 0
        && outlook.crew.iter().any(|(name, _)| **name == lead.name)
        && others.all(|(name, facts)| is_at_rest(outlook.state, name, facts))
        && nothing_moves(outlook)
}

/// Whether a member is idle, by the log and by its wire.
pub(in super::super) fn is_idle(state: &State, member: &MemberName, facts: &MemberFacts) -> bool {
    let is_idle = |it: &Member| matches!(it.state, MemberState::Idle | MemberState::Planning);
    facts.is_free(state.version())
        && facts.work.is_at_rest
        && state.member(member).is_some_and(is_idle)
}

/// Whether a member is idle and has no mail.
fn is_at_rest(state: &State, member: &MemberName, facts: &MemberFacts) -> bool {
    is_idle(state, member, facts) && state.mailbox().n_unread(&Party::member(member)) == 0
}

/// Whether the lead may end by itself.
fn may_end(outlook: &Outlook<'_>) -> bool {
    match outlook.until {
        Until::Stopped => false,
        Until::Quiet => true,
        Until::QuietAfter(version) => version <= outlook.state.version(),
    }
}

/// Whether nothing is left to do: no member works, starts or waits for its start, all mail is read, no task can be begun or
/// will be retried, and external members had time for their last messages. A lead that was interrupted waits for a message, and
/// one with an open request and no budget waits for budget.
fn is_quiet(outlook: &Outlook<'_>) -> bool {
    let is_open = match outlook.lead_work {
        LeadWork::Done => false,
        LeadWork::Open | LeadWork::Failed => outlook.is_spent,
        LeadWork::Interrupted => true,
    };
    let mut crew = outlook.crew.iter();
    !is_open
        && crew.all(|(name, facts)| is_at_rest(outlook.state, name, facts))
        && nothing_moves(outlook)
        && !outlook.awaits_last_words
}

/// Whether the budget is spent and all members are idle. Their mail waits.
fn ends_spent(outlook: &Outlook<'_>) -> bool {
    let mut crew = outlook.crew.iter();
    outlook.is_spent
        && outlook.n_under_way == 0
        && outlook.state.tasks().n_with(Status::InProgress) == 0
        && crew.all(|(name, facts)| is_idle(outlook.state, name, facts))
}

/// Whether no member will start, and no task is worked on, can be begun or will be retried.
fn nothing_moves(outlook: &Outlook<'_>) -> bool {
    let tasks = outlook.state.tasks();
    let will_run = |it: &Member| {
        let is_coming = it.state == MemberState::Spawning || outlook.restarts.is_waiting(&it.name);
        it.role == Role::Member && is_coming
    };
    let mut failed = tasks.with_status(Status::Failed);
    let will_be_retried =
        failed.any(|number| tasks.get(number).is_some_and(|task| task.start.not_before.is_some()));
    outlook.n_under_way == 0
        && !outlook.state.members().any(will_run)
        && tasks.n_with(Status::InProgress) == 0
        && !will_be_retried
        && !can_begin_something(outlook)
}

/// Whether a task is ready for a member that runs, here or elsewhere. Where members claim tasks, those that announce the end of
/// their turns begin nothing after that; others may claim a task at any moment.
fn can_begin_something(outlook: &Outlook<'_>) -> bool {
    let state = outlook.state;
    let is_given = |team: &Team| team.settings.assignment != Assignment::Claim;
    let is_given = state.team().is_some_and(is_given);
    let is_lead = |member: &MemberName| state.lead().is_some_and(|lead| lead.name == *member);
    let here = outlook.crew.iter().filter(|(_, facts)| is_given || !facts.wire.tells_end);
    let here = here.map(|(name, _)| *name).filter(|name| !is_lead(name));
    let has_left = |it: &Member| it.state_cause == Some(StateCause::Asked);
    let is_there = |it: &&Member| it.is_external() && !has_left(it);
    let elsewhere = state.members().filter(is_there).map(|it| &it.name);
    let mut members = here.chain(elsewhere);
    let mut crew = outlook.crew.iter().map(|(name, _)| *name).filter(|name| !is_lead(name));
    crew.any(|member| work_to_give(state, member).next().is_some())
        || members.any(|member| state.tasks().ready_for(member).next().is_some())
}

#[cfg(test)]
mod tests;
