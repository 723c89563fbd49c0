//! A running member: its process, its wire, and the facts about it.

use std::collections::VecDeque;

use tokio::{task::AbortHandle, time::Instant};
use troop_protocol::{FromLead, Incoming, Notification, Peer, PeerError};

use super::{facts::MemberFacts, lifecycle::MemberExit};
use crate::{fault::is_said_of_machine, lead::Runner};

/// How many lines of standard error we keep to explain an exit ...
const N_LAST_LINES: usize = 8;

/// ... and how many characters of them.
const MAX_WORDS: usize = 400;

/// A running member.
#[derive(Debug)]
pub(in super::super) struct LiveMember {
    pub(in super::super) runner: Runner,
    /// None while it is being launched.
    pub(super) body: Option<MemberBody>,
    pub(in super::super) facts: MemberFacts,
    pub(in super::super) postponed: Postponed,
    pub(in super::super) obituary: Obituary,
}

/// Messages of a member that wait while one of its reports or calls waits for a disk or the store, so that none overtakes it.
#[derive(Debug, Default)]
pub(in super::super) struct Postponed {
    /// How many of its reports and calls they wait for.
    n_waited_for: usize,
    incoming: VecDeque<Incoming>,
}

impl Postponed {
    /// Postpones messages from now on.
    pub(in super::super) fn begin(&mut self) {
        self.n_waited_for += 1;
    }

    /// Messages no longer have to wait for one report or call.
    pub(in super::super) fn end(&mut self) {
        self.n_waited_for = self.n_waited_for.saturating_sub(1);
    }

    /// Keeps a message that has to wait; otherwise gives it back.
    pub(in super::super) fn keep(&mut self, incoming: Incoming) -> Option<Incoming> {
        if self.n_waited_for > 0 {
            self.incoming.push_back(incoming);
            return None;
        }
        Some(incoming)
    }

    /// The next postponed message, unless messages still have to wait.
    pub(in super::super) fn next(&mut self) -> Option<Incoming> {
        if self.n_waited_for > 0 { None } else { self.incoming.pop_front() }
    }
}

/// The process or task of a member, and its wire.
#[derive(Debug)]
pub(super) struct MemberBody {
    pub(super) host: MemberHost,
    pub(super) peer: Peer,
}

/// The process or task of a member.
#[derive(Debug)]
pub(super) enum MemberHost {
    /// Its own process.
    Process(u32),
    /// A task of this process.
    Task(AbortHandle),
}

impl LiveMember {
    /// A member that is being launched.
    pub(super) fn new(runner: Runner, is_new: bool) -> Self {
        let facts = MemberFacts::new(is_new, Instant::now());
        let postponed = Postponed::default();
        Self { runner, body: None, facts, postponed, obituary: Obituary::default() }
    }

    /// The process that it runs in.
    pub(in super::super) fn process(&self) -> Option<u32> {
        let is_launched = self.body.is_some();
        self.own_process().or_else(|| is_launched.then(std::process::id))
    }

    /// Its own process, if it has one.
    pub(in super::super) fn own_process(&self) -> Option<u32> {
        match self.body.as_ref()?.host {
            MemberHost::Process(pid) => Some(pid),
            MemberHost::Task(_) => None,
        }
    }

    pub(in super::super) fn is_open(&self) -> bool {
        self.facts.is_open()
    }

    /// Sends a message, unless its wire is full.
    pub(in super::super) fn tell(&self, said: &FromLead) -> Result<(), PeerError> {
        let body = self.body.as_ref().ok_or(PeerError::Closed)?;
        body.peer.try_notify(Notification::from(said))
    }
}

/// The explanation of a member's end.
#[derive(Debug, Default)]
pub(in super::super) struct Obituary {
    /// Why we ended it, if we did.
    because: Option<String>,
    /// The last lines of its standard error.
    last_words: VecDeque<String>,
}

impl Obituary {
    pub(in super::super) fn add_complaint(&mut self, line: &str) {
        if self.last_words.len() == N_LAST_LINES {
            self.last_words.pop_front();
        }
        self.last_words.push_back(line.to_owned());
    }

    /// Notes why we kill it. The first reason counts.
    pub(in super::super) fn set_cause(&mut self, why: &str) {
        self.because.get_or_insert_with(|| why.to_owned());
    }

    /// Why it ended: our reason for killing it, or else its exit; and the last lines of its standard error.
    pub(in super::super) fn explain(&self, exit: &MemberExit) -> String {
        let why = self.because.clone().unwrap_or_else(|| exit.to_string());
        let words = self.last_words();
        let n_left_out = words.chars().count().saturating_sub(MAX_WORDS);
        let (cut, tail) = match words.char_indices().nth(n_left_out) {
            Some((at, _)) if n_left_out > 0 => ("…", words.get(at..).unwrap_or_default()),
            _ => ("", words.as_str()),
        };
        if tail.is_empty() { why } else { format!("{why}: {cut}{tail}") }
    }

    /// Whether the machine is to blame, judged by what the member itself said last.
    pub(super) fn blames_machine(&self) -> bool {
        is_said_of_machine(&self.last_words())
    }

    fn last_words(&self) -> String {
        let words: Vec<_> = self.last_words.iter().map(String::as_str).collect();
        words.join("\n")
    }
}

#[cfg(test)]
mod tests;
