//! Splits bytes into lines, in whatever pieces they arrive.

use memchr::memchr;

/// The longest line that is parsed. Nothing about a team is that long.
pub const MAX_LINE: usize = 8 * 1024 * 1024;
/// How much memory we keep for the next line that arrives in pieces.
const KEPT: usize = 64 * 1024;

/// A line without the byte order mark that some programs write first.
pub(crate) fn bare(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Assembles lines. It buffers one line at most, and none that is too long.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The beginning of a line that arrives in pieces.
    begun: Vec<u8>,
    /// Whether the caller has that line, so that the next call drops it.
    is_given: bool,
    is_too_long: bool,
    n_too_long: u64,
}

impl LineSplitter {
    /// Takes bytes up to the end of a line. Returns how many it took, including the line end, and the line without it if
    /// it is complete and not too long.
    pub fn next<'a>(&'a mut self, bytes: &'a [u8]) -> (usize, Option<&'a [u8]>) {
        self.forget_given();
        let Some(end) = memchr(b'\n', bytes) else {
            self.keep(bytes);
            return (bytes.len(), None);
        };
        let rest = bytes.get(..end).unwrap_or_default();
        if self.begun.is_empty() && !self.is_too_long && rest.len() <= MAX_LINE {
            return (end + 1, Some(rest));
        }
        self.keep(rest);
        (end + 1, self.give())
    }

    /// The last line, if the stream ended without a line end.
    pub fn end(&mut self) -> Option<&[u8]> {
        self.forget_given();
        self.give().filter(|line| !line.is_empty())
    }

    /// Drops the incomplete line.
    pub fn clear(&mut self) {
        *self = Self { n_too_long: self.n_too_long, ..Self::default() };
    }

    /// How many lines were too long to parse.
    #[must_use]
    pub fn n_too_long(&self) -> u64 {
        self.n_too_long
    }

    fn forget_given(&mut self) {
        if std::mem::take(&mut self.is_given) {
            self.begun.clear();
            self.begun.shrink_to(KEPT);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.begun.len() + bytes.len() > MAX_LINE;
        if self.is_too_long {
            self.begun = Vec::new();
        } else {
            self.begun.extend_from_slice(bytes);
        }
    }

    fn give(&mut self) -> Option<&[u8]> {
        self.is_given = true;
        if std::mem::take(&mut self.is_too_long) {
            self.n_too_long += 1;
            return None;
        }
        Some(&self.begun)
    }
}

#[cfg(test)]
mod tests;
