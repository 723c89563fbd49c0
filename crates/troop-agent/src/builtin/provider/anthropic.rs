//! Anthropic's Messages API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Options, Progress, Provider, Reader, of_error};
use crate::builtin::{
    chat::{Asked, Ending, Message, Part, Reply, Said, Shown, ToolCall, ToolSpec, Usage},
    model::ModelError,
    secret::Secret,
    sse::Event,
};

/// How many of the last messages are kept at hand by the API: this one, and the one that the next request continues.
const KEPT: usize = 2;

#[derive(Debug)]
pub(super) struct Anthropic;

impl Provider for Anthropic {
    fn path(&self, _: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        let version = ("anthropic-version", "2023-06-01".to_owned());
        let key = key.map(|key| ("x-api-key", key.reveal().to_owned()));
        [version].into_iter().chain(key).collect()
    }

    fn body(&self, options: &Options<'_>, asked: &Asked<'_>) -> Vec<u8> {
        let mut messages: Vec<_> = asked.messages.iter().map(Turn::of).collect();
        messages.retain(|turn| !turn.content.is_empty());
        let told = messages.iter_mut().rev().filter(|turn| turn.role == "user");
        for block in told.take(KEPT).filter_map(|turn| turn.content.last_mut()) {
            block.cache_control = Some(KEEP);
        }
        let mut tools: Vec<_> = asked.tools.iter().map(Tool::of).collect();
        if let Some(last) = tools.last_mut() {
            last.cache_control = Some(KEEP);
        }
        let system = What::text(asked.system);
        let system = system.map(|what| Block { what, cache_control: Some(KEEP) });
        let thinking =
            options.thinking.map(|budget_tokens| Thinking { kind: "enabled", budget_tokens });
        let body = Body {
            model: options.model,
            // The budget for thinking is a part of it.
            max_tokens: asked.max_tokens.saturating_add(options.thinking.unwrap_or_default()),
            stream: true,
            thinking,
            system: system.into_iter().collect(),
            tools,
            messages,
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reading::default())
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: &'static str,
    budget_tokens: u32,
}

/// Asks the API to keep at hand what goes before.
#[derive(Clone, Copy, Serialize)]
struct Keep {
    #[serde(rename = "type")]
    kind: &'static str,
}

const KEEP: Keep = Keep { kind: "ephemeral" };

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Keep>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    what: What<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Keep>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum What<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: Input<'a> },
    ToolResult { tool_use_id: &'a str, content: &'a str, is_error: bool },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Input<'a> {
    Good(&'a Map<String, Value>),
    /// In place of what was no object.
    Empty {},
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { name, description, input_schema: input, cache_control: None }
    }
}

impl<'a> Turn<'a> {
    fn of(message: &'a Message) -> Self {
        let (role, whats): (_, Vec<_>) = match message {
            Message::User(said) => ("user", said.iter().filter_map(What::of_said).collect()),
            Message::Model(parts) => {
                ("assistant", parts.iter().filter_map(What::of_part).collect())
            }
        };
        let content = whats.into_iter().map(|what| Block { what, cache_control: None }).collect();
        Self { role, content }
    }
}

impl<'a> What<'a> {
    /// The API turns empty text away.
    fn text(text: &'a str) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self::Text { text })
    }

    fn of_said(said: &'a Said) -> Option<Self> {
        match said {
            Said::Text(text) => Self::text(text),
            Said::Result(result) => Some(Self::ToolResult {
                tool_use_id: &result.id,
                content: &result.content,
                is_error: result.is_error,
            }),
        }
    }

    fn of_part(part: &'a Part) -> Option<Self> {
        match part {
            Part::Text(text) => Self::text(text),
            Part::Thinking { text, signature } => {
                signature.as_deref().map(|signature| Self::Thinking { thinking: text, signature })
            }
            Part::Hidden { data } => Some(Self::RedactedThinking { data }),
            Part::Call(call) => {
                let input = call.input.as_ref().map_or(Input::Empty {}, Input::Good);
                Some(Self::ToolUse { id: &call.id, name: &call.name, input })
            }
        }
    }
}

/// One reply while it comes.
#[derive(Default)]
struct Reading {
    blocks: Vec<Begun>,
    usage: Usage,
    ending: Option<String>,
    is_over: bool,
}

