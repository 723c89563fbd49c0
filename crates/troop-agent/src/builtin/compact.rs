//! Makes a conversation short again before it is more than the model can take in.

use super::{
    chat::{Asked, Message, Part, Said, ToolSpec, Usage},
    history::History,
    model::{Model, ModelError, Watch},
};

/// How much a model may say about what went before.
const MAX_SUMMARY: u32 = 4_000;
/// How many calls are listed where no model could say what went before.
const MAX_LISTED: usize = 60;

const ASK: &str = "\
This conversation is about to be cut: all but its last rounds will be replaced by what you write now. Write down, for \
yourself, what you need to go on: what you were asked to do and what is still open, your plan, decisions and why, files you \
changed or must change, commands that matter with their results, and what others told you. Do not call tools. Do not work on \
the task now.";

/// What remains of the front of a conversation.
#[derive(Debug)]
pub(crate) struct Compacted {
    pub(crate) usage: Usage,
    /// Why there is no summary, if there is none.
    pub(crate) fault: Option<ModelError>,
}

/// Replaces all but the end of a conversation by a summary that the model writes. What is pinned stays word for word. Where no
/// summary can be had, the calls of the front are listed. None if there is nothing to cut.
pub(crate) async fn compact(
    history: &mut History,
    n_kept: usize,
    (model, system, tools): (&Model, &str, &[ToolSpec]),
    watch: &mut dyn Watch,
) -> Option<Compacted> {
    let n_front = history.n_before_end(n_kept);
    // The first message alone cannot be made shorter.
    if n_front < 2 {
        return None;
    }
    let mut front = history.messages().get(..n_front).unwrap_or_default().to_vec();
    if let Some(Message::User(said)) = front.last_mut() {
        said.push(Said::Text(ASK.to_owned()));
    }
    let asked = Asked { system, tools, messages: &front, max_tokens: MAX_SUMMARY };
    let replied = model.ask(&asked, watch).await;
    let (usage, summary, fault) = match replied {
        Ok(reply) => (reply.usage, reply.text(), None),
        Err(error) => (Usage::default(), String::new(), Some(error)),
    };
    let before = if summary.is_empty() {
        format!("What you did before, of which only the calls are known:\n{}", listed(&front))
    } else {
        format!("What you wrote about what went before:\n{summary}")
    };
    let pinned = history.pins().join("\n\n");
    let text = format!("{pinned}\n\n[The conversation was cut here to make room.]\n{before}");
    history.replace_front(n_front, text);
    Some(Compacted { usage, fault })
}

/// The last calls, one a line.
fn listed(messages: &[Message]) -> String {
    let calls = messages.iter().flat_map(|message| match message {
        Message::Model(parts) => parts.as_slice(),
        Message::User(_) => &[],
    });
    let lines: Vec<String> = calls
        .filter_map(|part| match part {
            Part::Call(call) => {
                let input =
                    call.input.as_ref().map(|input| serde_json::Value::Object(input.clone()));
                let input = input.map_or_else(Clone::clone, |input| input.to_string());
                Some(format!("- {} {}", call.name, troop_model::preview(&input, 120)))
            }
            Part::Text(_) | Part::Thinking { .. } | Part::Hidden { .. } => None,
        })
        .collect();
    let n_hidden = lines.len().saturating_sub(MAX_LISTED);
    lines.into_iter().skip(n_hidden).collect::<Vec<_>>().join("\n")
}
