//! Bytes in, messages out: one JSON document per line, whatever else comes along.
//!
//! Only the end of the stream, or an error of the stream itself, ends reading. A line that is no message is skipped, with
//! a reason and a count. Memory stays within the limit of a line: a longer one is dropped as it flows by.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::envelope::Envelope;

#[cfg(test)]
mod tests;

/// The longest line that is read or written, unless somebody chooses otherwise.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// How much is asked of the stream at once, and how much memory a quiet reader keeps.
const CHUNK: usize = 16 * 1024;
/// How much of a skipped line is shown.
const PREVIEW: usize = 200;

/// What a line turned out to be.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A message.
    Envelope(Envelope),
    /// Something else.
    Skipped(SkippedLine),
}

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    pub reason: SkipReason,
    /// How it begins.
    pub preview: String,
}

/// Why a line is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// There is nothing on it.
    Blank,
    /// It is not UTF-8.
    NotText,
    /// It is text, but not JSON.
    NotJson,
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is a batch, which nobody here sends.
    Batch,
    /// It is an object, but neither a method nor an answer.
    NotAMessage,
    /// It answers something that nobody asked.
    Unasked,
    /// It is longer than a line may be.
    TooLong,
    /// The stream ended in the middle of it.
    Half,
}

impl SkipReason {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Blank,
        Self::NotText,
        Self::NotJson,
        Self::NotAnObject,
        Self::Batch,
        Self::NotAMessage,
        Self::Unasked,
        Self::TooLong,
        Self::Half,
    ];

    /// What is wrong with the line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::NotText => "not UTF-8",
            Self::NotJson => "not JSON",
            Self::NotAnObject => "not a JSON object",
            Self::Batch => "a batch",
            Self::NotAMessage => "neither a method nor an answer",
            Self::Unasked => "an answer to nothing that was asked",
            Self::TooLong => "too long",
            Self::Half => "cut off by the end of the stream",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How many lines were skipped, by reason.
#[derive(Debug, Default)]
pub struct SkipCounts([AtomicU64; SkipReason::ALL.len()]);

impl SkipCounts {
    /// How many for this reason.
    #[must_use]
    pub fn of(&self, reason: SkipReason) -> u64 {
        self.0.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        SkipReason::ALL.into_iter().map(|reason| self.of(reason)).sum()
    }

    pub(crate) fn count(&self, reason: SkipReason) {
        if let Some(count) = self.0.get(reason as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Reads messages from a stream.
#[derive(Debug)]
pub struct FrameReader<R> {
    reader: R,
    limit: usize,
    counts: Arc<SkipCounts>,
    buffer: Vec<u8>,
    /// Where in the buffer the line begins that is read now.
    start: usize,
    /// How far the buffer is known to hold no line end; never before `start`.
    scanned: usize,
    /// The beginning of a line that is too long, while the rest of it flows by.
    passing: Option<String>,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads lines of at most `limit` bytes.
    pub fn new(reader: R, limit: usize) -> Self {
        Self {
            reader,
            limit,
            counts: Arc::default(),
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            passing: None,
        }
    }

    /// How many lines were skipped so far; goes on counting.
    #[must_use]
    pub fn counts(&self) -> Arc<SkipCounts> {
        Arc::clone(&self.counts)
    }

    /// The next line, or nothing at the end of the stream. Who stops waiting loses nothing.
    pub async fn next(&mut self) -> io::Result<Option<Frame>> {
        let frame = loop {
            if let Some(frame) = self.take_line() {
                break frame;
            }
            self.make_room();
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                match self.take_rest() {
                    Some(frame) => break frame,
                    None => return Ok(None),
                }
            }
        };
        if let Frame::Skipped(skipped) = &frame {
            self.counts.count(skipped.reason);
        }
        Ok(Some(frame))
    }

    fn take_line(&mut self) -> Option<Frame> {
        let unseen = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(length) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + length;
        let frame = self.take_until(end);
        self.start = end + 1;
        self.scanned = self.start;
        Some(frame)
    }

    /// The last line may lack its end. If it is a message all the same, nothing of it is missing, because an object that
    /// was cut off does not close.
    fn take_rest(&mut self) -> Option<Frame> {
        let end = self.buffer.len();
        if self.start == end && self.passing.is_none() {
            return None;
        }
        let frame = self.take_until(end);
        self.start = end;
        Some(match frame {
            Frame::Skipped(SkippedLine {
                reason: SkipReason::NotJson | SkipReason::NotText,
                preview,
            }) => Frame::Skipped(SkippedLine { reason: SkipReason::Half, preview }),
            frame @ (Frame::Envelope(_) | Frame::Skipped(_)) => frame,
        })
    }

    fn take_until(&mut self, end: usize) -> Frame {
        if let Some(preview) = self.passing.take() {
            return Frame::Skipped(SkippedLine { reason: SkipReason::TooLong, preview });
        }
        let line = self.buffer.get(self.start..end).unwrap_or_default();
        let read =
            if line.len() > self.limit { Err(SkipReason::TooLong) } else { Envelope::parse(line) };
        match read {
            Ok(envelope) => Frame::Envelope(envelope),
            Err(reason) => Frame::Skipped(SkippedLine { reason, preview: preview(line) }),
        }
    }

    /// Lets go of what was taken, and of a line that is too long.
    fn make_room(&mut self) {
        let line = self.buffer.get(self.start..).unwrap_or_default();
        if line.len() > self.limit || self.passing.is_some() {
            self.passing.get_or_insert_with(|| preview(line));
            self.start = self.buffer.len();
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        self.scanned = self.buffer.len();
        if self.buffer.is_empty() {
            self.buffer.shrink_to(CHUNK);
        }
        self.buffer.reserve(CHUNK);
    }
}

fn preview(line: &[u8]) -> String {
    // A character may be cut here; that is shown as what it is.
    String::from_utf8_lossy(line.get(..PREVIEW).unwrap_or(line)).into_owned()
}
