//! The output of a check: its first lines as they come, and its end.

use std::io;

use tokio::net::unix::pipe::Receiver;
use troop_model::MAX_TAIL;
use troop_process::Lines;

use super::LineSink;

/// How many lines of one check are shown.
const MAX_LINES: u32 = 1_000;
/// How much of a line is shown.
const MAX_LINE: usize = 1_000;
const CHUNK: usize = 8 * 1024;

/// The end of a check's output.
pub(super) struct OutputTail {
    end: troop_process::Tail,
    shown: Option<ShownOutput>,
}

impl OutputTail {
    pub(super) fn new(show: Option<LineSink>) -> Self {
        let shown = show.map(|show| ShownOutput { show, lines: Lines::of(MAX_LINE), n_lines: 0 });
        // A character has at most four bytes.
        Self { end: troop_process::Tail::of(4 * MAX_TAIL), shown }
    }

    /// Reads to the end. Cancel safe: nothing is lost.
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
        self.end.push(bytes);
        if let Some(ShownOutput { show, lines, n_lines }) = &mut self.shown {
            lines.push(bytes, |line| show_line(show, n_lines, line));
        }
    }

    /// The end as text; invalid UTF-8 is replaced.
    pub(super) fn into_text(mut self) -> String {
        if let Some(ShownOutput { show, lines, n_lines }) = &mut self.shown {
            lines.finish(|line| show_line(show, n_lines, line));
        }
        let text = self.end.text();
        let n_chars = text.chars().count();
        text.chars().skip(n_chars.saturating_sub(MAX_TAIL)).collect()
    }
}

/// The lines that people see.
struct ShownOutput {
    show: LineSink,
    lines: Lines,
    n_lines: u32,
}

fn show_line(show: &LineSink, n_lines: &mut u32, line: &str) {
    *n_lines = n_lines.saturating_add(1);
    match *n_lines {
        ..=MAX_LINES => show(line),
        n if n == MAX_LINES + 1 => show("[the rest of its output is not shown]"),
        _ => {}
    }
}
