//! Steps about files of the team's workspace, which the lead keeps.

use serde_json::Value;
use troop_protocol::FileCall;

use super::{
    perform::{Performance, ScriptStop},
    syntax::Share,
};

impl Performance<'_> {
    /// Reads or writes a file of the workspace, for the present task.
    pub(super) async fn share(&mut self, share: &Share) -> Result<(), ScriptStop> {
        // A foreign lead has its own ids, and knows which task we work on.
        let task = self.task.as_ref().and_then(|task| task.id.task().ok());
        let chat = None;
        match share {
            Share::Write { file, content } => {
                self.check_mode()?;
                let call = FileCall::Write {
                    path: self.fill(file),
                    content: Some(self.fill(content)),
                    base64: None,
                    chat,
                    task,
                    operation: None,
                };
                self.within(self.turn.ask::<Value>(&call)).await?;
            }
            Share::Read(file) => {
                let call = FileCall::Read { path: self.fill(file), chat, task };
                let answer = self.within(self.turn.ask::<Value>(&call)).await?;
                let content = answer.get("content").or_else(|| answer.get("base64"));
                self.memory.variables.set("content", content.cloned().unwrap_or_default());
            }
            Share::List => {
                let call = FileCall::List { chat, task };
                let answer = self.within(self.turn.ask::<Value>(&call)).await?;
                let files = answer.get("files").and_then(Value::as_array);
                let paths =
                    files.into_iter().flatten().filter_map(|file| file.get("path")?.as_str());
                let paths: Vec<_> = paths.collect();
                self.memory.variables.set("files", paths.join(" "));
            }
            Share::Delete(file) => {
                self.check_mode()?;
                let call = FileCall::Delete { path: self.fill(file), chat, task, operation: None };
                self.within(self.turn.ask::<Value>(&call)).await?;
            }
        }
        Ok(())
    }
}
