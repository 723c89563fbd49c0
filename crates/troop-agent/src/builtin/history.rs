//! What was said so far. Always such that a model can go on: every call has its result, and the user has the last word.

use super::chat::{ChatMessage, ReplyPart, ToolResult, UserPart};

/// A conversation, and what of it must not be forgotten.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<ChatMessage>,
    pins: Pins,
    /// How long it all is.
    n_bytes: usize,
    /// How long what goes before it is: instructions and tools.
    n_before: usize,
    /// How many tokens the API counted, up to which length.
    counted: Option<(u64, usize)>,
}

/// What must not be forgotten, whatever is cut.
#[derive(Debug, Default)]
struct Pins {
    /// The team, as it was told last.
    team: Option<String>,
    /// What people told a lead, for as long as it lives. The first is the goal.
    goals: Vec<String>,
    /// What the present work is, the plan for it that was approved, and what was said to it by mail.
    work: Option<String>,
    plan: Option<String>,
    mail: Vec<String>,
}

/// Whether a piece of work is begun, or gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Anew,
    Again,
}

/// How many bytes one token has at least, in what is not counted yet.
const BYTES_PER_TOKEN: u64 = 3;
/// How much of a result is told, however little room there is.
const MIN_RESULT: usize = 1_000;
/// How much of the mail to one piece of work is never forgotten.
const MAX_PINNED: usize = 32 * 1024;

impl History {
    pub(crate) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// What must not be forgotten, in the order in which it is told again.
    pub(crate) fn pins(&self) -> Vec<&str> {
        let Pins { team, goals, work, plan, mail } = &self.pins;
        // The work may be what was told last, and is not told twice.
        let goals = goals.iter().filter(|goal| Some(*goal) != work.as_ref());
        let pins = team.iter().chain(goals).chain(work).chain(plan).chain(mail);
        pins.map(String::as_str).collect()
    }

    /// What goes before it in every request, in bytes.
    pub(crate) fn comes_after(&mut self, n_bytes: usize) {
        self.n_before = n_bytes;
    }

    /// How many tokens it has, as far as one can know before it is sent.
    pub(crate) fn n_tokens(&self) -> u64 {
        let Some((counted, up_to)) = self.counted else {
            return (self.n_before + self.n_bytes) as u64 / BYTES_PER_TOKEN;
        };
        let n_new = self.n_bytes.saturating_sub(up_to) as u64;
        counted.saturating_add(n_new / BYTES_PER_TOKEN)
    }

    /// How many bytes it has.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// How many bytes less there are at most if so many messages give way to what must not be forgotten.
    pub(crate) fn n_freed_by(&self, n_front: usize) -> usize {
        let front: usize = self.messages.iter().take(n_front).map(message_length).sum();
        let pinned: usize = self.pins().iter().map(|pin| pin.len()).sum();
        front.saturating_sub(pinned)
    }

