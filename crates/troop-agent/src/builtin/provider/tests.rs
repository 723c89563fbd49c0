//! Requests and replies of each API, without I/O.

use serde_json::{Value, json};

use super::{Api, RequestOptions, StreamProgress};
use crate::builtin::{
    chat::{
        ChatMessage, ModelRequest, Reply, ReplyPart, StopReason, StreamUpdate, TokenUsage,
        ToolCall, ToolResult, ToolSpec, UserPart,
    },
    model::ModelError,
    secret::Secret,
    sse::SseEvent,
};

fn object(value: &Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn conversation() -> Vec<ChatMessage> {
    let call = |id: &str, input: Result<_, String>| {
        let signature = Some("sig-2".to_owned());
        ReplyPart::Call(ToolCall { id: id.to_owned(), name: "Read".to_owned(), input, signature })
    };
    let result = |id: &str, content: &str, is_error| {
        let (id, name, content) = (id.to_owned(), "Read".to_owned(), content.to_owned());
        UserPart::Result(ToolResult { id, name, content, is_error })
    };
    vec![
        ChatMessage::User(vec![UserPart::Text("look".to_owned()), UserPart::Text(" ".to_owned())]),
        ChatMessage::Model(vec![
            ReplyPart::Thinking { text: "hm".to_owned(), signature: Some("sig-1".to_owned()) },
            ReplyPart::Thinking { text: "of another".to_owned(), signature: None },
            ReplyPart::Hidden { data: "xyz".to_owned() },
            ReplyPart::Text("I look".to_owned()),
            call("a", Ok(object(&json!({"path": "x"})))),
            call("b", Err("{\"path\":".to_owned())),
        ]),
        ChatMessage::User(vec![
            result("a", "text", false),
            result("b", "that is no JSON", true),
            UserPart::Text("go on".to_owned()),
        ]),
    ]
}

fn body(api: Api, thinking: Option<u32>) -> Value {
    let tools = [ToolSpec {
        name: "Read".to_owned(),
        description: "reads".to_owned(),
        input: object(&json!({"type": "object"})),
    }];
    let messages = conversation();
    let asked =
        ModelRequest { system: "be good", tools: &tools, messages: &messages, max_tokens: 100 };
    let options = RequestOptions { model: "m", thinking, is_original: false };
    serde_json::from_slice(&api.provider().body(&options, &asked)).unwrap()
}

#[test]
fn anthropic_requests_have_its_format_and_mark_what_to_cache() {
    let keep = json!({"type": "ephemeral"});
    assert_eq!(
        body(Api::Anthropic, Some(50)),
        json!({
            "model": "m", "max_tokens": 150, "stream": true,
            "thinking": {"type": "enabled", "budget_tokens": 50},
            "system": [{"type": "text", "text": "be good", "cache_control": keep}],
            "tools": [{"name": "Read", "description": "reads", "input_schema": {"type": "object"}, "cache_control": keep}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": keep}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig-1"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "text", "text": "I look"},
                    {"type": "tool_use", "id": "a", "name": "Read", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b", "name": "Read", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "text", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "b", "content": "that is no JSON", "is_error": true},
                    {"type": "text", "text": "go on", "cache_control": keep},
                ]},
            ],
        })
    );
}

#[test]
fn openai_requests_have_its_format() {
    assert_eq!(
        body(Api::OpenAi, None),
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
            "tools": [{"type": "function", "function": {"name": "Read", "description": "reads", "parameters": {"type": "object"}}}],
            "messages": [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": "look\n\n "},
                {"role": "assistant", "content": "I look", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "Read", "arguments": "{\"path\":\"x\"}"}},
                    {"id": "b", "type": "function", "function": {"name": "Read", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "text"},
                {"role": "tool", "tool_call_id": "b", "content": "error: that is no JSON"},
                {"role": "user", "content": "go on"},
            ],
        })
    );
}

