//! The output of a command: its end as text, and its lines as they come, but not too many.

use tokio::time::{Duration, Instant};
use troop_process::{Lines, Tail};
use troop_protocol::Level;

use crate::Turn;

/// How much of the end is kept.
pub(super) const MAX_TAIL: usize = 64 * 1024;
/// How many lines are shown per window of time. The rest is only counted.
const LINES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// How long a line may get before it is shown in parts.
const MAX_LINE: usize = 4_000;

/// The end of the output as text, with a note if the beginning is missing.
pub(super) fn told(tail: &Tail) -> String {
    match tail.n_dropped() {
        0 => tail.text(),
        n_dropped => format!("[{n_dropped} bytes before this are not shown]\n{}", tail.text()),
    }
}

/// Shows lines as they come.
#[derive(Debug)]
pub(super) struct OutputLog<'a> {
    lines: Lines,
    screen: LineWindow<'a>,
}

/// How many lines were shown in the present window.
#[derive(Debug)]
struct LineWindow<'a> {
    turn: &'a Turn,
    n_in_window: u32,
    window: Instant,
    n_hidden: u64,
}

impl<'a> OutputLog<'a> {
    pub(super) fn new(turn: &'a Turn) -> Self {
        let screen = LineWindow { turn, n_in_window: 0, window: Instant::now(), n_hidden: 0 };
        Self { lines: Lines::of(MAX_LINE), screen }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes, |line| self.screen.show(line));
    }

    /// Shows the rest, and how many lines were not shown.
    pub(super) fn finish(mut self) {
        self.lines.finish(|line| self.screen.show(line));
        let LineWindow { turn, n_hidden, .. } = self.screen;
        if n_hidden > 0 {
            turn.try_log(Level::Info, &format!("{n_hidden} lines were not shown"));
        }
    }
}

impl LineWindow<'_> {
    fn show(&mut self, line: &str) {
        if self.window.elapsed() >= WINDOW {
            self.window = Instant::now();
            self.n_in_window = 0;
        }
        self.n_in_window += 1;
        if self.n_in_window > LINES || !self.turn.try_log(Level::Info, line) {
            self.n_hidden += 1;
        }
    }
}
