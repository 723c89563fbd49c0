//! Asking a model by each API: good replies, and everything that goes wrong with real ones.

use std::time::Duration;

use serde_json::{Map, Value, json};
use troop_agent::builtin::{
    Api, ChatMessage, Endpoint, HttpTimeouts, Model, ModelError, ModelRequest, Reply,
    ReplyObserver, ReplyPart, RequestPolicy, Retries, Secret, StopReason, StreamUpdate, TokenUsage,
    ToolCall, ToolSpec, UserPart,
};
use troop_testkit::mock::{self, Answer, Break, MockModel, Way};

const APIS: [Api; 3] = [Api::Anthropic, Api::OpenAi, Api::Gemini];
/// Tests must not wait.
const QUICK: Retries = Retries {
    most: 3,
    first: Duration::from_millis(1),
    longest: Duration::from_millis(4),
    longest_asked: Duration::from_secs(2),
};

/// Records the parts that people see.
#[derive(Debug, Default)]
struct ReplyRecord {
    text: String,
    thinking: String,
    calls: Vec<String>,
    errors: Vec<ModelError>,
    waits: Vec<Duration>,
}

impl ReplyObserver for ReplyRecord {
    fn shown(&mut self, shown: StreamUpdate<'_>) {
        match shown {
            StreamUpdate::Text(text) => self.text.push_str(text),
            StreamUpdate::Thinking(text) => self.thinking.push_str(text),
            StreamUpdate::Call(name) => self.calls.push(name.to_owned()),
            StreamUpdate::Again => self.text.clear(),
        }
    }

    fn waits(&mut self, error: &ModelError, wait: Duration) {
        self.errors.push(error.clone());
        self.waits.push(wait);
    }

    fn counted(&mut self, _: TokenUsage) {}

    fn quiet(&mut self) {}
}

fn model_with(api: Api, mock: &MockModel, patience: HttpTimeouts) -> Model {
    let endpoint = Endpoint {
        api,
        base_url: mock.url(),
        model: "test-model".to_owned(),
        key: Some(Secret::new("sk-very-secret")),
        thinking: None,
    };
    Model::new(endpoint, RequestPolicy { retries: QUICK, timeouts: patience, seed: 7 }).unwrap()
}

fn model(api: Api, mock: &MockModel) -> Model {
    model_with(api, mock, HttpTimeouts::default())
}

async fn ask(model: &Model, seen: &mut ReplyRecord) -> Result<Reply, ModelError> {
    let messages = [ChatMessage::User(vec![UserPart::Text("hello".to_owned())])];
    let tools = [ToolSpec {
        name: "Read".to_owned(),
        description: "reads".to_owned(),
        input: json!({"type": "object"}).as_object().unwrap().clone(),
    }];
    let asked =
        ModelRequest { system: "be good", tools: &tools, messages: &messages, max_tokens: 100 };
    model.ask(&asked, seen).await
}

fn rich() -> mock::Reply {
    mock::Reply {
        said: vec![
            mock::MockPart::Thinking("let me see".to_owned()),
            mock::MockPart::Text("Grüße, 🦀 und\nZeilen \u{2028}".to_owned()),
            mock::MockPart::Call {
                name: "Read".to_owned(),
                input: r#"{"path": "a ü b"}"#.to_owned(),
            },
            mock::MockPart::Call { name: "List".to_owned(), input: "{}".to_owned() },
        ],
        tokens: (10, 90, 7),
        ..mock::Reply::default()
    }
}

#[tokio::test]
async fn a_reply_is_read_the_same_however_its_stream_is_cut() {
    for api in APIS {
        for pieces in [None, Some(1), Some(7), Some(1000)] {
            let way = Way { pieces, ..Way::default() };
            let mock = MockModel::with([Answer::Reply(rich()).by(way)]).await;
            let (model, mut seen) = (model(api, &mock), ReplyRecord::default());
            let reply = ask(&model, &mut seen).await.unwrap();
            assert_eq!(
                reply.text(),
                "Grüße, 🦀 und\nZeilen \u{2028}",
                "{api}, in pieces of {pieces:?}"
            );
            assert_eq!(seen.text, "Grüße, 🦀 und\nZeilen \u{2028}", "{api}");
            assert_eq!(
                (seen.thinking.as_str(), seen.calls),
                ("let me see", vec!["Read".to_owned(), "List".to_owned()])
            );
            let calls: Vec<_> = reply.calls().map(|call| call.input.clone()).collect();
            let path: Map<String, Value> = json!({"path": "a ü b"}).as_object().unwrap().clone();
            assert_eq!(calls, [Ok(path), Ok(Map::new())], "{api}");
            assert_eq!(
                reply.usage,
                TokenUsage { input: 10, cache_read: 90, cache_write: 0, output: 7 }
            );
            assert_eq!(reply.ending, StopReason::Calls);
            let ids: Vec<_> = reply.calls().map(|call| &call.id).collect();
            assert_ne!(ids[0], ids[1]);
        }
    }
}

