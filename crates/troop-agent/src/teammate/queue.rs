//! The queue of a teammate: tasks, mail, a request to end. Decides what comes next.

use std::{collections::VecDeque, sync::Arc};

use serde_json::json;
use troop_model::MessageKind;
use troop_protocol::{
    Failure, FromLead, FromTeammate, Incoming, Level, Log, MessageIn, MethodError, Notification,
    ReportedStatus, TaskReport, WireId, WireTask,
};
use uuid::Uuid;

use super::Exit;
use crate::{Turn, Work, wire::MemberWire};

/// How many tasks may wait. Few do: a lead gives the next one when the member reports that it is idle.
const MAX_TASKS: usize = 64;

pub(super) struct WorkQueue {
    wire: Arc<MemberWire>,
    running: Option<RunningWork>,
    /// The task that was interrupted.
    held: Option<WireTask>,
    /// Whether a task was taken away from the member, and the lead waits to hear that it has stopped.
    has_lost: bool,
    tasks: VecDeque<WireTask>,
    farewell: Option<Farewell>,
}

enum RunningWork {
    /// A task with its attempt.
    Task(WireId, Option<u32>),
    Other,
}

/// A request to end.
#[derive(Clone, Debug)]
pub(super) struct Farewell {
    pub(super) reason: String,
    /// The sender and the request, if it came by mail.
    pub(super) asked_by: Option<(String, Option<Uuid>)>,
}

impl WorkQueue {
    pub(super) fn new(wire: Arc<MemberWire>) -> Self {
        Self {
            wire,
            running: None,
            held: None,
            has_lost: false,
            tasks: VecDeque::new(),
            farewell: None,
        }
    }