#[test]
fn deepseek_gets_its_reasoning_back_with_its_calls() {
    let turns = |field: &str, is_original| {
        let delta = json!({field: "hm", "tool_calls": [{"id": "a", "function": {"name": "Read"}}]});
        let events = [json!({"choices": [{"delta": delta, "finish_reason": "tool_calls"}]})];
        let parts = read(Api::OpenAi, &events).unwrap().0.unwrap().parts;
        let messages = [ChatMessage::Model(parts)];
        let asked = ModelRequest { system: "", tools: &[], messages: &messages, max_tokens: 1 };
        let options = RequestOptions { model: "m", thinking: None, is_original };
        let body = Api::OpenAi.provider().body(&options, &asked);
        serde_json::from_slice::<Value>(&body).unwrap()["messages"].clone()
    };
    assert_eq!(turns("reasoning_content", false)[0]["reasoning_content"], "hm");
    assert_eq!(turns("reasoning_content", true)[0].get("reasoning_content"), None, "OpenAI's own");
    assert_eq!(turns("reasoning", false)[0].get("reasoning_content"), None, "another name");
}

#[test]
fn newer_openai_models_get_max_completion_tokens_on_every_server() {
    for (model, is_original, expected) in [
        ("qwen3", false, "max_tokens"),
        ("gpt-4o", false, "max_tokens"),
        ("gpt-4o", true, "max_completion_tokens"),
        ("gpt-5", false, "max_completion_tokens"),
        ("openai/gpt-5-mini", false, "max_completion_tokens"),
        ("o1", false, "max_completion_tokens"),
        ("o3-mini", false, "max_completion_tokens"),
        ("o4-mini", false, "max_completion_tokens"),
        ("o10-of-mine", false, "max_tokens"),
    ] {
        let asked = ModelRequest { system: "", tools: &[], messages: &[], max_tokens: 7 };
        let options = RequestOptions { model, thinking: None, is_original };
        let body = Api::OpenAi.provider().body(&options, &asked);
        let body: Value = serde_json::from_slice(&body).unwrap();
        let names: Vec<_> = ["max_tokens", "max_completion_tokens"].into_iter().collect();
        let said: Vec<_> = names.into_iter().filter(|name| body[name] == 7).collect();
        assert_eq!(said, [expected], "{model}");
    }
}

#[test]
fn gemini_requests_have_its_format() {
    assert_eq!(
        body(Api::Gemini, None),
        json!({
            "systemInstruction": {"parts": [{"text": "be good"}]},
            "tools": [{"functionDeclarations": [{"name": "Read", "description": "reads", "parametersJsonSchema": {"type": "object"}}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "look"}, {"text": " "}]},
                {"role": "model", "parts": [
                    {"text": "I look"},
                    {"functionCall": {"name": "Read", "args": {"path": "x"}}, "thoughtSignature": "sig-2"},
                    {"functionCall": {"name": "Read"}, "thoughtSignature": "sig-2"},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "Read", "response": {"output": "text"}}},
                    {"functionResponse": {"name": "Read", "response": {"error": "that is no JSON"}}},
                    {"text": "go on"},
                ]},
            ],
            "generationConfig": {"maxOutputTokens": 100},
        })
    );
}

/// The reply of a stream, and the part of it that people see.
fn read(api: Api, events: &[Value]) -> Result<(Option<Reply>, String), ModelError> {
    let (mut reader, mut seen) = (api.provider().reader(), String::new());
    for data in events {
        let data = data.as_str().map_or_else(|| data.to_string(), str::to_owned);
        let name = if data.contains("\"type\":\"error\"") { "error" } else { "" }.to_owned();
        let progress = reader.take(&SseEvent { name, data }, &mut |shown| match shown {
            StreamUpdate::Text(text) => seen.push_str(text),
            StreamUpdate::Thinking(text) => seen.push_str(&format!("({text})")),
            StreamUpdate::Call(name) => seen.push_str(&format!("<{name}>")),
            StreamUpdate::Again => seen.clear(),
        })?;
        if progress == StreamProgress::Over {
            break;
        }
    }
    Ok((reader.finish(), seen))
}

