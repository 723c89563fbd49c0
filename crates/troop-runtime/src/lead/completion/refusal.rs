//! Saying no: whoever asked hears why, and the log keeps it.

use troop_model::{
    Command, Hint, MemberName, Notice, Outgoing, RefusalRecord, RefusedBy, TaskCommand,
};
use troop_protocol::{Failure, FailureKind};

use super::Intent;
use crate::{
    CommandRequest,
    lead::{Runner, office::Office},
};

/// Keeps in the log that a hook refused a new task: the caller alone is told, and could tell nobody else.
pub(super) async fn record_new_task(office: &mut Office, request: &CommandRequest, reason: &str) {
    let Command::Task(TaskCommand::Create(new)) = &request.command else { return };
    // A task that the board would not take is refused by its rules, whatever else is against it.
    if !office.post.would_take(request) {
        return;
    }
    let record = RefusalRecord {
        task: None,
        subject: Some(new.subject.clone()),
        who: request.asker.actor.clone(),
        by: RefusedBy::Hook,
        reason: reason.to_owned(),
        details: None,
        attempt: None,
    };
    office.post.give(Command::RecordRefusal(record)).await;
}

/// A hook or a check is against something. Whoever asked hears why; a task that is not done after all is given to it once
/// more.
pub(super) async fn say_no_to_deed(
    office: &mut Office,
    intent: Intent,
    feedback: String,
    notice: Notice,
) {
    let command = intent.request.command.clone();
    let Some(runner) = say_no(office, intent, feedback, notice).await else { return };
    if let Command::Task(TaskCommand::Complete { task, .. }) = &command
        && let Ok(number) = office.post.state.resolve(task)
        && let Some(facts) = office.crew.facts_of(&runner)
    {
        // The task comes again with what was said, or soon after.
        facts.work.told.remove(&number);
        office.retry_soon(&runner.member);
    }
}

/// Tells whoever asked for something why not: in answer, or else by a message, and then returns who that is.
pub(super) async fn say_no(
    office: &mut Office,
    intent: Intent,
    feedback: String,
    notice: Notice,
) -> Option<Runner> {
    office.gate.forget(intent.request.operation);
    if let Some(responder) = intent.responder {
        let failure = Failure::new(FailureKind::Forbidden, &feedback);
        // The caller may have gone; then nobody needs this answer.
        drop(responder.refuse(failure));
        return None;
    }
    let runner = intent.runner?;
    tell(office, &runner.member, feedback, notice).await;
    Some(runner)
}

/// The same, with what to do then.
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
    // The caller may have gone; then nobody needs this answer.
    drop(responder.refuse(failure.with_hint(hint)));
}

/// Tells a member in a way that lasts what was against something.
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
    };
    let word = Outgoing::system(member.to_string(), content);
    office.post.give(Command::Send(word.summarised(summary).with_notice(notice))).await;
}
