//! Counts who did what, when, and how long it took.

use std::{collections::BTreeMap, time::Duration};

use smol_str::SmolStr;
use troop_model::{
    Event, Fact, MemberName, MemberState, MessageKind, Notice, Party, RefusedBy, Role, State,
    StateCause, Status, TaskNumber, Time,
};

use crate::text::one_line;

/// The counts of a team's work, from when they began until the last event.
#[derive(Debug)]
pub struct Tally {
    pub since: Time,
    pub until: Time,
    pub members: BTreeMap<MemberName, MemberTally>,
    /// Messages that members and people sent.
    pub n_messages: usize,
    pub recoveries: Vec<Recovery>,
    pub vetoes: Vec<Veto>,
    pub troubles: Vec<Trouble>,
    pub answers: Vec<PlanVerdict>,
    /// Teammates that could not do what they were told without a task, and have done nothing else since, with the reason.
    pub failed: BTreeMap<MemberName, String>,
    /// The lead's last message to the user.
    pub answer: Option<String>,
}

/// The deeds of one member, in numbers.
#[derive(Clone, Debug, Default)]
pub struct MemberTally {
    pub completed: Vec<CompletedWork>,
    pub n_messages: usize,
    pub n_crashes: usize,
    pub worked: Duration,
    /// When it was last done with a task.
    done_at: Option<Time>,
}

/// How a holder's work on a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkEnding {
    Completed,
    Unfinished,
}

/// A task that was completed.
#[derive(Clone, Debug)]
pub struct CompletedWork {
    pub task: TaskNumber,
    pub began_at: Time,
    pub ended_at: Time,
}

/// A task that its holder lost, and who got it then.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub at: Time,
    pub task: TaskNumber,
    pub from: MemberName,
    pub reason: String,
    pub to: Option<(MemberName, Time)>,
}

/// A change that a hook refused.
#[derive(Clone, Debug)]
pub struct Veto {
    pub at: Time,
    pub member: SmolStr,
    /// The task, or what it was to be about.
    pub about: Option<String>,
    pub feedback: String,
}

/// Work that was not done, although somebody tried or said so.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub at: Time,
    /// The trouble, in a word or two.
    pub what: &'static str,
    pub about: String,
}

/// The answer to a plan.
#[derive(Clone, Debug)]
pub struct PlanVerdict {
    pub at: Time,
    pub member: Party,
    pub is_yes: bool,
    pub feedback: String,
}

impl Tally {
    pub(super) fn new(since: Time) -> Self {
        Self {
            since,
            until: since,
            members: BTreeMap::new(),
            n_messages: 0,
            recoveries: Vec::new(),
            vetoes: Vec::new(),
            troubles: Vec::new(),
            answers: Vec::new(),
            failed: BTreeMap::new(),
            answer: None,
        }
    }

    /// The last completion of a task.
    #[must_use]
    pub fn completion(&self, task: TaskNumber) -> Option<&CompletedWork> {
        let mut all = self.members.values().flat_map(|member| &member.completed);
        all.rfind(|work| work.task == task)
    }

    /// Counts an event, seen from the state before it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not counted")]
    pub(super) fn count(&mut self, before: &State, event: &Event) {
        self.until = event.at;
        match &event.fact {
            Fact::MemberStateChanged { member, state: MemberState::Crashed, .. } => {
                self.of(member).n_crashes += 1;
            }
            Fact::MemberStateChanged {
                member,
                state: MemberState::Idle | MemberState::Working,
                cause,
                reason,
                ..
            } => {
                if *cause == Some(StateCause::CouldNot)
                    && before.member(member).is_some_and(|it| it.role == Role::Member)
                {
                    self.failed.insert(member.clone(), reason.clone().unwrap_or_default());
                } else {
                    self.failed.remove(member);
                }
            }
            Fact::MessageSent { .. } => self.said(before, event),
            _ => self.count_task(before, event),
        }
    }

