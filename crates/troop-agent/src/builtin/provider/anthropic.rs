//! Anthropic's Messages API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Provider, ReplyReader, RequestOptions, StreamProgress, of_error};
use crate::builtin::{
    chat::{
        ChatMessage, ModelRequest, Reply, ReplyPart, StopReason, StreamUpdate, TokenUsage,
        ToolCall, ToolSpec, UserPart,
    },
    model::ModelError,
    secret::Secret,
    sse::SseEvent,
};

/// How many of the user's last messages the API should cache: this one, and the one that the next request continues.
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

    fn body(&self, options: &RequestOptions<'_>, asked: &ModelRequest<'_>) -> Vec<u8> {
        let mut messages: Vec<_> = asked.messages.iter().map(AnthropicMessage::of).collect();
        messages.retain(|message| !message.content.is_empty());
        let told = messages.iter_mut().rev().filter(|message| message.role == "user");
        for block in told.take(KEPT).filter_map(|message| message.content.last_mut()) {
            block.cache_control = Some(CACHED);
        }
        let mut tools: Vec<_> = asked.tools.iter().map(AnthropicTool::of).collect();
        if let Some(last) = tools.last_mut() {
            last.cache_control = Some(CACHED);
        }
        let system = AnthropicContent::text(asked.system);
        let system = system.map(|what| AnthropicBlock { what, cache_control: Some(CACHED) });
        let thinking = options
            .thinking
            .map(|budget_tokens| AnthropicThinking { kind: "enabled", budget_tokens });
        let body = AnthropicBody {
            model: options.model,
            // The thinking budget is part of it.
            max_tokens: asked.max_tokens.saturating_add(options.thinking.unwrap_or_default()),
            stream: true,
            thinking,
            system: system.into_iter().collect(),
            tools,
            messages,
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::new(AnthropicReader::default())
    }
}

#[derive(Serialize)]
struct AnthropicBody<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<AnthropicThinking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<AnthropicBlock<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    messages: Vec<AnthropicMessage<'a>>,
}

#[derive(Serialize)]
struct AnthropicThinking {
    #[serde(rename = "type")]
    kind: &'static str,
    budget_tokens: u32,
}

/// Asks the API to cache everything up to here.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

const CACHED: CacheControl = CacheControl { kind: "ephemeral" };

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<AnthropicBlock<'a>>,
}

#[derive(Serialize)]
struct AnthropicBlock<'a> {
    #[serde(flatten)]
    what: AnthropicContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicContent<'a> {
    Text { text: &'a str },
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
    ToolUse { id: &'a str, name: &'a str, input: AnthropicInput<'a> },
    ToolResult { tool_use_id: &'a str, content: &'a str, is_error: bool },
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicInput<'a> {
    Good(&'a Map<String, Value>),
    /// In place of an input that was not an object.
    Empty {},
}

impl<'a> AnthropicTool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { name, description, input_schema: input, cache_control: None }
    }
}

impl<'a> AnthropicMessage<'a> {
    fn of(message: &'a ChatMessage) -> Self {
        let (role, whats): (_, Vec<_>) = match message {
            ChatMessage::User(said) => {
                ("user", said.iter().filter_map(AnthropicContent::of_said).collect())
            }
            ChatMessage::Model(parts) => {
                ("assistant", parts.iter().filter_map(AnthropicContent::of_part).collect())
            }
        };
        let content =
            whats.into_iter().map(|what| AnthropicBlock { what, cache_control: None }).collect();
        Self { role, content }
    }
}

impl<'a> AnthropicContent<'a> {
    /// The API refuses empty text.
    fn text(text: &'a str) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self::Text { text })
    }

    fn of_said(said: &'a UserPart) -> Option<Self> {
        match said {
            UserPart::Text(text) => Self::text(text),
            UserPart::Result(result) => Some(Self::ToolResult {
                tool_use_id: &result.id,
                content: &result.content,
                is_error: result.is_error,
            }),
        }
    }

    fn of_part(part: &'a ReplyPart) -> Option<Self> {
        match part {
            ReplyPart::Text(text) => Self::text(text),
            ReplyPart::Thinking { text, signature } => {
                signature.as_deref().map(|signature| Self::Thinking { thinking: text, signature })
            }
            ReplyPart::Hidden { data } => Some(Self::RedactedThinking { data }),
            ReplyPart::Call(call) => {
                let input =
                    call.input.as_ref().map_or(AnthropicInput::Empty {}, AnthropicInput::Good);
                Some(Self::ToolUse { id: &call.id, name: &call.name, input })
            }
        }
    }
}

/// A reply while it arrives.
#[derive(Default)]
struct AnthropicReader {
    blocks: Vec<OpenBlock>,
    usage: TokenUsage,
    ending: Option<String>,
    is_over: bool,
}

