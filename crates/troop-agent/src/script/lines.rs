//! The lines of a script, and the blocks that indentation makes of them.

/// A line with content, and the deeper lines below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) block: ScriptBlock<'a>,
}

/// A block of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptBlock<'a> {
    lines: &'a [&'a str],
    /// The number of the first line.
    first: usize,
}

impl<'a> ScriptBlock<'a> {
    pub(super) fn whole(lines: &'a [&'a str]) -> Self {
        Self { lines, first: 1 }
    }

    /// The lines of this block that are not deeper than the first one, each with its own block. Skips blank lines and
    /// comments.
    pub(super) fn lines(self) -> impl Iterator<Item = ScriptLine<'a>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let rest = self.lines.get(at..)?;
            let skipped = rest.iter().position(|line| !is_silent(line))?;
            let text = rest.get(skipped)?;
            let below = rest.get(skipped + 1..).unwrap_or_default();
            let depth = indent(text);
            let is_out = |line: &&str| !line.trim().is_empty() && indent(line) <= depth;
            let n_below = below.iter().position(is_out).unwrap_or(below.len());
            let number = self.first + at + skipped;
            at += skipped + 1 + n_below;
            let lines = below.get(..n_below).unwrap_or_default();
            Some(ScriptLine {
                number,
                text: text.trim(),
                block: ScriptBlock { lines, first: number + 1 },
            })
        })
    }

    /// The block as text, without its common indentation and without blank lines at the end.
    pub(super) fn text(self) -> Option<String> {
        let first = self.lines.iter().find(|line| !line.trim().is_empty())?;
        let depth = indent(first);
        let lines = self.lines.iter().map(|line| without_indent(line, depth).trim_end());
        let text = lines.collect::<Vec<_>>().join("\n");
        Some(text.trim_end().to_owned())
    }
}

fn is_silent(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#')
}

/// How far a line is indented. A tab counts as one blank.
fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).count()
}

/// Removes up to this many blanks from the beginning of a line.
fn without_indent(line: &str, depth: usize) -> &str {
    let mut rest = line;
    for _ in 0..depth {
        match rest.strip_prefix(char::is_whitespace) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    rest
}
