//! What a check prints: its lines as they come, not too many, and the end of it.

use std::{collections::VecDeque, io};

use tokio::net::unix::pipe::Receiver;
use troop_model::MAX_TAIL;

use super::Show;

/// How many lines of one check are shown.
const MAX_LINES: u32 = 1_000;
/// How much of a line is shown.
const MAX_LINE: usize = 1_000;
const CHUNK: usize = 8 * 1024;

/// The end of what a check printed.
pub(super) struct Tail {
    show: Option<Show>,
    bytes: VecDeque<u8>,
    line: Vec<u8>,
    n_lines: u32,
}

impl Tail {
    pub(super) fn new(show: Option<Show>) -> Self {
        Self { show, bytes: VecDeque::new(), line: Vec::new(), n_lines: 0 }
    }

    /// Takes what comes, to the end. Nothing is lost when it is not waited for any more.
    pub(super) async fn listen(&mut self, pipe: &Receiver) {
        let mut buffer = vec![0; CHUNK];
        while pipe.readable().await.is_ok() {
            match pipe.try_read(&mut buffer) {
                Ok(n_read @ 1..) => self.take(buffer.get(..n_read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return,
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        // A character has at most four bytes.
        let n_over = self.bytes.len().saturating_sub(4 * MAX_TAIL);
        self.bytes.drain(..n_over);
        if self.show.is_none() || self.n_lines > MAX_LINES {
            return;
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or(part));
            if part.ends_with(b"\n") {
                self.show_line();
            }
        }
    }

    fn show_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        self.n_lines += 1;
        let text = match self.n_lines {
            ..=MAX_LINES => text.trim_end(),
            n if n == MAX_LINES + 1 => "[the rest of its output is not shown]",
            _ => return,
        };
        if let (Some(show), false) = (&self.show, text.is_empty()) {
            show(text);
        }
    }

    /// The end as text; what is no text in it is replaced.
    pub(super) fn into_text(mut self) -> String {
        if !self.line.is_empty() {
            self.show_line();
        }
        let bytes: Vec<u8> = self.bytes.into();
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        let n_chars = text.chars().count();
        text.chars().skip(n_chars.saturating_sub(MAX_TAIL)).collect()
    }
}
