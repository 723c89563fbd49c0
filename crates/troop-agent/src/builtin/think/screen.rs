//! Shows people a reply while it arrives: its first words at once, then line by line.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;
use troop_model::lock;
use troop_protocol::Level;

use crate::{
    Turn,
    builtin::{
        chat::{StreamUpdate, TokenUsage},
        model::{ModelError, ReplyObserver},
        secret::Secret,
    },
};

/// A longer line is shown before it ends.
const MAX_LINE: usize = 400;
/// How long words wait for the end of their line.
const LATER: Duration = Duration::from_secs(1);

/// Shows a reply in the log.
#[derive(Debug)]
pub(super) struct ReplyScreen<'a> {
    turn: &'a Turn,
    key: Option<Secret>,
    line: String,
    /// Since when text waits to be shown.
    since: Instant,
    /// Whether a part of this reply was shown.
    has_begun: bool,
    cost: Cost,
    /// Whether the reply is for people.
    pub(super) is_shown: bool,
}

/// The cost of replies that failed. It survives an interruption.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost(Arc<Mutex<Costs>>);

#[derive(Debug, Default)]
struct Costs {
    /// The present reply.
    now: TokenUsage,
    lost: TokenUsage,
}

impl Cost {
    fn change<T>(&self, change: impl FnOnce(&mut Costs) -> T) -> T {
        change(&mut lock(&self.0))
    }

    /// Forgets the present reply: a whole one carries its own cost.
    pub(super) fn forget_reply(&self) {
        self.change(|costs| costs.now = TokenUsage::default());
    }

    /// Takes the cost of all failed replies so far.
    pub(super) fn take_lost(&self) -> TokenUsage {
        self.change(|costs| {
            let Costs { now, mut lost } = std::mem::take(costs);
            lost += now;
            lost
        })
    }
}

impl<'a> ReplyScreen<'a> {
    pub(super) fn new(turn: &'a Turn, key: Option<Secret>, cost: Cost) -> Self {
        Self {
            turn,
            key,
            line: String::new(),
            since: Instant::now(),
            has_begun: false,
            cost,
            is_shown: true,
        }
    }

    /// Shows a line before its end.
    pub(super) fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.has_begun = true;
            self.tell(&line);
        }
    }

    /// Shows the first words of a reply, unless they may end within the key.
    fn flush_first(&mut self) {
        let is_torn = self.key.as_ref().is_some_and(|key| key.may_begin_in(&self.line));
        if !self.has_begun && !is_torn {
            self.flush();
        }
    }

    /// Shows text that has waited too long for the end of its line, up to the last whole word.
    fn flush_late(&mut self) {
        let words = self.line.rfind(char::is_whitespace).filter(|_| self.since.elapsed() >= LATER);
        if let Some(end) = words {
            let rest = self.line.split_off(end);
            self.flush();
            rest.trim_start().clone_into(&mut self.line);
            self.since = Instant::now();
        }
    }

    /// Logs something. If people read too slowly they miss it; the model must not wait for them.
    pub(super) fn tell(&self, text: &str) {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hidden_in(text));
        self.turn.try_log(Level::Info, text.trim_end());
    }
}

impl ReplyObserver for ReplyScreen<'_> {
    fn shown(&mut self, shown: StreamUpdate<'_>) {
        match shown {
            StreamUpdate::Text(text) if self.is_shown => {
                for part in text.split_inclusive('\n') {
                    if self.line.is_empty() {
                        self.since = Instant::now();
                    }
                    self.line.push_str(part);
                    if part.ends_with('\n') || self.line.len() > MAX_LINE {
                        self.flush();
                    }
                }
            }
            StreamUpdate::Again => {
                self.line.clear();
                self.has_begun = false;
                self.cost.change(|costs| costs.lost += std::mem::take(&mut costs.now));
            }
            StreamUpdate::Call(_) => self.flush(),
            StreamUpdate::Text(_) | StreamUpdate::Thinking(_) => {}
        }
    }

    fn waits(&mut self, error: &ModelError, wait: Duration) {
        let text = format!("{error}; asks again in {:.1} s", wait.as_secs_f32());
        self.turn.setback().note(error.to_string());
        self.turn.try_log(Level::Warn, &text);
    }

    fn counted(&mut self, usage: TokenUsage) {
        self.cost.change(|costs| costs.now = usage);
    }

    fn quiet(&mut self) {
        self.flush_first();
        self.flush_late();
    }
}
