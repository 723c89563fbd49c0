//! Google's Gemini API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Options, Progress, Provider, Reader, said_in};
use crate::builtin::{
    chat::{Asked, Ending, Message, Part, Reply, Said, Shown, ToolCall, ToolSpec, Usage},
    model::ModelError,
    secret::Secret,
    sse::Event,
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

    fn body(&self, options: &Options<'_>, asked: &Asked<'_>) -> Vec<u8> {
        let mut contents: Vec<_> = asked.messages.iter().map(Content::of).collect();
        contents.retain(|content| !content.parts.is_empty());
        let system = (!asked.system.is_empty())
            .then(|| Content { role: None, parts: vec![PartOut::text(asked.system)] });
        let declarations: Vec<_> = asked.tools.iter().map(Declaration::of).collect();
        let tools =
            (!declarations.is_empty()).then_some(Tools { function_declarations: declarations });
        let thinking_config = options
            .thinking
            .map(|thinking_budget| Thinking { thinking_budget, include_thoughts: true });
        let body = Body {
            system_instruction: system,
            tools: tools.into_iter().collect(),
            contents,
            generation_config: Generation {
                max_output_tokens: asked
                    .max_tokens
                    .saturating_add(options.thinking.unwrap_or_default()),
                thinking_config,
            },
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reading::default())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    contents: Vec<Content<'a>>,
    generation_config: Generation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    thinking_budget: u32,
    include_thoughts: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartOut<'a> {
    #[serde(flatten)]
    what: What<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum What<'a> {
    Text(&'a str),
    FunctionCall {
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<&'a Map<String, Value>>,
    },
    FunctionResponse {
        name: &'a str,
        response: Response<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

impl<'a> Declaration<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { name, description, parameters_json_schema: input }
    }
}

impl<'a> Content<'a> {
    fn of(message: &'a Message) -> Self {
        match message {
            Message::User(said) => Self {
                role: Some("user"),
                parts: said.iter().filter_map(PartOut::of_said).collect(),
            },
            Message::Model(parts) => {
                let parts = parts.iter().filter_map(PartOut::of_part).collect();
                Self { role: Some("model"), parts }
            }
        }
    }
}

impl<'a> PartOut<'a> {
    fn text(text: &'a str) -> Self {
        Self { what: What::Text(text), thought_signature: None }
    }

    fn of_said(said: &'a Said) -> Option<Self> {
        match said {
            Said::Text(text) => (!text.is_empty()).then(|| Self::text(text)),
            Said::Result(result) => {
                let content = &result.content;
                let response = if result.is_error {
                    Response::Error(content)
                } else {
                    Response::Output(content)
                };
                let what = What::FunctionResponse { name: &result.name, response };
                Some(Self { what, thought_signature: None })
            }
        }
    }

    fn of_part(part: &'a Part) -> Option<Self> {
        match part {
            Part::Text(text) => (!text.is_empty()).then(|| Self::text(text)),
            Part::Call(call) => {
                let what = What::FunctionCall { name: &call.name, args: call.input.as_ref().ok() };
                Some(Self { what, thought_signature: call.signature.as_deref() })
            }
            // Summaries of thoughts are for people; what the API wants back is the signature of a call.
            Part::Thinking { .. } | Part::Hidden { .. } => None,
        }
    }
}

/// One reply while it comes.
#[derive(Default)]
struct Reading {
    parts: Vec<Part>,
    usage: Usage,
    ending: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Counted>,
    prompt_feedback: Option<Feedback>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<ContentIn>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ContentIn {
    #[serde(default)]
    parts: Vec<PartIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartIn {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<CallIn>,
}

#[derive(Deserialize)]
struct CallIn {
    id: Option<String>,
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    #[serde(default)]
    prompt_token_count: u64,
    #[serde(default)]
    cached_content_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
    #[serde(default)]
    thoughts_token_count: u64,
}

impl Reader for Reading {
    fn take(
        &mut self,
        event: &Event,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Result<Progress, ModelError> {
        let chunk: Chunk = said_in(event)?;
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
        // Counts may come after the reason, so only the end of the stream is the end.
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        let has_calls = self.parts.iter().any(|part| matches!(part, Part::Call(_)));
        let ending = match self.ending?.as_str() {
            "STOP" if has_calls => Ending::Calls,
            "STOP" => Ending::Done,
            "MAX_TOKENS" => Ending::TooLong,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "OTHER" => {
                Ending::Refused
            }
            other => Ending::Other(other.to_owned()),
        };
        Some(Reply { parts: self.parts, ending, usage: self.usage })
    }
}

impl Reading {
    fn count(&mut self, counted: &Counted) {
        let cache_read = counted.cached_content_token_count.min(counted.prompt_token_count);
        self.usage = Usage {
            input: counted.prompt_token_count - cache_read,
            cache_read,
            cache_write: 0,
            output: counted.candidates_token_count + counted.thoughts_token_count,
        };
    }

    fn grow(&mut self, part: PartIn, show: &mut dyn FnMut(Shown<'_>)) {
        if let Some(CallIn { id, name, args }) = part.function_call {
            show(Shown::Call(&name));
            let id = id.unwrap_or_else(|| format!("call-{}", uuid::Uuid::now_v7().simple()));
            let input = if args.is_null() { Ok(Map::new()) } else { ToolCall::object(args) };
            let signature = part.thought_signature;
            self.parts.push(Part::Call(ToolCall { id, name, input, signature }));
            return;
        }
        let Some(text) = part.text.filter(|text| !text.is_empty()) else { return };
        show(if part.thought { Shown::Thinking(&text) } else { Shown::Text(&text) });
        match (self.parts.last_mut(), part.thought) {
            (Some(Part::Text(before)), false) => before.push_str(&text),
            (Some(Part::Thinking { text: before, .. }), true) => before.push_str(&text),
            (_, false) => self.parts.push(Part::Text(text)),
            (_, true) => self.parts.push(Part::Thinking { text, signature: None }),
        }
    }
}
