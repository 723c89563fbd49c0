//! Server-sent events: assembles them from bytes that may be cut anywhere.

/// How long one event may be. Replies consist of many, so a longer one is an error.
const MAX_EVENT: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// Its kind; may be empty.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Why bytes are not a stream of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SseError {
    NotText,
    TooLong,
}

/// Collects bytes until there is an event.
#[derive(Debug, Default)]
pub(crate) struct SseStream {
    bytes: Vec<u8>,
    /// There is no line end before this position.
    n_searched: usize,
    event: SseEvent,
    has_data: bool,
    has_begun: bool,
}

impl SseStream {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete event. An event that the end of the stream cuts off is dropped.
    pub(crate) fn next(&mut self) -> Result<Option<SseEvent>, SseError> {
        let mut n_used = 0;
        let mut found = None;
        while found.is_none() {
            let from = self.n_searched.max(n_used);
            let rest = self.bytes.get(from..).unwrap_or_default();
            let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.n_searched = self.bytes.len();
                break;
            };
            let end = from + at;
            let mut next = end + 1;
            if self.bytes.get(end) == Some(&b'\r') {
                match self.bytes.get(next) {
                    Some(b'\n') => next += 1,
                    Some(_) => {}
                    // Whether a line feed follows is not known yet.
                    None => {
                        self.n_searched = end;
                        break;
                    }
                }
            }
            let line = self.bytes.get(n_used..end).unwrap_or_default();
            let line = std::str::from_utf8(line).map_err(|_| SseError::NotText)?.to_owned();
            self.n_searched = next;
            n_used = next;
            found = self.take_line(&line);
        }
        self.bytes.drain(..n_used);
        self.n_searched -= n_used;
        if self.bytes.len() + self.event.data.len() > MAX_EVENT {
            return Err(SseError::TooLong);
        }
        Ok(found)
    }

    fn take_line(&mut self, line: &str) -> Option<SseEvent> {
        let line = if self.has_begun { line } else { line.trim_start_matches('\u{feff}') };
        self.has_begun = true;
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            // A comment, or a field that we do not need.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