#[test]
fn a_reply_of_anthropic_is_read_block_by_block() {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 3, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "so"})),
        delta(0, json!({"type": "signature_delta", "signature": "si"})),
        delta(0, json!({"type": "signature_delta", "signature": "g"})),
        start(1, json!({"type": "redacted_thinking", "data": "xyz"})),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "he"})),
        delta(2, json!({"type": "text_delta", "text": "y"})),
        start(3, json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"pa"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "th\":\"x\"}"})),
        start(4, json!({"type": "tool_use", "id": "u", "name": "List", "input": {}})),
        start(5, json!({"type": "something_new"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let (reply, seen) = read(Api::Anthropic, &events).unwrap();
    let call = |id: &str, name: &str, input: Value| {
        let (id, name, input) = (id.to_owned(), name.to_owned(), Ok(object(&input)));
        ReplyPart::Call(ToolCall { id, name, input, signature: None })
    };
    let expected = Reply {
        parts: vec![
            ReplyPart::Thinking { text: "so".to_owned(), signature: Some("sig".to_owned()) },
            ReplyPart::Hidden { data: "xyz".to_owned() },
            ReplyPart::Text("hey".to_owned()),
            call("t", "Read", json!({"path": "x"})),
            call("u", "List", json!({})),
        ],
        ending: StopReason::Calls,
        usage: TokenUsage { input: 5, cache_read: 70, cache_write: 3, output: 9 },
    };
    assert_eq!((reply, seen.as_str()), (Some(expected), "(so)hey<Read><List>"));
    let (cut, _) = read(Api::Anthropic, &events[..events.len() - 1]).unwrap();
    assert_eq!(cut, None, "a stream without its end gives no reply");
}

#[test]
fn a_reply_of_openai_is_read_delta_by_delta() {
    let choice =
        |delta: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let call = |index: u64, more: Value| {
        choice(json!({"tool_calls": [{"index": index, "id": more["id"], "function": more}]}))
    };
    let events = [
        choice(json!({"role": "assistant", "content": ""})),
        choice(json!({"reasoning_content": "so"})),
        choice(json!({"content": "he"})),
        choice(json!({"content": "y"})),
        call(0, json!({"id": "a", "name": "Read", "arguments": ""})),
        call(0, json!({"arguments": "{\"path\":"})),
        call(0, json!({"arguments": "\"x\"}"})),
        call(1, json!({"id": "b", "name": "List", "arguments": "[1]"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 20}}}),
        json!("[DONE]"),
    ];
    let (reply, seen) = read(Api::OpenAi, &events).unwrap();
    let reply = reply.unwrap();
    assert_eq!(seen, "(so)hey<Read><List>");
    assert_eq!(reply.text(), "hey");
    let calls: Vec<_> = reply.calls().map(|call| (call.id.as_str(), call.input.clone())).collect();
    let good = Ok(object(&json!({"path": "x"})));
    assert_eq!(
        calls,
        [("a", good), ("b", Err("[1]".to_owned()))],
        "an input that is not an object is kept as it came"
    );
    assert_eq!(reply.usage, TokenUsage { input: 10, cache_read: 20, cache_write: 0, output: 4 });
    assert_eq!(reply.ending, StopReason::Calls);
    assert_eq!(
        read(Api::OpenAi, &events[..7]).unwrap().0,
        None,
        "a stream without its end gives no reply"
    );
}

#[test]
fn reasoning_that_comes_under_two_names_is_read_once() {
    for delta in [
        json!({"reasoning_content": "so"}),
        json!({"reasoning": "so"}),
        json!({"reasoning": "so", "reasoning_content": "so"}),
        json!({"reasoning": "so", "reasoning_content": null}),
        json!({"reasoning": "so", "reasoning_content": ""}),
    ] {
        let events = [
            json!({"choices": [{"delta": delta}]}),
            json!({"choices": [{"delta": {"content": "hey"}, "finish_reason": "stop"}]}),
        ];
        let (reply, seen) = read(Api::OpenAi, &events).unwrap();
        assert_eq!((reply.unwrap().text().as_str(), seen.as_str()), ("hey", "(so)hey"), "{delta}");
    }
}

#[test]
fn a_reply_of_gemini_is_read_part_by_part() {
    let parts =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let events = [
        parts(json!([{"text": "s", "thought": true}])),
        parts(json!([{"text": "o", "thought": true}])),
        parts(json!([{"text": "he"}])),
        parts(
            json!([{"text": "y"}, {"functionCall": {"name": "Read", "args": {"path": "x"}}, "thoughtSignature": "sig"}]),
        ),
        json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
               "usageMetadata": {"promptTokenCount": 30, "cachedContentTokenCount": 20, "candidatesTokenCount": 3, "thoughtsTokenCount": 1}}),
    ];
    let (reply, seen) = read(Api::Gemini, &events).unwrap();
    let reply = reply.unwrap();
    assert_eq!(seen, "(s)(o)hey<Read>");
    assert_eq!(reply.parts[0], ReplyPart::Thinking { text: "so".to_owned(), signature: None });
    assert_eq!(reply.text(), "hey");
    let call = reply.calls().next().unwrap();
    assert_eq!((call.signature.as_deref(), call.id.is_empty()), (Some("sig"), false));
    assert_eq!(reply.usage, TokenUsage { input: 10, cache_read: 20, cache_write: 0, output: 4 });
    assert_eq!(reply.ending, StopReason::Calls);
    assert_eq!(
        read(Api::Gemini, &events[..4]).unwrap().0,
        None,
        "a stream without its end gives no reply"
    );
}

