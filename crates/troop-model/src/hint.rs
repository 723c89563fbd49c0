//! What a person can do next, as a value. Every surface renders it in its own way; nobody parses it.

mod refusals;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quoted;

/// What to do next: sentences, and steps that can be taken.
///
/// The command line writes it as text, a screen offers its steps as keys, a page offers them as links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hint {
    parts: Vec<HintPart>,
}

/// One part of a hint; as text, the parts follow each other without anything between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintPart {
    Text(String),
    Step(HintStep),
}

/// Something to do and the command that does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintStep {
    /// What the command is for, such as `claim another`. May be empty, if the text before it says so.
    pub say: String,
    pub command: HintCommand,
}

/// A command as data: the program, its words, and what it acts on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintCommand {
    pub program: String,
    pub words: Vec<HintWord>,
    pub target: HintTarget,
}

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintWord {
    /// Goes to the program as it is.
    Exact(String),
    /// Stands for one word that the person chooses, such as `MEMBER`.
    Blank(String),
    /// Stands for a text that the person writes, such as `…` for a message.
    Text(String),
}

/// What a command acts on: it decides which of the caller's options the command needs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintTarget {
    /// Nothing of troop's: another program.
    Machine,
    /// A store, but no team that exists.
    Store,
    /// The caller's team.
    Team,
    /// The team that one of the command's own words names.
    NamedTeam,
    /// The caller's team, in the name of the caller.
    Member,
}

impl Hint {
    /// One step.
    pub fn to(say: impl Into<String>, command: HintCommand) -> Self {
        Self::default().and_to("", say, command)
    }

    /// One command that needs no explanation.
    #[must_use]
    pub fn run(command: HintCommand) -> Self {
        Self::to("", command)
    }

    /// An alternative.
    #[must_use]
    pub fn or_to(self, say: impl Into<String>, command: HintCommand) -> Self {
        self.and_to(", or ", say, command)
    }

    /// What comes after that.
    #[must_use]
    pub fn then_to(self, say: impl Into<String>, command: HintCommand) -> Self {
        self.and_to(", then ", say, command)
    }

    /// One step more, after a text that joins it to the others.
    #[must_use]
    pub fn and_to(
        self,
        joint: impl Into<String>,
        say: impl Into<String>,
        command: HintCommand,
    ) -> Self {
        let mut hint = self.and(joint);
        hint.parts.push(HintPart::Step(HintStep { say: say.into(), command }));
        hint
    }

    /// A command that the text before it explains.
    #[must_use]
    pub fn and_run(self, command: HintCommand) -> Self {
        self.and_to("", "", command)
    }

    /// More text.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(HintPart::Text(text));
        }
        self
    }

    /// This hint and then another one.
    #[must_use]
    pub fn and_hint(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    #[must_use]
    pub fn parts(&self) -> &[HintPart] {
        &self.parts
    }

    /// What can be done, without the text between.
    pub fn steps(&self) -> impl Iterator<Item = &HintStep> {
        self.parts.iter().filter_map(|part| match part {
            HintPart::Step(step) => Some(step),
            HintPart::Text(_) => None,
        })
    }

    /// The same hint with other commands.
    #[must_use]
    pub fn map_commands(mut self, change: impl Fn(HintCommand) -> HintCommand) -> Self {
        let changed = self.parts.into_iter().map(|part| match part {
            HintPart::Step(HintStep { say, command }) => {
                HintPart::Step(HintStep { say, command: change(command) })
            }
            text @ HintPart::Text(_) => text,
        });
        self.parts = changed.collect();
        self
    }

    /// The same hint with text instead of the steps whose command somebody else would spell in another way.
    #[must_use]
    pub fn respell(mut self, spell: impl Fn(&HintCommand) -> Option<String>) -> Self {
        let respelled = self.parts.into_iter().map(|part| match part {
            HintPart::Step(HintStep { say, command }) => match spell(&command) {
                Some(text) if say.is_empty() => HintPart::Text(text),
                Some(text) => HintPart::Text(format!("{say}: {text}")),
                None => HintPart::Step(HintStep { say, command }),
            },
            text @ HintPart::Text(_) => text,
        });
        self.parts = respelled.collect();
        self
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::default().and(text)
    }
}

impl From<&String> for Hint {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::default().and(text)
    }
}

impl HintCommand {
    /// A command of troop, by its path such as `task claim`.
    #[must_use]
    pub fn troop(path: &str) -> Self {
        let target = match path {
            "run" | "demo" | "doctor" | "trust" | "team create" | "team list" => HintTarget::Store,
            "task claim" | "task next" | "task release" | "message send" | "message read" => {
                HintTarget::Member
            }
            _ => HintTarget::Team,
        };
        let words = path.split(' ').map(|word| HintWord::Exact(word.to_owned())).collect();
        Self { program: "troop".to_owned(), words, target }
    }

    /// A command of another program.
    #[must_use]
    pub fn other(program: &str) -> Self {
        Self { program: program.to_owned(), words: Vec::new(), target: HintTarget::Machine }
    }

    /// One word more.
    #[must_use]
    pub fn word(self, word: impl fmt::Display) -> Self {
        self.with(HintWord::Exact(word.to_string()))
    }

    /// Several words more.
    #[must_use]
    pub fn words<W: fmt::Display>(self, words: impl IntoIterator<Item = W>) -> Self {
        words.into_iter().fold(self, Self::word)
    }

    /// One word more, for the person to choose.
    #[must_use]
    pub fn blank(self, word: impl Into<String>) -> Self {
        self.with(HintWord::Blank(word.into()))
    }

    /// One text more, for the person to write.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(HintWord::Text(text.into()))
    }

    /// One word more, which names the team.
    #[must_use]
    pub fn team(mut self, name: impl fmt::Display) -> Self {
        self.target = HintTarget::NamedTeam;
        self.word(name)
    }

    /// The same command about the team of this name, whichever is the caller's.
    #[must_use]
    pub fn in_team(mut self, name: impl fmt::Display) -> Self {
        let option = ["--team".to_owned(), name.to_string()];
        self.words.splice(0..0, option.map(HintWord::Exact));
        self
    }

    /// The same command in the name of a member that the person chooses.
    #[must_use]
    pub fn as_member(mut self) -> Self {
        let option = [HintWord::Exact("--as".to_owned()), HintWord::Blank("MEMBER".to_owned())];
        self.words.splice(0..0, option);
        self
    }

    fn with(mut self, word: HintWord) -> Self {
        self.words.push(word);
        self
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            HintPart::Text(text) => f.write_str(text),
            HintPart::Step(HintStep { say, command }) if say.is_empty() => write!(f, "`{command}`"),
            HintPart::Step(HintStep { say, command }) => write!(f, "{say}: `{command}`"),
        })
    }
}

impl fmt::Display for HintCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}

impl fmt::Display for HintWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(word) => f.write_str(&quoted(word)),
            Self::Blank(word) => f.write_str(word),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

#[cfg(test)]
mod tests;
