//! Reads a reply as it arrives, and recognises responses that are not one.

use std::{pin::pin, time::Duration};

use hyper::{
    body::Bytes,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::Value;
use tokio::time::timeout;

use super::{MAX_ERROR, ModelError, ReplyObserver};
use crate::builtin::{
    chat::Reply,
    http::{HttpError, HttpResponse},
    provider::{Api, StreamProgress, of_error},
    sse::SseStream,
};

/// How long a pause must be before the observer hears of it.
const QUIET: Duration = Duration::from_millis(50);
/// How much of a wrong response an error shows.
const MAX_BEGINNING: usize = 200;

pub(super) async fn reply(
    api: Api,
    answer: &mut HttpResponse,
    watch: &mut dyn ReplyObserver,
) -> Result<Reply, ModelError> {
    let mut other = OtherResponse::than_events(&answer.headers);
    let mut events = SseStream::default();
    let mut reader = api.provider().reader();
    'reading: while let Some(piece) = next_piece(answer, watch).await? {
        other.iter_mut().for_each(|it| it.take(&piece));
        events.push(&piece);
        loop {
            let event = match events.next() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) => return Err(none(other, "it is not a stream of events")),
            };
            // There was an event, whatever the content type says.
            other = None;
            let taken = reader.take(&event, &mut |shown| watch.shown(shown));
            watch.counted(reader.usage());
            if taken? == StreamProgress::Over {
                break 'reading;
            }
        }
        watch.quiet();
    }
    reader.finish().ok_or_else(|| none(other, "it broke off"))
}

/// The next piece. The observer hears of pauses.
async fn next_piece(
    answer: &mut HttpResponse,
    watch: &mut dyn ReplyObserver,
) -> Result<Option<Bytes>, HttpError> {
    let mut piece = pin!(answer.piece());
    loop {
        match timeout(QUIET, &mut piece).await {
            Ok(piece) => return piece,
            Err(_) => watch.quiet(),
        }
    }
}

/// Why there is no reply.
fn none(other: Option<OtherResponse>, otherwise: &str) -> ModelError {
    other.and_then(OtherResponse::fault).unwrap_or_else(|| ModelError::senseless(otherwise))
}

/// A response that is not declared as a stream of events, such as a login page, until an event arrives.
struct OtherResponse {
    kind: String,
    begun: Vec<u8>,
}

impl OtherResponse {
    fn than_events(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        let is_stream = kind.trim().to_ascii_lowercase().starts_with("text/event-stream");
        (!is_stream).then(|| Self { kind: kind.to_owned(), begun: Vec::new() })
    }

    fn take(&mut self, piece: &[u8]) {
        let room = MAX_ERROR.saturating_sub(self.begun.len());
        self.begun.extend(piece.iter().take(room));
    }

    /// The error in it. None if nothing arrived.
    fn fault(self) -> Option<ModelError> {
        let value: Value = serde_json::from_slice(&self.begun).unwrap_or_default();
        // Some APIs send their errors this way.
        if let Some(error) = of_error(&value) {
            return Some(error);
        }
        let text = String::from_utf8_lossy(&self.begun);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let beginning = troop_model::preview(&words, MAX_BEGINNING);
        let kind = if self.kind.is_empty() { "something".to_owned() } else { self.kind };
        (!beginning.is_empty()).then_some(ModelError::Foreign { kind, beginning })
    }
}
