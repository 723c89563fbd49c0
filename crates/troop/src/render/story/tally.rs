//! Who did what, when, and how long it took.

use std::{collections::BTreeMap, time::Duration};

use super::super::one_line;
use smol_str::SmolStr;
use troop_model::{
    Event, Fact, MemberName, MemberState, MessageKind, Notice, Party, RefusedBy, Role, State,
    StateCause, Status, TaskNumber, Time,
};

/// What was counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) since: Time,
    pub(crate) until: Time,
    pub(crate) members: BTreeMap<MemberName, Deeds>,
    /// Messages that members and people sent.
    pub(crate) n_messages: usize,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) vetoes: Vec<Veto>,
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) answers: Vec<Answer>,
    /// Teammates that could not do what they were told without a task, and have done nothing else since, with the reason.
    pub(crate) failed: BTreeMap<MemberName, String>,
    /// What the lead told the user last.
    pub(crate) answer: Option<String>,
}

/// What one member did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) completed: Vec<Deed>,
    pub(crate) n_messages: usize,
    pub(crate) n_crashes: usize,
    pub(crate) worked: Duration,
    /// When it was last done with a task.
    done_at: Option<Time>,
}

/// A task that was completed.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub(crate) task: TaskNumber,
    pub(crate) began_at: Time,
    pub(crate) ended_at: Time,
}

/// A task that its holder lost, and who got it then.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub(crate) at: Time,
    pub(crate) task: TaskNumber,
    pub(crate) from: MemberName,
    pub(crate) reason: String,
    pub(crate) to: Option<(MemberName, Time)>,
}

/// Something that a hook was against.
#[derive(Clone, Debug)]
pub(crate) struct Veto {
    pub(crate) at: Time,
    pub(crate) member: SmolStr,
    /// The task, or what it was to be about.
    pub(crate) about: Option<String>,
    pub(crate) feedback: String,
}

/// Something that was not done, although somebody tried or said so.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) at: Time,
    /// In one word.
    pub(crate) what: &'static str,
    pub(crate) about: String,
}

/// The answer to a plan.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) at: Time,
    pub(crate) member: Party,
    pub(crate) is_yes: bool,
    pub(crate) feedback: String,
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
            Fact::TaskAssigned { task, owner, .. } | Fact::TaskClaimed { task, owner, .. } => {
                let waits = |it: &&mut Recovery| it.task == *task && it.to.is_none();
                if let Some(recovery) = self.recoveries.iter_mut().rev().find(waits) {
                    recovery.to = Some((owner.clone(), event.at));
                }
            }
            Fact::TaskReleased { task, owner, reason, .. } => {
                self.ends(before, *task, event.at, None);
                let is_loss =
                    before.member(owner).is_none_or(|it| it.state == MemberState::Crashed)
                        || before.tasks().get(*task).is_some_and(|it| {
                            it.hold.lease_until.is_some_and(|until| until <= event.at)
                        });
                if is_loss {
                    let (from, reason) = (owner.clone(), reason.clone());
                    let recovery = Recovery { at: event.at, task: *task, from, reason, to: None };
                    self.recoveries.push(recovery);
                }
            }
            Fact::TaskCompleted { task, .. } | Fact::TaskApproved { task, .. } => {
                self.ends(before, *task, event.at, Some(()));
            }
            Fact::TaskFailed { task, reason, retry_at } => {
                self.ends(before, *task, event.at, None);
                let again = if retry_at.is_some() { "; it was to be retried" } else { "" };
                let about = format!("{task}: {}{again}", one_line(reason));
                self.troubles.push(Trouble { at: event.at, what: "failed", about });
            }
            Fact::TaskRefused { task, subject, who, by, reason } => {
                let (at, member, feedback) = (event.at, who.name.clone(), reason.clone());
                let about = task.map(|it| it.to_string()).or_else(|| subject.clone());
                match by {
                    RefusedBy::Hook => self.vetoes.push(Veto { at, member, about, feedback }),
                    RefusedBy::Merge => {
                        let about = format!("{}: {}", about.unwrap_or_default(), one_line(reason));
                        self.troubles.push(Trouble { at, what: "not done", about });
                    }
                }
            }
            Fact::TaskChecked { task, evidence, .. } => {
                let bad = evidence.iter().find(|it| !it.is_good());
                self.troubles.extend(bad.map(|bad| {
                    let (command, code) = (one_line(&bad.command), bad.exit_code);
                    let about = format!("{task}: `{command}` ended with exit code {code}");
                    Trouble { at: event.at, what: "not done", about }
                }));
            }
            Fact::MessageSent { .. } => self.said(before, event),
            _ => {}
        }
    }

    fn of(&mut self, member: &MemberName) -> &mut Deeds {
        self.members.entry(member.clone()).or_default()
    }

    /// Somebody is done with a task, or at least does not work on it any more.
    fn ends(&mut self, before: &State, number: TaskNumber, at: Time, done: Option<()>) {
        let Some(task) = before.tasks().get(number) else { return };
        let (Some(owner), Some(since)) = (&task.owner, task.hold.since) else { return };
        // What was held before this began was not worked on meanwhile, nor what waited until another was done.
        let (earliest, deeds) = (self.since, self.of(owner));
        let began_at = since.max(deeds.done_at.unwrap_or(since));
        deeds.worked += at.since(began_at.max(earliest));
        deeds.completed.extend(done.map(|()| Deed { task: number, began_at, ended_at: at }));
        deeds.done_at = Some(at);
    }

    /// Nothing more will happen. Where nothing could be written any more, nobody has said what became of what was held.
    pub(super) fn end(&mut self, state: &State, now: Time) {
        let held: Vec<_> =
            state.tasks().iter().filter(|it| it.status == Status::InProgress).collect();
        held.iter().for_each(|task| self.ends(state, task.number, now, None));
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
        let (at, member, feedback) = (event.at, to.clone(), content.clone());
        match message_kind {
            MessageKind::System if *notice == Some(Notice::Vetoed) => {
                let member = SmolStr::new(member.as_str());
                self.vetoes.push(Veto { at, member, about: None, feedback });
            }
            MessageKind::System | MessageKind::Idle | MessageKind::TaskAssignment => return,
            MessageKind::PlanApprovalResponse => {
                let is_yes = *approve == Some(true);
                self.answers.push(Answer { at, member, is_yes, feedback });
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

    /// Teammates that did something, in the order of their names.
    pub(crate) fn workers<'a>(&'a self, state: &'a State) -> Vec<(&'a MemberName, Deeds)> {
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
