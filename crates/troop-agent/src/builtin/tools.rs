//! What the built-in agent can do besides speaking: look at files, change them, run commands, end its work.

mod edit;
mod end;
mod files;
mod find;
mod read;
mod search;
mod shell;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use troop_protocol::Category;

pub(crate) use files::Files;
pub(crate) use shell::Shell;

use super::chat::ToolSpec;
use crate::Outcome;

/// How much of a result a model is told.
const MAX_RESULT: usize = 30_000;

/// The tools of the agent itself. Their names and inputs are those that models know from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
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
pub(crate) enum Used {
    Good(String),
    Bad(String),
    /// The work is over.
    Over(Outcome),
    /// A plan was found good.
    Approved(String),
}

const ALL: [Own; 10] = [
    Own::Read,
    Own::List,
    Own::Glob,
    Own::Grep,
    Own::Write,
    Own::Edit,
    Own::Shell,
    Own::Plan,
    Own::Fail,
    Own::GiveBack,
];

impl Own {
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
    pub(crate) fn what(self, input: &Map<String, Value>, files: &Files) -> String {
        let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        match self {
            Self::Read | Self::Write | Self::Edit => files.shown(text("file_path")),
            Self::List | Self::Glob | Self::Grep => files.shown(text("path")),
            Self::Shell => text("command").to_owned(),
            Self::Plan | Self::Fail | Self::GiveBack => String::new(),
        }
    }

    /// Uses it. What it starts ends with this future.
    pub(crate) async fn run(
        self,
        input: &Map<String, Value>,
        files: &Files,
        shell: Shell<'_>,
    ) -> Used {
        let done = match self {
            Self::Read => parse(self, input).and_then(|it| read::read(&it, files)),
            Self::List => parse(self, input).and_then(|it| find::list(&it, files)),
            Self::Write => parse(self, input).and_then(|it| edit::write(&it, files)),
            Self::Edit => parse(self, input).and_then(|it| edit::edit(&it, files)),
            Self::Glob => match parse(self, input) {
                Ok(it) => find::glob(it, files).await,
                Err(wrong) => Err(wrong),
            },
            Self::Grep => match parse(self, input) {
                Ok(it) => search::grep(it, files).await,
                Err(wrong) => Err(wrong),
            },
            Self::Shell => match parse(self, input) {
                Ok(it) => shell::run(it, shell).await,
                Err(wrong) => Err(wrong),
            },
            Self::Plan => Err("there is nobody to ask".to_owned()),
            Self::Fail | Self::GiveBack => match parse(self, input) {
                Ok(it) => return Used::Over(end::end(self, it)),
                Err(wrong) => Err(wrong),
            },
        };
        done.map_or_else(|wrong| Used::Bad(cut(wrong)), |good| Used::Good(cut(good)))
    }
}

/// Reads an input; what is wrong with it says what would be right.
fn parse<T: DeserializeOwned>(tool: Own, input: &Map<String, Value>) -> Result<T, String> {
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
    if text.len() <= MAX_RESULT {
        return text;
    }
    let floor = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (front, back) = (floor(MAX_RESULT * 2 / 3), floor(text.len() - MAX_RESULT / 3));
    let (head, tail) =
        (text.get(..front).unwrap_or_default(), text.get(back..).unwrap_or_default());
    format!("{head}\n[{} bytes are not shown here]\n{tail}", back - front)
}

#[cfg(test)]
mod tests;
