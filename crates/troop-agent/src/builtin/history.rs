//! What was said so far. Always such that a model can go on: every call has its result, and the user has the last word.

use super::chat::{Message, Part, Said, ToolResult};

/// A conversation, and what of it must not be forgotten.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Message>,
    /// What the present work is, and what was said to it by mail.
    pins: Vec<String>,
    /// How long it all is.
    n_bytes: usize,
    /// How many tokens the API counted, up to which length.
    counted: Option<(u64, usize)>,
}

/// How many bytes one token has at least, in what is not counted yet.
const BYTES_PER_TOKEN: u64 = 3;
/// How much of the mail to one piece of work is never forgotten.
const MAX_PINNED: usize = 32 * 1024;

impl History {
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(crate) fn pins(&self) -> &[String] {
        &self.pins
    }

    /// How many tokens it has, as far as one can know before it is sent.
    pub(crate) fn n_tokens(&self) -> u64 {
        let (counted, up_to) = self.counted.unwrap_or_default();
        let n_new = self.n_bytes.saturating_sub(up_to) as u64;
        counted.saturating_add(n_new / BYTES_PER_TOKEN)
    }

    /// Begins another piece of work: what was pinned to the one before may be forgotten.
    pub(crate) fn begin(&mut self, work: String) {
        self.pins.clear();
        self.pins.push(work.clone());
        self.tell(work);
    }

    /// Tells something that must not be forgotten while this work lasts.
    pub(crate) fn tell_for_good(&mut self, text: String) {
        self.pins.push(text.clone());
        // What the work is stays; of the rest the oldest goes.
        while self.pins.len() > 2
            && self.pins.iter().skip(1).map(String::len).sum::<usize>() > MAX_PINNED
        {
            self.pins.remove(1);
        }
        self.tell(text);
    }

    /// Tells something.
    pub(crate) fn tell(&mut self, text: String) {
        self.n_bytes += text.len();
        self.push(Said::Text(text));
    }

    /// Notes what a model said, and how many tokens all of it had.
    pub(crate) fn reply(&mut self, parts: Vec<Part>, n_tokens: u64) {
        self.n_bytes += parts.iter().map(length).sum::<usize>();
        self.messages.push(Message::Model(parts));
        if n_tokens > 0 {
            self.counted = Some((n_tokens, self.n_bytes));
        }
    }

    /// Notes what came of the calls, one for each.
    pub(crate) fn results(&mut self, results: Vec<ToolResult>) {
        for result in results {
            self.n_bytes += result.content.len();
            self.push(Said::Result(result));
        }
    }

    /// Replaces everything before the last messages by a text. Gives how many messages that were.
    pub(crate) fn replace_front(&mut self, n_front: usize, text: String) {
        let n_front = n_front.min(self.messages.len());
        let kept = self.messages.split_off(n_front);
        self.messages = vec![Message::User(vec![Said::Text(text)])];
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
            if matches!(message, Message::Model(_)) {
                if n_kept > 0 && length > n_bytes {
                    break;
                }
                (n_kept, cut) = (n_kept + 1, index);
            }
        }
        cut
    }

    fn push(&mut self, said: Said) {
        if let Some(Message::User(before)) = self.messages.last_mut() {
            before.push(said);
        } else {
            self.messages.push(Message::User(vec![said]));
        }
    }
}

fn message_length(message: &Message) -> usize {
    match message {
        Message::User(said) => said.iter().map(said_length).sum(),
        Message::Model(parts) => parts.iter().map(length).sum(),
    }
}

fn said_length(said: &Said) -> usize {
    match said {
        Said::Text(text) => text.len(),
        Said::Result(result) => result.content.len(),
    }
}

fn length(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Thinking { text, signature } => {
            text.len() + signature.as_ref().map_or(0, String::len)
        }
        Part::Hidden { data } => data.len(),
        Part::Call(call) => {
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
