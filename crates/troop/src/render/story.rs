//! What happens in a team, told one line at a time, and counted on the way.

mod tally;

use std::{collections::BTreeSet, time::Duration};

use troop_model::{
    Actor, ActorKind, Event, Evidence, Fact, MemberState, MessageKind, Notice, Party, Permissions,
    RefusedBy, RejectMode, Request, Role, State, StateCause, TaskNumber, Time,
};

use uuid::Uuid;

use tally::Tally;
pub(super) use tally::{Deed, Deeds};

use super::{every_line, one_line, second, wait};
use crate::report::CallerOptions;

/// How it is told that a hook was against something.
const VETOED: &str = "a hook said no";

/// A team as far as its log has been told.
#[derive(Debug)]
pub(crate) struct Story {
    state: State,
    tally: Tally,
    /// What was typed, for what is to be typed.
    typed: CallerOptions,
    /// The plans of which people were told how to answer them.
    told: BTreeSet<Uuid>,
}

/// How long the lead has to answer a plan before people are told how they can.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be typed stands on a line of its own, so that it can be read however long the rest is.
const NEXT: &str = "\n         ";

impl Story {
    /// Begins where a team is now.
    pub(crate) fn new(state: State, now: Time, typed: CallerOptions) -> Self {
        Self { state, tally: Tally::new(now), typed, told: BTreeSet::new() }
    }

