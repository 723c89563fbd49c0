//! The agent's file tools in the team's workspace. The lead keeps those files, so its rules hold: names, limits, and which task a
//! file belongs to.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use troop_model::{OperationId, TaskRef};
use troop_protocol::{Failure, FileCall, FileChanged, FileContent, FileList, WireTask};
use uuid::Uuid;

use super::{LINES, MAX_LINE, MAX_RESULT, OwnTool, ToolOutcome, cut, edit, parse};
use crate::Turn;

/// How a path into the workspace may begin instead of with its folder.
const VARIABLE: &str = "$TROOP_WORKSPACE";

/// The path inside the workspace that a call is about, if it is about the workspace.
pub(crate) fn path_of(
    tool: OwnTool,
    input: &Map<String, Value>,
    task: Option<&WireTask>,
) -> Option<String> {
    let field = match tool {
        OwnTool::Read | OwnTool::Write | OwnTool::Edit => "file_path",
        OwnTool::List => "path",
        OwnTool::Glob
        | OwnTool::Grep
        | OwnTool::Shell
        | OwnTool::Plan
        | OwnTool::Fail
        | OwnTool::GiveBack
        | OwnTool::Todo
        | OwnTool::Message => return None,
    };
    let folder = task?.run.as_ref()?.workspace.as_deref()?;
    let given = Path::new(input.get(field)?.as_str()?);
    let inside = given.strip_prefix(folder).or_else(|_| given.strip_prefix(VARIABLE)).ok()?;
    inside.to_str().map(str::to_owned)
}

/// Runs a file tool on the workspace.
pub(crate) async fn run(
    tool: OwnTool,
    input: &Map<String, Value>,
    path: String,
    task: Option<&WireTask>,
    turn: &Turn,
) -> ToolOutcome {
    let desk = SharedFiles { turn, task: task.and_then(|task| task.id.task().ok()) };
    let done = match tool {
        OwnTool::Read => desk.read(input, path).await,
        OwnTool::Write => desk.write(input, path).await,
        OwnTool::Edit => desk.edit(input, path).await,
        OwnTool::List
        | OwnTool::Glob
        | OwnTool::Grep
        | OwnTool::Shell
        | OwnTool::Plan
        | OwnTool::Fail
        | OwnTool::GiveBack
        | OwnTool::Todo
        | OwnTool::Message => desk.list(&path).await,
    };
    done.map_or_else(|wrong| ToolOutcome::Bad(cut(wrong)), |good| ToolOutcome::Good(cut(good)))
}

/// The workspace, as the lead keeps it.
struct SharedFiles<'a> {
    turn: &'a Turn,
    task: Option<TaskRef>,
}

impl SharedFiles<'_> {
    async fn ask<T: DeserializeOwned>(&self, call: FileCall) -> Result<T, String> {
        let asked = self.turn.ask::<T>(&call).await;
        asked.map_err(|error| Failure::from(error).for_model())
    }

    async fn text(&self, path: &str) -> Result<String, String> {
        let path = path.to_owned();
        let file: FileContent =
            self.ask(FileCall::Read { path, chat: None, task: self.task.clone() }).await?;
        file.content.ok_or_else(|| format!("`{}` is not a text file", file.path))
    }

    async fn put(&self, path: &str, content: String) -> Result<FileChanged, String> {
        let write = FileCall::Write {
            path: path.to_owned(),
            content: Some(content),
            base64: None,
            chat: None,
            task: self.task.clone(),
            operation: Some(OperationId(Uuid::now_v7())),
        };
        self.ask(write).await
    }

    async fn read(&self, input: &Map<String, Value>, path: String) -> Result<String, String> {
        let number = |name: &str| input.get(name)?.as_u64()?.try_into().ok();
        let first: usize = number("offset").unwrap_or(1).max(1);
        let limit: usize = number("limit").unwrap_or(LINES).min(LINES);
        let text = self.text(&path).await?;
        let mut shown = String::new();
        for (nth, line) in text.lines().enumerate().skip(first - 1) {
            if nth >= first - 1 + limit || shown.len() > MAX_RESULT {
                shown.push_str(&format!("[there is more; continue with offset {}]\n", nth + 1));
                break;
            }
            let line = troop_model::preview(line, MAX_LINE);
            shown.push_str(&format!("{:>6}\t{line}\n", nth + 1));
        }
        match (text.is_empty(), shown.is_empty()) {
            (true, _) => Ok("[the file is empty]".to_owned()),
            (_, true) => Err(format!("`{path}` has only {} lines", text.lines().count())),
            (_, false) => Ok(shown),
        }
    }

    async fn write(&self, input: &Map<String, Value>, path: String) -> Result<String, String> {
        let Some(content) = input.get("content").and_then(Value::as_str) else {
            return Err("`content` is missing: the whole content of the file".to_owned());
        };
        let FileChanged { path, size, .. } = self.put(&path, content.to_owned()).await?;
        Ok(format!("wrote `{path}` into the team's workspace, {size} bytes"))
    }

    async fn edit(&self, input: &Map<String, Value>, path: String) -> Result<String, String> {
        let wanted = parse(OwnTool::Edit, input)?;
        let text = self.text(&path).await?;
        let edit::Replacement { text, places } = edit::replaced(&text, &wanted, Path::new(&path))?;
        let FileChanged { path, .. } = self.put(&path, text).await?;
        Ok(format!("changed {places} in `{path}` in the team's workspace"))
    }

    async fn list(&self, below: &str) -> Result<String, String> {
        let list: FileList =
            self.ask(FileCall::List { chat: None, task: self.task.clone() }).await?;
        let files = list.files.iter().filter(|file| Path::new(&file.path).starts_with(below));
        let lines: String = files
            .map(|file| {
                let by = file.by.as_ref().map(|by| format!(", by {}", by.name)).unwrap_or_default();
                format!("{} ({} bytes{by})\n", file.path, file.size)
            })
            .collect();
        Ok(if lines.is_empty() { "[no files]".to_owned() } else { lines })
    }
}
