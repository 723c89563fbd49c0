//! The conversation that a command belongs to: for the lead's agent that of the mail it read last; a teammate acts in its own
//! name.

use troop_model::{Actor, Asker, Command, MemberName, Origin, Party};
use uuid::Uuid;

use super::Crew;
use crate::{CommandRequest, Signature, lead::post::Post};

impl Crew {
    /// A command that a member gives through the lead.
    pub(in super::super) fn signed(
        &self,
        post: &Post,
        actor: Actor,
        command: Command,
    ) -> CommandRequest {
        let is_lead = post.state.lead().is_some_and(|lead| Actor::agent(&lead.name) == actor);
        let origin = self.origin_of(&actor, &command);
        let signature = Signature::new(Asker { actor, origin });
        let mut request =
            CommandRequest { fence: Some(post.mandate.fence), ..signature.on(command) };
        if is_lead {
            self.conversation.place(&mut request.asker, &mut request.command);
        }
        request
    }

    /// The origin of a teammate's command: an answer to mail belongs to the conversation of that mail. Otherwise the teammate
    /// acts in its own name alone, whoever asked for the work.
    fn origin_of(&self, actor: &Actor, command: &Command) -> Origin {
        let is_word = matches!(command, Command::Send(_));
        let speaker = self.members.get(actor.name.as_str()).filter(|_| is_word);
        let answers = speaker.and_then(|it| it.facts.mail.answers.clone());
        answers.unwrap_or_else(|| Origin { channel: Some("teammate".into()), ..Origin::default() })
    }

    /// A member has read mail, and acts in its conversation from now on.
    pub(in super::super) fn read(
        &mut self,
        post: &Post,
        member: &MemberName,
        messages: Option<&[Uuid]>,
    ) {
        let is_lead = post.is_lead(member);
        for message in post.state.mailbox().unread_of(&Party::member(member)) {
            if messages.is_some_and(|ids| !ids.contains(&message.id)) {
                continue;
            }
            if is_lead {
                self.conversation.turn_to(&message.mark());
            } else if let Some(live) = self.members.get_mut(member)
                && message.mark().has_conversation()
            {
                live.facts.mail.answers = Some(message.origin.clone());
            }
        }
    }
}

/// Whether the lead reads a message of a person while its work is open.
pub(in super::super) fn lead_reads_of_person(
    post: &Post,
    member: &MemberName,
    messages: Option<&[Uuid]>,
) -> bool {
    let reader = Party::member(member);
    let mut unread = post.state.mailbox().unread_of(&reader);
    post.is_lead(member)
        && post.left_open().is_some()
        && unread
            .any(|it| it.from == Party::user() && messages.is_none_or(|ids| ids.contains(&it.id)))
}
