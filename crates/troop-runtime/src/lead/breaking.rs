//! Breaking off: who is in the middle of a task that is not its own any more is interrupted, and its folder is left alone
//! until it has stopped.

use troop_model::{Event, Fact, MemberName, RejectMode, Status, TaskNumber};
use troop_protocol::FromLead;

use super::{Runner, dispatcher::Dispatcher, input::Due, transcript::TranscriptLine};
use crate::LateCompletion;

impl Dispatcher {
    /// From whom somebody else is about to take a task: by taking it back, calling it off, or saying that it is over.
    pub(super) fn loser(&self, event: &Event) -> Option<(TaskNumber, MemberName)> {
        let (Fact::TaskReleased { task, .. }
        | Fact::TaskFailed { task, .. }
        | Fact::TaskCompleted { task, .. }
        | Fact::TaskSubmitted { task, .. }
        | Fact::TaskRejected { task, mode: RejectMode::Cancel, .. }
        | Fact::TaskCancelled { task, .. }
        | Fact::TaskDeleted { task }) = &event.fact
        else {
            return None;
        };
        let owner = self.post.state.tasks().get(*task)?.owner.clone()?;
        let is_its_word = event.actor.name == owner.as_str();
        (!is_its_word && self.links.contains_key(&owner)).then_some((*task, owner))
    }

    /// Tells a member that a task is not its own any more. If it is in the middle of it, nothing else begins before it has
    /// broken off; if it does not, it is ended.
    pub(super) fn break_off(&mut self, task: TaskNumber, member: &MemberName, what: &str) {
        let Some(link) = self.links.get_mut(member) else { return };
        if link.told.remove(&task).is_none() {
            return;
        }
        let reason = format!("{task} is no longer yours ({what})");
        // One that does not read is ended when its time is over.
        drop(link.tell(&FromLead::Interrupt { reason, task_id: Some(task.into()) }));
        if link.at_work.as_ref().is_some_and(|work| work.task == task) {
            link.breaks_off = Some(task);
            let runner = link.runner.clone();
            self.post.timers.set(self.post.timing.grace, Due::BreakOff(runner));
            self.post
                .note(member, TranscriptLine::note(&format!("is to break off {task} ({what})")));
        }
    }

    /// A member has dealt with what it was told, so that it is at nothing any more.
    pub(super) fn has_broken_off(&mut self, runner: &Runner) {
        let broken_off = self.link(runner).and_then(|link| link.breaks_off.take());
        if let Some(task) = broken_off {
            self.post.timers.forget(&Due::BreakOff(runner.clone()));
            self.is_left_alone(task);
        }
    }

    /// Nobody changes any more what was made for a task.
    pub(super) fn is_left_alone(&mut self, task: TaskNumber) {
        self.post.agenda.is_due = true;
        let status = self.post.state.tasks().get(task).map(|it| it.status);
        if status == Some(Status::Completed) {
            self.merge_if_late(LateCompletion::Completed, task);
        }
        self.begin_waiting();
    }

    /// A member goes on with what is not its own any more.
    pub(super) fn does_not_break_off(&mut self, runner: &Runner) {
        let Some(link) = self.link(runner) else { return };
        let Some(task) = link.breaks_off else { return };
        let what = format!("it did not break off {task}, which is not its own any more");
        link.ends_because(&what);
        self.post.note(&runner.member, TranscriptLine::trouble(&what));
        self.kill(runner);
    }
}
