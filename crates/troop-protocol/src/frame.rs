//! Reads messages from bytes: one JSON document per line, whatever else a program prints.
//!
//! Only the end of the stream or an I/O error ends reading. A line that is not a message is skipped, with a reason and a
//! count. Memory is bounded by the longest allowed line: a longer one is discarded while it is read.

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

/// The default limit of a line, in bytes.
pub const MAX_LINE: usize = 16 * 1024 * 1024;
/// How much is read at a time, and how much memory an idle reader keeps.
const CHUNK: usize = 16 * 1024;
/// How much of a skipped line is shown.
const PREVIEW: usize = 200;

/// One line of the stream.
#[derive(Clone, Debug)]
pub enum Frame {
    Envelope(Envelope),
    Skipped(SkippedLine),
}

/// A line that is not a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    pub reason: SkipReason,
    /// How it begins.
    pub preview: String,
}

/// Why a line is not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipReason {
    /// It is empty.
    Blank,
    /// It is not UTF-8.
    NotText,
    /// It is text, but not JSON.
    NotJson,
    /// It is JSON, but not an object.
    NotAnObject,
    /// It is a batch, which this protocol does not have.
    Batch,
    /// It is an object, but neither a method nor a response.
    NotAMessage,
    /// It is a response without a request.
    Unasked,
    /// It is longer than a line may be.
    TooLong,
    /// The stream ended within it.
    Half,
}

impl SkipReason {
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
    #[must_use]
    pub fn of(&self, reason: SkipReason) -> u64 {
        self.0.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

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
    /// Where the current line begins in the buffer.
    start: usize,
    /// The buffer has no line end before this; never less than `start`.
    scanned: usize,
    /// The beginning of a line that is too long, while the rest of it is discarded.
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

    /// The counters of skipped lines, shared with this reader.
    #[must_use]
    pub fn counts(&self) -> Arc<SkipCounts> {
        Arc::clone(&self.counts)
    }

    /// The next line, or none at the end of the stream. Cancel safe.
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

    /// The last line may lack its line end. If it is a message all the same, it is complete: an object that was cut off does
    /// not close.
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

    /// Removes what was taken from the buffer, and a line that is too long.
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
    // A character that is cut here is shown as the replacement character.
    String::from_utf8_lossy(line.get(..PREVIEW).unwrap_or(line)).into_owned()
}
