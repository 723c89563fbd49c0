//! The built-in agent's own tools: it reads and changes files, runs commands, and ends its work.

mod edit;
mod end;
mod find;
mod message;
mod read;
mod search;
pub(crate) mod shared;
mod shell;
mod todo;

use std::{io, path::Path, sync::atomic::AtomicBool};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use troop_protocol::Category;

pub(crate) use shell::Shell;

use super::chat::ToolSpec;
use crate::{
    TurnOutcome,
    files::{NoFile, RulePath, WorkFolder},
    permit::{Rules, Veil},
};
use find::in_background;

/// How much of a result a model gets.
const MAX_RESULT: usize = 30_000;
/// How many lines of a file a model gets at once, and how much of each.
const LINES: usize = 2_000;
const MAX_LINE: usize = 2_000;

/// The agent's own tools, with the names and inputs that models know from other agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnTool {
    Read,
    List,
    Glob,
    Grep,
    Write,
    Edit,
    Shell,
    Plan,
    Fail,
    GiveBack,
    Todo,
    /// Only for a lead without a board: the team's own tools have one of this name.
    Message,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Good(String),
    Bad(String),
    /// The call ends the work.
    Over(TurnOutcome),
    /// The plan was approved.
    Approved(String),
}

const ALL: [OwnTool; 12] = [
    OwnTool::Read,
    OwnTool::List,
    OwnTool::Glob,
    OwnTool::Grep,
    OwnTool::Write,
    OwnTool::Edit,
    OwnTool::Shell,
    OwnTool::Plan,
    OwnTool::Fail,
    OwnTool::GiveBack,
    OwnTool::Todo,
    OwnTool::Message,
];

impl OwnTool {
    pub(crate) fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tools for a member with or without a task.
    pub(crate) fn shown(has_task: bool) -> impl Iterator<Item = Self> {
        ALL.into_iter().filter(move |tool| has_task || !matches!(tool, Self::Fail | Self::GiveBack))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::List => "LS",
            Self::Glob => "Glob",
            Self::Grep => "Grep",
            Self::Write => "Write",
            Self::Edit => "Edit",
            Self::Shell => "Bash",
            Self::Plan => "ExitPlanMode",
            Self::Fail => "FailTask",
            Self::GiveBack => "GiveBackTask",
            Self::Todo => "TodoWrite",
            Self::Message => "SendMessage",
        }
    }

    pub(crate) fn category(self) -> Category {
        match self {
            Self::Read | Self::List | Self::Glob | Self::Grep => Category::Read,
            Self::Write | Self::Edit => Category::Files,
            Self::Shell => Category::Shell,
            Self::Plan | Self::Fail | Self::GiveBack | Self::Todo | Self::Message => {
                Category::Coordination
            }
        }
    }

    pub(crate) fn spec(self) -> ToolSpec {
        let (description, input) = match self {
            Self::Read => read::about(),
            Self::List => find::about_list(),
            Self::Glob => find::about_glob(),
            Self::Grep => search::about(),
            Self::Write => edit::about_write(),
            Self::Edit => edit::about_edit(),
            Self::Shell => shell::about(),
            Self::Plan => end::about_plan(),
            Self::Fail => end::about_fail(),
            Self::GiveBack => end::about_give_back(),
            Self::Todo => todo::about(),
            Self::Message => message::about(),
        };
        ToolSpec { name: self.name().to_owned(), description: description.to_owned(), input }
    }

    /// The path or command that a permission for the call is about.
    pub(crate) async fn rule_path(
        self,
        input: &Map<String, Value>,
        files: &WorkFolder,
    ) -> RulePath {
        let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = match self {
            Self::Read | Self::Write | Self::Edit => text("file_path").to_owned(),
            Self::List | Self::Glob | Self::Grep => text("path").to_owned(),
            Self::Shell => {
                let given = text("command").to_owned();
                return RulePath { real: given.clone(), given };
            }
            Self::Plan | Self::Fail | Self::GiveBack | Self::Todo | Self::Message => {
                return RulePath::default();
            }
        };
        let files = files.clone();
        in_background(move |_| Ok(files.rule_path(&path))).await.unwrap_or_default()
    }

    /// Runs the tool. Everything it starts ends with this future.
    pub(crate) async fn run(
        self,
        input: &Map<String, Value>,
        files: &WorkFolder,
        rules: &Rules,
        shell: Shell<'_>,
    ) -> ToolOutcome {
        let done = match self {
            Self::Shell => match parse(self, input) {
                Ok(it) => shell::run(it, shell).await,
                Err(wrong) => Err(wrong),
            },
            Self::Plan => Err("there is nobody to approve plans".to_owned()),
            Self::Fail | Self::GiveBack => match parse(self, input) {
                Ok(it) => return ToolOutcome::Over(end::end(self, it)),
                Err(wrong) => Err(wrong),
            },
            Self::Todo => parse(self, input).and_then(|it| todo::told(&it)),
            Self::Message => match parse(self, input) {
                Ok(it) => message::send(it, shell.turn).await,
                Err(wrong) => Err(wrong),
            },
            Self::Read | Self::List | Self::Glob | Self::Grep | Self::Write | Self::Edit => {
                let input = input.clone();
                let files = files.clone();
                let veil = rules.veil(self.name());
                in_background(move |over| self.on_files(&input, &files, &veil, over)).await
            }
        };
        done.map_or_else(|wrong| ToolOutcome::Bad(cut(wrong)), |good| ToolOutcome::Good(cut(good)))
    }

    /// Runs a tool that only needs files, on a separate thread because disks may be slow.
    fn on_files(
        self,
        input: &Map<String, Value>,
        files: &WorkFolder,
        veil: &Veil,
        over: &AtomicBool,
    ) -> Result<String, String> {
        match self {
            Self::Read => read::read(&parse(self, input)?, files, over),
            Self::List => find::list(&parse(self, input)?, files),
            Self::Glob => find::glob(&parse(self, input)?, files, veil, over),
            Self::Grep => search::grep(&parse(self, input)?, files, veil, over),
            Self::Write => edit::write(&parse(self, input)?, files),
            Self::Edit => edit::edit(&parse(self, input)?, files),
            Self::Shell | Self::Plan | Self::Fail | Self::GiveBack | Self::Todo | Self::Message => {
                Err("it is not about files".to_owned())
            }
        }
    }
}

