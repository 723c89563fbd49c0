//! The conversation that a command belongs to: for the lead's agent that of the mail it read last; a teammate acts in its own
//! name.

use std::collections::BTreeMap;

use troop_model::{Actor, Asker, Command, MemberName, Message, Origin, Party};
use uuid::Uuid;

use super::Crew;
use crate::{CommandRequest, Signature, lead::post::Post};

/// The conversation in which the lead's agent acts: that of the mail it read last.
#[derive(Debug, Default)]
pub(in super::super) struct Conversation {
    current: Option<Origin>,
    /// The last request of each conversation: the parent trace of delegations made for it.
    requests: BTreeMap<Origin, Uuid>,
}

impl Conversation {
    /// The origin of commands of the lead's agent.
    pub(in super::super) fn origin(&self) -> Option<&Origin> {
        self.current.as_ref()
    }

    /// The request that the lead's agent works on.
    fn request(&self) -> Option<Uuid> {
        self.requests.get(self.current.as_ref()?).copied()
    }

    fn turn_to(&mut self, message: &Message) {
        // Internal mail has no conversation, and must not end the agent's current one.
        if message.origin.is_internal() {
            return;
        }
        if message.from == Party::user() {
            self.requests.insert(message.origin.clone(), message.id);
        }
        self.current = Some(message.origin.clone());
    }

    /// Puts a command of the lead's agent into its conversation.
    fn place(&self, mut request: CommandRequest) -> CommandRequest {
        if let Some(origin) = &self.current {
            request.asker.origin = origin.clone();
        }
        if let Command::Delegate { trace_id: trace_id @ None, .. } = &mut request.command {
            *trace_id = self.request();
        }
        request
    }
}

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
        let request = CommandRequest { fence: Some(post.mandate.fence), ..signature.on(command) };
        if is_lead { self.conversation.place(request) } else { request }
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
                self.conversation.turn_to(message);
            } else if let Some(live) = self.members.get_mut(member)
                && !message.origin.is_internal()
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