    /// Whether the member has nothing that the lead gave it.
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.held.is_none() && self.farewell.is_none()
    }

    /// The next work: a request to end comes first, then mail, then tasks.
    pub(super) fn next_work(&mut self) -> Option<Work> {
        if let Some(farewell) = &self.farewell {
            return Some(Work::Shutdown { reason: farewell.reason.clone() });
        }
        if self.wire.has_mail() {
            let mail = self.wire.take_mail();
            return Some(match self.held.take() {
                Some(task) => Work::Resume { task, mail },
                None => Work::Mail(mail),
            });
        }
        // After an interruption the member waits for mail before it begins anything new.
        if self.held.is_none() { self.tasks.pop_front().map(Work::Task) } else { None }
    }

    pub(super) fn begin(&mut self, work: &Work) {
        self.running = Some(match work {
            Work::Task(task) | Work::Resume { task, .. } => {
                RunningWork::Task(task.id.clone(), task.attempt)
            }
            Work::Start | Work::Mail(_) | Work::Shutdown { .. } => RunningWork::Other,
        });
    }

    pub(super) fn end(&mut self) {
        self.running = None;
    }

    pub(super) fn hold(&mut self, task: WireTask) {
        self.held = Some(task);
    }

    pub(super) fn take_farewell(&mut self) -> Farewell {
        self.farewell.take().unwrap_or(Farewell { reason: String::new(), asked_by: None })
    }

    /// All tasks that the member will not work on.
    pub(super) fn take_tasks(&mut self) -> Vec<WireTask> {
        self.held.take().into_iter().chain(self.tasks.drain(..)).collect()
    }

    /// Handles one message from the lead. Unknown messages are ignored, so that any lead can be served.
    pub(super) async fn hear(
        &mut self,
        incoming: Option<Incoming>,
        turn: Option<&Turn>,
    ) -> Result<(), Exit> {
        match incoming {
            None | Some(Incoming::End(_)) => return Err(Exit::LeadGone),
            Some(Incoming::Skipped(_)) => {}
            Some(Incoming::Notification(said)) => {
                match FromLead::try_from(&said) {
                    Ok(said) => self.take(said, turn).await,
                    // A newer lead may send more than we know.
                    Err(MethodError::Unknown { .. }) => {}
                    Err(error) => self.tell_not_understood(&error),
                }
            }
            Some(Incoming::Request(request)) => {
                // The protocol has no requests to teammates, but a lead that wants an answer gets one.
                let heard = self.take_asked(&request.asked, turn).await;
                drop(match heard {
                    Ok(()) => request.responder.answer(&json!({})),
                    Err(failure) => request.responder.refuse(failure),
                });
            }
        }
        Ok(())
    }

    /// A lead that waits for an answer to a message that we did not understand would wait for ever.
    fn tell_not_understood(&self, error: &MethodError) {
        let text = format!("this was not understood: {error}");
        // If the lead does not read, it need not read this either.
        drop(self.wire.try_say(&FromTeammate::Log(Log { level: Level::Warn, text })));
    }

    async fn take_asked(
        &mut self,
        asked: &Notification,
        turn: Option<&Turn>,
    ) -> Result<(), Failure> {
        let said = FromLead::try_from(asked).map_err(|error| Failure::from(&error))?;
        self.take(said, turn).await;
        Ok(())
    }

    async fn take(&mut self, said: FromLead, turn: Option<&Turn>) {
        match said {
            FromLead::AssignTask { task } => self.take_task(task).await,
            FromLead::Message(message) if message.kind == MessageKind::ShutdownRequest => {
                self.wire.note_read(message.id);
                let MessageIn { from, content, request_id, .. } = message;
                let asked_by = Some((from, request_id));
                self.take_leave(Farewell { reason: content, asked_by }, turn);
            }
            FromLead::Message(message) => self.wire.receive(message),
            FromLead::UpdateContext(context) => self.wire.update(context),
            FromLead::Shutdown { reason } => {
                self.take_leave(Farewell { reason, asked_by: None }, turn);
            }
            FromLead::Interrupt { task_id: Some(task), .. } => self.lose(&task, turn),
            FromLead::Interrupt { task_id: None, .. } => {
                if let Some(turn) = turn {
                    turn.interrupted().cancel();
                }
            }
        }
    }

    /// A task belongs to somebody else now: the member stops it, or does not begin it.
    fn lose(&mut self, task: &WireId, turn: Option<&Turn>) {
        self.tasks.retain(|own| own.id != *task);
        let is_held = self.held.take_if(|own| own.id == *task).is_some();
        let is_running = matches!(&self.running, Some(RunningWork::Task(own, _)) if own == task);
        self.has_lost |= is_held || is_running;
        if let Some(turn) = turn.filter(|_| is_running) {
            turn.interrupted().cancel();
        }
    }

    /// Whether a task was taken away since the last call of this.
    pub(super) fn take_loss(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    async fn take_task(&mut self, task: WireTask) {
        if self.has(&task) {
            return;
        }
        let reason = if self.farewell.is_some() {
            "it stops"
        } else if self.tasks.len() >= MAX_TASKS {
            "too many tasks wait for it"
        } else {
            self.tasks.push_back(task);
            return;
        };
        let reason = Some(format!("{} cannot take it: {reason}", self.wire.place.name));
        let report = TaskReport { reason, ..TaskReport::about(&task, ReportedStatus::Pending) };
        drop(self.wire.say(&FromTeammate::TaskUpdate(report)).await);
    }

    /// Whether the member has this task already.
    fn has(&self, task: &WireTask) -> bool {
        let is_running = match &self.running {
            Some(RunningWork::Task(id, attempt)) => *id == task.id && *attempt == task.attempt,
            Some(RunningWork::Other) | None => false,
        };
        let mut waiting = self.held.iter().chain(&self.tasks);
        is_running || waiting.any(|own| own.id == task.id && own.attempt == task.attempt)
    }

    /// Notes a request to end. A running task is finished first; other work is interrupted.
    fn take_leave(&mut self, farewell: Farewell, turn: Option<&Turn>) {
        let earlier = self.farewell.take().and_then(|earlier| earlier.asked_by);
        let asked_by = farewell.asked_by.or(earlier);
        self.farewell = Some(Farewell { asked_by, ..farewell });
        if let (Some(turn), Some(RunningWork::Other)) = (turn, &self.running) {
            turn.interrupted().cancel();
        }
    }
}
