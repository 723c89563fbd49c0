//! Messages between files and the board: a letter as a command, and the message about a refusal.

use std::borrow::Borrow;

use troop_model::{
    Actor, ActorKind, Command, Event, Fact, MemberName, Message, MessageKind, Outgoing, State,
};
use uuid::Uuid;

use crate::mirror::layout::{InboxLetter, Names};

/// The beginning of the summary of a request that has another id in the files.
const REQUEST: &str = "request ";

/// The command that sends what somebody put into an inbox.
pub fn outgoing(state: &State, to: &MemberName, from: &str, mut letter: InboxLetter) -> Command {
    let asked = match letter.kind {
        MessageKind::ShutdownResponse => Some(MessageKind::ShutdownRequest),
        MessageKind::PlanApprovalResponse => Some(MessageKind::PlanApprovalRequest),
        MessageKind::Message
        | MessageKind::Broadcast
        | MessageKind::System
        | MessageKind::ShutdownRequest
        | MessageKind::PlanApprovalRequest
        | MessageKind::PermissionRequest
        | MessageKind::PermissionResponse
        | MessageKind::Idle
        | MessageKind::TaskAssignment => None,
    };
    let mut request_id = None;
    if let Some(kind) = asked {
        let answer = RequestAnswer { kind, asker: to, answerer: from };
        request_id = answer.open_request(state, letter.request_id.as_deref());
        letter.approve.get_or_insert(true);
        if request_id.is_none() && letter.request_id.is_some() {
            // Nobody here asked that, so it is passed on unchanged.
            letter.kind = MessageKind::Message;
            letter.content = letter.text;
        }
    } else if let Some(id) = letter.request_id.filter(|_| letter.summary.is_none()) {
        letter.summary = Some(format!("{REQUEST}{id}"));
    }
    let InboxLetter { kind, content, summary, approve, .. } = letter;
    let to = to.to_string();
    let plain = Outgoing::new(to, kind, content);
    Command::Send(Outgoing { summary, request_id, approve, ..plain })
}

/// An answer to a request of some kind.
struct RequestAnswer<'a> {
    kind: MessageKind,
    asker: &'a MemberName,
    answerer: &'a str,
}

impl RequestAnswer<'_> {
    /// The open request that it answers: by its id here, or by the asker's id for it. An answer that names none means the last
    /// one.
    fn open_request(&self, state: &State, meant: Option<&str>) -> Option<Uuid> {
        let open = state.requests().filter(|(_, it)| {
            it.kind == self.kind && it.from == *self.asker && it.to.as_str() == self.answerer
        });
        let Some(meant) = meant else { return open.max_by_key(|(_, it)| it.at).map(|(id, _)| *id) };
        if let Ok(id) = meant.parse() {
            // The board refuses it if there is no such request.
            return Some(id);
        }
        let mut open = open.map(|(id, _)| *id);
        open.find(|id| called(state, *id).as_deref() == Some(meant))
    }
}

/// The request that a message is or answers, by the asker's id for it.
pub(super) fn request_id(state: &State, message: &Message) -> Option<String> {
    let id = message.request_id?;
    Some(called(state, id).unwrap_or_else(|| id.to_string()))
}

/// The id in the files of a request that came through one.
fn called(state: &State, request: Uuid) -> Option<String> {
    let message = state.mailbox().iter().find(|it| it.id == request)?;
    Some(message.summary.as_deref()?.strip_prefix(REQUEST)?.to_owned())
}

/// The message that was sent.
pub fn sent<E: Borrow<Event>>(events: &[E]) -> Option<Uuid> {
    events.iter().find_map(|event| {
        let Fact::MessageSent { id, .. } = &event.borrow().fact else { return None };
        Some(*id)
    })
}

/// The message to the writer of something that was refused; to the lead, if the writer is unknown. None if there is nobody to
/// tell.
pub fn refusal(names: &Names, who: Option<&str>, shown: &str, reason: &str) -> Option<Command> {
    let to = who.and_then(|who| names.find(who)).or_else(|| names.lead().cloned())?;
    let content = format!("what was written to `{shown}` was refused: {reason}");
    Some(Command::Send(Outgoing::system(to.to_string(), content)))
}

/// The member that a file names; the lead, if it names nobody.
pub fn actor(by: Option<&str>) -> Actor {
    let name = by.unwrap_or(troop_model::LEAD_ALIASES[0]);
    Actor { kind: ActorKind::Agent, name: name.into() }
}
