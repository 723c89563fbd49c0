//! Shows people what a model says while it says it, line by line.

use std::time::Duration;

use troop_protocol::Level;

use crate::{
    Turn,
    builtin::{
        chat::Shown,
        model::{ModelError, Watch},
        secret::Secret,
    },
};

/// A line that is longer is shown before it ends.
const MAX_LINE: usize = 400;

/// Where people see what is said.
#[derive(Debug)]
pub(super) struct Screen<'a> {
    turn: &'a Turn,
    key: Option<Secret>,
    line: String,
    /// Whether what is said is for people.
    pub(super) is_shown: bool,
}

impl<'a> Screen<'a> {
    pub(super) fn new(turn: &'a Turn, key: Option<Secret>) -> Self {
        Self { turn, key, line: String::new(), is_shown: true }
    }

    /// Shows what has no end yet.
    pub(super) fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.tell(&line);
        }
    }

    /// Tells something. Who does not read fast enough misses it; the model must not wait for people.
    pub(super) fn tell(&self, text: &str) {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text));
        self.turn.try_log(Level::Info, text.trim_end());
    }
}

impl Watch for Screen<'_> {
    fn shown(&mut self, shown: Shown<'_>) {
        match shown {
            Shown::Text(text) if self.is_shown => {
                for part in text.split_inclusive('\n') {
                    self.line.push_str(part);
                    if part.ends_with('\n') || self.line.len() > MAX_LINE {
                        self.flush();
                    }
                }
            }
            Shown::Again => self.line.clear(),
            Shown::Call(_) => self.flush(),
            Shown::Text(_) | Shown::Thinking(_) => {}
        }
    }

    fn waits(&mut self, error: &ModelError, wait: Duration) {
        let text = format!("{error}; asks again in {:.1} s", wait.as_secs_f32());
        self.turn.try_log(Level::Warn, &text);
    }
}