    pub(super) fn typed(&self) -> &CallerOptions {
        &self.typed
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Nothing more will happen: what is still held was worked on until now.
    pub(crate) fn end(&mut self, now: Time) {
        self.tally.end(&self.state, now);
    }

    /// Whether the lead may only plan itself, and so answers no plans.
    pub(crate) fn lead_plans(&self) -> bool {
        self.state.lead().is_some_and(|lead| lead.permissions == Permissions::Plan)
    }

    /// Takes in an event. What is worth telling comes back on one line, with its time.
    pub(crate) fn tell(&mut self, event: &Event) -> Option<String> {
        let line = self.line(event);
        if let Fact::MessageSent { id, message_kind: MessageKind::PlanApprovalRequest, .. } =
            &event.fact
            && self.lead_plans()
        {
            self.told.insert(*id);
        }
        self.tally.count(&self.state, event);
        self.state.apply(event);
        line.map(|line| format!("{} {line}", second(event.at)))
    }

    /// How people can answer the plans that the lead has left alone for a while. Each is told once.
    pub(crate) fn remind(&mut self, now: Time) -> Vec<String> {
        let is_due = |it: &Request| {
            it.kind == MessageKind::PlanApprovalRequest && now.since(it.at) >= PATIENCE
        };
        let due = self.state.requests().filter(|(id, it)| is_due(it) && !self.told.contains(id));
        let due: Vec<_> = due.map(|(id, it)| (*id, it.from.clone())).collect();
        let lines = due.iter().map(|(_, from)| {
            let how = wait::answer(from.as_str(), &self.typed);
            format!("{} {from} waits for an answer to its plan{NEXT}answer, if the lead does not: {how}", second(now))
        });
        let lines = lines.collect();
        self.told.extend(due.into_iter().map(|(id, _)| id));
        lines
    }

    /// What an event says, seen from the state before it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for `troop events`")]
    fn line(&self, event: &Event) -> Option<String> {
        let who = name(&event.actor);
        Some(match &event.fact {
            Fact::LeadTaken { holder, .. } => format!("{} leads", one_line(holder)),
            Fact::TeamStopRequested { reason } => {
                format!("{who} asks the team to stop{}", because(reason.as_deref()))
            }
            Fact::MemberStateChanged { .. } => return self.moved(&event.fact),
            Fact::MemberRemoved { member, reason } => {
                format!("{member} was removed{}", because(reason.as_deref()))
            }
            Fact::MemberInterrupted { member, reason } => {
                let how = wait::word(member.as_str(), &self.typed);
                let holds_task = self.state.tasks().held_by(member).next().is_some();
                let next = format!("{NEXT}it continues with the next message: {how}");
                let next = if holds_task { next } else { String::new() };
                format!("{who} interrupts {member}{}{next}", because(reason.as_deref()))
            }
            Fact::MemberModeChanged { member, permissions } => {
                format!("{member} works in mode {permissions} now")
            }
            Fact::TaskRefused { task, subject, who, by, reason } => {
                refused(*task, subject.as_deref(), who, *by) + &because(Some(reason))
            }
            Fact::MessageSent { .. } => return self.said(&event.fact),
            _ => return self.worked(&who, event),
        })
    }

    fn moved(&self, fact: &Fact) -> Option<String> {
        let Fact::MemberStateChanged { member, state, reason, cause, pid } = fact else {
            return None;
        };
        let (state, reason) = (*state, reason.as_deref());
        let before = self.state.member(member)?;
        let is_lead = before.role == Role::Lead;
        match state {
            MemberState::Spawning if before.state == MemberState::Crashed => {
                Some(format!("{member} is started again"))
            }
            MemberState::Idle if !is_lead && *cause == Some(StateCause::CouldNot) => {
                Some(format!("{member} could not do what it was told{}", because(reason)))
            }
            MemberState::Idle | MemberState::Planning
                if before.state == MemberState::Spawning && !is_lead =>
            {
                let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
                let plan = if state == MemberState::Planning { "; it may only plan" } else { "" };
                Some(format!("{member} is ready ({}{pid}){plan}", before.agent))
            }
            MemberState::Crashed => Some(format!("{member} crashed{}", because(reason))),
            // Who stops because all do is told once, by the end of it all.
            MemberState::Stopped if !is_lead && *cause != Some(StateCause::TeamStopped) => {
                Some(format!("{member} stopped{}", because(reason)))
            }
            MemberState::Spawning
            | MemberState::Working
            | MemberState::Idle
            | MemberState::Planning
            | MemberState::Stopping
            | MemberState::Stopped => None,
        }
    }

    fn said(&self, fact: &Fact) -> Option<String> {
        let Fact::MessageSent {
            id,
            from,
            to,
            message_kind,
            content,
            notice,
            request_id,
            approve,
            readers,
            ..
        } = fact
        else {
            return None;
        };
        if readers.is_empty() && *message_kind == MessageKind::Message {
            // It is for the record, and says what has just been told.
            return None;
        }
        let (asked, content) = (every_line(content), one_line(content));
        let about = if content.is_empty() { String::new() } else { format!(": {content}") };
        let is_yes = *approve == Some(true);
        Some(match message_kind {
            MessageKind::Message | MessageKind::Broadcast => {
                let to = if *to == Party::everybody() { "all" } else { to.as_str() };
                format!("{from} → {to}: {content}")
            }
            // A lead that may answer has some time for it, see `remind`.
            MessageKind::PlanApprovalRequest if !self.lead_plans() => {
                format!("{from} plans: {asked}")
            }
            MessageKind::PlanApprovalRequest => {
                let how = wait::answer(from.as_str(), &self.typed);
                format!("{from} plans: {asked}{NEXT}answer, since the lead may not: {how}")
            }
            MessageKind::PlanApprovalResponse if is_yes => {
                format!("{from} approves the plan of {to}{about}")
            }
            MessageKind::PlanApprovalResponse => {
                format!("{from} rejects the plan of {to}{about}")
            }
            MessageKind::PermissionRequest => {
                let how = wait::allow(from.as_str(), request_id.unwrap_or(*id), &self.typed);
                format!("{from} asks {to}: {asked}{NEXT}answer: {how}")
            }
            MessageKind::PermissionResponse if is_yes => {
                format!("{from} gives {to} permission{about}")
            }
            MessageKind::PermissionResponse => format!("{from} refuses {to} permission{about}"),
            MessageKind::ShutdownRequest => format!("{from} asks {to} to stop{about}"),
            MessageKind::ShutdownResponse if is_yes => format!("{from} agrees to stop"),
            MessageKind::ShutdownResponse => format!("{from} refuses to stop{about}"),
            MessageKind::System if *notice == Some(Notice::Vetoed) => {
                format!("{VETOED} to {to}: {content}")
            }
            // The refusal itself has just been told.
            MessageKind::System if notice.is_some() => return None,
            // What the lead is told by troop has just been told here, too.
            MessageKind::System if !self.is_lead(to) => format!("troop → {to}: {content}"),
            MessageKind::System | MessageKind::Idle | MessageKind::TaskAssignment => return None,
        })
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is for `troop events`")]
    fn worked(&self, who: &str, event: &Event) -> Option<String> {
        let task = event.fact.task()?;
        Some(match &event.fact {
            Fact::TaskCreated { subject, blocked_by, approve_start, .. } => {
                let after: Vec<_> = blocked_by.iter().map(|it| it.task.to_string()).collect();
                let after = match after.as_slice() {
                    [] => String::new(),
                    after => format!(" (after {})", after.join(", ")),
                };
                let how = wait::let_begin(task, &self.typed);
                let start = approve_start.then(|| format!("{NEXT}let it start: {how}"));
                let start = start.unwrap_or_default();
                format!("{who} created {task}: {}{after}{start}", one_line(subject))
            }
            Fact::TaskClaimed { owner, attempt, .. } => {
                format!("{owner} took {task}{}", nth(*attempt))
            }
            Fact::TaskAssigned { owner, attempt, .. } => {
                format!("{task} goes to {owner}{}", nth(*attempt))
            }
            Fact::TaskReleased { reason, .. } => {
                format!("{task} is back on the board{}", because(Some(reason)))
            }
            Fact::TaskProgressed { progress, .. } => {
                let owner = self.owner(event);
                format!("{owner} is at {}% of {task}: {}", progress.percent, progress.step)
            }
            Fact::TaskSubmitted { .. } => {
                format!("{who} submits {task}{NEXT}approve it: {}", wait::judge(task, &self.typed))
            }
            Fact::TaskAsked { question, asked_by, .. } => {
                let how = wait::reply(asked_by.as_str(), task, &self.typed);
                format!(
                    "{asked_by} asks {}: {}{NEXT}answer: {how}",
                    Party::user(),
                    one_line(question)
                )
            }
            Fact::TaskCompleted { summary, .. } => {
                let (doer, of) = self.doer(event);
                format!("{doer} completed {task}{of}: {}", one_line(summary))
            }
            Fact::TaskChecked { evidence, waived, .. } => {
                return checked(&task.to_string(), evidence, waived.as_deref());
            }
            Fact::TaskMerged { into, .. } => format!("{task} is merged into {}", one_line(into)),
            Fact::TaskApproved { .. } => format!("{who} approved {task}"),
            Fact::TaskRejected { reason, mode, .. } => {
                let what = match mode {
                    RejectMode::Cancel => "rejected",
                    RejectMode::Revise => "sent back",
                };
                format!("{who} {what} {task}{}", because(Some(reason)))
            }
            Fact::TaskCancelled { reason, .. } => {
                format!("{who} cancelled {task}{}", because(Some(reason)))
            }
            // It says which task, and what nobody did; that a task is stale is one of these.
            Fact::TaskEscalated { reason, .. } => one_line(reason),
            Fact::TaskFailed { reason, retry_at, .. } => {
                let again = if retry_at.is_some() { "; it will be retried" } else { "" };
                let (doer, of) = self.doer(event);
                let what = if of.is_empty() { "failed at" } else { "gave up" };
                format!("{doer} {what} {task}{of}{}{again}", because(Some(reason)))
            }
            _ => return None,
        })
    }

    /// Who holds the task that an event is about, or whoever made the event.
    fn owner(&self, event: &Event) -> String {
        let task = event.fact.task().and_then(|number| self.state.tasks().get(number));
        let owner = task.and_then(|task| task.owner.as_ref()).map(ToString::to_string);
        owner.unwrap_or_else(|| name(&event.actor))
    }

    /// Who brought a task to its end: its holder, or somebody else who has the right to; then also whose it was.
    fn doer(&self, event: &Event) -> (String, String) {
        let (owner, actor) = (self.owner(event), name(&event.actor));
        if event.actor.kind == ActorKind::System || owner == actor {
            return (owner, String::new());
        }
        (actor, format!(" of {owner}"))
    }

    fn is_lead(&self, party: &Party) -> bool {
        self.state.lead().is_some_and(|lead| lead.name.as_str() == party.as_str())
    }
}

/// What checks said; what is good is told by the end of the task.
fn checked(task: &str, evidence: &[Evidence], waived: Option<&str>) -> Option<String> {
    let bad = evidence.iter().find(|it| !it.is_good());
    match (bad, waived) {
        (Some(bad), _) => {
            let (command, code) = (one_line(&bad.command), bad.exit_code);
            Some(format!("{task} failed a check: `{command}` ended with exit code {code}"))
        }
        (None, Some(reason)) => Some(format!("{task} is not checked{}", because(Some(reason)))),
        (None, None) => None,
    }
}

/// What was not done, or not put on the board.
fn refused(task: Option<TaskNumber>, subject: Option<&str>, who: &Actor, by: RefusedBy) -> String {
    let who = name(who);
    match (by, task) {
        (RefusedBy::Merge, Some(task)) => format!("{task} of {who} is not done yet"),
        (RefusedBy::Hook, Some(task)) => format!("{VETOED} to {who} about {task}"),
        (RefusedBy::Hook | RefusedBy::Merge, None) => {
            let subject = one_line(subject.unwrap_or_default());
            format!("{VETOED} to {who}, which wanted to create `{subject}`")
        }
    }
}

fn name(actor: &Actor) -> String {
    if actor.kind == ActorKind::System { "troop".to_owned() } else { one_line(&actor.name) }
}

fn because(reason: Option<&str>) -> String {
    let reason = one_line(reason.unwrap_or_default());
    if reason.is_empty() { reason } else { format!(": {reason}") }
}

fn nth(attempt: u32) -> String {
    if attempt > 1 { format!(" (attempt {attempt})") } else { String::new() }
}

#[cfg(test)]
mod tests;
