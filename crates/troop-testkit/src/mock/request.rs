//! Requests to the mock.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::tcp::OwnedReadHalf;

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions.
    OpenAi,
    /// Gemini.
    Gemini,
}

/// A request.
#[derive(Clone, Debug)]
pub struct MockRequest {
    /// The path.
    pub path: String,
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
    /// The number of its connection, from 1.
    pub connection: usize,
}

impl MockRequest {
    /// The API that the path belongs to.
    #[must_use]
    pub fn api(&self) -> Option<Api> {
        let path = self.path.split_once('?').map_or(self.path.as_str(), |(path, _)| path);
        if path.ends_with("/v1/messages") {
            Some(Api::Anthropic)
        } else if path.ends_with("/chat/completions") {
            Some(Api::OpenAi)
        } else if path.contains(":streamGenerateContent") {
            Some(Api::Gemini)
        } else {
            None
        }
    }

    /// The last message as text, for any API: texts and tool results.
    #[must_use]
    pub fn last(&self) -> String {
        let messages = self.messages();
        match self.api() {
            // This API sends each result as a separate message.
            Some(Api::OpenAi) => {
                let said = messages
                    .iter()
                    .rev()
                    .take_while(|it| it["role"] == "user" || it["role"] == "tool");
                let mut said: Vec<_> = said.map(text_of).collect();
                said.reverse();
                said.join("\n")
            }
            _ => messages.last().map(text_of).unwrap_or_default(),
        }
    }

    /// All messages.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        let messages = self.body.get("messages").or_else(|| self.body.get("contents"));
        messages.and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// The system prompt.
    #[must_use]
    pub fn system(&self) -> String {
        match self.api() {
            Some(Api::Anthropic) => text_of(&self.body["system"]),
            Some(Api::Gemini) => text_of(&self.body["systemInstruction"]),
            Some(Api::OpenAi) | None => text_of(&self.body["messages"][0]),
        }
    }

    /// The names of the tools that were offered.
    #[must_use]
    pub fn tools(&self) -> Vec<String> {
        let tools = match self.api() {
            Some(Api::Gemini) => &self.body["tools"][0]["functionDeclarations"],
            _ => &self.body["tools"],
        };
        let name = |tool: &Value| {
            let name = tool.get("name").or_else(|| tool["function"].get("name"));
            name.and_then(Value::as_str).map(str::to_owned)
        };
        tools.as_array().into_iter().flatten().filter_map(name).collect()
    }
}

/// All strings that are not empty, one per line.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let telling =
                ["content", "parts", "text", "functionResponse", "response", "output", "error"];
            let texts = telling.iter().filter_map(|name| fields.get(*name)).map(text_of);
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Reads the next request; `None` at the end.
pub(super) async fn read(
    reader: &mut BufReader<OwnedReadHalf>,
    connection: usize,
) -> Option<MockRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).await.ok().filter(|n_read| *n_read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).await.ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(MockRequest { path, headers, body, connection })
}
