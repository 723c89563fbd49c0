//! Board calls: requests that members make on their wires.

use troop_model::{Actor, Command, OperationId, Spawn, State, TaskCommand};
use troop_protocol::{
    Call, Change, Failure, FailureKind, MethodError, Notification, Query, Request as Asked,
    Responder,
};
use uuid::Uuid;

use super::{
    Runner,
    answers::{self, Caller},
    dispatcher::Dispatcher,
    gate::Deed,
    places::claimed,
};
use crate::{Done, Request};

impl Dispatcher {
    /// Answers what a member asks, in time.
    pub(super) async fn answer(&mut self, runner: &Runner, asked: Asked) {
        let Asked { asked, responder } = asked;
        match Call::try_from(&asked) {
            Ok(Call::Change(change)) => self.change(runner, *change, Some(responder)).await,
            Ok(Call::Query(query)) => self.look_up(runner, query, responder),
            Ok(Call::File(call)) => {
                let caller = self.file_caller(runner);
                self.post
                    .background
                    .tracker
                    .spawn(self.files.clone().answer(caller, call, responder));
            }
            Ok(Call::Open(_)) => {
                let what = "who speaks on a teammate's wire is known";
                self.refuse(responder, Failure::new(FailureKind::Forbidden, what));
            }
            Err(error) => self.refuse(responder, Failure::from(&error)),
        }
    }

    /// Does what a member asks without waiting for an answer.
    pub(super) async fn call_unanswered(&mut self, runner: &Runner, said: &Notification) {
        match Call::try_from(said) {
            Ok(Call::Change(change)) => self.change(runner, *change, None).await,
            // What nobody waits for, nobody wants to know. Files are written when somebody hears whether they are.
            Ok(Call::Query(_) | Call::Open(_) | Call::File(_)) => {}
            // A method of a later version, or of somebody else's.
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
    pub(super) async fn call(&mut self, request: Request, responder: Responder) {
        let readying = self.readying(&request.command);
        let look = |state: &State, done: Done| {
            let work = claimed(state, &done);
            (answers::change(state, &done), work)
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
                Err(error) => responder.refuse(answers::failure(&error)),
            };
            // Who has gone needs no answer.
            drop(answered);
        });
    }

    async fn change(&mut self, runner: &Runner, change: Change, responder: Option<Responder>) {
        if let Command::MarkRead { messages, .. } = &change.command {
            // It has something to deal with now. Heard here, and not from the log: what it says next may be that it has.
            if let Some(link) = self.link(runner) {
                link.is_at_rest = !link.tells_end;
            }
            if self.reads_of_person(&runner.member, messages.as_deref()) {
                // Before it counts as read: who is killed right after that has left it undone.
                self.note_work_of_lead().await;
            }
            self.reads(&runner.member, messages.as_deref());
        }
        if let Command::SpawnMember(Spawn { member, .. }) = &change.command
            && let Err(why) = self.launch.check(&member.agent, member.model.as_deref())
        {
            // Who asks hears it now, and not from somebody who did not start.
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

    fn look_up(&self, runner: &Runner, query: Query, responder: Responder) {
        let caller = self.caller(runner);
        let board = self.post.board.clone();
        self.post.background.tracker.spawn(async move {
            let outcome = answers::query(&board, caller, query).await;
            drop(responder.respond(outcome.map_err(Into::into)));
        });
    }

    fn caller(&self, runner: &Runner) -> Caller {
        Caller { actor: Actor::agent(&runner.member), origin: troop_model::Origin::default() }
    }

    /// The lead's agent finds the files of the conversation that it is in. It looks at all tasks, but has one chat's files.
    fn file_caller(&self, runner: &Runner) -> Caller {
        let caller = self.caller(runner);
        match self.conversation.origin().filter(|_| self.post.is_lead(&runner.member)) {
            Some(origin) => Caller { origin: origin.clone(), ..caller },
            None => caller,
        }
    }

    pub(super) fn refuse(&self, responder: Responder, failure: Failure) {
        // Who has gone needs no answer.
        drop(responder.refuse(failure));
    }
}
