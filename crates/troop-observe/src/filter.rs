//! Lets go of lines that cannot be about a team, without reading them as JSON.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use memchr::memmem;

use crate::correlate::Correlator;

/// What a line that matters has at least one of. A tool result matters too, if its use is known.
const SIGNS: [&str; 9] = [
    "\"Team",
    "\"Task",
    "\"Agent\"",
    "\"SendMessage\"",
    "<teammate-message",
    "\"init\"",
    "task_notification",
    "teamName",
    RESULT,
];
const RESULT: &str = "\"tool_use_id\"";

/// Says which lines are worth reading.
#[derive(Debug)]
pub(crate) struct Filter {
    signs: AhoCorasick,
    letter: memmem::Finder<'static>,
}

/// What is known of a line without reading it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Read,
    /// It has results of uses that were not seen, or not yet.
    Early(Vec<String>),
    LetGo,
}

impl Filter {
    pub(crate) fn new() -> Self {
        let signs = AhoCorasickBuilder::new().match_kind(MatchKind::LeftmostFirst).build(SIGNS);
        let signs = signs.expect("a few short words are always accepted");
        Self { signs, letter: memmem::Finder::new(b"\\u00") }
    }

    pub(crate) fn look(&self, line: &[u8], correlator: &Correlator) -> Look {
        let mut ids = Vec::new();
        for sign in self.signs.find_iter(line) {
            if sign.pattern().as_usize() != SIGNS.len() - 1 {
                return Look::Read;
            }
            match result_id(line.get(sign.end()..).unwrap_or_default()) {
                Some(id) if !correlator.is_awaited(id) => ids.push(id.to_owned()),
                Some(_) | None => return Look::Read,
            }
        }
        if self.has_escaped_letter(line) {
            return Look::Read;
        }
        if ids.is_empty() { Look::LetGo } else { Look::Early(ids) }
    }

    /// Whether a letter is spelled `\u0041`, behind which a name may hide.
    fn has_escaped_letter(&self, line: &[u8]) -> bool {
        let digit = |at: usize| line.get(at + 4).copied();
        self.letter.find_iter(line).any(|at| matches!(digit(at), Some(b'2'..=b'7')))
    }
}

/// The id behind the sign of a result, if it can be seen without reading on.
fn result_id(after: &[u8]) -> Option<&str> {
    let value = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let value = value.strip_prefix(b"\"")?;
    let id = value.get(..memchr::memchr2(b'"', b'\\', value)?)?;
    let is_over = value.get(id.len()) == Some(&b'"');
    if is_over { std::str::from_utf8(id).ok() } else { None }
}

#[cfg(test)]
mod tests;
