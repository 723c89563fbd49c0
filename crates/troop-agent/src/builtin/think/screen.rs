//! Shows people what a model says while it says it: the first piece of a reply at once, then line by line.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use troop_protocol::Level;

use crate::{
    Turn,
    builtin::{
        chat::{StreamUpdate, TokenUsage},
        model::{ModelError, ReplyObserver},
        secret::Secret,
    },
};

/// A line that is longer is shown before it ends.
const MAX_LINE: usize = 400;
/// How long words wait for the end of their line.
const LATER: Duration = Duration::from_secs(1);

/// Where people see what is said.
#[derive(Debug)]
pub(super) struct ReplyScreen<'a> {
    turn: &'a Turn,
    key: Option<Secret>,
    line: String,
    /// Since when something waits to be shown.
    since: Instant,
    /// Whether something of this reply was shown.
    has_begun: bool,
    cost: Cost,
    /// Whether what is said is for people.
    pub(super) is_shown: bool,
}

/// What replies cost that came to nothing. It outlives who is interrupted.
#[derive(Clone, Debug, Default)]
pub(super) struct Cost(Arc<Mutex<Costs>>);

#[derive(Debug, Default)]
struct Costs {
    /// The reply that comes now.
    now: TokenUsage,
    lost: TokenUsage,
}

impl Cost {
    fn change<T>(&self, change: impl FnOnce(&mut Costs) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A whole reply says itself what it cost.
    pub(super) fn is_whole(&self) {
        self.change(|costs| costs.now = TokenUsage::default());
    }

    /// Takes what came to nothing so far.
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
        let (line, since) = (String::new(), Instant::now());
        Self { turn, key, line, since, has_begun: false, cost, is_shown: true }
    }

    /// Shows what has no end yet.
    pub(super) fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim().is_empty() {
            self.has_begun = true;
            self.tell(&line);
        }
    }

    /// Shows what came first of a reply, unless it may be cut within the key.
    fn flush_first(&mut self) {
        let is_torn = self.key.as_ref().is_some_and(|key| key.may_begin_in(&self.line));
        if !self.has_begun && !is_torn {
            self.flush();
        }
    }

    /// Shows what has waited long enough for the end of its line, up to the last whole word.
    fn flush_late(&mut self) {
        let words = self.line.rfind(char::is_whitespace).filter(|_| self.since.elapsed() >= LATER);
        if let Some(end) = words {
            let rest = self.line.split_off(end);
            self.flush();
            (self.line, self.since) = (rest.trim_start().to_owned(), Instant::now());
        }
    }

    /// Tells something. Who does not read fast enough misses it; the model must not wait for people.
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
