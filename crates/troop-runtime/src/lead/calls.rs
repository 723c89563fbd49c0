//! Board calls of members, on their wires.

use troop_model::{Actor, Asker, Command, TaskCommand};
use troop_protocol::{
    Call, Change, Failure, IncomingRequest, MethodError, Notification, Responder,
};

use super::{
    Runner, completion::Intent, crew::conversation::lead_reads_of_person, dispatcher::Dispatcher,
    lead_state,
};

impl Dispatcher {
    /// Answers a request of a member.
    pub(super) async fn answer(&mut self, runner: &Runner, asked: IncomingRequest) {
        let IncomingRequest { asked, responder } = asked;
        match Call::try_from(&asked) {
            Ok(Call::Change(change)) => self.change(runner, *change, Some(responder)).await,
            Ok(call) => {
                let session = self.session_of(runner, &call);
                let answer = self.answers.clone().respond(session, call, responder);
                self.office.post.background.spawn(answer);
            }
            Err(error) => refuse_caller(responder, Failure::from(&error)),
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
                self.office.post.note(
                    &runner.member,
                    super::transcript::TranscriptLine::trouble(&error.to_string()),
                );
            }
            Err(error) => self.office.refuse(runner, error.to_string()),
        }
    }

    async fn change(&mut self, runner: &Runner, change: Change, responder: Option<Responder>) {
        let office = &mut self.office;
        if change.command == Command::DeleteTeam && office.post.is_lead(&runner.member) {
            return self.delete_team_later(runner, change, responder);
        }
        if let Command::MarkRead { messages, .. } = &change.command {
            // It has mail to handle now. Noted here and not from the log, because its next message may already end the turn.
            if let Some(facts) = office.crew.facts_of(runner) {
                facts.stir();
            }
            let messages = messages.as_deref();
            if lead_reads_of_person(&office.post, &runner.member, messages) {
                // Before it counts as read: a lead that is killed right after has not handled it.
                lead_state::note_work(office).await;
            }
            office.crew.read(&office.post, &runner.member, messages);
        }
        if let Command::Task(TaskCommand::Claim { .. }) = &change.command
            && let Some(facts) = office.crew.facts_of(runner)
        {
            facts.idle.has_claimed = true;
        }
        if let Some(facts) = office.crew.facts_of(runner) {
            facts.idle.has_worked = true;
        }
        office.end_work(runner, &change.command);
        self.pass_for(runner, change.command, change.operation, responder).await;
    }

    /// The lead's own agent deletes its team. That would end the lead in the middle of its turn, so the team is deleted at the end of
    /// the turn: until then the agent can tell people what came of the work. What the rules refuse is refused at once.
    fn delete_team_later(&mut self, runner: &Runner, change: Change, responder: Option<Responder>) {
        let office = &mut self.office;
        let actor = Actor::agent(&runner.member);
        let request = office.crew.signed(&office.post, actor, change.command);
        let intent = Intent { runner: Some(runner.clone()), request, responder };
        self.completions.ask_for_deletion(office, intent);
    }

    /// Deletes the team if its lead's agent wants that and has ended its turn with nothing left to read.
    pub(super) async fn delete_team_if_due(&mut self, runner: &Runner) {
        let office = &mut self.office;
        let is_done = office.crew.facts_of(runner).is_some_and(|it| it.has_no_conversation());
        if !is_done || !office.post.is_lead(&runner.member) {
            return;
        }
        if let Some(request) = office.post.last_act.take() {
            office.give_for(runner, request).await;
        }
    }

    /// The asker on a member's wire. The lead's agent sees all tasks, but only the files of its current chat.
    fn session_of(&self, runner: &Runner, call: &Call) -> Asker {
        let office = &self.office;
        let is_about_files = matches!(call, Call::File(_)) && office.post.is_lead(&runner.member);
        let origin = office.crew.conversation.origin().filter(|_| is_about_files);
        let actor = Actor::agent(&runner.member);
        Asker { actor, origin: origin.cloned().unwrap_or_default() }
    }
}

/// Refuses a call.
pub(super) fn refuse_caller(responder: Responder, failure: Failure) {
    // The caller may be gone.
    drop(responder.refuse(failure));
}
