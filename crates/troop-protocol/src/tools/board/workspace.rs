//! `team_workspace`: the files that the team shares.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use troop_model::{HintCommand, OperationId, TaskRef};
use uuid::Uuid;

use super::super::{Calls, Category, Seat, TeamTool, desk::ToolDesk, input};
use crate::{
    call::{FileCall, FileChanged, FileContent, FileList},
    code::Failure,
};

const ACTIONS: [&str; 4] = ["list", "read", "write", "delete"];
/// How many characters of a file one call shows.
const MAX_SHOWN: usize = 30_000;

/// Input of `team_workspace`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamWorkspace {
    /// What to do
    #[schemars(extend("enum" = ACTIONS))]
    action: String,
    /// read, write, delete: the file, such as `notes/plan.md`
    #[serde(default, alias = "file", alias = "file_path", deserialize_with = "input::said")]
    path: Option<String>,
    /// write: the whole content of the file, as text
    #[serde(default, alias = "text")]
    content: Option<String>,
    /// read: the character to start at, to continue an answer that was cut
    #[serde(default)]
    offset: usize,
    /// The task that the files belong to; the one that you work on if not given
    #[serde(default, alias = "task")]
    #[schemars(with = "Option<String>")]
    task_id: Option<TaskRef>,
}

impl TeamTool for TeamWorkspace {
    const NAME: &'static str = "team_workspace";
    const CATEGORY: Category = Category::Coordination;
    const EXAMPLE: &'static str =
        r##"{"action": "write", "path": "notes/plan.md", "content": "# Plan"}"##;

    fn about(_: &Seat) -> String {
        "Files that the team shares outside its repository: notes, drafts, results. list: the files and their authors; \
         read (path); write (path, content): replaces the whole file, which then belongs to the task that you work on; \
         delete (path)."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let outcome = match self.action.trim() {
            "list" => self.list(desk).await,
            "read" => self.read(desk).await,
            "write" => self.write(desk).await,
            "delete" => self.delete(desk).await,
            other => return Err(input::unknown_action(other, &ACTIONS)),
        };
        outcome.map_err(in_own_words)
    }
}

impl TeamWorkspace {
    fn path(&self) -> Result<String, Failure> {
        self.path.clone().ok_or_else(|| needs(&self.action, "path"))
    }

    async fn list<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let list: FileList = desk.file(FileCall::List { chat: None, task: self.task_id }).await?;
        let files = list.files.iter().map(|file| {
            let by = file.by.as_ref().map(|by| &by.name);
            json!({"path": file.path, "size": file.size, "by": by, "at": file.at, "task_number": file.task})
        });
        let files: Vec<_> = files.collect();
        Ok(json!({"files": files, "size": list.size, "folder": list.path}).to_string())
    }

    async fn read<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let path = self.path()?;
        let file: FileContent =
            desk.file(FileCall::Read { path, chat: None, task: self.task_id }).await?;
        let Some(text) = file.content else {
            let note = "it is not text; `list` shows its folder";
            return Ok(json!({"path": file.path, "size": file.size, "note": note}).to_string());
        };
        let shown: String = text.chars().skip(self.offset).take(MAX_SHOWN).collect();
        let end = self.offset.saturating_add(MAX_SHOWN);
        let is_cut = text.chars().nth(end).is_some();
        let mut said = json!({"path": file.path, "size": file.size, "content": shown});
        said.as_object_mut().filter(|_| is_cut).into_iter().for_each(|said| {
            said.insert("next_offset".to_owned(), json!(end));
        });
        Ok(said.to_string())
    }

    async fn write<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let path = self.path()?;
        if self.content.is_none() {
            return Err(needs("write", "content"));
        }
        let write = FileCall::Write {
            path,
            content: self.content,
            base64: None,
            chat: None,
            task: self.task_id,
            operation: Some(OperationId(Uuid::now_v7())),
        };
        let FileChanged { path, size, task } = desk.file(write).await?;
        Ok(json!({"success": true, "path": path, "size": size, "task_number": task}).to_string())
    }

    async fn delete<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let path = self.path()?;
        let operation = Some(OperationId(Uuid::now_v7()));
        let delete = FileCall::Delete { path, chat: None, task: self.task_id, operation };
        let FileChanged { path, .. } = desk.file(delete).await?;
        Ok(json!({"success": true, "path": path}).to_string())
    }
}

fn needs(action: &str, field: &str) -> Failure {
    let example = match action {
        "read" | "delete" => format!(r#"{{"action": "{action}", "path": "notes/plan.md"}}"#),
        _ => TeamWorkspace::EXAMPLE.to_owned(),
    };
    input::missing(&format!("`team_workspace` with action `{action}`"), field, &example)
}

/// Replaces commands that a person would type by calls of this tool.
fn in_own_words(failure: Failure) -> Failure {
    let hint = failure.hint.map(|hint| hint.respell(as_tool_call));
    Failure { hint, ..failure }
}

fn as_tool_call(command: &HintCommand) -> Option<String> {
    let call = if *command == HintCommand::troop("workspace list") {
        r#"team_workspace {"action": "list"}"#
    } else if *command == HintCommand::troop("workspace delete").blank("PATH") {
        r#"team_workspace {"action": "delete", "path": "…"}"#
    } else {
        return None;
    };
    Some(call.to_owned())
}
