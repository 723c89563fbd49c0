//! Needs: everything in a team that waits for an answer from a person, as one list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Command, Member, MemberName, MemberState, MessageKind, Outgoing, Party, RejectMode, Request,
    StartGate, State, Status, Task, TaskCommand, TaskNumber, Time,
};

/// Something that waits for a person's answer. The lead may be allowed to answer, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// The request's id, or the task's. Together with the kind it names the need for as long as it waits.
    pub id: Uuid,
    pub kind: NeedKind,
    /// The party that asks.
    pub from: SmolStr,
    /// The party that is asked. A person may answer for the lead.
    pub to: SmolStr,
    /// The task that it is about.
    pub task: Option<TaskNumber>,
    pub since: Time,
    /// The request in words: the plan, the question, or the subject of the task.
    pub text: String,
    /// The answers that are possible.
    pub answers: Vec<NeedAnswer>,
}

/// The kind of a need.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    /// A member asks for permission.
    Permission,
    /// A member asks for approval of its plan.
    Plan,
    /// A member asks the user something.
    Question,
    /// The result of a task waits for approval.
    Review,
    /// A task waits for approval to start.
    Start,
    /// The work on a task cannot be merged.
    Conflict,
}

/// A possible answer.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum NeedAnswer {
    Approve,
    /// The result goes back to its member with the changes to make.
    Revise,
    /// A task that is rejected is cancelled.
    Reject,
    /// An answer in words.
    Reply,
}

impl NeedKind {
    /// The possible answers, approval first.
    #[must_use]
    pub fn answers(self) -> &'static [NeedAnswer] {
        match self {
            Self::Permission | Self::Plan | Self::Start => {
                &[NeedAnswer::Approve, NeedAnswer::Reject]
            }
            Self::Review => &[NeedAnswer::Approve, NeedAnswer::Revise, NeedAnswer::Reject],
            Self::Question => &[NeedAnswer::Reply],
            // A person merges the work, or drops it, with git.
            Self::Conflict => &[],
        }
    }

    /// Whether it is a member's request, which a message answers with yes or no.
    #[must_use]
    pub fn is_request(self) -> bool {
        matches!(self, Self::Permission | Self::Plan)
    }

    /// The thing that the asking member waits for, in a few words. None if the member continues meanwhile.
    #[must_use]
    pub fn wait_in_words(self) -> Option<&'static str> {
        match self {
            Self::Plan => Some("waits for approval of its plan"),
            Self::Permission => Some("waits for an answer"),
            Self::Question | Self::Review | Self::Start | Self::Conflict => None,
        }
    }
}

impl Need {
    /// The commands that give an answer, in order. `text` is the person's comment; only a reply must have one. None if this
    /// need does not offer the answer.
    #[must_use]
    pub fn commands(&self, answer: NeedAnswer, text: &str) -> Option<Vec<Command>> {
        if !self.kind.answers().contains(&answer) {
            return None;
        }
        Some(match self.kind {
            NeedKind::Permission => {
                vec![self.respond(MessageKind::PermissionResponse, answer, text)]
            }
            NeedKind::Plan => vec![self.respond(MessageKind::PlanApprovalResponse, answer, text)],
            NeedKind::Question => {
                let reply = Command::Send(Outgoing::message(self.from.as_str(), text));
                let clear = self.task.map(|task| TaskCommand::ClearAskUser { task: task.into() });
                [reply].into_iter().chain(clear.map(Command::Task)).collect()
            }
            NeedKind::Review | NeedKind::Start => {
                vec![Command::Task(judgement(self.task?, answer, text))]
            }
            NeedKind::Conflict => return None,
        })
    }

    fn respond(&self, kind: MessageKind, answer: NeedAnswer, text: &str) -> Command {
        let is_approved = answer == NeedAnswer::Approve;
        Command::Send(Outgoing::new(self.from.as_str(), kind, text).answering(self.id, is_approved))
    }
}

fn judgement(task: TaskNumber, answer: NeedAnswer, text: &str) -> TaskCommand {
    let task = task.into();
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    let mode = if answer == NeedAnswer::Revise { RejectMode::Revise } else { RejectMode::Cancel };
    match answer {
        NeedAnswer::Approve => TaskCommand::Approve { task, comment: text },
        NeedAnswer::Revise | NeedAnswer::Reject | NeedAnswer::Reply => {
            let reason = text.unwrap_or_else(|| "rejected".to_owned());
            TaskCommand::Reject { task, reason, mode }
        }
    }
}

impl State {
    /// Everything that waits for a person: first the requests of members, then the tasks. `members` are the members as the
    /// caller knows them, which may be newer than the log: a crashed member waits for nothing.
    #[must_use]
    pub fn needs(&self, members: &[Member]) -> Vec<Need> {
        let has_crashed = |from: &Party| {
            let mut members = members.iter();
            members.any(|it| *from == it.name && it.state == MemberState::Crashed)
        };
        let requests = self.requests().filter(|(_, request)| !has_crashed(&request.from));
        let asked = requests.filter_map(|(id, request)| of_request(self, *id, request));
        asked.chain(self.tasks().iter().filter_map(|task| of_task(self, task))).collect()
    }
}

fn of_request(state: &State, id: Uuid, request: &Request) -> Option<Need> {
    let kind = match request.kind {
        MessageKind::PermissionRequest => NeedKind::Permission,
        MessageKind::PlanApprovalRequest => NeedKind::Plan,
        // A request to stop is answered by the member itself; the other kinds are no requests.
        MessageKind::Message
        | MessageKind::Broadcast
        | MessageKind::ShutdownRequest
        | MessageKind::ShutdownResponse
        | MessageKind::PlanApprovalResponse
        | MessageKind::PermissionResponse
        | MessageKind::Idle
        | MessageKind::TaskAssignment
        | MessageKind::System => return None,
    };
    let message = state.mailbox().iter().find(|message| message.id == id);
    Some(Need {
        id,
        kind,
        from: request.from.as_str().into(),
        to: request.to.as_str().into(),
        task: message.and_then(|message| message.task),
        since: request.at,
        text: message.map(|message| message.content.clone()).unwrap_or_default(),
        answers: kind.answers().to_vec(),
    })
}

fn of_task(state: &State, task: &Task) -> Option<Need> {
    let status = state.tasks().status(task.number).unwrap_or(task.status);
    let creator = task.provenance.created_by.name.as_str();
    let holder = task.owner.as_ref().map_or(creator, MemberName::as_str);
    let (kind, from, text) = match &task.talk.question {
        Some(question) if !status.is_finished() => {
            (NeedKind::Question, question.asked_by.as_str(), &question.text)
        }
        _ if status == Status::InReview => (NeedKind::Review, holder, &task.subject),
        _ if status == Status::Pending && task.start.gate == StartGate::Waiting => {
            (NeedKind::Start, creator, &task.subject)
        }
        _ => (NeedKind::Conflict, holder, conflict_of(task)?),
    };
    Some(Need {
        id: task.id,
        kind,
        from: from.into(),
        to: Party::user().as_str().into(),
        task: Some(task.number),
        since: task.provenance.moved_at,
        text: text.clone(),
        answers: kind.answers().to_vec(),
    })
}

/// Why the work on a completed task could not be merged. While a task is open, its member repairs a conflict.
fn conflict_of(task: &Task) -> Option<&String> {
    task.proof.conflict.as_ref().filter(|_| task.status == Status::Completed)
}
