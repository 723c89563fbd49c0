//! What a command prints: the end of it as text, and its lines as they come, not too many.

use std::collections::VecDeque;

use tokio::time::{Duration, Instant};
use troop_protocol::Level;

use crate::Turn;

/// How much of the end is kept.
const TAIL: usize = 64 * 1024;
/// How many lines are shown in each window of time. The others are counted.
const LINES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// How much of a line is collected before it is shown.
const MAX_LINE: usize = 4_000;

/// The end of what a command printed.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: VecDeque<u8>,
    n_dropped: u64,
}

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let n_over = self.bytes.len().saturating_sub(TAIL);
        self.bytes.drain(..n_over);
        self.n_dropped += n_over as u64;
    }

    /// The end as text. What is no text in it is replaced; where it was cut is said.
    pub(super) fn into_text(self) -> String {
        let bytes: Vec<u8> = self.bytes.into();
        if self.n_dropped == 0 {
            return String::from_utf8_lossy(&bytes).trim_end().to_owned();
        }
        // The cut may have left the end of a character.
        let n_split = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
        let text = String::from_utf8_lossy(bytes.get(n_split..).unwrap_or_default());
        format!("[{} bytes before this are not shown]\n{}", self.n_dropped, text.trim_end())
    }
}

/// Shows lines as they come.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    turn: &'a Turn,
    line: Vec<u8>,
    n_in_window: u32,
    window: Instant,
    n_hidden: u64,
}

impl<'a> Shown<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        Self { turn, line: Vec::new(), n_in_window: 0, window: Instant::now(), n_hidden: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or(part));
            if part.ends_with(b"\n") {
                self.show();
            }
        }
    }

    /// Shows what is left, and how much was not shown.
    pub(super) fn finish(mut self) {
        self.show();
        if self.n_hidden > 0 {
            self.turn.try_log(Level::Info, &format!("{} lines were not shown", self.n_hidden));
        }
    }

    fn show(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        if self.window.elapsed() >= WINDOW {
            (self.window, self.n_in_window) = (Instant::now(), 0);
        }
        self.n_in_window += 1;
        if self.n_in_window > LINES || !self.turn.try_log(Level::Info, text) {
            self.n_hidden += 1;
        }
    }
}
