//! Which of its unread mail a member is handed now.

use troop_model::{
    MemberName, Message, MessageKind, Origin, Party, State, TaskNumber, work_to_give,
};
use uuid::Uuid;

use crate::lead::crew::facts::{MemberFacts, may_turn};

/// How many unread messages are handed to a member. The others wait on the board.
const WINDOW: usize = 64;

/// What becomes of a member's unread mail.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct MailPlan<'a> {
    /// The messages to hand over, in order.
    pub(in super::super) hand: Vec<&'a Message>,
    /// A notice that a newer one may replace. Once the board knows that it is being handed over, no newer notice repeats it. Mail
    /// keeps its order, so what comes after it waits.
    pub(in super::super) announce: Option<Uuid>,
    /// Messages that are not handed over because the member hears of their subject in another way.
    pub(in super::super) told_otherwise: Vec<Uuid>,
}

/// Whether a member may get mail. Without budget, mail waits on the board.
pub(in super::super) fn may_get(facts: &MemberFacts, is_spent: bool) -> bool {
    !is_spent && facts.is_open()
}

/// Whether a member was handed so much that the rest waits until it has read some.
pub(in super::super) fn is_full(facts: &MemberFacts) -> bool {
    facts.mail.handed.len() >= WINDOW
}

/// What a member that may get mail is handed now.
pub(in super::super) fn plan<'a>(
    state: &'a State,
    member: &MemberName,
    facts: &MemberFacts,
) -> MailPlan<'a> {
    let is_lead = state.lead().is_some_and(|lead| lead.name == *member);
    let mut plan = MailPlan::default();
    let mut conversation = facts.mail.conversation.as_ref();
    let handed = &facts.mail.handed;
    for message in state.mailbox().unread_of(&Party::member(member)) {
        // The request to stop has its own method.
        if handed.contains(&message.id) || message.kind == MessageKind::ShutdownRequest {
            continue;
        }
        // The task itself comes in its own session; as mail it would be worked on twice.
        if is_told_by_its_task(state, message, member) {
            plan.told_otherwise.push(message.id);
            continue;
        }
        if handed.len() + plan.hand.len() >= WINDOW {
            break;
        }
        // An agent that reads requests of several users in one turn cannot know for whom it acts.
        if is_lead && let Some(next) = conversation_of(message) {
            let is_over = facts.has_no_conversation() && plan.hand.is_empty();
            if !may_turn(conversation, is_over, next) {
                continue;
            }
            conversation = Some(next);
        }
        if message.is_replaceable() {
            plan.announce = Some(message.id);
            break;
        }
        plan.hand.push(message);
    }
    plan
}

/// Whether a message is about a task that its reader holds, held, or gets by itself.
fn is_told_by_its_task(state: &State, message: &Message, reader: &MemberName) -> bool {
    let comes = |task: TaskNumber| {
        let owner = state.tasks().get(task).and_then(|it| it.owner.as_ref());
        owner == Some(reader) || work_to_give(state, reader).any(|it| it == task)
    };
    message.kind == MessageKind::TaskAssignment && message.task.is_some_and(comes)
}

/// The conversation that a message belongs to. None for mail that goes with any conversation.
pub(in super::super) fn conversation_of(message: &Message) -> Option<&Origin> {
    message.mark().has_conversation().then_some(&message.origin)
}

#[cfg(test)]
mod tests;