/// A block whose text still grows.
struct OpenBlock {
    index: u64,
    block: BlockStart,
    text: String,
    signature: String,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: MessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: BlockStart,
    },
    ContentBlockDelta {
        index: u64,
        delta: AnthropicDelta,
    },
    MessageDelta {
        delta: AnthropicStop,
        #[serde(default)]
        usage: AnthropicUsage,
    },
    MessageStop {},
    /// Pings, and future events.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct MessageStart {
    #[serde(default)]
    usage: AnthropicUsage,
}

#[derive(Deserialize)]
struct AnthropicStop {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockStart {
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
enum AnthropicDelta {
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
struct AnthropicUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl ReplyReader for AnthropicReader {
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(StreamUpdate<'_>),
    ) -> Result<StreamProgress, ModelError> {
        if event.name == "error" {
            let value = serde_json::from_str(&event.data).unwrap_or_default();
            return Err(of_error(&value).unwrap_or_else(|| ModelError::senseless(&event.data)));
        }
        let stream: AnthropicEvent =
            serde_json::from_str(&event.data).map_err(|_| ModelError::senseless(&event.data))?;
        match stream {
            AnthropicEvent::MessageStart { message } => self.count(&message.usage),
            AnthropicEvent::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, show);
            }
            AnthropicEvent::ContentBlockDelta { index, delta } => self.grow(index, delta, show),
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.ending = delta.stop_reason.or(self.ending.take());
                self.count(&usage);
            }
            AnthropicEvent::MessageStop {} => {
                self.is_over = true;
                return Ok(StreamProgress::Over);
            }
            AnthropicEvent::Other => {}
        }
        Ok(StreamProgress::More)
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let ending = match self.ending.as_deref() {
            _ if !self.is_over => return None,
            Some("tool_use") => StopReason::Calls,
            Some("end_turn" | "stop_sequence" | "pause_turn") | None => StopReason::Done,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::TooLong,
            Some("refusal") => StopReason::Refused,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let parts = self.blocks.into_iter().filter_map(OpenBlock::end).collect();
        Some(Reply { parts, ending, usage: self.usage })
    }
}

impl AnthropicReader {
    /// Takes the counts that are present. Later ones cover the whole reply.
    fn count(&mut self, counted: &AnthropicUsage) {
        let TokenUsage { input, cache_read, cache_write, output } = &mut self.usage;
        for (place, count) in [
            (input, counted.input_tokens),
            (cache_read, counted.cache_read_input_tokens),
            (cache_write, counted.cache_creation_input_tokens),
            (output, counted.output_tokens),
        ] {
            *place = count.unwrap_or(*place);
        }
    }

    fn begin(&mut self, index: u64, block: BlockStart, show: &mut dyn FnMut(StreamUpdate<'_>)) {
        let (text, signature) = match &block {
            BlockStart::Text { text } => (text.clone(), String::new()),
            BlockStart::Thinking { thinking, signature } => (thinking.clone(), signature.clone()),
            BlockStart::ToolUse { name, .. } => {
                show(StreamUpdate::Call(name));
                Default::default()
            }
            BlockStart::RedactedThinking { .. } | BlockStart::Other => Default::default(),
        };
        self.blocks.push(OpenBlock { index, block, text, signature });
    }

    fn grow(&mut self, index: u64, delta: AnthropicDelta, show: &mut dyn FnMut(StreamUpdate<'_>)) {
        let Some(begun) = self.blocks.iter_mut().rev().find(|it| it.index == index) else { return };
        match delta {
            AnthropicDelta::Text { text } => {
                show(StreamUpdate::Text(&text));
                begun.text.push_str(&text);
            }
            AnthropicDelta::Thinking { thinking } => {
                show(StreamUpdate::Thinking(&thinking));
                begun.text.push_str(&thinking);
            }
            AnthropicDelta::Signature { signature } => begun.signature.push_str(&signature),
            AnthropicDelta::Input { partial_json } => begun.text.push_str(&partial_json),
            AnthropicDelta::Other => {}
        }
    }
}

impl OpenBlock {
    fn end(self) -> Option<ReplyPart> {
        let Self { block, text, signature, .. } = self;
        match block {
            BlockStart::Text { .. } => (!text.is_empty()).then_some(ReplyPart::Text(text)),
            BlockStart::Thinking { .. } => {
                let signature = Some(signature).filter(|it| !it.is_empty());
                Some(ReplyPart::Thinking { text, signature })
            }
            BlockStart::RedactedThinking { data } => Some(ReplyPart::Hidden { data }),
            BlockStart::ToolUse { id, name } => {
                let input = ToolCall::input(&text);
                Some(ReplyPart::Call(ToolCall { id, name, input, signature: None }))
            }
            BlockStart::Other => None,
        }
    }
}
