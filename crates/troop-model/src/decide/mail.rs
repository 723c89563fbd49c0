//! Rules of the mailbox: senders, recipients, requests and receipts.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Draft, Standing, supervision};
use crate::{
    Fact, Member, MemberName, MemberState, Message, MessageKind, Notice, Outgoing, Party,
    Permissions, Refusal, name, text,
};

pub(super) fn send(draft: &mut Draft<'_>, outgoing: &Outgoing) -> Result<(), Refusal> {
    let from = sender(draft);
    let kind = if outgoing.to == name::EVERYBODY && outgoing.kind == MessageKind::Message {
        MessageKind::Broadcast
    } else {
        outgoing.kind
    };
    let is_own_kind = matches!(kind, MessageKind::System | MessageKind::TaskAssignment);
    if is_own_kind && draft.who != Standing::System {
        return Err(Refusal::ReservedKind { kind });
    }
    let to = if kind == MessageKind::Broadcast {
        Party::everybody()
    } else {
        recipient(draft, &outgoing.to, kind)?
    };
    let readers = readers(draft, &from, &to)?;
    let content = content(kind, outgoing)?;
    let id = draft.new_id();
    let request_id = match kind {
        MessageKind::ShutdownRequest => {
            draft.only_lead("ask members to stop")?;
            Some(id)
        }
        MessageKind::PlanApprovalRequest | MessageKind::PermissionRequest => Some(id),
        MessageKind::ShutdownResponse
        | MessageKind::PlanApprovalResponse
        | MessageKind::PermissionResponse => {
            Some(check_response(draft, outgoing, &from, &to, kind)?)
        }
        MessageKind::Message
        | MessageKind::Broadcast
        | MessageKind::Idle
        | MessageKind::TaskAssignment
        | MessageKind::System => None,
    };
    let summary =
        outgoing.summary.as_deref().map(|summary| text::line("summary", summary)).transpose()?;
    let approve = outgoing.approve.filter(|_| request_id.is_some());
    let is_of_person = kind == MessageKind::Message && from == Party::user();
    let may_carry = |notice: &Notice| match notice {
        Notice::Goal => is_of_person,
        Notice::Vetoed
        | Notice::DeedVetoed
        | Notice::NotDone
        | Notice::ReportDue
        | Notice::Result => kind == MessageKind::System,
    };
    draft.push(Fact::MessageSent {
        id,
        from,
        to,
        message_kind: kind,
        content,
        summary,
        notice: outgoing.notice.filter(may_carry),
        request_id,
        approve,
        task: None,
        readers,
        supersedes: None,
        origin: draft.conversation(),
    });
    follow_up(draft, kind, outgoing, request_id);
    Ok(())
}

/// Why a member stops that was asked to.
const AGREED: &str = "agreed to stop";

/// Changes the state of the member that a request or an answer is about.
fn follow_up(draft: &mut Draft<'_>, kind: MessageKind, outgoing: &Outgoing, id: Option<Uuid>) {
    let is_yes = outgoing.approve == Some(true);
    let speaker = draft.member().and_then(|name| draft.state.member(name));
    let asked = id.and_then(|id| draft.state.requests.entries().get(&id));
    match (kind, speaker) {
        // Nobody runs it who would see it stop.
        (MessageKind::ShutdownResponse, Some(member)) if is_yes && member.is_external() => {
            supervision::stopped_outside(draft, member, AGREED);
        }
        (MessageKind::ShutdownResponse, Some(member)) if is_yes => {
            move_to(draft, member, MemberState::Stopping, AGREED);
        }
        (MessageKind::PlanApprovalRequest, Some(member))
            if member.is_running() && member.permissions == Permissions::Plan =>
        {
            move_to(draft, member, MemberState::Planning, "waits for approval of its plan");
        }
        (MessageKind::PlanApprovalResponse, _) => {
            if let Some(request) = asked {
                supervision::plan_was_answered(draft, &request.from, is_yes);
            }
        }
        _ => {}
    }
}

fn move_to(draft: &mut Draft<'_>, member: &Member, state: MemberState, reason: &str) {
    draft.push(Fact::MemberStateChanged {
        member: member.name.clone(),
        state,
        reason: Some(reason.to_owned()),
        cause: None,
        pid: member.pid,
    });
}

