//! Shortens a conversation before it exceeds the model's window.

use super::{
    chat::{ChatMessage, ModelRequest, ReplyPart, TokenUsage, ToolCall, ToolResult, UserPart},
    history::History,
    model::{Model, ReplyObserver},
};

/// How long the model's summary may be.
const MAX_SUMMARY: u32 = 4_000;
/// How many calls are listed if there is no summary, and how much of each.
const MAX_LISTED: usize = 60;
const MAX_SHOWN: usize = 160;
/// A cut must free at least one part in this many, or it is not worth a request.
const WORTH: usize = 8;

const ASK: &str = "\
That was your conversation so far. It is about to be shortened: what you write now replaces everything but the last rounds. \
Write down, for yourself, what you need to continue: what you were asked to do and what is still open, your plan, your decisions \
and the reasons for them, the files that you changed or must change, important commands with their results, and what others told \
you. Do not continue the work now.";

/// The result of a compaction.
#[derive(Debug)]
pub(crate) struct CompactionReport {
    pub(crate) usage: TokenUsage,
    /// Whether the model replied.
    pub(crate) is_answered: bool,
    /// Why there is no summary, if there is none.
    pub(crate) fault: Option<String>,
}

/// Replaces all but the end of a conversation by a summary that the model writes. Pinned text stays word for word.
/// Without a summary, the calls of the replaced part are listed with their results. None if there is nothing to cut,
/// or too little.
pub(crate) async fn compact(
    history: &mut History,
    n_kept: usize,
    model: &Model,
    system: &str,
    watch: &mut dyn ReplyObserver,
) -> Option<CompactionReport> {
    let n_front = history.n_before_end(n_kept);
    // The first message alone cannot be shortened.
    if n_front < 2 || history.n_freed_by(n_front) < history.n_bytes() / WORTH {
        return None;
    }
    let front = history.messages().get(..n_front).unwrap_or_default();
    // As one text and without tools: some models would call them, whatever they are asked.
    let told = [ChatMessage::User(vec![UserPart::Text(format!("{}\n{ASK}", transcript(front)))])];
    let asked = ModelRequest { system, tools: &[], messages: &told, max_tokens: MAX_SUMMARY };
    let replied = model.ask(&asked, watch).await;
    let is_answered = replied.is_ok();
    let (usage, summary, fault) = match replied {
        Ok(reply) => match reply.text().trim() {
            "" => (reply.usage, None, Some("the model wrote none".to_owned())),
            summary => (reply.usage, Some(summary.to_owned()), None),
        },
        Err(error) => (TokenUsage::default(), None, Some(error.to_string())),
    };
    let before = match summary {
        Some(summary) => format!("Your summary of the conversation until here:\n{summary}"),
        None => format!("Your last steps until here, in brief:\n{}", listed(front)),
    };
    let pinned = history.pins().join("\n\n");
    let text = format!("{pinned}\n\n[The conversation was shortened here.]\n{before}");
    history.replace_front(n_front, text);
    Some(CompactionReport { usage, is_answered, fault })
}

fn transcript(messages: &[ChatMessage]) -> String {
    let mut text = String::new();
    let mut add = |what: &str, said: &str| text.push_str(&format!("[{what}]\n{said}\n\n"));
    for message in messages {
        match message {
            ChatMessage::User(said) => said.iter().for_each(|said| match said {
                UserPart::Text(said) => add("message to you", said),
                UserPart::Result(ToolResult { name, content, .. }) => {
                    add(&format!("result of {name}"), content);
                }
            }),
            ChatMessage::Model(parts) => parts.iter().for_each(|part| match part {
                ReplyPart::Text(said) => add("you said", said),
                ReplyPart::Call(call) => add(&format!("you called {}", call.name), &input_of(call)),
                ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => {}
            }),
        }
    }
    text
}

fn input_of(call: &ToolCall) -> String {
    let input = call.input.as_ref().map(|input| serde_json::Value::Object(input.clone()));
    input.map_or_else(Clone::clone, |input| input.to_string())
}

/// The last words, calls and results, one per line.
fn listed(messages: &[ChatMessage]) -> String {
    let short = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        troop_model::preview(&text, MAX_SHOWN)
    };
    let lines = messages.iter().skip(1).flat_map(|message| match message {
        ChatMessage::User(said) => said
            .iter()
            .filter_map(|said| match said {
                UserPart::Result(result) => Some(format!("  result: {}", short(&result.content))),
                UserPart::Text(_) => None,
            })
            .collect::<Vec<_>>(),
        ChatMessage::Model(parts) => parts
            .iter()
            .filter_map(|part| match part {
                ReplyPart::Text(text) => Some(format!("- said: {}", short(text))),
                ReplyPart::Call(call) => {
                    Some(format!("- {} {}", call.name, short(&input_of(call))))
                }
                ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => None,
            })
            .collect(),
    });
    let lines: Vec<String> = lines.collect();
    let n_hidden = lines.len().saturating_sub(MAX_LISTED);
    lines.into_iter().skip(n_hidden).collect::<Vec<_>>().join("\n")
}
