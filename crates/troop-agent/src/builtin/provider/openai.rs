//! OpenAI's chat completions, which Ollama, vLLM, OpenRouter and many others offer, too.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Provider, ReplyReader, RequestOptions, StreamProgress, said_in};
use crate::builtin::{
    chat::{
        ChatMessage, ModelRequest, Reply, ReplyPart, StopReason, StreamUpdate, TokenUsage,
        ToolCall, ToolResult, ToolSpec, UserPart,
    },
    model::ModelError,
    secret::Secret,
    sse::SseEvent,
};

/// The field for thoughts that the API wants back. We keep it as their signature.
const RETURNED: &str = "reasoning_content";

#[derive(Debug)]
pub(super) struct OpenAi;

impl Provider for OpenAi {
    fn path(&self, _: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        key.map(|key| ("authorization", format!("Bearer {}", key.reveal()))).into_iter().collect()
    }

    fn body(&self, options: &RequestOptions<'_>, asked: &ModelRequest<'_>) -> Vec<u8> {
        let system =
            (!asked.system.is_empty()).then_some(OpenAiMessage::System { content: asked.system });
        let messages = system.into_iter().chain(asked.messages.iter().flat_map(OpenAiMessage::of));
        let messages = messages
            .map(|message| if options.is_original { message.without_thoughts() } else { message });
        let messages = messages.fold(Vec::new(), OpenAiMessage::add);
        // OpenAI no longer accepts the old name, and most others do not know the new one.
        let max_tokens = Some(asked.max_tokens);
        let is_new = options.is_original || takes_new_name(options.model);
        let (old, new) = if is_new { (None, max_tokens) } else { (max_tokens, None) };
        let body = OpenAiBody {
            model: options.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_tokens: old,
            max_completion_tokens: new,
            tools: asked.tools.iter().map(OpenAiTool::of).collect(),
            messages,
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::new(OpenAiReader::default())
    }
}

/// Whether this is an OpenAI model that refuses `max_tokens`, also behind a proxy: `gpt-5…`, `o1`, `o3-mini`.
fn takes_new_name(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let family = name.split('-').next().unwrap_or(name);
    name.starts_with("gpt-5") || ["o1", "o3", "o4"].contains(&family)
}

#[derive(Serialize)]
struct OpenAiBody<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OpenAiTool<'a>>,
    messages: Vec<OpenAiMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct OpenAiTool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: OpenAiFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum OpenAiMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<OpenAiCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        #[serde(serialize_with = "content_of")]
        content: &'a ToolResult,
    },
}

#[derive(Serialize)]
struct OpenAiCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: OpenAiCallFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiCallFunction<'a> {
    name: &'a str,
    arguments: String,
}

impl<'a> OpenAiTool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { kind: "function", function: OpenAiFunction { name, description, parameters: input } }
    }
}

impl<'a> OpenAiMessage<'a> {
    fn of(message: &'a ChatMessage) -> Vec<Self> {
        match message {
            ChatMessage::User(said) => said.iter().map(Self::of_said).collect(),
            ChatMessage::Model(parts) => Self::of_parts(parts).into_iter().collect(),
        }
    }

    /// Adds a message. The templates of many models accept no two user messages in a row.
    fn add(mut messages: Vec<Self>, message: Self) -> Vec<Self> {
        match (messages.last_mut(), message) {
            (Some(Self::User { content: before }), Self::User { content }) => {
                let before = before.to_mut();
                before.push_str("\n\n");
                before.push_str(&content);
            }
            (_, message) => messages.push(message),
        }
        messages
    }

    fn of_said(said: &'a UserPart) -> Self {
        match said {
            UserPart::Text(text) => Self::User { content: text.into() },
            UserPart::Result(result) => Self::Tool { tool_call_id: &result.id, content: result },
        }
    }

    /// None if the model only thought: the API accepts no empty message.
    fn of_parts(parts: &'a [ReplyPart]) -> Option<Self> {
        let mut text = String::new();
        let mut thought = None;
        let mut tool_calls = Vec::new();
        for part in parts {
            match part {
                ReplyPart::Text(part) => text.push_str(part),
                ReplyPart::Call(call) => tool_calls.push(OpenAiCall::of(call)),
                ReplyPart::Thinking { text, signature } => {
                    thought = signature.as_deref().filter(|it| *it == RETURNED).map(|_| &**text);
                }
                // This API does not want it back.
                ReplyPart::Hidden { .. } => {}
            }
        }
        let content = Some(text).filter(|text| !text.is_empty());
        let says_something = content.is_some() || !tool_calls.is_empty();
        // DeepSeek requires the thought behind calls, and wants no other thought back.
        let reasoning_content = thought.filter(|_| !tool_calls.is_empty());
        says_something.then_some(Self::Assistant { content, reasoning_content, tool_calls })
    }

    /// Without thoughts, for OpenAI itself, which does not accept them.
    fn without_thoughts(self) -> Self {
        match self {
            Self::Assistant { content, tool_calls, .. } => {
                Self::Assistant { content, reasoning_content: None, tool_calls }
            }
            message @ (Self::System { .. } | Self::User { .. } | Self::Tool { .. }) => message,
        }
    }
}

impl<'a> OpenAiCall<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let arguments = match &call.input {
            Ok(input) => serde_json::to_string(input).expect("JSON is JSON"),
            Err(_) => "{}".to_owned(),
        };
        Self {
            id: &call.id,
            kind: "function",
            function: OpenAiCallFunction { name: &call.name, arguments },
        }
    }
}

