//! The conversation so far. A model can always continue it: every call has its result, and the user has the last
//! word.

use super::chat::{ChatMessage, ReplyPart, ToolResult, UserPart};

/// A conversation, with the parts that must survive every cut.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<ChatMessage>,
    pins: Pins,
    n_bytes: usize,
    /// The length of what precedes it in each request: instructions and tools.
    n_before: usize,
    /// How many tokens the API counted, and for which length.
    counted: Option<(u64, usize)>,
}

/// The parts that must survive every cut.
#[derive(Debug, Default)]
struct Pins {
    /// The latest description of the team.
    team: Option<String>,
    /// The messages of people to a lead, kept for its whole life. The first is the goal.
    goals: Vec<String>,
    /// The present work, its approved plan, and the mail about it.
    work: Option<String>,
    plan: Option<String>,
    mail: Vec<String>,
}

/// Whether a piece of work begins, or continues after an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Anew,
    Again,
}

/// The fewest bytes that a token has, for text that the API has not counted yet.
const BYTES_PER_TOKEN: u64 = 3;
/// How much of a result is always shown, however little room there is.
const MIN_RESULT: usize = 1_000;
/// How much mail about one piece of work is pinned.
const MAX_PINNED: usize = 32 * 1024;

impl History {
    pub(crate) fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// The pinned texts, in the order in which the model gets them again.
    pub(crate) fn pins(&self) -> Vec<&str> {
        let Pins { team, goals, work, plan, mail } = &self.pins;
        // The work may be the latest goal, which is not told twice.
        let goals = goals.iter().filter(|goal| Some(*goal) != work.as_ref());
        let pins = team.iter().chain(goals).chain(work).chain(plan).chain(mail);
        pins.map(String::as_str).collect()
    }

    /// Sets the length of what precedes it in each request.
    pub(crate) fn comes_after(&mut self, n_bytes: usize) {
        self.n_before = n_bytes;
    }

    /// An estimate of its tokens before it is sent.
    pub(crate) fn n_tokens(&self) -> u64 {
        let Some((counted, up_to)) = self.counted else {
            return (self.n_before + self.n_bytes) as u64 / BYTES_PER_TOKEN;
        };
        let n_new = self.n_bytes.saturating_sub(up_to) as u64;
        counted.saturating_add(n_new / BYTES_PER_TOKEN)
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// How many bytes a cut of this many messages frees at most; pinned text stays.
    pub(crate) fn n_freed_by(&self, n_front: usize) -> usize {
        let front: usize = self.messages.iter().take(n_front).map(message_length).sum();
        let pinned: usize = self.pins().iter().map(|pin| pin.len()).sum();
        front.saturating_sub(pinned)
    }

    /// How many bytes each result of a round may have if the conversation may have this many tokens. A round that
    /// filled all of it would have to be cut with the next one.
    pub(crate) fn room_for_result(&self, room: u64, n_calls: usize) -> usize {
        let room = usize::try_from(room * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
        let free = room.saturating_sub(self.n_before);
        (free / 2 / n_calls.max(2)).max(MIN_RESULT)
    }

    /// Begins a piece of work, or continues one. New work drops the pins of the old.
    pub(crate) fn begin(&mut self, work: String, how: Begin) {
        if how == Begin::Anew {
            self.pins.plan = None;
            self.pins.mail.clear();
        }
        self.pins.work = Some(work.clone());
        self.tell(work);
    }

    /// Pins a person's message to a lead. The model gets it with the work.
    pub(crate) fn keep_goal(&mut self, text: String) {
        self.pins.goals.push(text);
        // The goal stays; of the rest the oldest goes first.
        shorten(&mut self.pins.goals, 1);
    }

    pub(crate) fn tell_team(&mut self, text: String) {
        self.pins.team = Some(text.clone());
        self.tell(text);
    }

    pub(crate) fn tell_plan(&mut self, text: String) {
        self.pins.plan = Some(text.clone());
        self.tell(text);
    }

    /// Tells mail, and pins it for as long as this work lasts.
    pub(crate) fn tell_mail(&mut self, text: String) {
        self.pins.mail.push(text.clone());
        shorten(&mut self.pins.mail, 0);
        self.tell(text);
    }

    pub(crate) fn tell(&mut self, text: String) {
        self.n_bytes += text.len();
        self.push(UserPart::Text(text));
    }

    /// Adds a reply, with the token count of the whole conversation.
    pub(crate) fn reply(&mut self, parts: Vec<ReplyPart>, n_tokens: u64) {
        self.n_bytes += parts.iter().map(length).sum::<usize>();
        self.messages.push(ChatMessage::Model(parts));
        if n_tokens > 0 {
            self.counted = Some((n_tokens, self.n_bytes));
        }
    }

    /// Adds the results of the calls, one for each.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        for result in results {
            self.n_bytes += result.content.len();
            self.push(UserPart::Result(result));
        }
    }

    /// Replaces the first messages by a text.
    pub(crate) fn replace_front(&mut self, n_front: usize, text: String) {
        let n_front = n_front.min(self.messages.len());
        let kept = self.messages.split_off(n_front);
        self.messages = vec![ChatMessage::User(vec![UserPart::Text(text)])];
        self.messages.extend(kept);
        self.n_bytes = self.messages.iter().map(message_length).sum();
        self.counted = None;
    }

    /// How many messages precede an end of at most this length. The end begins with a reply, so that no call loses
    /// its result, and holds at least the last reply.
    pub(crate) fn n_before_end(&self, n_bytes: usize) -> usize {
        let mut n_kept = 0;
        let mut length = 0;
        let mut cut = self.messages.len();
        for (index, message) in self.messages.iter().enumerate().rev() {
            length += message_length(message);
            if matches!(message, ChatMessage::Model(_)) {
                if n_kept > 0 && length > n_bytes {
                    break;
                }
                n_kept += 1;
                cut = index;
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

/// Drops the oldest texts until the rest is short enough. Keeps this many at the front, and the last one.
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
            // Inputs are JSON with little punctuation, so the texts alone are a good measure.
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