    /// Counts what happened to a task.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not counted")]
    fn count_task(&mut self, before: &State, event: &Event) {
        match &event.fact {
            Fact::TaskAssigned { task, owner, .. } | Fact::TaskClaimed { task, owner, .. } => {
                let is_waiting = |it: &&mut Recovery| it.task == *task && it.to.is_none();
                if let Some(recovery) = self.recoveries.iter_mut().rev().find(is_waiting) {
                    recovery.to = Some((owner.clone(), event.at));
                }
            }
            Fact::TaskReleased { task, owner, reason, .. } => {
                self.ends(before, *task, event.at, WorkEnding::Unfinished);
                let is_loss =
                    before.member(owner).is_none_or(|it| it.state == MemberState::Crashed)
                        || before.tasks().get(*task).is_some_and(|it| {
                            it.hold.lease_until.is_some_and(|until| until <= event.at)
                        });
                if is_loss {
                    self.recoveries.push(Recovery {
                        at: event.at,
                        task: *task,
                        from: owner.clone(),
                        reason: reason.clone(),
                        to: None,
                    });
                }
            }
            Fact::TaskCompleted { task, .. } | Fact::TaskApproved { task, .. } => {
                self.ends(before, *task, event.at, WorkEnding::Completed);
            }
            Fact::TaskFailed { task, reason, retry_at } => {
                self.ends(before, *task, event.at, WorkEnding::Unfinished);
                let again = if retry_at.is_some() { "; it was to be retried" } else { "" };
                let about = format!("{task}: {}{again}", one_line(reason));
                self.troubles.push(Trouble { at: event.at, what: "failed", about });
            }
            Fact::TaskRefused { task, subject, who, by, reason, .. } => {
                let at = event.at;
                let about = task.map(|it| it.to_string()).or_else(|| subject.clone());
                match by {
                    RefusedBy::Hook => self.vetoes.push(Veto {
                        at,
                        member: who.name.clone(),
                        about,
                        feedback: reason.clone(),
                    }),
                    RefusedBy::Merge => {
                        let status = task.and_then(|task| before.tasks().status(task));
                        let is_done = status == Some(Status::Completed);
                        let what = if is_done { "not merged" } else { "not done" };
                        let about = format!("{}: {}", about.unwrap_or_default(), one_line(reason));
                        self.troubles.push(Trouble { at, what, about });
                    }
                    // The evidence of the checks is counted; the board's refusals are reported at once.
                    RefusedBy::Checks | RefusedBy::Board => {}
                }
            }
            Fact::TaskChecked { task, evidence, .. } => {
                let bad = evidence.iter().find(|it| !it.is_good());
                self.troubles.extend(bad.map(|bad| {
                    let command = one_line(&bad.command);
                    let code = bad.exit_code;
                    let about = format!("{task}: `{command}` ended with exit code {code}");
                    Trouble { at: event.at, what: "not done", about }
                }));
            }
            _ => {}
        }
    }

    fn of(&mut self, member: &MemberName) -> &mut MemberTally {
        self.members.entry(member.clone()).or_default()
    }

    /// The holder of a task no longer works on it.
    fn ends(&mut self, before: &State, number: TaskNumber, at: Time, ending: WorkEnding) {
        let Some(task) = before.tasks().get(number) else { return };
        let (Some(owner), Some(since)) = (&task.owner, task.hold.since) else { return };
        let earliest = self.since;
        let member = self.of(owner);
        // A member works on one task at a time: this one began when the task before it ended.
        let began_at = since.max(member.done_at.unwrap_or(since));
        member.worked += at.since(began_at.max(earliest));
        if ending == WorkEnding::Completed {
            member.completed.push(CompletedWork { task: number, began_at, ended_at: at });
        }
        member.done_at = Some(at);
    }

    /// Nothing more will happen. Tasks that are still held, for example because the log could not be written, count as work
    /// until now.
    pub(super) fn end(&mut self, state: &State, now: Time) {
        let held: Vec<_> =
            state.tasks().iter().filter(|it| it.status == Status::InProgress).collect();
        held.iter().for_each(|task| self.ends(state, task.number, now, WorkEnding::Unfinished));
        self.until = self.until.max(now);
    }

    fn said(&mut self, before: &State, event: &Event) {
        let Fact::MessageSent { from, to, message_kind, content, notice, approve, readers, .. } =
            &event.fact
        else {
            return;
        };
        if readers.is_empty() && *message_kind == MessageKind::Message {
            return;
        }
        let is_said = *message_kind == MessageKind::Message;
        if is_said && *to == Party::user() && before.lead().is_some_and(|lead| *from == lead.name) {
            self.answer = Some(content.clone());
        }
        let at = event.at;
        let member = to.clone();
        let feedback = content.clone();
        match message_kind {
            MessageKind::System if *notice == Some(Notice::Vetoed) => {
                let member = SmolStr::new(member.as_str());
                self.vetoes.push(Veto { at, member, about: None, feedback });
            }
            MessageKind::System | MessageKind::Idle | MessageKind::TaskAssignment => return,
            MessageKind::PlanApprovalResponse => {
                let is_yes = *approve == Some(true);
                self.answers.push(PlanVerdict { at, member, is_yes, feedback });
            }
            MessageKind::Message
            | MessageKind::Broadcast
            | MessageKind::ShutdownRequest
            | MessageKind::ShutdownResponse
            | MessageKind::PlanApprovalRequest
            | MessageKind::PermissionRequest
            | MessageKind::PermissionResponse => {}
        }
        if *message_kind != MessageKind::System {
            self.n_messages += 1;
            if let Ok(member) = before.find_member(from.as_str()) {
                let name = member.name.clone();
                self.of(&name).n_messages += 1;
            }
        }
    }

    /// The teammates, those that are gone too, with what they did, in the order of their names.
    #[must_use]
    pub fn workers<'a>(&'a self, state: &'a State) -> Vec<(&'a MemberName, MemberTally)> {
        let members = state.members().filter(|member| member.role == Role::Member);
        let gone = self.members.keys().filter(|name| state.member(name).is_none());
        let mut names: Vec<_> = members.map(|member| &member.name).chain(gone).collect();
        names.sort();
        names
            .into_iter()
            .map(|it| (it, self.members.get(it).cloned().unwrap_or_default()))
            .collect()
    }
}
