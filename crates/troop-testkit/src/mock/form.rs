//! A reply in the form of each API.

use serde_json::{Value, json};

use super::{Api, MockPart, Reply};

/// The stream of events of a reply.
pub(super) fn events(api: Api, reply: &Reply) -> String {
    match api {
        Api::Anthropic => {
            let named = |event: Value| {
                let name = event["type"].as_str().unwrap_or_default().to_owned();
                format!("event: {name}\ndata: {event}\n\n")
            };
            anthropic(reply).into_iter().map(named).collect()
        }
        Api::OpenAi => openai(reply).iter().map(data).collect::<String>() + "data: [DONE]\n\n",
        Api::Gemini => gemini(reply).iter().map(data).collect(),
    }
}

fn data(event: &Value) -> String {
    format!("data: {event}\r\n\r\n")
}

/// A text in the pieces of a model's stream: word by word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

fn ending<'a>(reply: &'a Reply, calls: &'a str, done: &'a str) -> &'a str {
    let has_calls = reply.said.iter().any(|said| matches!(said, MockPart::Call { .. }));
    reply.ending.as_deref().unwrap_or(if has_calls { calls } else { done })
}

fn id() -> String {
    format!("call_{}", uuid::Uuid::now_v7().simple())
}

fn anthropic(reply: &Reply) -> Vec<Value> {
    let (input, cache_read, output) = reply.tokens;
    let usage = json!({"input_tokens": input, "cache_read_input_tokens": cache_read,
                       "cache_creation_input_tokens": 0, "output_tokens": 1});
    // Clients treat messages with the same id as parts of one message.
    let id = format!("msg_{}", uuid::Uuid::now_v7().simple());
    let begun =
        json!({"id": id, "type": "message", "role": "assistant", "content": [], "usage": usage});
    let mut events =
        vec![json!({"type": "message_start", "message": begun}), json!({"type": "ping"})];
    for (index, said) in reply.said.iter().enumerate() {
        let (block, deltas) = anthropic_block(said);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = ending(reply, "tool_use", "end_turn");
    let usage = json!({"output_tokens": output});
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The start of a block, and its deltas.
fn anthropic_block(said: &MockPart) -> (Value, Vec<Value>) {
    match said {
        MockPart::Text(text) => {
            let delta = |text| json!({"type": "text_delta", "text": text});
            (json!({"type": "text", "text": ""}), words(text).map(delta).collect())
        }
        MockPart::Thinking(text) => {
            let delta = |text| json!({"type": "thinking_delta", "thinking": text});
            let mut deltas: Vec<_> = words(text).map(delta).collect();
            deltas.push(json!({"type": "signature_delta", "signature": "signed"}));
            (json!({"type": "thinking", "thinking": ""}), deltas)
        }
        MockPart::Call { name, input } => {
            let delta = |text| json!({"type": "input_json_delta", "partial_json": text});
            let block = json!({"type": "tool_use", "id": id(), "name": name, "input": {}});
            (block, words(input).map(delta).collect())
        }
    }
}

fn openai(reply: &Reply) -> Vec<Value> {
    let choice =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut events = vec![choice(json!({"role": "assistant", "content": ""}))];
    let mut n_calls = 0;
    for said in &reply.said {
        match said {
            MockPart::Text(text) => {
                events.extend(words(text).map(|text| choice(json!({"content": text}))));
            }
            MockPart::Thinking(text) => {
                events.extend(words(text).map(|text| choice(json!({"reasoning_content": text}))));
            }
            MockPart::Call { name, input } => {
                let call = |call: Value| choice(json!({"tool_calls": [call]}));
                let function = json!({"name": name, "arguments": ""});
                let begin =
                    json!({"index": n_calls, "id": id(), "type": "function", "function": function});
                events.push(call(begin));
                let grow = |text| call(json!({"index": n_calls, "function": {"arguments": text}}));
                events.extend(words(input).map(grow));
                n_calls += 1;
            }
        }
    }
    let reason = ending(reply, "tool_calls", "stop");
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    let (input, cache_read, output) = reply.tokens;
    let details = json!({"cached_tokens": cache_read});
    let usage = json!({"prompt_tokens": input + cache_read, "completion_tokens": output,
                       "prompt_tokens_details": details});
    events.push(json!({"choices": [], "usage": usage}));
    events
}

fn gemini(reply: &Reply) -> Vec<Value> {
    let part =
        |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut events = Vec::new();
    for said in &reply.said {
        match said {
            MockPart::Text(text) => {
                events.extend(words(text).map(|text| part(json!({"text": text}))));
            }
            MockPart::Thinking(text) => {
                events.extend(words(text).map(|text| part(json!({"text": text, "thought": true}))));
            }
            MockPart::Call { name, input } => {
                // This API has JSON inputs; anything else is sent as a string.
                let args = serde_json::from_str(input).unwrap_or_else(|_| json!(input));
                let call = json!({"name": name, "args": args});
                events.push(part(json!({"functionCall": call, "thoughtSignature": "signed"})));
            }
        }
    }
    let (input, cache_read, output) = reply.tokens;
    let usage = json!({"promptTokenCount": input + cache_read, "cachedContentTokenCount": cache_read,
                       "candidatesTokenCount": output});
    let reason = ending(reply, "STOP", "STOP");
    let last =
        json!({"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason});
    events.push(json!({"candidates": [last], "usageMetadata": usage}));
    events
}
