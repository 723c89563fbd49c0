//! The output of a process: its end as text, and its lines as they arrive.

use std::collections::VecDeque;

/// The end of an output.
#[derive(Debug)]
pub struct Tail {
    bytes: VecDeque<u8>,
    max: usize,
    n_dropped: u64,
}

impl Tail {
    /// Keeps this many bytes.
    #[must_use]
    pub fn of(max: usize) -> Self {
        Self { bytes: VecDeque::new(), max, n_dropped: 0 }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let n_over = self.bytes.len().saturating_sub(self.max);
        self.bytes.drain(..n_over);
        self.n_dropped += n_over as u64;
    }

    /// How many bytes were dropped.
    #[must_use]
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped
    }

    /// The end as text, trimmed. Invalid UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let mut bytes: Vec<u8> = self.bytes.iter().copied().collect();
        if self.n_dropped > 0 {
            // The cut may have split a character.
            let n_split = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
            bytes.drain(..n_split);
        }
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

/// Splits an output into lines. Bytes of a line beyond a limit are dropped, and so are empty lines.
#[derive(Debug)]
pub struct Lines {
    line: Vec<u8>,
    max: usize,
}

impl Lines {
    /// Keeps this many bytes of each line.
    #[must_use]
    pub fn of(max: usize) -> Self {
        Self { line: Vec::new(), max }
    }

    /// Takes the next bytes, and returns each line that is now complete.
    pub fn push(&mut self, bytes: &[u8], mut show: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = self.max.saturating_sub(self.line.len());
            self.line.extend_from_slice(part.get(..room).unwrap_or(part));
            if part.ends_with(b"\n") {
                self.finish(&mut show);
            }
        }
    }

    /// Returns the rest, if the output ended without a line break.
    pub fn finish(&mut self, show: impl FnOnce(&str)) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            show(text);
        }
    }
}

#[cfg(test)]
mod tests;