#[tokio::test]
async fn each_api_gets_requests_at_its_own_path_with_its_own_headers() {
    for (api, path, key) in [
        (Api::Anthropic, "/v1/messages", ("x-api-key", "sk-very-secret")),
        (Api::OpenAi, "/chat/completions", ("authorization", "Bearer sk-very-secret")),
        (
            Api::Gemini,
            "/v1beta/models/test-model:streamGenerateContent?alt=sse",
            ("x-goog-api-key", "sk-very-secret"),
        ),
    ] {
        let mock = MockModel::with([Answer::text("hi")]).await;
        let reply = ask(&model(api, &mock), &mut ReplyRecord::default()).await.unwrap();
        assert_eq!(
            (reply.parts, reply.ending),
            (vec![ReplyPart::Text("hi".to_owned())], StopReason::Done)
        );
        let asked = mock.requests().remove(0);
        assert_eq!((asked.path.as_str(), asked.headers[key.0].as_str()), (path, key.1));
        assert_eq!(asked.system().trim(), "be good", "{api}");
        assert_eq!(asked.last().trim(), "hello", "{api}");
        assert_eq!(asked.tools(), ["Read"], "{api}");
    }
}

#[tokio::test]
async fn a_passing_error_is_retried_and_the_partial_reply_dropped() {
    for api in APIS {
        let overloaded = Answer::Status {
            status: 429,
            headers: vec![("retry-after".to_owned(), "0.02".to_owned())],
            body: "{}".to_owned(),
        };
        let cut = Way { broken: Some((250, Break::Cut)), ..Way::default() };
        let half = Answer::text(&"a long text ".repeat(50)).by(cut);
        let mock =
            MockModel::with([overloaded, half, Answer::Close, Answer::text("at last")]).await;
        let (model, mut seen) = (model(api, &mock), ReplyRecord::default());
        let reply = ask(&model, &mut seen).await.unwrap();
        assert_eq!((reply.text().as_str(), seen.text.as_str()), ("at last", "at last"), "{api}");
        assert!(
            matches!(seen.errors[0], ModelError::Busy { status: 429, .. }),
            "{:?}",
            seen.errors
        );
        assert!(seen.waits[0] >= Duration::from_millis(20), "it said when: {:?}", seen.waits);
        assert!(matches!(seen.errors[1], ModelError::Lost { .. }), "{:?}", seen.errors);
        assert!(matches!(seen.errors[2], ModelError::Lost { .. }), "{:?}", seen.errors);
    }
}

#[tokio::test]
async fn retries_come_to_an_end() {
    for status in [500, 503, 529] {
        let mock = MockModel::start(move |_| Answer::status(status, "not now")).await;
        let error =
            ask(&model(Api::Anthropic, &mock), &mut ReplyRecord::default()).await.unwrap_err();
        assert!(error.to_string().contains("not now"), "{error}");
        assert_eq!(mock.requests().len(), 4, "once, and three times again");
    }
}

