//! OpenAI's chat completions, as OpenAI, Ollama, vLLM, OpenRouter and many others speak it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Options, Progress, Provider, Reader, said_in};
use crate::builtin::{
    chat::{
        Asked, Ending, Message, Part, Reply, Said, Shown, ToolCall, ToolResult, ToolSpec, Usage,
    },
    model::ModelError,
    secret::Secret,
    sse::Event,
};

/// The name of a thought that is sent back, which is noted as its signature.
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

    fn body(&self, options: &Options<'_>, asked: &Asked<'_>) -> Vec<u8> {
        let system = (!asked.system.is_empty()).then_some(Turn::System { content: asked.system });
        let turns = system.into_iter().chain(asked.messages.iter().flat_map(Turn::of));
        let turns =
            turns.map(|turn| if options.is_original { turn.without_thoughts() } else { turn });
        let messages = turns.fold(Vec::new(), Turn::add);
        // OpenAI does not take the old name any more, most others do not know the new one.
        let max_tokens = Some(asked.max_tokens);
        let is_new = options.is_original || takes_new_name(options.model);
        let (old, new) = if is_new { (None, max_tokens) } else { (max_tokens, None) };
        let body = Body {
            model: options.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_tokens: old,
            max_completion_tokens: new,
            tools: asked.tools.iter().map(Tool::of).collect(),
            messages,
        };
        serde_json::to_vec(&body).expect("texts and JSON are JSON")
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Reading::default())
    }
}

/// Whether a model is one of OpenAI that refuses `max_tokens`, also behind a proxy: `gpt-5…`, `o1`, `o3-mini`.
fn takes_new_name(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let family = name.split('-').next().unwrap_or(name);
    name.starts_with("gpt-5") || ["o1", "o3", "o4"].contains(&family)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Turn<'a> {
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
        tool_calls: Vec<Called<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        #[serde(serialize_with = "content_of")]
        content: &'a ToolResult,
    },
}

#[derive(Serialize)]
struct Called<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    arguments: String,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input } = tool;
        Self { kind: "function", function: Function { name, description, parameters: input } }
    }
}

impl<'a> Turn<'a> {
    fn of(message: &'a Message) -> Vec<Self> {
        match message {
            Message::User(said) => said.iter().map(Self::of_said).collect(),
            Message::Model(parts) => Self::of_parts(parts).into_iter().collect(),
        }
    }

    /// Adds a turn. Templates of many models take no two turns of the user in a row.
    fn add(mut turns: Vec<Self>, turn: Self) -> Vec<Self> {
        match (turns.last_mut(), turn) {
            (Some(Self::User { content: before }), Self::User { content }) => {
                let before = before.to_mut();
                before.push_str("\n\n");
                before.push_str(&content);
            }
            (_, turn) => turns.push(turn),
        }
        turns
    }

    fn of_said(said: &'a Said) -> Self {
        match said {
            Said::Text(text) => Self::User { content: text.into() },
            Said::Result(result) => Self::Tool { tool_call_id: &result.id, content: result },
        }
    }

    /// None for who only thought: the API takes no turn that says nothing.
    fn of_parts(parts: &'a [Part]) -> Option<Self> {
        let (mut text, mut thought, mut tool_calls) = (String::new(), None, Vec::new());
        for part in parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Call(call) => tool_calls.push(Called::of(call)),
                Part::Thinking { text, signature } => {
                    thought = signature.as_deref().filter(|it| *it == RETURNED).map(|_| &**text);
                }
                // Nobody wants it back here.
                Part::Hidden { .. } => {}
            }
        }
        let content = Some(text).filter(|text| !text.is_empty());
        let says_something = content.is_some() || !tool_calls.is_empty();
        // DeepSeek takes no calls without the thought behind them, and wants no other thought back.
        let reasoning_content = thought.filter(|_| !tool_calls.is_empty());
        says_something.then_some(Self::Assistant { content, reasoning_content, tool_calls })
    }

    /// The same for OpenAI itself, which does not know them.
    fn without_thoughts(self) -> Self {
        match self {
            Self::Assistant { content, tool_calls, .. } => {
                Self::Assistant { content, reasoning_content: None, tool_calls }
            }
            turn @ (Self::System { .. } | Self::User { .. } | Self::Tool { .. }) => turn,
        }
    }
}

impl<'a> Called<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let arguments = match &call.input {
            Ok(input) => serde_json::to_string(input).expect("JSON is JSON"),
            Err(_) => "{}".to_owned(),
        };
        Self {
            id: &call.id,
            kind: "function",
            function: CalledFunction { name: &call.name, arguments },
        }
    }
}