    /// How many bytes the results of one round may have, of so many calls each, where so many tokens can be told: a round that fills
    /// all of it would have to be forgotten with the next.
    pub(crate) fn room_for_result(&self, room: u64, n_calls: usize) -> usize {
        let room = usize::try_from(room * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let free = room.saturating_sub(self.n_before);
        (free / 2 / n_calls.max(2)).max(MIN_RESULT)
    }

    /// Begins a piece of work, or goes on with one: what was pinned to another may be forgotten.
    pub(crate) fn begin(&mut self, work: String, how: Begin) {
        if how == Begin::Anew {
            (self.pins.plan, self.pins.mail) = (None, Vec::new());
        }
        self.pins.work = Some(work.clone());
        self.tell(work);
    }

    /// Keeps what a person told a lead. It is told with the work.
    pub(crate) fn keep_goal(&mut self, text: String) {
        self.pins.goals.push(text);
        // The goal stays; of the rest the oldest goes.
        shorten(&mut self.pins.goals, 1);
    }

    /// Tells what the team is now.
    pub(crate) fn tell_team(&mut self, text: String) {
        self.pins.team = Some(text.clone());
        self.tell(text);
    }

    /// Tells that a plan was approved.
    pub(crate) fn tell_plan(&mut self, text: String) {
        self.pins.plan = Some(text.clone());
        self.tell(text);
    }

    /// Tells mail, which must not be forgotten while this work lasts.
    pub(crate) fn tell_mail(&mut self, text: String) {
        self.pins.mail.push(text.clone());
        shorten(&mut self.pins.mail, 0);
        self.tell(text);
    }

    /// Tells something.
    pub(crate) fn tell(&mut self, text: String) {
        self.n_bytes += text.len();
        self.push(UserPart::Text(text));
    }

    /// Notes what a model said, and how many tokens all of it had.
    pub(crate) fn reply(&mut self, parts: Vec<ReplyPart>, n_tokens: u64) {
        self.n_bytes += parts.iter().map(length).sum::<usize>();
        self.messages.push(ChatMessage::Model(parts));
        if n_tokens > 0 {
            self.counted = Some((n_tokens, self.n_bytes));
        }
    }

    /// Notes what came of the calls, one for each.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        for result in results {
            self.n_bytes += result.content.len();
            self.push(UserPart::Result(result));
        }
    }

    /// Replaces everything before the last messages by a text. Gives how many messages that were.
    pub(crate) fn replace_front(&mut self, n_front: usize, text: String) {
        let n_front = n_front.min(self.messages.len());
        let kept = self.messages.split_off(n_front);
        self.messages = vec![ChatMessage::User(vec![UserPart::Text(text)])];
        self.messages.extend(kept);
        self.n_bytes = self.messages.iter().map(message_length).sum();
        self.counted = None;
    }

    /// How many messages go before an end that is at most so long. The end begins with a reply, so that no call is parted from
    /// its result, and holds at least the last one.
    pub(crate) fn n_before_end(&self, n_bytes: usize) -> usize {
        let (mut n_kept, mut length, mut cut) = (0, 0, self.messages.len());
        for (index, message) in self.messages.iter().enumerate().rev() {
            length += message_length(message);
            if matches!(message, ChatMessage::Model(_)) {
                if n_kept > 0 && length > n_bytes {
                    break;
                }
                (n_kept, cut) = (n_kept + 1, index);
            }
        }
        cut
    }

    fn push(&mut self, said: UserPart) {
        if let Some(ChatMessage::User(before)) = self.messages.last_mut() {
            before.push(said);
        } else {
            self.messages.push(ChatMessage::User(vec![said]));
        }
    }
}

/// Lets the oldest go until the rest is short enough; so many from the front stay, and the last does.
fn shorten(texts: &mut Vec<String>, n_first: usize) {
    while texts.len() > n_first + 1
        && texts.iter().skip(n_first).map(String::len).sum::<usize>() > MAX_PINNED
    {
        texts.remove(n_first);
    }
}

fn message_length(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::User(said) => said.iter().map(said_length).sum(),
        ChatMessage::Model(parts) => parts.iter().map(length).sum(),
    }
}

fn said_length(said: &UserPart) -> usize {
    match said {
        UserPart::Text(text) => text.len(),
        UserPart::Result(result) => result.content.len(),
    }
}

fn length(part: &ReplyPart) -> usize {
    match part {
        ReplyPart::Text(text) => text.len(),
        ReplyPart::Thinking { text, signature } => {
            text.len() + signature.as_ref().map_or(0, String::len)
        }
        ReplyPart::Hidden { data } => data.len(),
        ReplyPart::Call(call) => {
            // Inputs are JSON with few marks; their texts are what counts.
            let input = call.input.as_ref().map_or_else(String::len, |input| {
                input.iter().map(|(key, value)| key.len() + value_length(value)).sum()
            });
            call.name.len() + input
        }
    }
}

fn value_length(value: &serde_json::Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), str::len)
}

#[cfg(test)]
mod tests;
