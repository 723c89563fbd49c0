//! A server that runs elsewhere, reached by streamable HTTP.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::body::Bytes;
use serde_json::{Value, json};
use troop_model::lock;

use super::{McpFault, VERSION};
use crate::builtin::{
    http::{Http, HttpResponse, HttpTarget, HttpTimeouts},
    sse::SseStream,
};

const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// The header of a session, for servers that have them.
const SESSION: &str = "mcp-session-id";

#[derive(Debug)]
pub(super) struct RemoteServer {
    http: Http,
    headers: Vec<(String, String)>,
    session: Mutex<Option<String>>,
    next_id: AtomicU64,
}

impl RemoteServer {
    pub(super) fn new(url: &str, headers: &BTreeMap<String, String>) -> Result<Self, String> {
        let target = HttpTarget::parse(url).map_err(|error| error.to_string())?;
        let http = Http::new(target, HttpTimeouts::default());
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Self { http, headers, session: Mutex::default(), next_id: AtomicU64::new(1) })
    }

    pub(super) async fn request(&self, method: &str, params: &Value) -> Result<Value, McpFault> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut answer = self.post(&asked).await?;
        let message = read(&mut answer, id).await.map_err(McpFault::Failed)?;
        answer.put_back();
        match message.get("error") {
            Some(error) => {
                let text = error.get("message").and_then(Value::as_str).unwrap_or("it refuses");
                Err(McpFault::Failed(text.to_owned()))
            }
            None => Ok(message.get("result").cloned().unwrap_or_default()),
        }
    }

    pub(super) async fn notify(&self, method: &str) -> Result<(), McpFault> {
        let answer = self.post(&json!({"jsonrpc": "2.0", "method": method})).await?;
        answer.put_back();
        Ok(())
    }

    async fn post(&self, message: &Value) -> Result<HttpResponse, McpFault> {
        let session = lock(&self.session).clone();
        let has_session = session.is_some();
        let mut headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("mcp-protocol-version", VERSION.to_owned()),
        ];
        headers.extend(session.map(|session| (SESSION, session)));
        headers.extend(self.headers.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let body = Bytes::from(message.to_string());
        let answer = self.http.post("", &headers, &body).await;
        let answer = answer.map_err(|error| McpFault::Failed(error.to_string()))?;
        if answer.status == 404 && has_session {
            return Err(McpFault::Gone("it has forgotten our session".to_owned()));
        }
        if !(200..300).contains(&answer.status) {
            return Err(McpFault::Failed(format!("it answers with the status {}", answer.status)));
        }
        if let Some(session) = answer.headers.get(SESSION).and_then(|it| it.to_str().ok()) {
            *lock(&self.session) = Some(session.to_owned());
        }
        Ok(answer)
    }
}

/// Reads until the response to a request: a whole body, or one event among others.
async fn read(answer: &mut HttpResponse, id: u64) -> Result<Value, String> {
    let kind =
        answer.headers.get("content-type").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_stream = kind.starts_with("text/event-stream");
    let mut events = SseStream::default();
    let mut body = Vec::new();
    let senseless = || "its answer is malformed".to_owned();
    while let Some(piece) = answer.piece().await.map_err(|error| error.to_string())? {
        if !is_stream {
            body.extend_from_slice(&piece);
            if body.len() > MAX_ANSWER {
                return Err(senseless());
            }
            continue;
        }
        events.push(&piece);
        while let Some(event) = events.next().map_err(|_| senseless())? {
            let message: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if message.get("id").and_then(Value::as_u64) == Some(id) {
                return Ok(message);
            }
        }
    }
    serde_json::from_slice(&body).map_err(|_| senseless())
}
