//! What must hold, judged from outside: from the log's events one by one, and from what the simulated programs themselves know
//! of what they did. The judge uses none of the rules that it judges.

use std::collections::{BTreeMap, BTreeSet};

use troop_model::{ActorKind, Event, Fact, MemberName, Party, TaskNumber, Time, Version};
use uuid::Uuid;

/// A promise of troop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Promise {
    /// The log has no gap, and its time never runs backwards.
    LogInOrder,
    /// The log replays to the state that every board holds.
    LogReplays,
    /// No task is given to a second member while one holds it.
    OneHolder,
    /// A task is completed once, by its holder, and does not change afterwards.
    CompletedOnce,
    /// Of many programs and command lines one claims each task, as they themselves know it.
    ClaimedOnce,
    /// A task is done once, as those who did it themselves know it.
    DoneOnce,
    /// Every claim or completion that a process heard of is in the log.
    AnswerIsTrue,
    /// A message counts as read only if somebody was shown it.
    ReadIfShown,
    /// A message that was stored and not read waits for its reader.
    MailWaits,
    /// The work of a task is once in what the team made.
    MergedOnce,
    /// The team's branch contains the work of every completed task.
    WorkIsKept,
    /// One process leads.
    OneLead,
    /// Landing deletes nothing of others: index, files and commit of the project agree, and every commit stays.
    ProjectIsWhole,
    /// Files agree with the board at rest.
    FilesAgree,
    /// After the faults everything comes to rest with all work done.
    ComesToRest,
}

impl Promise {
    pub const ALL: [Self; 15] = [
        Self::LogInOrder,
        Self::LogReplays,
        Self::OneHolder,
        Self::CompletedOnce,
        Self::ClaimedOnce,
        Self::DoneOnce,
        Self::AnswerIsTrue,
        Self::ReadIfShown,
        Self::MailWaits,
        Self::MergedOnce,
        Self::WorkIsKept,
        Self::OneLead,
        Self::ProjectIsWhole,
        Self::FilesAgree,
        Self::ComesToRest,
    ];
}

/// A promise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    pub promise: Promise,
    pub what: String,
}

/// The judge's record of one task.
#[derive(Clone, Debug, Default)]
struct TaskFate {
    /// By the log.
    holder: Option<MemberName>,
    is_finished: bool,
    /// Those who were told that it is theirs and have not given it up, by their own knowledge.
    claimants: BTreeSet<String>,
    /// The processes that did it, by their own knowledge.
    done_by: BTreeSet<String>,
}

/// Sees everything that happens.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    tasks: BTreeMap<TaskNumber, TaskFate>,
    version: Version,
    latest: Time,
    /// Messages that somebody was shown, by reader.
    shown: BTreeSet<(Party, Uuid)>,
    fence: u64,
    violation: Option<BrokenPromise>,
}

impl Judge {
    pub(crate) fn violation(&self) -> Option<&BrokenPromise> {
        self.violation.as_ref()
    }

    /// Notes the first promise that does not hold.
    pub(crate) fn object(&mut self, promise: Promise, what: String) {
        self.violation.get_or_insert(BrokenPromise { promise, what });
    }

    fn task(&mut self, task: TaskNumber) -> &mut TaskFate {
        self.tasks.entry(task).or_default()
    }

    /// Sees an event that is in the log now.
    pub(crate) fn see(&mut self, event: &Event) {
        if event.version != self.version.next() || event.at < self.latest {
            let what = format!("event {} after {}", event.version.0, self.version.0);
            self.object(Promise::LogInOrder, what);
        }
        self.version = event.version;
        self.latest = event.at;
        self.see_fact(event);
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other facts promise nothing")]
    fn see_fact(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskCreated { task, .. } => drop(self.task(*task)),
            Fact::TaskClaimed { task, owner, .. } | Fact::TaskAssigned { task, owner, .. } => {
                self.see_taken(*task, owner);
            }
            Fact::TaskCompleted { task, .. } => self.see_completed(*task, event),
            Fact::TaskReleased { task, .. }
            | Fact::TaskFailed { task, .. }
            | Fact::TaskCancelled { task, .. }
            | Fact::TaskRetried { task, .. } => {
                let fate = self.task(*task);
                let is_finished = fate.is_finished;
                fate.holder = None;
                if is_finished {
                    self.object(Promise::CompletedOnce, format!("{task} changed after its end"));
                }
            }
            Fact::MessageRead { reader, messages } => {
                let unseen =
                    messages.iter().find(|it| !self.shown.contains(&(reader.clone(), **it)));
                if let Some(id) = unseen {
                    let what = format!("{reader} was never shown {id}, which counts as read");
                    self.object(Promise::ReadIfShown, what);
                }
            }
            Fact::LeadTaken { fence, .. } => {
                if *fence != self.fence + 1 {
                    self.object(Promise::OneLead, format!("fence {fence} after {}", self.fence));
                }
                self.fence = *fence;
            }
            _ => {}
        }
    }

    fn see_taken(&mut self, task: TaskNumber, owner: &MemberName) {
        let fate = self.task(task);
        let before = fate.holder.replace(owner.clone());
        let is_finished = fate.is_finished;
        if let Some(before) = before {
            let what = format!("{task} was given to {owner} while {before} held it");
            self.object(Promise::OneHolder, what);
        }
        if is_finished {
            self.object(Promise::CompletedOnce, format!("{task} was given out after its end"));
        }
    }

    fn see_completed(&mut self, task: TaskNumber, event: &Event) {
        let fate = self.task(task);
        let holder = fate.holder.take();
        let was_finished = std::mem::replace(&mut fate.is_finished, true);
        let by = &event.actor;
        let is_its = holder.is_some_and(|it| it.as_str() == by.name.as_str());
        if was_finished || !is_its && by.kind == ActorKind::Agent {
            let what = format!("{task} was completed by {by}, again or without holding it");
            self.object(Promise::CompletedOnce, what);
        }
    }

    /// Somebody knows that it has a task: it wrote its claim under the lock, or was told so.
    pub(crate) fn claimed(&mut self, task: TaskNumber, who: &str) {
        let fate = self.task(task);
        let other = fate.claimants.iter().chain(&fate.done_by).find(|it| *it != who).cloned();
        fate.claimants.insert(who.to_owned());
        if let Some(other) = other {
            let what = format!("{who} claimed {task}, and {other} has it, too");
            self.object(Promise::ClaimedOnce, what);
        }
    }

    /// Somebody knows that it has a task no more.
    pub(crate) fn gave_up(&mut self, task: TaskNumber, who: &str) {
        self.task(task).claimants.remove(who);
    }

    /// Somebody did a task.
    pub(crate) fn done(&mut self, task: TaskNumber, who: &str) {
        let fate = self.task(task);
        fate.claimants.remove(who);
        fate.done_by.insert(who.to_owned());
        if fate.done_by.len() > 1 {
            let what = format!("{task} was done by {:?}", fate.done_by);
            self.object(Promise::DoneOnce, what);
        }
    }

    /// The processes that did a task, by their own knowledge.
    pub(crate) fn done_by(&self, task: TaskNumber) -> Option<&String> {
        self.tasks.get(&task)?.done_by.first()
    }

    /// Somebody was shown a message.
    pub(crate) fn showed(&mut self, reader: Party, id: Uuid) {
        self.shown.insert((reader, id));
    }

    pub(crate) fn has_seen(&self, reader: &Party, id: Uuid) -> bool {
        self.shown.contains(&(reader.clone(), id))
    }
}

#[cfg(test)]
mod tests;
