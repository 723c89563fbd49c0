//! One rule: `Bash(git status:*)`, `Edit(src/**)`, `Read(.env)`, `Bash`.

use std::{fmt, path::Path, str::FromStr};

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

use troop_protocol::Category;

use super::{
    ToolAction,
    line::{ShellCommand, ShellLine},
    named::{self, FileUse},
};
use crate::text_pattern::TextPattern;

/// A rule about the use of tools.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    tool: String,
    what: RuleScope,
}

#[derive(Clone, Debug)]
enum RuleScope {
    Anything,
    /// Commands, in which `*` matches any text.
    Command(CommandPattern),
    /// Paths relative to the working folder.
    Paths(GlobMatcher),
    /// Absolute paths.
    Absolute(GlobMatcher),
}

/// The commands that a rule is about.
#[derive(Clone, Debug)]
struct CommandPattern {
    written: String,
    /// Its words as a shell splits them.
    words: Vec<String>,
    /// Whether more words may follow.
    is_prefix: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` is not a rule: {why}; write it like `Bash(git status:*)`, `Edit(src/**)` or `Read(.env)`"
)]
pub struct BadRule {
    pub text: String,
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
            None | Some("" | "*" | "**" | ":*") => RuleScope::Anything,
            Some(what) if tool == "Bash" => RuleScope::Command(CommandPattern::new(what)),
            Some(path) => paths(path).map_err(|why| bad(&why))?,
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), what })
    }
}

/// A path pattern as in `.gitignore`: without a slash it matches in every folder; a folder matches with its content.
/// Two slashes begin an absolute path.
fn paths(pattern: &str) -> Result<RuleScope, String> {
    let (is_absolute, pattern) = match pattern.strip_prefix("//") {
        Some(rest) => (true, format!("/{}", rest.trim_start_matches('/'))),
        None => (false, pattern.to_owned()),
    };
    let is_here = pattern.starts_with("./") || pattern.starts_with('/');
    let inner = pattern.trim_start_matches("./").trim_end_matches('/');
    let inner = if is_absolute { inner } else { inner.trim_start_matches('/') };
    let anywhere = if is_here || inner.contains('/') { "" } else { "**/" };
    let whole = format!("{{{anywhere}{inner},{anywhere}{inner}/**}}");
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    let glob = glob.map_err(|error| error.kind().to_string())?.compile_matcher();
    Ok(if is_absolute { RuleScope::Absolute(glob) } else { RuleScope::Paths(glob) })
}

impl CommandPattern {
    fn new(written: &str) -> Self {
        let front = written.strip_suffix(":*").or_else(|| written.strip_suffix(" *"));
        let text = front.unwrap_or(written).trim();
        let line = ShellLine::read(text);
        let words = match line.commands.as_slice() {
            [only] if line.is_clear => only.words.clone(),
            _ => text.split_whitespace().map(str::to_owned).collect(),
        };
        Self { written: written.to_owned(), words, is_prefix: front.is_some() }
    }

    /// Whether words match, with the words of both sides written in the same way.
    fn is_like(&self, words: &[String], shown: fn(&str) -> String) -> bool {
        let all = |words: &[String]| words.iter().map(|it| shown(it)).collect::<Vec<_>>().join(" ");
        let pattern = all(&self.words);
        let text = all(words);
        let goes_on =
            || self.is_prefix && TextPattern::of_stars(&format!("{pattern} *")).is_match(&text);
        TextPattern::of_stars(&pattern).is_match(&text) || goes_on()
    }

    /// Whether it allows a command. Commands with assignments must be allowed with them.
    fn allows(&self, command: &ShellCommand) -> bool {
        let says_so = || ShellCommand { words: self.words.clone() }.assigns();
        (!command.assigns() || says_so()) && self.is_like(&command.words, marked)
    }
}

/// A word in quotes where it could pass for two.
fn marked(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains([' ', '\t', '\n', '\'', '"']);
    if is_plain { word.to_owned() } else { format!("{word:?}") }
}

impl Rule {
    /// Whether it covers every use of a tool.
    pub(super) fn is_about_all_of(&self, tool: &str) -> bool {
        matches!(self.what, RuleScope::Anything) && self.is_about(tool)
    }

