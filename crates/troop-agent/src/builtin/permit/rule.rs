//! One rule: `Bash(git status:*)`, `Edit(src/**)`, `Read(.env)`, `Bash`.

use std::{fmt, str::FromStr};

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

use super::Deed;

/// What separates the commands of a line.
const SEPARATORS: [&str; 6] = ["&&", "||", ";", "|", "&", "\n"];
/// What hides a command or writes a file in the middle of a line: nobody can tell by its beginning what it does.
const HIDING: [&str; 4] = ["`", "$(", "<", ">"];

/// A rule about what may be done.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    tool: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Anything,
    /// A whole command.
    Command(String),
    /// How a command begins, word by word.
    Prefix(String),
    /// Paths in the working folder.
    Paths(GlobMatcher),
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is no rule: {why}; write it like `Bash(git status:*)`, `Edit(src/**)` or `Read(.env)`"
)]
pub struct BadRule {
    /// As it was written.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

impl FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, BadRule> {
        let bad = |why: &str| BadRule { text: text.to_owned(), why: why.to_owned() };
        let text = text.trim();
        let (tool, what) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (
                tool,
                Some(rest.strip_suffix(')').ok_or_else(|| bad("the bracket is not closed"))?),
            ),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
        if tool.is_empty() || !tool.chars().all(is_name) {
            return Err(bad("it does not begin with the name of a tool"));
        }
        let what = match what.map(str::trim) {
            None | Some("" | "*" | "**") => What::Anything,
            Some(what) if tool == "Bash" => {
                match what.strip_suffix(":*").or_else(|| what.strip_suffix(" *")) {
                    Some(prefix) => What::Prefix(prefix.trim().to_owned()),
                    None => What::Command(what.to_owned()),
                }
            }
            Some(path) => What::Paths(paths(path).map_err(|why| bad(&why))?),
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), what })
    }
}

/// A pattern of paths. One without a slash is meant in every folder, a folder with all that is in it.
fn paths(pattern: &str) -> Result<GlobMatcher, String> {
    let pattern = pattern.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
    let anywhere = if pattern.contains('/') { "" } else { "**/" };
    let pattern = format!("{{{anywhere}{pattern},{anywhere}{pattern}/**}}");
    let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
    Ok(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
}

impl Rule {
    /// Whether it lets this be done: all of it, as far as one can see.
    pub(crate) fn allows(&self, deed: &Deed<'_>) -> bool {
        if !self.is_about(deed.tool) {
            return false;
        }
        match &self.what {
            What::Anything => true,
            What::Command(command) => deed.what.trim() == command,
            What::Prefix(prefix) => {
                let is_clear = !HIDING.iter().any(|hiding| deed.what.contains(hiding));
                is_clear && split(deed.what, &SEPARATORS).all(|part| begins_with(part, prefix))
            }
            What::Paths(paths) => paths.is_match(deed.what),
        }
    }

    /// Whether it is about this, or about any part of it.
    pub(crate) fn forbids(&self, deed: &Deed<'_>) -> bool {
        if !self.is_about(deed.tool) {
            return false;
        }
        let parts = || {
            let marks: Vec<_> =
                SEPARATORS.iter().chain(&HIDING).chain(&["(", ")", "{", "}"]).copied().collect();
            split(deed.what, &marks).map(str::to_owned).collect::<Vec<_>>()
        };
        match &self.what {
            What::Anything => true,
            What::Command(command) => {
                deed.what.trim() == command || parts().iter().any(|part| part == command)
            }
            What::Prefix(prefix) => parts().iter().any(|part| begins_with(part, prefix)),
            What::Paths(paths) => paths.is_match(deed.what),
        }
    }

    /// A rule about edits is about all tools that change files, one about reading about all that look at them.
    fn is_about(&self, tool: &str) -> bool {
        let family = match tool {
            "Write" | "Edit" => "Edit",
            "Read" | "Glob" | "Grep" | "LS" => "Read",
            other => other,
        };
        let is_all_of_server =
            self.tool.strip_suffix('*').is_some_and(|front| tool.starts_with(front));
        // `mcp__server` means all tools of that server.
        let is_server =
            tool.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__"));
        self.tool == tool || self.tool == family || is_all_of_server || is_server
    }
}

/// The parts of a line, without what assigns variables before a command.
fn split<'a>(line: &'a str, marks: &[&str]) -> impl Iterator<Item = &'a str> {
    let mut parts = vec![line];
    for mark in marks {
        parts = parts.into_iter().flat_map(|part| part.split(mark)).collect();
    }
    parts.into_iter().map(without_variables).filter(|part| !part.is_empty())
}

fn without_variables(mut part: &str) -> &str {
    loop {
        part = part.trim();
        let first = part.split_whitespace().next().unwrap_or_default();
        let Some((name, _)) = first.split_once('=') else { return part };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return part;
        }
        part = part.strip_prefix(first).unwrap_or_default();
    }
}

fn begins_with(command: &str, prefix: &str) -> bool {
    let rest = command.trim().strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
