//! A model's API on loopback, as small as the benchmark needs: it always gives the same reply, as fast as it can.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
        mpsc,
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::Instant;
use troop_model::lock;

/// The pause before and after the first word, so that it travels alone.
const PAUSE: Duration = Duration::from_millis(3);
/// The first word of a reply, on a line of its own.
pub(crate) const WORD: &str = "hello";

/// The API. It serves until the program ends.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedApi {
    address: SocketAddr,
    shared: Arc<ApiState>,
}

#[derive(Debug, Default)]
struct ApiState {
    /// How many more tool calls the model makes.
    n_calls: AtomicU32,
    /// The last request, byte for byte.
    last: Mutex<Vec<u8>>,
    /// Gets the send time of each first word; if set, replies come slowly.
    sent: Mutex<Option<mpsc::Sender<Instant>>>,
}

impl ScriptedApi {
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("there is no port to listen on")?;
        let api = Self { address: listener.local_addr()?, shared: Arc::default() };
        let shared = Arc::clone(&api.shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                // A client that disconnects does not matter.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Ok(api)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets how often the model calls a tool before its last word.
    pub(crate) fn call(&self, n_times: u32) {
        self.shared.n_calls.store(n_times, SeqCst);
    }

    /// Makes replies slow, and reports when their first word was sent.
    pub(crate) fn tell(&self, sent: mpsc::Sender<Instant>) {
        *lock(&self.shared.sent) = Some(sent);
    }

    /// A minimal client that repeats the last request.
    pub(crate) fn bare(&self) -> Result<BareClient> {
        let request = lock(&self.shared.last).clone();
        ensure!(!request.is_empty(), "there was no request yet");
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let reader = BufReader::new(stream.try_clone()?);
        Ok(BareClient { request, stream, reader })
    }
}

/// A client that only sends and reads.
pub(crate) struct BareClient {
    request: Vec<u8>,
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl BareClient {
    /// Sends the request and reads the reply; returns the time in microseconds.
    pub(crate) fn ask(&mut self) -> Result<f64> {
        let start = Instant::now();
        self.stream.write_all(&self.request)?;
        read(&mut self.reader, &mut Vec::new())?.context("the API went away")?;
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }
}

fn serve(stream: TcpStream, shared: &ApiState) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let mut request = Vec::new();
    while read(&mut reader, &mut request)?.is_some() {
        *lock(&shared.last) = request.clone();
        let was_left = shared.n_calls.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        let (first, rest) = reply(was_left.is_ok());
        let length = first.len() + rest.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n"
        );
        let sent = lock(&shared.sent).clone();
        match sent {
            None => writer.write_all([head.as_str(), &first, &rest].concat().as_bytes())?,
            Some(sent) => {
                writer.write_all(head.as_bytes())?;
                pause();
                sent.send(Instant::now())?;
                writer.write_all(first.as_bytes())?;
                pause();
                writer.write_all(rest.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// Sleeps; nothing else needs this thread.
fn pause() {
    std::thread::park_timeout(PAUSE);
}

/// Reads a whole message; `None` at the end.
fn read(reader: &mut BufReader<TcpStream>, message: &mut Vec<u8>) -> Result<Option<()>> {
    message.clear();
    let mut length = 0;
    loop {
        let start = message.len();
        if reader.read_until(b'\n', message)? == 0 {
            return Ok(None);
        }
        let line = message.get(start..).unwrap_or_default().to_ascii_lowercase();
        if let Some(number) = line.strip_prefix(b"content-length:") {
            length = String::from_utf8_lossy(number).trim().parse()?;
        }
        if line == b"\r\n" {
            break;
        }
    }
    let start = message.len();
    message.resize(start + length, 0);
    reader.read_exact(message.get_mut(start..).unwrap_or_default())?;
    Ok(Some(()))
}

/// The reply, split after its first word: a tool call, or the end of the work.
fn reply(calls: bool) -> (String, String) {
    let event = |it: Value| {
        let kind = it.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        format!("event: {kind}\ndata: {it}\n\n")
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 1});
    let text = json!({"type": "text_delta", "text": WORD});
    let first = [
        json!({"type": "message_start", "message": {"id": "m", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": text}),
    ];
    let mut rest = vec![json!({"type": "content_block_stop", "index": 0})];
    if calls {
        let block = json!({"type": "tool_use", "id": "t", "name": "LS", "input": {}});
        let input = json!({"type": "input_json_delta", "partial_json": "{}"});
        rest.push(json!({"type": "content_block_start", "index": 1, "content_block": block}));
        rest.push(json!({"type": "content_block_delta", "index": 1, "delta": input}));
        rest.push(json!({"type": "content_block_stop", "index": 1}));
    }
    let why = if calls { "tool_use" } else { "end_turn" };
    rest.push(json!({"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 5}}));
    rest.push(json!({"type": "message_stop"}));
    let all = |events: Vec<Value>| events.into_iter().map(event).collect::<String>();
    (all(first.to_vec()), all(rest))
}