#[tokio::test]
async fn a_lasting_error_is_not_retried() {
    for (status, message) in [(400, "bad"), (401, "no key"), (403, "not you"), (404, "no model")] {
        let mock = MockModel::start(move |_| Answer::status(status, message)).await;
        let error = ask(&model(Api::OpenAi, &mock), &mut ReplyRecord::default()).await.unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(!error.is_passing(), "{error:?}");
        assert_eq!(mock.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_reply_without_its_end_is_no_reply() {
    for api in APIS {
        for broken in [Break::Cut, Break::End] {
            let whole = MockModel::with([Answer::Reply(rich())]).await;
            ask(&model(api, &whole), &mut ReplyRecord::default()).await.unwrap();
            for n_bytes in [0, 10, 100, 300] {
                let way = Way { broken: Some((n_bytes, broken)), ..Way::default() };
                let mock = MockModel::start(move |_| Answer::Reply(rich()).by(way)).await;
                let error = ask(&model(api, &mock), &mut ReplyRecord::default()).await.unwrap_err();
                assert!(error.is_passing(), "{api}, {broken:?} after {n_bytes}: {error}");
                assert_eq!(mock.requests().len(), 4);
            }
        }
    }
}

#[tokio::test]
async fn garbage_is_rejected_as_a_reply() {
    for garbage in
        ["<html>hello</html>", "data: {\"nothing\": 1", "data: \u{0}\n\n", "", "data: [1,2\n\n"]
    {
        for api in APIS {
            let mock = MockModel::start(|_| Answer::Garbage(garbage.as_bytes().to_vec())).await;
            let error = ask(&model(api, &mock), &mut ReplyRecord::default()).await.unwrap_err();
            assert!(matches!(error, ModelError::Senseless { .. }), "{api}, {garbage}: {error:?}");
        }
    }
    let mock =
        MockModel::start(|_| Answer::Garbage(vec![b'd', b'a', 0xff, 0xfe, b'\n', b'\n'])).await;
    let error = ask(&model(Api::Anthropic, &mock), &mut ReplyRecord::default()).await.unwrap_err();
    assert!(matches!(error, ModelError::Senseless { .. }), "{error:?}");
}

#[tokio::test]
async fn a_response_without_events_is_reported_and_not_retried() {
    let page = "<!doctype html>\n<html><title>Log in</title> sk-very-secret </html>";
    for (kind, body, told) in [
        (
            "text/html; charset=utf-8",
            page,
            "<!doctype html> <html><title>Log in</title> [key] </html>",
        ),
        ("application/json", r#"{"choices": []}"#, r#"{"choices": []}"#),
        ("text/plain", "\u{1F980}", "\u{1F980}"),
    ] {
        for api in APIS {
            let headers = vec![("content-type".to_owned(), kind.to_owned())];
            let answer = Answer::Status { status: 200, headers, body: body.to_owned() };
            let mock = MockModel::start(move |_| answer.clone()).await;
            let error = ask(&model(api, &mock), &mut ReplyRecord::default()).await.unwrap_err();
            let (kind, beginning) = (kind.to_owned(), told.to_owned());
            assert_eq!(error, ModelError::Foreign { kind, beginning }, "{api}");
            assert_eq!(mock.requests().len(), 1, "{api}: it would not pass");
        }
    }
    let body = json!({"error": {"message": "overloaded", "type": "overloaded_error"}}).to_string();
    let busy = Answer::Status { status: 200, headers: Vec::new(), body };
    let mock = MockModel::with([busy, Answer::text("hi")]).await;
    let reply = ask(&model(Api::Anthropic, &mock), &mut ReplyRecord::default()).await.unwrap();
    assert_eq!(reply.text(), "hi", "the error in the body counts");
}

#[tokio::test]
async fn a_silent_api_times_out() {
    let short = Duration::from_millis(40);
    let patience = HttpTimeouts { answer: short, piece: short, ..HttpTimeouts::default() };
    let stuck = Way { broken: Some((200, Break::Hang)), ..Way::default() };
    let hangs = Answer::text(&"word ".repeat(100)).by(stuck);
    let mock = MockModel::with([Answer::Hang, hangs, Answer::text("back")]).await;
    let mut seen = ReplyRecord::default();
    let reply = ask(&model_with(Api::Anthropic, &mock, patience), &mut seen).await.unwrap();
    assert_eq!(reply.text(), "back");
    assert!(
        seen.errors.iter().all(|error| matches!(error, ModelError::Lost { .. })),
        "{:?}",
        seen.errors
    );
}

#[tokio::test]
async fn a_slow_reply_is_read_to_its_end() {
    let patience = HttpTimeouts { piece: Duration::from_secs(5), ..HttpTimeouts::default() };
    let way = Way { pieces: Some(100), pause: Some(Duration::from_millis(2)), ..Way::default() };
    let mock = MockModel::with([Answer::text("word by word").by(way)]).await;
    let reply =
        ask(&model_with(Api::Gemini, &mock, patience), &mut ReplyRecord::default()).await.unwrap();
    assert_eq!(reply.text(), "word by word");
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_a_closed_one_is_replaced() {
    let mut n_asked = 0;
    let mock = MockModel::start(move |_| {
        n_asked += 1;
        if n_asked == 3 { Answer::Close } else { Answer::text("hi") }
    })
    .await;
    let model = model(Api::Anthropic, &mock);
    for nth in 1..=4 {
        ask(&model, &mut ReplyRecord::default()).await.unwrap();
        if nth < 3 {
            // The connection is free once the end of the response was read.
            troop_testkit::wait_for("a free connection", async || {
                model.is_connected().then_some(())
            })
            .await;
        }
    }
    let connections: Vec<_> = mock.requests().iter().map(|it| it.connection).collect();
    assert_eq!(connections[..4], [1, 1, 1, 2], "{connections:?}");
}

#[tokio::test]
async fn a_key_is_never_in_an_error() {
    let mock = MockModel::start(|seen| {
        let key = seen.headers.get("x-api-key").cloned().unwrap_or_default();
        Answer::status(401, &format!("wrong key {key}"))
    })
    .await;
    let model = model(Api::Anthropic, &mock);
    let error = ask(&model, &mut ReplyRecord::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the model's API rejects the key (401): wrong key [key]");
    assert!(!format!("{error:?} {model:?}").contains("very-secret"));
}

#[tokio::test]
async fn an_unreachable_address_is_named() {
    let mock = MockModel::with([]).await;
    let model = model(Api::Anthropic, &mock);
    drop(mock);
    let error = troop_testkit::wait_for("the port is closed", async || {
        ask(&model, &mut ReplyRecord::default())
            .await
            .err()
            .filter(|it| it.to_string().contains("cannot be reached"))
    })
    .await;
    assert!(error.is_passing(), "{error}");
}

#[tokio::test]
async fn invalid_json_input_is_kept_as_it_came() {
    for api in [Api::Anthropic, Api::OpenAi, Api::Gemini] {
        let said =
            vec![mock::MockPart::Call { name: "Read".to_owned(), input: "{\"path\": ".to_owned() }];
        let reply = mock::Reply { said, ..mock::Reply::default() };
        let mock = MockModel::with([Answer::Reply(reply)]).await;
        let reply = ask(&model(api, &mock), &mut ReplyRecord::default()).await.unwrap();
        let calls: Vec<&ToolCall> = reply.calls().collect();
        assert!(calls[0].input.as_ref().unwrap_err().contains("path"), "{api}: {calls:?}");
    }
}

#[tokio::test]
async fn retry_after_is_understood_in_every_form() {
    let busy = |headers: &[(&str, &str)], error: Value| Answer::Status {
        status: 429,
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        body: json!({ "error": error }).to_string(),
    };
    let date = [
        ("date", "Mon, 16 Nov 2026 13:00:00 GMT"),
        ("retry-after", "Mon, 16 Nov 2026 13:00:01 GMT"),
    ];
    let delay =
        json!({"message": "slow down", "details": [{"@type": "x"}, {"retryDelay": "1.5s"}]});
    let table = [
        (busy(&date, json!({"message": "slow down"})), Duration::from_secs(1)),
        (busy(&[], delay), Duration::from_millis(1_500)),
        (busy(&[("retry-after", "1")], json!({"message": "slow down"})), Duration::from_secs(1)),
    ];
    tokio::time::pause();
    for (answer, wanted) in table {
        let mock = MockModel::with([answer, Answer::text("fine")]).await;
        let mut seen = ReplyRecord::default();
        ask(&model(Api::Gemini, &mock), &mut seen).await.unwrap();
        assert!(seen.waits[0] >= wanted && seen.waits[0] < wanted + QUICK.first * 2, "{seen:?}");
    }
}

#[tokio::test]
async fn the_last_error_says_how_often_the_api_was_asked() {
    let mock = MockModel::start(|_| Answer::status(529, "overloaded")).await;
    let error = ask(&model(Api::Anthropic, &mock), &mut ReplyRecord::default()).await.unwrap_err();
    assert!(error.to_string().contains("overloaded (it was asked 4 times)"), "{error}");
}
