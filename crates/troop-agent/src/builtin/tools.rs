//! What the built-in agent can do besides speaking: look at files, change them, run commands, end its work.

mod edit;
mod end;
mod find;
mod read;
mod search;
mod shell;

use std::{io, path::Path, sync::atomic::AtomicBool};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use troop_protocol::Category;

pub(crate) use shell::Shell;

use super::{
    chat::ToolSpec,
    permit::{Rules, Veil},
};
use crate::{
    TurnOutcome,
    files::{NoFile, Spot, WorkFolder},
};
use find::in_background;

/// How much of a result a model is told.
const MAX_RESULT: usize = 30_000;

/// The tools of the agent itself. Their names and inputs are those that models know from elsewhere.
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
}

/// What came of using a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolOutcome {
    Good(String),
    Bad(String),
    /// The work is over.
    Over(TurnOutcome),
    /// A plan was found good.
    Approved(String),
}

const ALL: [OwnTool; 10] = [
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
];

impl OwnTool {
    pub(crate) fn find(name: &str) -> Option<Self> {
        ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tools for a member that works on a task, or on none.
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
        }
    }

    pub(crate) fn category(self) -> Category {
        match self {
            Self::Read | Self::List | Self::Glob | Self::Grep => Category::Read,
            Self::Write | Self::Edit => Category::Files,
            Self::Shell => Category::Shell,
            Self::Plan | Self::Fail | Self::GiveBack => Category::Coordination,
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
        };
        ToolSpec { name: self.name().to_owned(), description: description.to_owned(), input }
    }

    /// What the permission to use it is about: a path, or a command.
    pub(crate) async fn spot(self, input: &Map<String, Value>, files: &WorkFolder) -> Spot {
        let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = match self {
            Self::Read | Self::Write | Self::Edit => text("file_path").to_owned(),
            Self::List | Self::Glob | Self::Grep => text("path").to_owned(),
            Self::Shell => {
                let given = text("command").to_owned();
                return Spot { real: given.clone(), given };
            }
            Self::Plan | Self::Fail | Self::GiveBack => return Spot::default(),
        };
        let files = files.clone();
        in_background(move |_| Ok(files.spot(&path))).await.unwrap_or_default()
    }

    /// Uses it. What it starts ends with this future.
    pub(crate) async fn run(
        self,
        input: &Map<String, Value>,
        (files, rules): (&WorkFolder, &Rules),
        shell: Shell<'_>,
    ) -> ToolOutcome {
        let done = match self {
            Self::Shell => match parse(self, input) {
                Ok(it) => shell::run(it, shell).await,
                Err(wrong) => Err(wrong),
            },
            Self::Plan => Err("there is nobody to ask".to_owned()),
            Self::Fail | Self::GiveBack => match parse(self, input) {
                Ok(it) => return ToolOutcome::Over(end::end(self, it)),
                Err(wrong) => Err(wrong),
            },
            Self::Read | Self::List | Self::Glob | Self::Grep | Self::Write | Self::Edit => {
                let (input, files) = (input.clone(), files.clone());
                let veil = rules.veil(self.name());
                in_background(move |over| self.on_files(&input, &files, &veil, over)).await
            }
        };
        done.map_or_else(|wrong| ToolOutcome::Bad(cut(wrong)), |good| ToolOutcome::Good(cut(good)))
    }

    /// Uses a tool that needs files alone. Files may be slow, so this is done beside everything else.
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
            Self::Shell | Self::Plan | Self::Fail | Self::GiveBack => {
                Err("it is not about files".to_owned())
            }
        }
    }
}

/// Reads an input; what is wrong with it says what would be right.
fn parse<T: DeserializeOwned>(tool: OwnTool, input: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(input.clone())).map_err(|error| {
        let schema = tool.spec().input;
        let fields = schema.get("properties").and_then(Value::as_object);
        let fields: Vec<_> = fields.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        format!("{error}; the input of `{}` is an object with: {}", tool.name(), fields.join(", "))
    })
}

/// The schema of an input: fields with their types and what they mean, and which of them must be there.
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

/// The beginning and the end of what is too long.
pub(crate) fn cut(text: String) -> String {
    shortened(text, MAX_RESULT)
}

/// The beginning and the end of what is longer than so many bytes.
pub(crate) fn shortened(text: String, n_bytes: usize) -> String {
    if text.len() <= n_bytes {
        return text;
    }
    let floor = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (front, back) = (floor(n_bytes / 3 * 2), floor(text.len() - n_bytes / 3));
    let (head, tail) =
        (text.get(..front).unwrap_or_default(), text.get(back..).unwrap_or_default());
    format!("{head}\n[{} bytes are not shown here]\n{tail}", back - front)
}

/// What went wrong with a file, for a model.
fn fault(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    if matches!(error.get_ref(), Some(it) if it.is::<NoFile>()) {
        return format!("`{path}` {error}");
    }
    let (is_missing, is_folder) =
        (error.kind() == io::ErrorKind::NotFound, error.kind() == io::ErrorKind::IsADirectory);
    if is_missing {
        format!("there is no `{path}`; look with LS or Glob what there is")
    } else if is_folder {
        format!("`{path}` is a folder; look into it with LS")
    } else {
        format!("`{path}`: {error}")
    }
}

#[cfg(test)]
mod tests;
