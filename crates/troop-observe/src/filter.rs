//! Lets go of lines that cannot be about a team, without reading them as JSON.
//!
//! Every search is for one text, because that is several times as fast as a search for many at once.

use memchr::memmem::Finder;

use crate::correlate::{Correlator, hash};

/// How most lines begin. Who says a line decides what it can say.
const BY_AGENT: &[u8] = b"{\"type\":\"assistant\"";
const TO_AGENT: &[u8] = b"{\"type\":\"user\"";

/// How the names of tools begin that are about teams, or that nobody knows and that may be.
const TOOLS: [&[u8]; 4] = [b"Team", b"Task", b"Agent\"", b"SendMessage\""];

/// Says which lines are worth reading.
#[derive(Debug)]
pub(crate) struct Filter {
    /// What the name of a tool follows.
    name: Finder<'static>,
    /// Part of what is around teammates' messages, and of what a transcript notes on its lines.
    team: Finder<'static>,
    /// Who says that a session begins, or that something ended in the background.
    system: Finder<'static>,
    /// What is said to a session while it works.
    queued: Finder<'static>,
    /// A tool result matters if its use is known.
    result: Finder<'static>,
    letter: Finder<'static>,
}

/// What is known of a line without reading it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Read,
    /// It has results of uses that were not seen, or not yet: what their ids hash to.
    Early(Vec<u64>),
    LetGo,
}

impl Filter {
    pub(crate) fn new() -> Self {
        Self {
            name: Finder::new("\"name\""),
            team: Finder::new("team"),
            system: Finder::new("\"system\""),
            queued: Finder::new("\"queued_command\""),
            result: Finder::new("\"tool_use_id\""),
            letter: Finder::new("\\u00"),
        }
    }

    pub(crate) fn look(&self, line: &[u8], correlator: &Correlator) -> Look {
        let (by_agent, to_agent) = (line.starts_with(BY_AGENT), line.starts_with(TO_AGENT));
        if self.speaks_of_a_team(line)
            || (!to_agent && self.names_a_tool(line))
            || (!to_agent && !by_agent && self.is_of_neither(line))
            || self.has_escaped_letter(line)
        {
            return Look::Read;
        }
        if by_agent {
            return Look::LetGo;
        }
        let mut ids = Vec::new();
        for at in self.result.find_iter(line) {
            match result_id(line.get(at + self.result.needle().len()..).unwrap_or_default()) {
                Some(id) if !correlator.is_awaited(id) => ids.push(hash(id)),
                Some(_) | None => return Look::Read,
            }
        }
        if ids.is_empty() { Look::LetGo } else { Look::Early(ids) }
    }

    /// Whether a line may matter that is neither the agent's nor to it.
    fn is_of_neither(&self, line: &[u8]) -> bool {
        self.system.find(line).is_some() || self.queued.find(line).is_some()
    }

    fn names_a_tool(&self, line: &[u8]) -> bool {
        self.name.find_iter(line).any(|at| {
            let named = value(line.get(at + self.name.needle().len()..).unwrap_or_default());
            named.is_some_and(|it| TOOLS.iter().any(|tool| it.starts_with(tool)))
        })
    }

    fn speaks_of_a_team(&self, line: &[u8]) -> bool {
        self.team.find_iter(line).any(|at| {
            let (before, found) = line.split_at_checked(at).unwrap_or_default();
            found.starts_with(b"teamName")
                || (found.starts_with(b"teammate-message") && before.ends_with(b"<"))
        })
    }

    /// Whether a letter is spelled `\u0041`, behind which a name may hide.
    fn has_escaped_letter(&self, line: &[u8]) -> bool {
        let digit = |at: usize| line.get(at + 4).copied();
        self.letter.find_iter(line).any(|at| matches!(digit(at), Some(b'2'..=b'7')))
    }
}

/// What follows a key, behind its first quote, if it is a text.
fn value(after: &[u8]) -> Option<&[u8]> {
    after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")
}

/// The id behind the sign of a result, if it can be seen without reading on.
fn result_id(after: &[u8]) -> Option<&str> {
    let value = value(after)?;
    let id = value.get(..memchr::memchr2(b'"', b'\\', value)?)?;
    let is_over = value.get(id.len()) == Some(&b'"');
    if is_over { std::str::from_utf8(id).ok() } else { None }
}

#[cfg(test)]
mod tests;
