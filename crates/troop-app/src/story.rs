//! What happens in a team as typed lines, one per event that is worth telling, and the counts of it. No paint, no argv.

mod summary;
mod tally;
mod waiting;

use std::{collections::BTreeSet, time::Duration};

use smol_str::SmolStr;
use troop_model::{
    Actor, ActorKind, Event, Evidence, Fact, Hint, MemberState, MessageKind, Notice, Party,
    Permissions, RefusedBy, RejectMode, Request, Role, State, StateCause, Status, TaskNumber, Time,
};
use uuid::Uuid;

pub use summary::summary_json;
pub use tally::{CompletedWork, MemberTally, PlanVerdict, Recovery, Tally, Trouble, Veto};
pub use waiting::{OpenDecision, rest_of_question, shown_question, waiting};

use crate::text::{every_line, one_line};

/// The beginning of a line about a hook that refused something.
const VETOED: &str = "a hook said no";

/// How long the lead has to answer a plan before people hear how they can.
const PATIENCE: Duration = Duration::from_secs(5);

/// A team as far as its log has been told.
#[derive(Debug)]
pub struct Story {
    state: State,
    tally: Tally,
    /// The plans that people have been asked to answer.
    told_plans: BTreeSet<Uuid>,
}

/// One line of a story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryLine {
    pub at: Time,
    pub kind: StoryKind,
    /// The member or the person that it is about, or `troop`.
    pub who: SmolStr,
    pub task: Option<TaskNumber>,
    /// The event, as one clean line.
    pub text: String,
    /// The hint for a person.
    pub hint: Option<Hint>,
}

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoryKind {
    /// The team as a whole.
    Team,
    /// A member came, went or changed.
    Member,
    /// A task moved on.
    Task,
    /// Somebody said something.
    Message,
    /// Something went wrong.
    Trouble,
    /// Something needs a person's answer.
    Need,
}

/// A line without what the event says anyway.
struct LineDraft {
    kind: StoryKind,
    text: String,
    hint: Option<Hint>,
}