/// Parses an input. The error says what is expected.
fn parse<T: DeserializeOwned>(tool: OwnTool, input: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(input.clone())).map_err(|error| {
        let schema = tool.spec().input;
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields: Vec<_> = fields.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        format!("{error}; the input of `{}` is an object with: {}", tool.name(), fields.join(", "))
    })
}

/// The schema of an input: fields with types and descriptions, and which of them are required.
fn schema(fields: &[(&str, &str, &str)], required: &[&str]) -> Map<String, Value> {
    let fields = fields.iter().map(|(name, kind, about)| {
        ((*name).to_owned(), json!({"type": kind, "description": about}))
    });
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(fields.collect()));
    schema.insert("required".to_owned(), json!(required));
    schema
}

/// Shortens a result that is too long.
pub(crate) fn cut(text: String) -> String {
    shortened(text, MAX_RESULT)
}

/// The beginning and the end of a text that is longer than this.
pub(crate) fn shortened(text: String, n_bytes: usize) -> String {
    if text.len() <= n_bytes {
        return text;
    }
    let floor = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let front = floor(n_bytes / 3 * 2);
    let back = floor(text.len() - n_bytes / 3);
    let head = text.get(..front).unwrap_or_default();
    let tail = text.get(back..).unwrap_or_default();
    format!("{head}\n[{} bytes are not shown here]\n{tail}", back - front)
}

/// An error about a file, for a model.
fn fault(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    if matches!(error.get_ref(), Some(it) if it.is::<NoFile>()) {
        return format!("`{path}` {error}");
    }
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    let is_folder = error.kind() == io::ErrorKind::IsADirectory;
    if is_missing {
        format!("`{path}` does not exist; find files with LS or Glob")
    } else if is_folder {
        format!("`{path}` is a folder; list it with LS")
    } else {
        format!("`{path}`: {error}")
    }
}

#[cfg(test)]
mod tests;
