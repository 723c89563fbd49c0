//! Skips lines that cannot be about a team without parsing them as JSON.
//!
//! Every search looks for one text, which is several times as fast as looking for many at once.

use memchr::memmem::Finder;

use crate::correlate::{Correlator, hash};

/// How most lines begin. The speaker decides what a line can contain.
const BY_AGENT: &[u8] = b"{\"type\":\"assistant\"";
const TO_AGENT: &[u8] = b"{\"type\":\"user\"";

/// Prefixes of team tools, and of unknown tools that may be.
const TOOLS: [&[u8]; 4] = [b"Team", b"Task", b"Agent\"", b"SendMessage\""];

/// Decides which lines to parse.
#[derive(Debug)]
pub(crate) struct LineFilter {
    /// The key before the name of a tool.
    name: Finder<'static>,
    /// Part of the tag around teammates' messages, and of a key in transcripts.
    team: Finder<'static>,
    /// The speaker of lines about the session's start and the end of background work.
    system: Finder<'static>,
    /// Messages to a session while it works.
    queued: Finder<'static>,
    /// A tool result matters if we know its use.
    result: Finder<'static>,
    letter: Finder<'static>,
}

/// The verdict on a line, without parsing it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LineVerdict {
    Read,
    /// It has results of uses that we have not seen yet: the hashes of their ids.
    Early(Vec<u64>),
    Skip,
}

impl LineFilter {
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

    pub(crate) fn look(&self, line: &[u8], correlator: &Correlator) -> LineVerdict {
        let by_agent = line.starts_with(BY_AGENT);
        let to_agent = line.starts_with(TO_AGENT);
        if self.speaks_of_a_team(line)
            || (!to_agent && self.names_a_tool(line))
            || (!to_agent && !by_agent && self.is_of_neither(line))
            || self.has_escaped_letter(line)
        {
            return LineVerdict::Read;
        }
        if by_agent {
            return LineVerdict::Skip;
        }
        let mut ids = Vec::new();
        for at in self.result.find_iter(line) {
            match result_id(line.get(at + self.result.needle().len()..).unwrap_or_default()) {
                Some(id) if !correlator.is_awaited(id) => ids.push(hash(id)),
                Some(_) | None => return LineVerdict::Read,
            }
        }
        if ids.is_empty() { LineVerdict::Skip } else { LineVerdict::Early(ids) }
    }

    /// Whether a line matters that is neither from the agent nor to it.
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

    /// Whether a letter is escaped as `\u0041`, which may hide a name.
    fn has_escaped_letter(&self, line: &[u8]) -> bool {
        let digit = |at: usize| line.get(at + 4).copied();
        self.letter.find_iter(line).any(|at| matches!(digit(at), Some(b'2'..=b'7')))
    }
}

/// The value after a key, without its opening quote, if it is a string.
fn value(after: &[u8]) -> Option<&[u8]> {
    after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")
}

/// The id in a tool result, if it contains no escapes.
fn result_id(after: &[u8]) -> Option<&str> {
    let value = value(after)?;
    let id = value.get(..memchr::memchr2(b'"', b'\\', value)?)?;
    let is_over = value.get(id.len()) == Some(&b'"');
    if is_over { std::str::from_utf8(id).ok() } else { None }
}

#[cfg(test)]
mod tests;
