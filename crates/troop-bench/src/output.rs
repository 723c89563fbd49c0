//! The one place that prints.

use std::io::{self, IsTerminal as _, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::outcome::{self, Comparison};

/// Where output goes, and in which form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BenchPrinter {
    /// Whether programs read it.
    pub(crate) json: bool,
}

impl BenchPrinter {
    /// Tells people what they are waiting for.
    pub(crate) fn announce(self, part: &str) {
        if io::stdout().is_terminal() {
            self.error_line(&format!("measuring: {part}"));
        }
    }

    /// Prints what was measured: a table for people, JSON for programs.
    pub(crate) fn outcomes(self, outcomes: &[Comparison], seconds: u64) -> Result<()> {
        if self.json {
            let n_cores = std::thread::available_parallelism().map_or(0, usize::from);
            return self.json(&json!({"cores": n_cores, "seconds": seconds, "results": outcomes}));
        }
        write_all(&outcome::table(outcomes))
    }

    /// Prints one JSON document: spread out for eyes, on one line for pipes.
    pub(crate) fn json(self, value: &impl Serialize) -> Result<()> {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)?
        } else {
            serde_json::to_string(value)?
        };
        self.line(&text)
    }

    pub(crate) fn line(self, line: &str) -> Result<()> {
        write_all(&format!("{line}\n"))
    }

    pub(crate) fn warn(self, text: &str) {
        self.error_line(&format!("warning: {text}"));
    }

    pub(crate) fn error_line(self, text: &str) {
        // If even this cannot be written, there is no way to report it.
        drop(writeln!(io::stderr(), "{text}"));
    }
}

/// Writes and flushes. A reader that has seen enough, as `head` does, is not an error.
fn write_all(text: &str) -> Result<()> {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
