//! Parses a script. Errors name the line and what would be right.

mod step;

use super::{
    lines::{ScriptBlock, ScriptLine},
    syntax::{Handler, MailPattern, Script, Trigger},
};
use crate::text_pattern::TextPattern;

const HANDLERS: &str = "`when started`, `when task PATTERN`, `when mail PATTERN [from NAME]`, `when plan PATTERN [from \
                        NAME]`, `when shutdown`";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptProblem {
    pub(super) line: usize,
    pub(super) what: String,
}

impl Script {
    pub(super) fn parse(text: &str) -> Result<Self, ScriptProblem> {
        let lines: Vec<&str> = text.lines().collect();
        let mut handlers: Vec<Handler> = Vec::new();
        for line in ScriptBlock::whole(&lines).lines() {
            let handler = handler(&line)?;
            let is_single = matches!(handler.when, Trigger::Started | Trigger::Shutdown);
            if is_single && handlers.iter().any(|earlier| earlier.when == handler.when) {
                return Err(line.problem(format!("`{}` is there already", line.text)));
            }
            handlers.push(handler);
        }
        Ok(Self { handlers })
    }
}

impl ScriptLine<'_> {
    fn problem(&self, what: impl Into<String>) -> ScriptProblem {
        ScriptProblem { line: self.number, what: what.into() }
    }

    /// Refuses a block where none belongs.
    fn alone(&self) -> Result<(), ScriptProblem> {
        match self.block.lines().next() {
            Some(below) => Err(below.problem(format!("nothing belongs below `{}`", self.text))),
            None => Ok(()),
        }
    }

    /// The text after a word, with the block below it.
    fn long_text(&self, rest: &str) -> String {
        match self.block.text() {
            Some(block) if rest.is_empty() => block,
            Some(block) => format!("{rest}\n{block}"),
            None => rest.to_owned(),
        }
    }
}

fn handler(line: &ScriptLine<'_>) -> Result<Handler, ScriptProblem> {
    let unknown =
        || line.problem(format!("`{}` begins no handler; there is: {HANDLERS}", line.text));
    let (when, rest) = words(line.text);
    let (what, rest) = words(rest);
    let when = match (when, what, rest) {
        ("when", "started", "") => Trigger::Started,
        ("when", "shutdown", "") => Trigger::Shutdown,
        ("when", "task", "") => return Err(line.problem("which tasks? `when task *` means all")),
        ("when", "task", pattern) => Trigger::Task(TextPattern::new(unquoted(pattern))),
        ("when", "mail", pattern) => Trigger::Mail(sought(pattern)),
        ("when", "plan", pattern) => Trigger::Plan(sought(pattern)),
        _ => return Err(unknown()),
    };
    let steps = step::steps(line.block)?;
    if steps.is_empty() {
        let what = format!("`{}` does nothing; indent its steps below it", line.text);
        return Err(line.problem(what));
    }
    Ok(Handler { when, steps })
}

/// Parses `PATTERN [from NAME]`. Without a pattern it matches all mail.
fn sought(text: &str) -> MailPattern {
    let (pattern, from) = match text.rsplit_once("from ") {
        Some((pattern, name))
            if is_word(name) && (pattern.is_empty() || pattern.ends_with(' ')) =>
        {
            (pattern.trim(), Some(name.trim().to_owned()))
        }
        _ => (text, None),
    };
    let pattern = if pattern.is_empty() { "*" } else { unquoted(pattern) };
    MailPattern { pattern: TextPattern::new(pattern), from }
}

fn is_word(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c == '"')
}

/// The first word and the rest.
fn words(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim())
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}