/// A block that has begun; its text grows.
struct Begun {
    index: u64,
    block: Opening,
    text: String,
    signature: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Stream {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: Opening,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: Stop,
        #[serde(default)]
        usage: Counted,
    },
    MessageStop {},
    /// Pings, and what is invented later.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Started {
    #[serde(default)]
    usage: Counted,
}

#[derive(Deserialize)]
struct Stop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Opening {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Default, Deserialize)]
struct Counted {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Reader for Reading {
    fn take(
        &mut self,
        event: &Event,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Result<Progress, ModelError> {
        if event.name == "error" {
            let value = serde_json::from_str(&event.data).unwrap_or_default();
            return Err(of_error(&value).unwrap_or_else(|| ModelError::senseless(&event.data)));
        }
        let stream: Stream =
            serde_json::from_str(&event.data).map_err(|_| ModelError::senseless(&event.data))?;
        match stream {
            Stream::MessageStart { message } => self.count(&message.usage),
            Stream::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, show);
            }
            Stream::ContentBlockDelta { index, delta } => self.grow(index, delta, show),
            Stream::MessageDelta { delta, usage } => {
                self.ending = delta.stop_reason.or(self.ending.take());
                self.count(&usage);
            }
            Stream::MessageStop {} => {
                self.is_over = true;
                return Ok(Progress::Over);
            }
            Stream::Other => {}
        }
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let ending = match self.ending.as_deref() {
            _ if !self.is_over => return None,
            Some("tool_use") => Ending::Calls,
            Some("end_turn" | "stop_sequence" | "pause_turn") | None => Ending::Done,
            Some("max_tokens" | "model_context_window_exceeded") => Ending::TooLong,
            Some("refusal") => Ending::Refused,
            Some(other) => Ending::Other(other.to_owned()),
        };
        let parts = self.blocks.into_iter().filter_map(Begun::end).collect();
        Some(Reply { parts, ending, usage: self.usage })
    }
}

impl Reading {
    /// Takes the counts that are there: later ones are those of the whole reply.
    fn count(&mut self, counted: &Counted) {
        let Usage { input, cache_read, cache_write, output } = &mut self.usage;
        for (place, count) in [
            (input, counted.input_tokens),
            (cache_read, counted.cache_read_input_tokens),
            (cache_write, counted.cache_creation_input_tokens),
            (output, counted.output_tokens),
        ] {
            *place = count.unwrap_or(*place);
        }
    }

    fn begin(&mut self, index: u64, block: Opening, show: &mut dyn FnMut(Shown<'_>)) {
        let (text, signature) = match &block {
            Opening::Text { text } => (text.clone(), String::new()),
            Opening::Thinking { thinking, signature } => (thinking.clone(), signature.clone()),
            Opening::ToolUse { name, .. } => {
                show(Shown::Call(name));
                Default::default()
            }
            Opening::RedactedThinking { .. } | Opening::Other => Default::default(),
        };
        self.blocks.push(Begun { index, block, text, signature });
    }

    fn grow(&mut self, index: u64, delta: Delta, show: &mut dyn FnMut(Shown<'_>)) {
        let Some(begun) = self.blocks.iter_mut().rev().find(|it| it.index == index) else { return };
        match delta {
            Delta::Text { text } => {
                show(Shown::Text(&text));
                begun.text.push_str(&text);
            }
            Delta::Thinking { thinking } => {
                show(Shown::Thinking(&thinking));
                begun.text.push_str(&thinking);
            }
            Delta::Signature { signature } => begun.signature.push_str(&signature),
            Delta::Input { partial_json } => begun.text.push_str(&partial_json),
            Delta::Other => {}
        }
    }
}

impl Begun {
    fn end(self) -> Option<Part> {
        let Self { block, text, signature, .. } = self;
        match block {
            Opening::Text { .. } => (!text.is_empty()).then_some(Part::Text(text)),
            Opening::Thinking { .. } => {
                let signature = Some(signature).filter(|it| !it.is_empty());
                Some(Part::Thinking { text, signature })
            }
            Opening::RedactedThinking { data } => Some(Part::Hidden { data }),
            Opening::ToolUse { id, name } => {
                let input = ToolCall::input(&text);
                Some(Part::Call(ToolCall { id, name, input, signature: None }))
            }
            Opening::Other => None,
        }
    }
}