impl LineDraft {
    fn new(kind: StoryKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), hint: None }
    }

    fn with_hint(self, hint: Hint) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl Story {
    /// Begins where a team is now.
    #[must_use]
    pub fn new(state: State, now: Time) -> Self {
        Self { state, tally: Tally::new(now), told_plans: BTreeSet::new() }
    }

    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Nothing more will happen: tasks that are still held count as work until now.
    pub fn end(&mut self, now: Time) {
        self.tally.end(&self.state, now);
    }

    /// Whether the lead may only plan itself, so that it cannot answer plans.
    fn is_lead_planning(&self) -> bool {
        self.state.lead().is_some_and(|lead| lead.permissions == Permissions::Plan)
    }

    /// Takes in an event, and returns its line if it is worth telling.
    pub fn tell(&mut self, event: &Event) -> Option<StoryLine> {
        let draft = self.draft(event);
        if let Fact::MessageSent { id, message_kind: MessageKind::PlanApprovalRequest, .. } =
            &event.fact
            && self.is_lead_planning()
        {
            self.told_plans.insert(*id);
        }
        self.tally.count(&self.state, event);
        self.state.apply(event);
        draft.map(|LineDraft { kind, text, hint }| StoryLine {
            at: event.at,
            kind,
            who: subject(event),
            task: event.fact.task(),
            text,
            hint,
        })
    }

    /// How people can answer plans that the lead has not answered for a while. Each plan comes once.
    pub fn remind(&mut self, now: Time) -> Vec<StoryLine> {
        let is_due = |it: &Request| {
            it.kind == MessageKind::PlanApprovalRequest && now.since(it.at) >= PATIENCE
        };
        let requests = self.state.requests();
        let due = requests.filter(|(id, it)| is_due(it) && !self.told_plans.contains(id));
        let due: Vec<_> = due.map(|(id, it)| (*id, it.from.clone())).collect();
        let lines = due.iter().map(|(_, from)| StoryLine {
            at: now,
            kind: StoryKind::Need,
            who: from.as_str().into(),
            task: None,
            text: format!("{from} waits for an answer to its plan"),
            hint: Some(waiting::answer("answer, if the lead does not", from.as_str())),
        });
        let lines = lines.collect();
        self.told_plans.extend(due.into_iter().map(|(id, _)| id));
        lines
    }

    /// The line for an event, seen from the state before it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the raw log tells the others")]
    fn draft(&self, event: &Event) -> Option<LineDraft> {
        let who = name(&event.actor);
        let (kind, text) = match &event.fact {
            Fact::LeadTaken { holder, .. } => {
                (StoryKind::Team, format!("{} leads", one_line(holder)))
            }
            Fact::TeamStopRequested { reason } => (
                StoryKind::Team,
                format!("{who} asks the team to stop{}", because(reason.as_deref())),
            ),
            Fact::MemberStateChanged { .. } => return self.moved(&event.fact),
            Fact::MemberRemoved { member, reason } => {
                let text = format!("{member} was removed{}", because(reason.as_deref()));
                (StoryKind::Member, text)
            }
            Fact::MemberInterrupted { member, reason } => {
                let text = format!("{who} interrupts {member}{}", because(reason.as_deref()));
                let draft = LineDraft::new(StoryKind::Member, text);
                let holds_task = self.state.tasks().held_by(member).next().is_some();
                let next = waiting::send("it continues with the next message", member.as_str());
                return Some(if holds_task { draft.with_hint(next) } else { draft });
            }
            Fact::MemberModeChanged { member, permissions } => {
                (StoryKind::Member, format!("{member} works in mode {permissions} now"))
            }
            // The story has just told which check failed, and people hear at once what the board refuses.
            Fact::TaskRefused { by: RefusedBy::Checks | RefusedBy::Board, .. } => return None,
            Fact::TaskRefused { task: Some(task), who, by: RefusedBy::Merge, reason, .. }
                if self.state.tasks().status(*task) == Some(Status::Completed) =>
            {
                let text = format!("{task} is done, but {}'s work on it is not merged", name(who));
                (StoryKind::Trouble, text + &because(Some(reason)))
            }
            Fact::TaskRefused { task, subject, who, by, reason, .. } => {
                let text = refused(*task, subject.as_deref(), who, *by) + &because(Some(reason));
                (StoryKind::Trouble, text)
            }
            Fact::MessageSent { .. } => return self.said(&event.fact),
            _ => return self.worked(&who, event),
        };
        Some(LineDraft::new(kind, text))
    }

    fn moved(&self, fact: &Fact) -> Option<LineDraft> {
        let Fact::MemberStateChanged { member, state, reason, cause, pid } = fact else {
            return None;
        };
        let state = *state;
        let reason = reason.as_deref();
        let before = self.state.member(member)?;
        let is_lead = before.role == Role::Lead;
        let (kind, text) = match state {
            MemberState::Spawning if before.state == MemberState::Crashed => {
                (StoryKind::Member, format!("{member} is started again"))
            }
            MemberState::Idle if !is_lead && *cause == Some(StateCause::CouldNot) => (
                StoryKind::Trouble,
                format!("{member} could not do what it was told{}", because(reason)),
            ),
            MemberState::Idle | MemberState::Planning
                if before.state == MemberState::Spawning && !is_lead =>
            {
                let pid = pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
                let plan = if state == MemberState::Planning { "; it may only plan" } else { "" };
                (StoryKind::Member, format!("{member} is ready ({}{pid}){plan}", before.agent))
            }
            MemberState::Crashed => {
                (StoryKind::Trouble, format!("{member} crashed{}", because(reason)))
            }
            // When the whole team stops, the story reports its end instead of each member's.
            MemberState::Stopped if !is_lead && *cause != Some(StateCause::TeamStopped) => {
                (StoryKind::Member, format!("{member} stopped{}", because(reason)))
            }
            MemberState::Spawning
            | MemberState::Working
            | MemberState::Idle
            | MemberState::Planning
            | MemberState::Stopping
            | MemberState::Stopped => return None,
        };
        Some(LineDraft::new(kind, text))
    }

    fn said(&self, fact: &Fact) -> Option<LineDraft> {
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
            // A message to nobody is for the record; the story has just told the same.
            return None;
        }
        let asked = every_line(content);
        let content = one_line(content);
        let about = if content.is_empty() { String::new() } else { format!(": {content}") };
        let is_yes = *approve == Some(true);
        let text = match message_kind {
            MessageKind::Message | MessageKind::Broadcast => {
                let to = if *to == Party::everybody() { "all" } else { to.as_str() };
                format!("{from} → {to}: {content}")
            }
            // A lead that may answer has some time for it, see `remind`.
            MessageKind::PlanApprovalRequest if !self.is_lead_planning() => {
                format!("{from} plans: {asked}")
            }
            MessageKind::PlanApprovalRequest => {
                let hint = waiting::answer("answer, since the lead may not", from.as_str());
                let draft = LineDraft::new(StoryKind::Need, format!("{from} plans: {asked}"));
                return Some(draft.with_hint(hint));
            }
            MessageKind::PlanApprovalResponse if is_yes => {
                format!("{from} approves the plan of {to}{about}")
            }
            MessageKind::PlanApprovalResponse => {
                format!("{from} rejects the plan of {to}{about}")
            }
            MessageKind::PermissionRequest => {
                let hint = waiting::permit("answer", from.as_str(), request_id.unwrap_or(*id));
                let is_for_person = *to == Party::user();
                let kind = if is_for_person { StoryKind::Need } else { StoryKind::Message };
                let draft = LineDraft::new(kind, format!("{from} asks {to}: {asked}"));
                return Some(draft.with_hint(hint));
            }
            MessageKind::PermissionResponse if is_yes => {
                format!("{from} gives {to} permission{about}")
            }
            MessageKind::PermissionResponse => format!("{from} refuses {to} permission{about}"),
            MessageKind::ShutdownRequest => format!("{from} asks {to} to stop{about}"),
            MessageKind::ShutdownResponse if is_yes => format!("{from} agrees to stop"),
            MessageKind::ShutdownResponse => format!("{from} refuses to stop{about}"),
            MessageKind::System if *notice == Some(Notice::Vetoed) => {
                let text = format!("{VETOED} to {to}: {content}");
                return Some(LineDraft::new(StoryKind::Trouble, text));
            }
            // The refusal itself has just been told.
            MessageKind::System if notice.is_some_and(|it| it != Notice::ReportDue) => return None,
            // The story has just told what troop tells the lead.
            MessageKind::System if !self.is_lead(to) => format!("troop → {to}: {content}"),
            MessageKind::System | MessageKind::Idle | MessageKind::TaskAssignment => return None,
        };
        Some(LineDraft::new(StoryKind::Message, text))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only the raw log tells the others")]
    fn worked(&self, who: &str, event: &Event) -> Option<LineDraft> {
        let task = event.fact.task()?;
        let text = match &event.fact {
            Fact::TaskCreated { subject, blocked_by, approve_start, .. } => {
                let after: Vec<_> = blocked_by.iter().map(|it| it.task.to_string()).collect();
                let after = match after.as_slice() {
                    [] => String::new(),
                    after => format!(" (after {})", after.join(", ")),
                };
                let text = format!("{who} created {task}: {}{after}", one_line(subject));
                if *approve_start {
                    let hint = waiting::approve("let it start", task);
                    return Some(LineDraft::new(StoryKind::Need, text).with_hint(hint));
                }
                text
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
                let draft = LineDraft::new(StoryKind::Need, format!("{who} submits {task}"));
                return Some(draft.with_hint(waiting::judge("approve it", task)));
            }
            Fact::TaskAsked { question, asked_by, .. } => {
                let text = format!("{asked_by} asks {}: {}", Party::user(), one_line(question));
                let hint = waiting::reply("answer", asked_by.as_str(), task);
                return Some(LineDraft::new(StoryKind::Need, text).with_hint(hint));
            }
            _ => return self.ended(who, task, event),
        };
        Some(LineDraft::new(StoryKind::Task, text))
    }

    /// The outcome of a task: its result, its checks, its failure.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only the raw log tells the others")]
    fn ended(&self, who: &str, task: TaskNumber, event: &Event) -> Option<LineDraft> {
        let (kind, text) = match &event.fact {
            Fact::TaskCompleted { summary, .. } => {
                let (doer, of) = self.doer(event);
                (StoryKind::Task, format!("{doer} completed {task}{of}: {}", one_line(summary)))
            }
            Fact::TaskChecked { evidence, waived, .. } => {
                return checked(task, evidence, waived.as_deref());
            }
            Fact::TaskMerged { into, .. } => {
                (StoryKind::Task, format!("{task} is merged into {}", one_line(into)))
            }
            Fact::TaskApproved { .. } => (StoryKind::Task, format!("{who} approved {task}")),
            Fact::TaskRejected { reason, mode, .. } => {
                let what = match mode {
                    RejectMode::Cancel => "rejected",
                    RejectMode::Revise => "sent back",
                };
                (StoryKind::Task, format!("{who} {what} {task}{}", because(Some(reason))))
            }
            Fact::TaskCancelled { reason, .. } => {
                (StoryKind::Task, format!("{who} cancelled {task}{}", because(Some(reason))))
            }
            // The reason names the task and what nobody did, for example that it is stale.
            Fact::TaskEscalated { reason, .. } => (StoryKind::Trouble, one_line(reason)),
            Fact::TaskFailed { reason, retry_at, .. } => {
                let again = if retry_at.is_some() { "; it will be retried" } else { "" };
                let (doer, of) = self.doer(event);
                let what = if of.is_empty() { "failed at" } else { "gave up" };
                let text = format!("{doer} {what} {task}{of}{}{again}", because(Some(reason)));
                (StoryKind::Trouble, text)
            }
            _ => return None,
        };
        Some(LineDraft::new(kind, text))
    }

    /// The holder of the task that an event is about, or else the actor.
    fn owner(&self, event: &Event) -> String {
        let task = event.fact.task().and_then(|number| self.state.tasks().get(number));
        let owner = task.and_then(|task| task.owner.as_ref()).map(ToString::to_string);
        owner.unwrap_or_else(|| name(&event.actor))
    }

    /// The actor that ended a task. If that is not its holder, also the holder.
    fn doer(&self, event: &Event) -> (String, String) {
        let owner = self.owner(event);
        let actor = name(&event.actor);
        if event.actor.kind == ActorKind::System || owner == actor {
            return (owner, String::new());
        }
        (actor, format!(" of {owner}"))
    }

    fn is_lead(&self, party: &Party) -> bool {
        self.state.lead().is_some_and(|lead| lead.name.as_str() == party.as_str())
    }
}