/// The API has no field for errors, so the text says it.
fn content_of<S: serde::Serializer>(
    result: &&ToolResult,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if result.is_error {
        serializer.collect_str(&format_args!("error: {}", result.content))
    } else {
        serializer.serialize_str(&result.content)
    }
}

/// A reply while it arrives.
#[derive(Default)]
struct OpenAiReader {
    text: String,
    thinking: String,
    /// Whether the thought came in the field in which it is sent back.
    is_returned: bool,
    calls: Vec<OpenCall>,
    usage: TokenUsage,
    ending: Option<String>,
}

/// A call whose input still grows.
struct OpenCall {
    index: u64,
    id: String,
    name: String,
    input: String,
}

#[derive(Deserialize)]
struct OpenAiChunk {
    #[serde(default)]
    choices: Vec<OpenAiChoice>,
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    #[serde(default)]
    delta: OpenAiDelta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct OpenAiDelta {
    content: Option<String>,
    /// The name that DeepSeek and vLLM use.
    reasoning_content: Option<String>,
    /// The name that OpenRouter and Ollama use. Some send both.
    reasoning: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: u64,
    id: Option<String>,
    #[serde(default)]
    function: FunctionDelta,
}

#[derive(Default, Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptTokensDetails>,
}

#[derive(Deserialize)]
struct PromptTokensDetails {
    cached_tokens: Option<u64>,
}

impl ReplyReader for OpenAiReader {
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(StreamUpdate<'_>),
    ) -> Result<StreamProgress, ModelError> {
        if event.data == "[DONE]" {
            return Ok(StreamProgress::Over);
        }
        let chunk: OpenAiChunk = said_in(event)?;
        if let Some(counted) = chunk.usage {
            self.count(&counted);
        }
        // We asked for one choice only.
        if let Some(choice) = chunk.choices.into_iter().next() {
            self.ending = choice.finish_reason.or(self.ending.take());
            self.grow(choice.delta, show);
        }
        Ok(StreamProgress::More)
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        // Not all servers report that there are calls.
        let has_calls = !self.calls.is_empty();
        let ending = match self.ending?.as_str() {
            "stop" | "tool_calls" | "function_call" if has_calls => StopReason::Calls,
            "stop" | "tool_calls" | "function_call" => StopReason::Done,
            "length" => StopReason::TooLong,
            "content_filter" => StopReason::Refused,
            other => StopReason::Other(other.to_owned()),
        };
        let thinking = Some(self.thinking).filter(|text| !text.is_empty());
        let signature = self.is_returned.then(|| RETURNED.to_owned());
        let thinking = thinking.map(|text| ReplyPart::Thinking { text, signature });
        let text = Some(self.text).filter(|text| !text.is_empty()).map(ReplyPart::Text);
        let calls = self.calls.into_iter().map(|begun| ReplyPart::Call(begun.end()));
        let parts = thinking.into_iter().chain(text).chain(calls).collect();
        Some(Reply { parts, ending, usage: self.usage })
    }
}

impl OpenAiReader {
    fn count(&mut self, counted: &OpenAiUsage) {
        let kept = counted.prompt_tokens_details.as_ref().and_then(|it| it.cached_tokens);
        let cache_read = kept.unwrap_or_default().min(counted.prompt_tokens);
        self.usage = TokenUsage {
            input: counted.prompt_tokens - cache_read,
            cache_read,
            cache_write: 0,
            output: counted.completion_tokens,
        };
    }

    fn grow(&mut self, delta: OpenAiDelta, show: &mut dyn FnMut(StreamUpdate<'_>)) {
        self.is_returned |= delta.reasoning_content.is_some();
        let thoughts = [delta.reasoning_content, delta.reasoning];
        if let Some(text) = thoughts.into_iter().flatten().find(|text| !text.is_empty()) {
            show(StreamUpdate::Thinking(&text));
            self.thinking.push_str(&text);
        }
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            show(StreamUpdate::Text(&text));
            self.text.push_str(&text);
        }
        for delta in delta.tool_calls.into_iter().flatten() {
            self.grow_call(delta, show);
        }
    }

    fn grow_call(&mut self, delta: CallDelta, show: &mut dyn FnMut(StreamUpdate<'_>)) {
        let FunctionDelta { name, arguments } = delta.function;
        let id = delta.id.filter(|id| !id.is_empty());
        let known = self.calls.iter_mut().rev().find(|it| it.index == delta.index);
        // Some give every call the same index, and send each one whole with its own id.
        let known = known.filter(|it| id.as_ref().is_none_or(|id| *id == it.id));
        let begun = match known {
            Some(begun) => begun,
            None => {
                let name = name.clone().unwrap_or_default();
                show(StreamUpdate::Call(&name));
                let id = id.unwrap_or_else(|| format!("call-{}", uuid::Uuid::now_v7().simple()));
                let input = String::new();
                self.calls.push(OpenCall { index: delta.index, id, name: String::new(), input });
                let Some(begun) = self.calls.last_mut() else { return };
                begun
            }
        };
        begun.name.push_str(&name.unwrap_or_default());
        begun.input.push_str(&arguments.unwrap_or_default());
    }
}

impl OpenCall {
    fn end(self) -> ToolCall {
        let input = ToolCall::input(&self.input);
        ToolCall { id: self.id, name: self.name, input, signature: None }
    }
}