/// The API has no place to say that something went wrong, so the text says it.
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

/// One reply while it comes.
#[derive(Default)]
struct Reading {
    text: String,
    thinking: String,
    /// Whether the thought came under the name by which it is sent back.
    is_returned: bool,
    calls: Vec<Begun>,
    usage: Usage,
    ending: Option<String>,
}

/// A call that has begun; its input grows.
struct Begun {
    index: u64,
    id: String,
    name: String,
    input: String,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
    /// As DeepSeek and vLLM call it.
    reasoning_content: Option<String>,
    /// As OpenRouter and Ollama call it. Some say both.
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
struct Counted {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Reader for Reading {
    fn take(
        &mut self,
        event: &Event,
        show: &mut dyn FnMut(Shown<'_>),
    ) -> Result<Progress, ModelError> {
        if event.data == "[DONE]" {
            return Ok(Progress::Over);
        }
        let chunk: Chunk = said_in(event)?;
        if let Some(counted) = chunk.usage {
            self.count(&counted);
        }
        // Only one was asked for.
        if let Some(choice) = chunk.choices.into_iter().next() {
            self.ending = choice.finish_reason.or(self.ending.take());
            self.grow(choice.delta, show);
        }
        Ok(Progress::More)
    }

    fn usage(&self) -> Usage {
        self.usage
    }

    fn finish(self: Box<Self>) -> Option<Reply> {
        // Not everybody says that there are calls.
        let has_calls = !self.calls.is_empty();
        let ending = match self.ending?.as_str() {
            "stop" | "tool_calls" | "function_call" if has_calls => Ending::Calls,
            "stop" | "tool_calls" | "function_call" => Ending::Done,
            "length" => Ending::TooLong,
            "content_filter" => Ending::Refused,
            other => Ending::Other(other.to_owned()),
        };
        let thinking = Some(self.thinking).filter(|text| !text.is_empty());
        let signature = self.is_returned.then(|| RETURNED.to_owned());
        let thinking = thinking.map(|text| Part::Thinking { text, signature });
        let text = Some(self.text).filter(|text| !text.is_empty()).map(Part::Text);
        let calls = self.calls.into_iter().map(|begun| Part::Call(begun.end()));
        let parts = thinking.into_iter().chain(text).chain(calls).collect();
        Some(Reply { parts, ending, usage: self.usage })
    }
}

impl Reading {
    fn count(&mut self, counted: &Counted) {
        let kept = counted.prompt_tokens_details.as_ref().and_then(|it| it.cached_tokens);
        let cache_read = kept.unwrap_or_default().min(counted.prompt_tokens);
        self.usage = Usage {
            input: counted.prompt_tokens - cache_read,
            cache_read,
            cache_write: 0,
            output: counted.completion_tokens,
        };
    }

    fn grow(&mut self, delta: Delta, show: &mut dyn FnMut(Shown<'_>)) {
        self.is_returned |= delta.reasoning_content.is_some();
        let thoughts = [delta.reasoning_content, delta.reasoning];
        if let Some(text) = thoughts.into_iter().flatten().find(|text| !text.is_empty()) {
            show(Shown::Thinking(&text));
            self.thinking.push_str(&text);
        }
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            show(Shown::Text(&text));
            self.text.push_str(&text);
        }
        for delta in delta.tool_calls.into_iter().flatten() {
            self.grow_call(delta, show);
        }
    }

    fn grow_call(&mut self, delta: CallDelta, show: &mut dyn FnMut(Shown<'_>)) {
        let FunctionDelta { name, arguments } = delta.function;
        let id = delta.id.filter(|id| !id.is_empty());
        let known = self.calls.iter_mut().rev().find(|it| it.index == delta.index);
        // Some give every call the same index, and send each as a whole under an id of its own.
        let known = known.filter(|it| id.as_ref().is_none_or(|id| *id == it.id));
        let begun = match known {
            Some(begun) => begun,
            None => {
                let name = name.clone().unwrap_or_default();
                show(Shown::Call(&name));
                let id = id.unwrap_or_else(|| format!("call-{}", uuid::Uuid::now_v7().simple()));
                let input = String::new();
                self.calls.push(Begun { index: delta.index, id, name: String::new(), input });
                let Some(begun) = self.calls.last_mut() else { return };
                begun
            }
        };
        begun.name.push_str(&name.unwrap_or_default());
        begun.input.push_str(&arguments.unwrap_or_default());
    }
}

impl Begun {
    fn end(self) -> ToolCall {
        let input = ToolCall::input(&self.input);
        ToolCall { id: self.id, name: self.name, input, signature: None }
    }
}