/// The line for the checks of a task. When all passed, the end of the task reports it.
fn checked(task: TaskNumber, evidence: &[Evidence], waived: Option<&str>) -> Option<LineDraft> {
    let failed = evidence.iter().find(|it| !it.is_good());
    match (failed, waived) {
        (Some(failed), _) => {
            let command = one_line(&failed.command);
            let code = failed.exit_code;
            let text = format!("{task} failed a check: `{command}` ended with exit code {code}");
            Some(LineDraft::new(StoryKind::Trouble, text))
        }
        (None, Some(reason)) => {
            let text = format!("{task} is not checked{}", because(Some(reason)));
            Some(LineDraft::new(StoryKind::Task, text))
        }
        (None, None) => None,
    }
}

/// A change to a task, or a new task, that was refused.
fn refused(task: Option<TaskNumber>, subject: Option<&str>, who: &Actor, by: RefusedBy) -> String {
    let who = name(who);
    match (by, task) {
        (RefusedBy::Merge | RefusedBy::Checks | RefusedBy::Board, Some(task)) => {
            format!("{task} of {who} is not done yet")
        }
        (RefusedBy::Hook, Some(task)) => format!("{VETOED} to {who} about {task}"),
        (_, None) => {
            let subject = one_line(subject.unwrap_or_default());
            format!("{VETOED} to {who}, which wanted to create `{subject}`")
        }
    }
}

/// The subject of an event: the member whose state changed, the sender of a message, or else the actor.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are about their actor")]
fn subject(event: &Event) -> SmolStr {
    match &event.fact {
        Fact::MemberStateChanged { member, .. }
        | Fact::MemberRemoved { member, .. }
        | Fact::MemberInterrupted { member, .. }
        | Fact::MemberModeChanged { member, .. } => member.as_str().into(),
        Fact::MessageSent { from, .. } => from.as_str().into(),
        Fact::TaskRefused { who, .. } => name(who).into(),
        _ => name(&event.actor).into(),
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
