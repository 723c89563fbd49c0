//! Google's Gemini API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Provider, ReplyReader, RequestOptions, StreamProgress, said_in};
use crate::builtin::{
    chat::{
        ChatMessage, ModelRequest, Reply, ReplyPart, StopReason, StreamUpdate, TokenUsage,
        ToolCall, ToolSpec, UserPart,
    },
    model::ModelError,
    secret::Secret,
    sse::SseEvent,
};

#[derive(Debug)]
pub(super) struct Gemini;

impl Provider for Gemini {
    fn path(&self, model: &str) -> String {
        format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
    }

    fn headers(&self, key: Option<&Secret>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-goog-api-key", key.reveal().to_owned())).into_iter().collect()
    }

    fn body(&self, options: &RequestOptions<'_>, asked: &ModelRequest<'_>) -> Vec<u8> {
        let mut contents: Vec<_> = asked.messages.iter().map(GeminiContent::of).collect();
        contents.retain(|content| !content.parts.is_empty());
        let system = (!asked.system.is_empty())
            .then(|| GeminiContent { role: None, parts: vec![GeminiPart::text(asked.system)] });
        let declarations: Vec<_> = asked.tools.iter().map(FunctionDeclaration::of).collect();
        let tools = (!declarations.is_empty())
            .then_some(GeminiTools { function_declarations: declarations });
        let thinking_config = options
            .thinking
            .map(|thinking_budget| GeminiThinking { thinking_budget, include_thoughts: true });
        let body = GeminiBody {
            system_instruction: system,
            tools: tools.into_iter().collect(),
            contents,
            generation_config: GenerationConfig {
                max_output_tokens: asked
                    .max_tokens
                    .saturating_add(options.thinking.unwrap_or_default()),
                thinking_config,
            },
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn ReplyReader> {
        Box::new(GeminiReader::default())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<GeminiTools<'a>>,
    contents: Vec<GeminiContent<'a>>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<GeminiThinking>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiThinking {
    thinking_budget: u32,
    include_thoughts: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(flatten)]
    what: GeminiData<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum GeminiData<'a> {
    Text(&'a str),
    FunctionCall {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<&'a Map<String, Value>>,
    },
    FunctionResponse {
        name: &'a str,
        response: FunctionResponse<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum FunctionResponse<'a> {
    Output(&'a str),
    Error(&'a str),
}

impl<'a> FunctionDeclaration<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { name, description, parameters_json_schema: input }
    }
}

impl<'a> GeminiContent<'a> {
    fn of(message: &'a ChatMessage) -> Self {
        match message {
            ChatMessage::User(said) => Self {
                role: Some("user"),
                parts: said.iter().filter_map(GeminiPart::of_said).collect(),
            },
            ChatMessage::Model(parts) => {
                let parts = parts.iter().filter_map(GeminiPart::of_part).collect();
                Self { role: Some("model"), parts }
            }
        }
    }
}

impl<'a> GeminiPart<'a> {
    fn text(text: &'a str) -> Self {
        Self { what: GeminiData::Text(text), thought_signature: None }
    }

    fn of_said(said: &'a UserPart) -> Option<Self> {
        match said {
            UserPart::Text(text) => (!text.is_empty()).then(|| Self::text(text)),
            UserPart::Result(result) => {
                let content = &result.content;
                let response = if result.is_error {
                    FunctionResponse::Error(content)
                } else {
                    FunctionResponse::Output(content)
                };
                let what = GeminiData::FunctionResponse { name: &result.name, response };
                Some(Self { what, thought_signature: None })
            }
        }
    }

    fn of_part(part: &'a ReplyPart) -> Option<Self> {
        match part {
            ReplyPart::Text(text) => (!text.is_empty()).then(|| Self::text(text)),
            ReplyPart::Call(call) => {
                let what =
                    GeminiData::FunctionCall { name: &call.name, args: call.input.as_ref().ok() };
                Some(Self { what, thought_signature: call.signature.as_deref() })
            }
            // Thought summaries are for people. The API wants the signature of a call back.
            ReplyPart::Thinking { .. } | ReplyPart::Hidden { .. } => None,
        }
    }
}

/// A reply while it arrives.
#[derive(Default)]
struct GeminiReader {
    parts: Vec<ReplyPart>,
    usage: TokenUsage,
    ending: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiChunk {
    #[serde(default)]
    candidates: Vec<GeminiCandidate>,
    usage_metadata: Option<GeminiUsage>,
    prompt_feedback: Option<PromptFeedback>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    content: Option<GeminiContentIn>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct GeminiContentIn {
    #[serde(default)]
    parts: Vec<GeminiPartIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPartIn {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<GeminiCallIn>,
}

#[derive(Deserialize)]
struct GeminiCallIn {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiUsage {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
}

impl ReplyReader for GeminiReader {
    fn take(
        &mut self,
        event: &SseEvent,
        show: &mut dyn FnMut(StreamUpdate<'_>),
    ) -> Result<StreamProgress, ModelError> {
        let chunk: GeminiChunk = said_in(event)?;
        if let Some(counted) = chunk.usage_metadata {
            self.count(&counted);
        }
        if let Some(reason) = chunk.prompt_feedback.and_then(|it| it.block_reason) {
            self.ending = Some(reason);
        }
        if let Some(candidate) = chunk.candidates.into_iter().next() {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.grow(part, show);
            }
            self.ending = candidate.finish_reason.or(self.ending.take());
        }
        // Counts may come after the reason, so only the end of the stream ends the reply.
        Ok(StreamProgress::More)
    }

    fn usage(&self) -> TokenUsage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let has_calls = self.parts.iter().any(|part| matches!(part, ReplyPart::Call(_)));
        let ending = match self.ending?.as_str() {
            "STOP" if has_calls => StopReason::Calls,
            "STOP" => StopReason::Done,
            "MAX_TOKENS" => StopReason::TooLong,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "OTHER" => {
                StopReason::Refused
            }
            other => StopReason::Other(other.to_owned()),
        };
        Some(Reply { parts: self.parts, ending, usage: self.usage })
    }
}

impl GeminiReader {
    fn count(&mut self, counted: &GeminiUsage) {
        let cache_read = counted.cached_content_token_count.min(counted.prompt_token_count);
        self.usage = TokenUsage {
            input: counted.prompt_token_count - cache_read,
            cache_read,
            cache_write: 0,
            output: counted.candidates_token_count + counted.thoughts_token_count,
        };
    }

    fn grow(&mut self, part: GeminiPartIn, show: &mut dyn FnMut(StreamUpdate<'_>)) {
        if let Some(GeminiCallIn { id, name, args }) = part.function_call {
            show(StreamUpdate::Call(&name));
            let id = id.unwrap_or_else(|| format!("call-{}", uuid::Uuid::now_v7().simple()));
            let input = if args.is_null() { Ok(Map::new()) } else { ToolCall::object(args) };
            let signature = part.thought_signature;
            self.parts.push(ReplyPart::Call(ToolCall { id, name, input, signature }));
            return;
        }
        let Some(text) = part.text.filter(|text| !text.is_empty()) else { return };
        show(if part.thought { StreamUpdate::Thinking(&text) } else { StreamUpdate::Text(&text) });
        match (self.parts.last_mut(), part.thought) {
            (Some(ReplyPart::Text(before)), false) => before.push_str(&text),
            (Some(ReplyPart::Thinking { text: before, .. }), true) => before.push_str(&text),
            (_, false) => self.parts.push(ReplyPart::Text(text)),
            (_, true) => self.parts.push(ReplyPart::Thinking { text, signature: None }),
        }
    }
}