    /// Whether it allows an action as written. For single commands see [`Self::allows_command`].
    pub(super) fn allows(&self, action: &ToolAction<'_>) -> bool {
        self.is_about(action.tool)
            && match &self.what {
                RuleScope::Anything => true,
                RuleScope::Command(pattern) => action.what.trim() == pattern.written,
                // Both the path and what its links lead to.
                RuleScope::Paths(paths) => {
                    paths.is_match(action.what) && paths.is_match(action.real)
                }
                RuleScope::Absolute(paths) => {
                    on_both(action).into_iter().all(|it| paths.is_match(it))
                }
            }
    }

    /// Whether it allows one command of a line in which nothing is hidden.
    pub(super) fn allows_command(&self, tool: &str, command: &ShellCommand) -> bool {
        match &self.what {
            RuleScope::Command(pattern) => self.is_about(tool) && pattern.allows(command),
            RuleScope::Anything => self.is_about(tool),
            RuleScope::Paths(_) | RuleScope::Absolute(_) => false,
        }
    }

    /// Whether it is about a file that a command names.
    fn forbids_file_of(&self, action: &ToolAction<'_>) -> bool {
        let how = match self.tool.as_str() {
            "Read" => FileUse::Look,
            "Edit" => FileUse::Change,
            _ => return false,
        };
        let is_meant = |path: String| match &self.what {
            RuleScope::Paths(paths) => paths.is_match(&path),
            RuleScope::Absolute(paths) => paths.is_match(action.root.join(&path)),
            RuleScope::Anything | RuleScope::Command(_) => false,
        };
        action.category == Category::Shell && named::files(action, how).into_iter().any(is_meant)
    }

    /// Whether it is about this action, or any part of it.
    pub(super) fn forbids(&self, action: &ToolAction<'_>) -> bool {
        self.forbids_file_of(action)
            || self.is_about(action.tool)
                && match &self.what {
                    RuleScope::Anything => true,
                    RuleScope::Command(pattern) => {
                        let ways = ShellLine::read(action.what).all_ways();
                        action.what.trim() == pattern.written
                            || ways.iter().any(|words| pattern.is_like(words, str::to_owned))
                    }
                    RuleScope::Paths(paths) => {
                        paths.is_match(action.what) || paths.is_match(action.real)
                    }
                    RuleScope::Absolute(paths) => {
                        on_both(action).into_iter().any(|it| paths.is_match(it))
                    }
                }
    }

    /// Whether it names a tool, or the MCP server of the tool.
    pub(crate) fn names(&self, tool: &str) -> bool {
        let is_all = self.tool.strip_suffix('*').is_some_and(|front| tool.starts_with(front));
        // `mcp__server` means all tools of that server.
        let is_server =
            tool.strip_prefix(self.tool.as_str()).is_some_and(|rest| rest.starts_with("__"));
        self.tool == tool || is_all || is_server
    }

    /// A rule about `Edit` covers all tools that change files, and one about `Read` all tools that read them.
    fn is_about(&self, tool: &str) -> bool {
        let family = match tool {
            "Write" | "Edit" => "Edit",
            "Read" | "Glob" | "Grep" | "LS" => "Read",
            // Claude Code has used both names.
            "Task" => "Agent",
            "Agent" => "Task",
            other => other,
        };
        self.names(tool) || self.tool == family
    }
}

/// The absolute path of an action, as given and with links resolved.
fn on_both(action: &ToolAction<'_>) -> [std::path::PathBuf; 2] {
    [action.what, action.real].map(|path| action.root.join(Path::new(path)))
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
