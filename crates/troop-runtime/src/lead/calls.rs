//! Board calls of members, on their wires.

use troop_model::{Actor, Command, OperationId, Spawn, State, TaskCommand};
use troop_protocol::{
    Call, Change, Failure, FailureKind, IncomingRequest, MethodError, Notification, Responder,
    Session,
};
use uuid::Uuid;

use super::{Runner, dispatcher::Dispatcher, gate::Deed, places::claimed};
use crate::{
    CommandEffect, CommandRequest,
    answers::{changed, failure},
};

impl Dispatcher {
    /// Answers a request of a member.
    pub(super) async fn answer(&mut self, runner: &Runner, asked: IncomingRequest) {
        let IncomingRequest { asked, responder } = asked;
        match Call::try_from(&asked) {
            Ok(Call::Change(change)) => self.change(runner, *change, Some(responder)).await,
            Ok(call) => {
                let session = self.session_of(runner, &call);
                self.post
                    .background
                    .tracker
                    .spawn(self.answers.clone().respond(session, call, responder));
            }
            Err(error) => self.refuse(responder, Failure::from(&error)),
        }
    }

    /// Carries out a call of a member that expects no answer.
    pub(super) async fn call_unanswered(&mut self, runner: &Runner, said: &Notification) {
        match Call::try_from(said) {
            Ok(Call::Change(change)) => self.change(runner, *change, None).await,
            // Without an answer a query is pointless, and a file call could not report that it failed.
            Ok(Call::Query(_) | Call::Open(_) | Call::File(_) | Call::Follow(_)) => {}
            // A method of a later version, or of another program.
            Err(error @ MethodError::Unknown { .. }) => {
                self.post.note(
                    &runner.member,
                    super::transcript::TranscriptLine::trouble(&error.to_string()),
                );
            }
            Err(error) => self.refused(runner, error.to_string()),
        }
    }

    /// Gives a command and answers with what came of it.
    pub(super) async fn call(&mut self, request: CommandRequest, responder: Responder) {
        let readying = self.readying(&request.command);
        let look = |state: &State, done: CommandEffect| {
            let work = claimed(state, &done);
            (changed(state, &done), work)
        };
        let given = match self.post.board.give_and_look(request, look).await {
            Ok(given) => given,
            Err(error) => return self.post.lost(Some(error)),
        };
        self.post.background.tracker.spawn(async move {
            let answered = match given.done().await {
                Ok((answer, work)) => {
                    if let (Some(readying), Some(work)) = (readying, work) {
                        readying.ready(work).await;
                    }
                    responder.answer(&answer)
                }
                Err(error) => responder.refuse(failure(&error)),
            };
            // If the caller has gone, nobody needs the answer.
            drop(answered);
        });
    }

    async fn change(&mut self, runner: &Runner, change: Change, responder: Option<Responder>) {
        if let Command::MarkRead { messages, .. } = &change.command {
            // It has mail to deal with now. Noted here and not from the log, because its next message may already say that it
            // has dealt with it.
            if let Some(link) = self.link(runner) {
                link.is_at_rest = !link.tells_end;
            }
            if self.reads_of_person(&runner.member, messages.as_deref()) {
                // Before it counts as read: a lead that is killed right after has not dealt with it.
                self.note_work_of_lead().await;
            }
            self.reads(&runner.member, messages.as_deref());
        }
        if let Command::SpawnMember(Spawn { member, .. }) = &change.command
            && let Err(why) = self.launch.check(&member.agent, member.model.as_deref())
        {
            // The caller learns it now, and not from a member that fails to start.
            let failure = Failure::new(FailureKind::Invalid, &why.to_string());
            return match responder {
                Some(responder) => self.refuse(responder, failure),
                None => self.refused(runner, failure.message),
            };
        }
        if let Command::Task(TaskCommand::Claim { .. }) = &change.command
            && let Some(link) = self.link(runner)
        {
            link.has_claimed = true;
        }
        self.says_end(runner, &change.command);
        let actor = Actor::agent(&runner.member);
        let mut request = self.signed(actor, change.command);
        request.operation = change.operation.unwrap_or_else(|| OperationId(Uuid::now_v7()));
        self.pass(Deed { runner: Some(runner.clone()), request, responder }).await;
    }

    /// Who asks on a member's wire. The lead's agent looks at all tasks, but gets the files of the one chat that it is in.
    fn session_of(&self, runner: &Runner, call: &Call) -> Session {
        let is_about_files = matches!(call, Call::File(_)) && self.post.is_lead(&runner.member);
        let origin = self.conversation.origin().filter(|_| is_about_files);
        let actor = Actor::agent(&runner.member);
        Session { actor, origin: origin.cloned().unwrap_or_default() }
    }

    pub(super) fn refuse(&self, responder: Responder, failure: Failure) {
        // If the caller has gone, nobody needs the answer.
        drop(responder.refuse(failure));
    }
}