#[test]
fn an_error_in_a_stream_keeps_its_kind() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let error = read(Api::Anthropic, &[overloaded]).unwrap_err();
    assert!(matches!(error, ModelError::Busy { status: 529, .. }), "{error:?}");
    let limited = json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}});
    let error = read(Api::OpenAi, &[limited]).unwrap_err();
    assert!(matches!(error, ModelError::Busy { status: 429, .. }), "{error:?}");
    let wrong = json!({"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}});
    let error = read(Api::Gemini, &[wrong]).unwrap_err();
    assert!(matches!(error, ModelError::Refused { status: 400, .. }), "{error:?}");
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini] {
        let error = read(api, &[json!("<html>")]).unwrap_err();
        assert!(matches!(error, ModelError::Senseless { .. }), "{api}: {error:?}");
    }
}

#[test]
fn http_errors_are_classified_by_what_helps() {
    let kind = |status, body: &str| match super::of_answer(status, None, body.as_bytes()) {
        ModelError::Key { .. } => "key",
        ModelError::Refused { .. } => "refused",
        ModelError::TooLong { .. } => "too long",
        ModelError::Busy { .. } => "busy",
        ModelError::BadUrl { .. }
        | ModelError::Foreign { .. }
        | ModelError::Lost { .. }
        | ModelError::Senseless { .. } => "else",
    };
    let too_long = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000"}}"#;
    let too_long_too = r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#;
    let broke =
        r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#;
    for (status, body, expected) in [
        (401, "{}", "key"),
        (403, "<html>", "key"),
        (400, "{}", "refused"),
        (404, "{}", "refused"),
        (400, too_long, "too long"),
        (400, too_long_too, "too long"),
        (413, "{}", "too long"),
        (429, "{}", "busy"),
        (429, broke, "refused"),
        (500, "", "busy"),
        (529, "[{\"error\":{\"message\":\"x\"}}]", "busy"),
    ] {
        assert_eq!(kind(status, body), expected, "{status} {body}");
    }
    let listed = super::of_answer(503, None, br#"[{"error":{"message":"in a list"}}]"#);
    assert!(listed.to_string().contains("in a list"), "{listed}");
}

#[test]
fn each_api_gets_the_key_in_its_own_header() {
    let key = Secret::new(" sk-secret\n");
    assert_eq!(format!("{key:?}"), "Secret(…)");
    assert_eq!(key.hidden_in("bad key sk-secret!"), "bad key [key]!");
    let said = |api: Api| api.provider().headers(Some(&key)).into_iter().last().unwrap();
    assert_eq!(said(Api::Anthropic), ("x-api-key", "sk-secret".to_owned()));
    assert_eq!(said(Api::OpenAi), ("authorization", "Bearer sk-secret".to_owned()));
    assert_eq!(said(Api::Gemini), ("x-goog-api-key", "sk-secret".to_owned()));
}

#[test]
fn empty_turns_are_sent_to_no_api() {
    let thought = ReplyPart::Thinking { text: "hm".to_owned(), signature: None };
    let said = |text: &str| ChatMessage::User(vec![UserPart::Text(text.to_owned())]);
    let messages = [said("look"), ChatMessage::Model(vec![thought]), said("go on")];
    let asked = ModelRequest { system: "", tools: &[], messages: &messages, max_tokens: 100 };
    let options = RequestOptions { model: "m", thinking: None, is_original: false };
    for (api, key) in
        [(Api::Anthropic, "messages"), (Api::OpenAi, "messages"), (Api::Gemini, "contents")]
    {
        let body: Value = serde_json::from_slice(&api.provider().body(&options, &asked)).unwrap();
        let turns = body[key].as_array().unwrap();
        let of_model = turns.iter().filter(|it| it["role"] != "user");
        assert_eq!(of_model.count(), 0, "{api}: {body:#}");
    }
}
