//! Hints: the next steps for a person, as a value that every surface renders in its own way and no program parses.

mod refusals;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quoted;

/// A hint: sentences, and steps to take next.
///
/// The command line writes it as text, a screen offers its steps as keys and its options as fields, a page offers them as links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Hint {
    parts: Vec<HintPart>,
}

/// One part of a hint. As text, the parts are joined without a separator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintPart {
    Text(String),
    Step(HintStep),
    Option(HintOption),
}

/// An option of what the person asked for. The text before it says what to do with it, such as to ask again with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintOption {
    pub name: String,
    /// None if the option has no value, or any value will do.
    pub value: Option<HintWord>,
}

/// One step and the command that does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HintStep {
    /// The purpose of the command, such as `claim another`. Empty if the text before it explains the command.
    pub say: String,
    pub command: HintCommand,
}

/// A command as data: the program, its arguments, and its target.
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
    /// An argument that is passed as it is.
    Exact(String),
    /// A placeholder for one word that the person chooses, such as `MEMBER`.
    Blank(String),
    /// A placeholder for a text that the person writes, such as `…` for a message.
    Text(String),
}

/// The target of a command: it decides which of the caller's options the command needs as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HintTarget {
    /// Nothing in troop: the command is another program.
    Machine,
    /// A store, but no existing team.
    Store,
    /// The caller's team.
    Team,
    /// The team that one of the command's arguments names.
    NamedTeam,
    /// The caller's team, acting as the caller.
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

    /// Adds an alternative.
    #[must_use]
    pub fn or_to(self, say: impl Into<String>, command: HintCommand) -> Self {
        self.and_to(", or ", say, command)
    }

    /// Adds the step that comes after.
    #[must_use]
    pub fn then_to(self, say: impl Into<String>, command: HintCommand) -> Self {
        self.and_to(", then ", say, command)
    }

    /// Adds a step after a joining text.
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

    /// Adds a command that the text before it explains.
    #[must_use]
    pub fn and_run(self, command: HintCommand) -> Self {
        self.and_to("", "", command)
    }

    /// Adds text.
    #[must_use]
    pub fn and(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.parts.push(HintPart::Text(text));
        }
        self
    }

    /// Adds an option that the text before it explains.
    #[must_use]
    pub fn and_option(mut self, option: HintOption) -> Self {
        self.parts.push(HintPart::Option(option));
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

    /// The steps, without the text between them.
    pub fn steps(&self) -> impl Iterator<Item = &HintStep> {
        self.parts.iter().filter_map(|part| match part {
            HintPart::Step(step) => Some(step),
            HintPart::Text(_) | HintPart::Option(_) => None,
        })
    }

    /// Whether it is no more than text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, HintPart::Text(_)))
    }

    /// This hint with other commands.
    #[must_use]
    pub fn map_commands(mut self, change: impl Fn(HintCommand) -> HintCommand) -> Self {
        let changed = self.parts.into_iter().map(|part| match part {
            HintPart::Step(HintStep { say, command }) => {
                HintPart::Step(HintStep { say, command: change(command) })
            }
            other @ (HintPart::Text(_) | HintPart::Option(_)) => other,
        });
        self.parts = changed.collect();
        self
    }

    /// This hint with text in place of the steps for which `spell` has other words.
    #[must_use]
    pub fn respell(mut self, spell: impl Fn(&HintCommand) -> Option<String>) -> Self {
        let respelled = self.parts.into_iter().map(|part| match part {
            HintPart::Step(HintStep { say, command }) => match spell(&command) {
                Some(text) if say.is_empty() => HintPart::Text(text),
                Some(text) => HintPart::Text(format!("{say}: {text}")),
                None => HintPart::Step(HintStep { say, command }),
            },
            other @ (HintPart::Text(_) | HintPart::Option(_)) => other,
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

impl HintOption {
    /// An option with this value.
    pub fn new(name: impl Into<String>, value: impl fmt::Display) -> Self {
        Self { name: name.into(), value: Some(HintWord::Exact(value.to_string())) }
    }

    /// An option whose value the person chooses.
    pub fn blank(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Some(HintWord::Blank(value.into())) }
    }

    /// An option that needs no value here.
    pub fn flag(name: impl Into<String>) -> Self {
        Self { name: name.into(), value: None }
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

    /// Adds an argument.
    #[must_use]
    pub fn word(self, word: impl fmt::Display) -> Self {
        self.with(HintWord::Exact(word.to_string()))
    }

    /// Adds several arguments.
    #[must_use]
    pub fn words<W: fmt::Display>(self, words: impl IntoIterator<Item = W>) -> Self {
        words.into_iter().fold(self, Self::word)
    }

    /// Adds a placeholder for one word.
    #[must_use]
    pub fn blank(self, word: impl Into<String>) -> Self {
        self.with(HintWord::Blank(word.into()))
    }

    /// Adds a placeholder for a text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(HintWord::Text(text.into()))
    }

    /// Adds an argument that names the team.
    #[must_use]
    pub fn team(mut self, name: impl fmt::Display) -> Self {
        self.target = HintTarget::NamedTeam;
        self.word(name)
    }

    /// This command for the team of this name, whatever the caller's team.
    #[must_use]
    pub fn in_team(mut self, name: impl fmt::Display) -> Self {
        let option = ["--team".to_owned(), name.to_string()];
        self.words.splice(0..0, option.map(HintWord::Exact));
        self
    }

    /// This command acting as a member that the person chooses.
    #[must_use]
    pub fn as_member(self) -> Self {
        self.acting_as(HintWord::Blank("MEMBER".to_owned()))
    }

    /// This command acting as this member.
    #[must_use]
    pub fn by_member(self, name: impl fmt::Display) -> Self {
        self.acting_as(HintWord::Exact(name.to_string()))
    }

    fn acting_as(mut self, member: HintWord) -> Self {
        self.words.splice(0..0, [HintWord::Exact("--as".to_owned()), member]);
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
            HintPart::Option(option) => write!(f, "`{option}`"),
        })
    }
}

impl fmt::Display for HintOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}", self.name)?;
        self.value.iter().try_for_each(|value| write!(f, " {value}"))
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