pub(super) fn deliver(
    draft: &mut Draft<'_>,
    reader: Option<&MemberName>,
    messages: &[Uuid],
) -> Result<(), Refusal> {
    let reader = reading(draft, reader)?;
    let meant: BTreeSet<&Uuid> = messages.iter().collect();
    let fresh: Vec<Uuid> = draft
        .state
        .mailbox()
        .unread_of(&reader)
        .filter(|message| meant.contains(&message.id) && is_in_inbox(draft, &reader, message))
        .filter(|message| {
            message
                .receipts
                .iter()
                .any(|receipt| receipt.reader == reader && receipt.delivered_at.is_none())
        })
        .map(|message| message.id)
        .collect();
    if !fresh.is_empty() {
        draft.push(Fact::MessageDelivered { reader, messages: fresh });
    }
    Ok(())
}

pub(super) fn read(
    draft: &mut Draft<'_>,
    reader: Option<&MemberName>,
    messages: Option<&[Uuid]>,
) -> Result<(), Refusal> {
    let reader = reading(draft, reader)?;
    let unread = draft.state.mailbox().unread_of(&reader);
    let unread = unread.filter(|message| is_in_inbox(draft, &reader, message)).map(|it| it.id);
    let read: Vec<Uuid> = match messages {
        Some(messages) => {
            let meant: BTreeSet<&Uuid> = messages.iter().collect();
            unread.filter(|id| meant.contains(id)).collect()
        }
        None => unread.collect(),
    };
    if !read.is_empty() {
        draft.push(Fact::MessageRead { reader, messages: read });
    }
    Ok(())
}

/// Whether a message is in the inbox that the actor reads. All people share one mailbox, but each has its own inbox in it.
fn is_in_inbox(draft: &Draft<'_>, reader: &Party, message: &Message) -> bool {
    let is_person = draft.who == Standing::Person && *reader == Party::user();
    !is_person || message.is_in_inbox_of(&draft.ctx.asker.origin)
}

/// The sender, always taken from the actor.
pub(super) fn sender(draft: &Draft<'_>) -> Party {
    match &draft.who {
        Standing::Lead(name) | Standing::Member(name) => Party::member(name),
        Standing::Person => Party::user(),
        Standing::System => Party::system(),
    }
}

/// The party that a text addresses. Requests and answers have exactly two sides.
fn recipient(draft: &Draft<'_>, to: &str, kind: MessageKind) -> Result<Party, Refusal> {
    let party = match to {
        name::EVERYBODY => Party::everybody(),
        name::USER => Party::user(),
        name::SYSTEM if is_response(kind) => Party::system(),
        name => Party::member(&draft.state.find_member(name)?.name),
    };
    let is_lead =
        |party: &Party| draft.state.lead().is_some_and(|it| *it.name.as_str() == *party.as_str());
    let is_wrong = match to {
        name::EVERYBODY => kind.answered_by().is_some() || is_response(kind),
        name::USER => kind == MessageKind::ShutdownRequest,
        // Only the lead grants permissions.
        _ => kind == MessageKind::PermissionRequest && !is_lead(&party),
    };
    if is_wrong { Err(Refusal::WrongRecipient { kind, to: party }) } else { Ok(party) }
}

fn is_response(kind: MessageKind) -> bool {
    kind.answers().is_some()
}

/// The readers of a message. `*` means all members but the sender; troop itself has no mailbox.
fn readers(draft: &Draft<'_>, from: &Party, to: &Party) -> Result<Vec<Party>, Refusal> {
    let readers: Vec<Party> = if *to == Party::everybody() {
        draft
            .state
            .members()
            .map(|member| Party::member(&member.name))
            .filter(|it| it != from)
            .collect()
    } else if to == from {
        return Err(Refusal::ToYourself);
    } else if *to == Party::system() {
        return Ok(Vec::new());
    } else {
        vec![to.clone()]
    };
    if readers.is_empty() {
        return Err(Refusal::NobodyElse);
    }
    for reader in &readers {
        let n_unread = draft.state.mailbox().n_unread(reader);
        if n_unread >= draft.state.limits.unread {
            return Err(Refusal::MailboxFull { reader: reader.clone(), n_unread });
        }
    }
    Ok(readers)
}

