//! Refusals: the caller hears why, and the log keeps it.

use troop_model::{
    Command, Hint, MemberName, Notice, Outgoing, RefusalRecord, RefusedBy, TaskCommand,
};
use troop_protocol::{Failure, FailureKind};

use super::Intent;
use crate::{
    CommandRequest,
    lead::{
        Runner,
        calls::refuse_caller,
        office::Office,
        policy::attempt_end::{AttemptEnd, AttemptEnding, attempt_end},
    },
};

/// Records in the log that a hook vetoed a new task; otherwise only the caller would know.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command makes a task")]
pub(super) async fn record_new_task(office: &mut Office, request: &CommandRequest, reason: &str) {
    let subject = match &request.command {
        Command::Task(TaskCommand::Create(new)) => &new.subject,
        Command::Delegate { subject: Some(subject), .. } => subject,
        _ => return,
    };
    let record = RefusalRecord {
        task: None,
        subject: Some(subject.clone()),
        who: request.asker.actor.clone(),
        by: RefusedBy::Hook,
        reason: reason.to_owned(),
        details: None,
        attempt: None,
    };
    office.post.give(Command::RecordRefusal(record)).await;
}

/// A hook or a check refuses a command. The caller hears why; if it claimed that its task is done, it gets the task again.
pub(super) async fn say_no_to_deed(
    office: &mut Office,
    intent: Intent,
    feedback: String,
    notice: Notice,
) {
    let end = {
        let CommandRequest { asker, command, .. } = &intent.request;
        attempt_end(&office.post.state, &asker.actor, command)
    };
    let Some(runner) = say_no(office, intent, feedback, notice).await else { return };
    if let Some(AttemptEnd { task, ending: AttemptEnding::Done(_) }) = end
        && let Some(facts) = office.crew.facts_of(&runner)
    {
        // The task is sent again with the message, or soon after.
        facts.work.told.remove(&task);
        office.retry_soon(&runner.member);
    }
}

/// Tells the caller why a command is refused: as the answer, or else by a message. Returns the member that got a message.
pub(super) async fn say_no(
    office: &mut Office,
    intent: Intent,
    feedback: String,
    notice: Notice,
) -> Option<Runner> {
    office.gate.forget(intent.request.operation);
    if let Some(responder) = intent.responder {
        let failure = Failure::new(FailureKind::Forbidden, &feedback);
        refuse_caller(responder, failure);
        return None;
    }
    let runner = intent.runner?;
    tell(office, &runner.member, feedback, notice).await;
    Some(runner)
}

/// Like `say_no`, with a hint.
pub(super) async fn say_no_with_hint(
    office: &mut Office,
    intent: Intent,
    message: String,
    hint: Hint,
) {
    let Some(responder) = intent.responder else {
        let feedback = format!("{message}; {hint}");
        drop(say_no(office, intent, feedback, Notice::NotDone).await);
        return;
    };
    office.gate.forget(intent.request.operation);
    let failure = Failure::new(FailureKind::Conflict, &message);
    refuse_caller(responder, failure.with_hint(hint));
}

/// Sends a member the reason of a refusal as a message.
pub(in super::super) async fn tell(
    office: &mut Office,
    member: &MemberName,
    content: String,
    notice: Notice,
) {
    let summary = match notice {
        Notice::Vetoed => "a hook said no to being idle",
        Notice::DeedVetoed => "a hook said no to what it did",
        Notice::NotDone => "it is not done yet",
        Notice::ReportDue => "a report is due",
        Notice::Result => "a task has a result",
        Notice::Goal => "the goal",
    };
    let word = Outgoing::system(member.to_string(), content);
    office.post.give(Command::Send(word.summarised(summary).with_notice(notice))).await;
}
