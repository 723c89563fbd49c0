//! Mail: stored first, then handed over, then read. A member that exits before it has read a message gets it again.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{
    Command, Member, MemberName, Message, MessageKind, Origin, Party, SessionKey, StateCause,
};
use troop_protocol::{FromLead, MessageIn, WireId};
use uuid::Uuid;

use super::Office;
use crate::lead::{
    Runner,
    input::Due,
    policy::mail::{self, MailPlan},
    transcript::TranscriptLine,
};

/// How long to wait before writing again to a member that does not read.
const RETRY: Duration = Duration::from_millis(50);

impl Office {
    /// New mail was stored. A request to stop also stops its reader.
    pub(in super::super) async fn mail_came(&mut self, readers: &[Party], kind: MessageKind) {
        for reader in readers {
            let Ok(member) = reader.as_str().parse::<MemberName>() else { continue };
            if kind == MessageKind::ShutdownRequest {
                self.crew.stop_as_asked(&mut self.post, &member).await;
            }
            self.deliver(&member).await;
            self.send_held_tasks(&member);
        }
    }

    /// Hands a member its waiting mail in order, as far as it can take it.
    pub(in super::super) async fn deliver(&mut self, member: &MemberName) {
        let facts = self.crew.get(member).map(|it| &it.facts);
        if !facts.is_some_and(|it| mail::may_get(it, self.is_spent)) {
            return;
        }
        if !self.send_new_team(member) {
            return self.retry_soon(member);
        }
        let is_lead = self.post.is_lead(member);
        let Some(live) = self.crew.get_mut(member) else { return };
        let MailPlan { hand, announce, told_otherwise } =
            mail::plan(&self.post.state, member, &live.facts);
        let n_planned = hand.len();
        let mut handed = Vec::with_capacity(n_planned);
        let mut texts = Vec::with_capacity(n_planned);
        for message in hand {
            if live.tell(&FromLead::Message(written(message, member, is_lead))).is_err() {
                break;
            }
            if is_lead && let Some(conversation) = mail::conversation_of(message) {
                live.facts.turn_to(conversation);
            }
            live.facts.hand(message.id, Instant::now());
            handed.push(message.id);
            texts.push(shown(message));
        }
        let is_full = handed.len() < n_planned;
        if is_full {
            self.retry_soon(member);
        }
        if let Some(notice) = announce.filter(|_| !is_full) {
            let reader = Some(member.clone());
            self.post.give(Command::MarkDelivered { reader, messages: vec![notice] }).await;
            self.retry_soon(member);
        }
        if !told_otherwise.is_empty() {
            let messages = Some(told_otherwise);
            self.post.give(Command::MarkRead { reader: Some(member.clone()), messages }).await;
        }
        texts.iter().for_each(|text| self.post.note(member, TranscriptLine::note(text)));
        if !handed.is_empty() {
            let has_failed = |it: &Member| it.state_cause == Some(StateCause::CouldNot);
            if !is_lead && self.post.state.member(member).is_some_and(has_failed) {
                self.set_failed(member, None).await;
            }
            self.record_delivery(member, handed).await;
        }
    }

    /// Records that mail was handed over. If the member does not acknowledge, that counts as read.
    async fn record_delivery(&mut self, member: &MemberName, messages: Vec<Uuid>) {
        let facts = self.crew.get(member).map(|it| &it.facts);
        let acknowledges = facts.is_some_and(|it| it.wire.acknowledges);
        // A member at rest may answer before it acknowledges.
        let is_at_rest = facts.is_some_and(|it| it.work.is_at_rest);
        if !acknowledges || is_at_rest && !self.post.is_lead(member) {
            self.crew.read(&self.post, member, Some(&messages));
        }
        let reader = Some(member.clone());
        self.post
            .give(if acknowledges {
                Command::MarkDelivered { reader, messages }
            } else {
                Command::MarkRead { reader, messages: Some(messages) }
            })
            .await;
    }

    /// Mail was read, so there may be room for more.
    pub(in super::super) fn mail_was_read(&mut self, reader: &Party, messages: &[Uuid]) {
        let Some(live) = self.crew.reader(reader) else { return };
        let was_full = mail::is_full(&live.facts);
        live.facts.mail.handed.retain(|id| !messages.contains(id));
        let runner = live.runner.clone();
        if was_full {
            self.post.timers.set(Duration::ZERO, Due::Retry(runner));
        } else {
            self.hand_next_conversation(&runner);
        }
        self.post.agenda.is_due = true;
    }

    /// If the lead's agent has finished a conversation, hands over the next.
    pub(super) fn hand_next_conversation(&mut self, runner: &Runner) {
        let n_unread = self.post.state.mailbox().n_unread(&Party::member(&runner.member));
        let facts = self.crew.facts_of(runner);
        let is_ready = facts.is_some_and(|it| it.has_no_conversation());
        if is_ready && n_unread > 0 && self.post.is_lead(&runner.member) {
            self.post.timers.set(Duration::ZERO, Due::Retry(runner.clone()));
        }
    }

    /// Schedules one retry of writing to a member.
    pub(in super::super) fn retry_soon(&mut self, member: &MemberName) {
        if let Some(live) = self.crew.get_mut(member)
            && !std::mem::replace(&mut live.facts.mail.is_retrying, true)
        {
            self.post.timers.set(RETRY, Due::Retry(live.runner.clone()));
        }
    }

    /// Forgets a message that a newer one replaced.
    pub(in super::super) fn mail_was_superseded(&mut self, reader: &Party, message: Uuid) {
        if let Some(live) = self.crew.reader(reader) {
            live.facts.mail.handed.remove(&message);
        }
    }
}

/// A message as it appears in its receiver's transcript.
fn shown(message: &Message) -> String {
    format!("[Team message from {}]: {}", message.from, message.content)
}

/// A message as it goes over the wire.
fn written(message: &Message, to: &MemberName, is_lead: bool) -> MessageIn {
    let origin = if is_lead { message.origin.clone() } else { Origin::default() };
    MessageIn {
        from: message.from.to_string(),
        content: message.content.clone(),
        id: Some(message.id),
        kind: message.kind,
        summary: message.summary.clone(),
        request_id: message.request_id,
        approve: message.approve,
        task_id: message.task.map(WireId::from),
        sent_at: Some(message.sent_at),
        session: Some(SessionKey::Teammate(to.clone()).to_string()),
        origin,
    }
}