/// Checks the text; answers and notices may be empty.
fn content(kind: MessageKind, outgoing: &Outgoing) -> Result<String, Refusal> {
    match kind {
        MessageKind::ShutdownRequest
        | MessageKind::ShutdownResponse
        | MessageKind::PlanApprovalResponse
        | MessageKind::PermissionResponse
        | MessageKind::Idle => text::optional_block("message", &outgoing.content),
        MessageKind::Message
        | MessageKind::Broadcast
        | MessageKind::PlanApprovalRequest
        | MessageKind::PermissionRequest
        | MessageKind::TaskAssignment
        | MessageKind::System => text::block("message", &outgoing.content),
    }
}

/// Checks that a response names an open request of the matching kind and comes from the party that was asked.
fn check_response(
    draft: &Draft<'_>,
    outgoing: &Outgoing,
    from: &Party,
    to: &Party,
    kind: MessageKind,
) -> Result<Uuid, Refusal> {
    let (Some(id), Some(_)) = (outgoing.request_id, outgoing.approve) else {
        return Err(Refusal::IncompleteResponse);
    };
    let is_asked = |request: &crate::Request| kind.answers() == Some(request.kind);
    let open =
        || draft.state.requests().filter(|(_, it)| is_asked(it)).map(|(id, _)| *id).collect();
    let Some(request) = draft.state.requests.entries().get(&id).filter(|it| is_asked(it)) else {
        return Err(Refusal::UnknownRequest { request_id: id.to_string(), open: open() });
    };
    // A person may answer in place of the lead.
    let may_answer = request.to == *from || draft.who == Standing::Person;
    if !may_answer {
        return Err(Refusal::NotYourRequest { request_id: id, to: request.to.clone() });
    }
    if request.from != *to {
        return Err(Refusal::AskedByAnother { request_id: id, from: request.from.clone() });
    }
    if outgoing.approve == Some(true) {
        check_may_grant(draft, kind, &request.from)?;
    }
    Ok(id)
}

/// Refuses to grant more than the actor itself may do. People may do everything.
fn check_may_grant(draft: &Draft<'_>, kind: MessageKind, to: &Party) -> Result<(), Refusal> {
    let own = draft.member().and_then(|own| draft.state.member(own));
    let (Some(own), Ok(asker)) = (own, draft.state.find_member(to.as_str())) else { return Ok(()) };
    let own = own.permissions;
    let is_too_much = match kind {
        MessageKind::PlanApprovalResponse => own == Permissions::Plan,
        // A member with no more permissions than the asker would have to ask, too.
        MessageKind::PermissionResponse => own <= asker.permissions,
        MessageKind::Message
        | MessageKind::Broadcast
        | MessageKind::ShutdownRequest
        | MessageKind::ShutdownResponse
        | MessageKind::PlanApprovalRequest
        | MessageKind::PermissionRequest
        | MessageKind::Idle
        | MessageKind::TaskAssignment
        | MessageKind::System => false,
    };
    if is_too_much {
        Err(Refusal::WiderThanOwn { member: asker.name.clone(), own })
    } else {
        Ok(())
    }
}

/// The mailbox to read: the actor's own; people and troop itself may name another.
fn reading(draft: &Draft<'_>, reader: Option<&MemberName>) -> Result<Party, Refusal> {
    match (&draft.who, reader) {
        (Standing::Lead(own) | Standing::Member(own), Some(reader)) if own != reader => {
            Err(Refusal::Forbidden {
                who: draft.ctx.asker.actor.name.clone(),
                what: "read the mail of others",
                may: "only they themselves",
            })
        }
        (Standing::Lead(own) | Standing::Member(own), _) => Ok(Party::member(own)),
        (Standing::Person | Standing::System, Some(reader)) => {
            Ok(Party::member(&draft.state.find_member(reader.as_str())?.name))
        }
        (Standing::Person | Standing::System, None) => Ok(Party::user()),
    }
}
