//! Mail: stored first, then handed over, then read. Whoever ends before it has read gets it again.

use troop_model::{
    Command, Member, MemberName, Message, MessageKind, Origin, Party, SessionKey, StateCause,
};
use troop_protocol::{FromLead, MessageIn, WireId};
use uuid::Uuid;

use super::{
    Runner, dispatcher::Dispatcher, input::Due, link::LiveMember, transcript::TranscriptLine,
};

/// How many messages a member may have been handed without having read them. The others wait on the board.
const WINDOW: usize = 64;
/// How long to wait before writing again to a member that does not read.
const RETRY: std::time::Duration = std::time::Duration::from_millis(50);

impl Dispatcher {
    /// Hands a member the mail that waits for it, in order, as far as it can take it.
    pub(super) async fn deliver(&mut self, member: &MemberName) {
        // What nobody may read now waits on the board.
        if self.is_spent || !self.links.get(member).is_some_and(LiveMember::is_open) {
            return;
        }
        if !self.send_new_team(member) {
            return self.retry_soon(member);
        }
        let is_lead = self.post.is_lead(member);
        let Some(link) = self.links.get_mut(member) else { return };
        let (mut handed, mut texts, mut is_full) = (Vec::new(), Vec::new(), false);
        for message in self.post.state.mailbox().unread_of(&Party::member(member)) {
            let is_known = link.handed.contains(&message.id);
            // The request to stop has a method of its own.
            if is_known || message.kind == MessageKind::ShutdownRequest {
                continue;
            }
            if link.handed.len() >= WINDOW {
                break;
            }
            // Who reads what several users want cannot know any more for whom it acts.
            if is_lead && !link.may_turn_to(&message.origin) {
                continue;
            }
            if link.tell(&FromLead::Message(written(message, member, is_lead))).is_err() {
                is_full = true;
                break;
            }
            link.rouse();
            link.handed.insert(message.id);
            handed.push(message.id);
            texts.push(shown(message));
        }
        let acknowledges = link.acknowledges;
        if is_full {
            self.retry_soon(member);
        }
        texts.iter().for_each(|text| self.post.note(member, TranscriptLine::note(text)));
        if !handed.is_empty() {
            let has_failed = |it: &Member| it.state_cause == Some(StateCause::CouldNot);
            if !is_lead && self.post.state.member(member).is_some_and(has_failed) {
                self.set_failed(member, None).await;
            }
            self.record(member, handed, acknowledges).await;
        }
    }

    /// Records that mail was handed over. Where nobody will say that it was read, that is all there is to know.
    async fn record(&mut self, member: &MemberName, messages: Vec<Uuid>, acknowledges: bool) {
        let reader = Some(member.clone());
        // Who has nothing else to deal with may answer before it says that it has read.
        let may_answer = |link: &LiveMember| link.is_at_rest && !self.post.is_lead(member);
        if !acknowledges || self.links.get(member).is_some_and(may_answer) {
            self.reads(member, Some(&messages));
        }
        self.post
            .give(if acknowledges {
                Command::MarkDelivered { reader, messages }
            } else {
                Command::MarkRead { reader, messages: Some(messages) }
            })
            .await;
    }

    /// Somebody has read something, so there may be room for more.
    pub(super) fn mail_was_read(&mut self, reader: &Party, messages: &[Uuid]) {
        let Some(link) = self.links.get_mut(reader.as_str()) else { return };
        let was_full = link.handed.len() >= WINDOW;
        link.handed.retain(|id| !messages.contains(id));
        let runner = link.runner.clone();
        if was_full {
            self.post.timers.set(std::time::Duration::ZERO, Due::Retry(runner));
        } else {
            self.hand_next_conversation(&runner);
        }
        self.post.agenda.is_due = true;
    }

    /// The lead's agent may have dealt with one conversation, so that it can turn to the next.
    pub(super) fn hand_next_conversation(&mut self, runner: &Runner) {
        let n_unread = self.post.state.mailbox().n_unread(&Party::member(&runner.member));
        let is_lead = self.post.is_lead(&runner.member);
        let waits =
            |link: &&mut LiveMember| link.handed.is_empty() && link.is_at_rest && n_unread > 0;
        if is_lead && self.link(runner).filter(waits).is_some() {
            self.post.timers.set(std::time::Duration::ZERO, Due::Retry(runner.clone()));
        }
    }

    /// Writes to a member again soon, once however often that is asked for.
    pub(super) fn retry_soon(&mut self, member: &MemberName) {
        if let Some(link) = self.links.get_mut(member)
            && !std::mem::replace(&mut link.is_retrying, true)
        {
            self.post.timers.set(RETRY, Due::Retry(link.runner.clone()));
        }
    }

    /// Forgets what a member was handed and need not read any more, because something newer took its place.
    pub(super) fn mail_was_superseded(&mut self, reader: &Party, message: Uuid) {
        if let Some(link) = self.links.get_mut(reader.as_str()) {
            link.handed.remove(&message);
        }
    }

    /// The newest request to stop that waits for a member.
    pub(super) fn stop_request(&self, member: &MemberName) -> Option<Message> {
        let reader = Party::member(member);
        let unread = self.post.state.mailbox().unread_of(&reader);
        unread.filter(|it| it.kind == MessageKind::ShutdownRequest).last().cloned()
    }
}

/// A message as whoever looks at its receiver sees it arrive.
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
