//! A command as it is written, and whether it needs a shell.

use std::fmt;

/// Characters with a meaning only for shells.
const SHELL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~',
    '=', '%', '!', '{', '}', '\n', '\r',
];
/// Builtins of the shell.
const BUILT_IN: [&str; 25] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "eval", "exec", "exit", "export",
    "fg", "for", "if", "read", "set", "shift", "source", "trap", "type", "ulimit", "umask",
    "until", "while",
];

/// A command line that is not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    written: String,
}

impl CommandLine {
    /// Parses a command. One that needs no shell is started without it, as `make` does.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut words = text.split_ascii_whitespace();
        let first = words.next()?;
        let written = text.to_owned();
        if text.contains(SHELL) || BUILT_IN.contains(&first) {
            let arguments = vec!["-c".to_owned(), written.clone()];
            return Some(Self { program: "sh".to_owned(), arguments, written });
        }
        let arguments = words.map(str::to_owned).collect();
        Some(Self { program: first.to_owned(), arguments, written })
    }

    /// A script for a shell that stays alive until the end. Otherwise the shell would replace itself by the last
    /// command, in an environment that the script chose, and nobody could tell for which member that process runs.
    pub(crate) fn script(shell: &str, text: &str) -> Option<Self> {
        let written = Some(text.trim()).filter(|text| !text.is_empty())?.to_owned();
        let words = ["-c", r#"eval "shift; $1""#, shell, &written];
        let arguments = words.map(str::to_owned).to_vec();
        Some(Self { program: shell.to_owned(), arguments, written })
    }

    /// A command whose words are known, so that no shell interprets them.
    pub(super) fn from_words(words: Vec<String>) -> Option<Self> {
        let written = words.join(" ");
        let mut words = words.into_iter();
        let program = words.next().filter(|program| !program.is_empty())?;
        Some(Self { program, arguments: words.collect(), written })
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}
