//! Tells a client about the MCP server, in the client's own configuration: everything else in it stays as it is.

mod edit;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use troop_app::whole_file::{self, FileAccess};

use crate::{cli::McpClient, report::Error};

/// The name under which clients know the server.
const NAME: &str = "troop";
/// What the file was before, beside it.
const BACKUP: &str = "before-troop";

/// A command that a client is to start.
#[derive(Clone, Debug)]
pub(crate) struct ServerCommand {
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
}

/// A change to a client's configuration that nobody has agreed to yet.
#[derive(Debug)]
pub(crate) struct ConfigChange {
    /// The file, with links followed: a link stays one.
    pub(crate) path: PathBuf,
    before: Option<String>,
    after: String,
}

/// Where a client keeps its configuration: most in the project, Codex in the person's own folder.
pub(crate) fn place(
    client: McpClient,
    project: &Path,
    codex_home: Option<&Path>,
) -> Result<PathBuf> {
    Ok(match client {
        McpClient::ClaudeCode => project.join(".mcp.json"),
        McpClient::Cursor => project.join(".cursor/mcp.json"),
        McpClient::Gemini => project.join(".gemini/settings.json"),
        McpClient::Opencode => {
            let with_comments = project.join("opencode.jsonc");
            if with_comments.exists() { with_comments } else { project.join("opencode.json") }
        }
        McpClient::Codex => {
            let home = codex_home.ok_or_else(|| {
                Error::refused(
                    "there is no home folder for Codex's configuration",
                    "set `CODEX_HOME`",
                )
            })?;
            home.join("config.toml")
        }
    })
}

/// What is to change in a file, or why it cannot.
pub(crate) fn plan(client: McpClient, path: &Path, server: &ServerCommand) -> Result<ConfigChange> {
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error).context(format!("`{}` cannot be read", path.display())),
    };
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).context(format!("`{}` cannot be read", path.display())),
    };
    let text = before.as_deref().unwrap_or_default();
    let after = edit::with_server(client, text, NAME, server).map_err(|problem| {
        let message = format!("`{}` is not changed: {problem}", path.display());
        Error::refused(message, "repair it first, or see what to put there: `--print`")
    })?;
    Ok(ConfigChange { path, before, after })
}

/// What the client's configuration holds if it holds nothing else.
pub(crate) fn snippet(client: McpClient, server: &ServerCommand) -> Result<String> {
    edit::with_server(client, "", NAME, server).map_err(anyhow::Error::msg)
}

impl ConfigChange {
    /// Whether all is so already.
    pub(crate) fn is_done(&self) -> bool {
        self.before.as_deref() == Some(self.after.as_str())
    }

    /// The lines that go and come, with what is around them.
    pub(crate) fn shown(&self) -> String {
        let old: Vec<_> = self.before.as_deref().unwrap_or_default().lines().collect();
        let new: Vec<_> = self.after.lines().collect();
        let n_same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
        let old_rest = old.split_at(n_same).1;
        let new_rest = new.split_at(n_same).1;
        let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
        let n_end = ends.take_while(|(one, other)| one == other).count();
        let middle = |rest: &[&str], mark: char| -> String {
            let lines = rest.iter().take(rest.len() - n_end);
            lines.map(|line| format!("{mark} {line}\n")).collect()
        };
        let around =
            |lines: &[&str]| lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
        let before = around(old.get(n_same.saturating_sub(2)..n_same).unwrap_or_default());
        let end = new.get(new.len() - n_end..(new.len() - n_end + 2).min(new.len()));
        let after = around(end.unwrap_or_default());
        format!("{before}{}{}{after}", middle(old_rest, '-'), middle(new_rest, '+'))
    }

    /// Writes it, all or nothing, and keeps what was there. Says where that is.
    pub(crate) fn write(&self) -> Result<Option<PathBuf>> {
        let failed = || format!("`{}` cannot be written", self.path.display());
        let folder = whole_file::folder(&self.path);
        fs::create_dir_all(folder).with_context(failed)?;
        let mut backup = None;
        if self.before.is_some() {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let kept = folder.join(format!("{name}.{BACKUP}"));
            fs::copy(&self.path, &kept).with_context(failed)?;
            backup = Some(kept);
        }
        let written = whole_file::write(&self.path, self.after.as_bytes(), FileAccess::LikeOthers);
        written.with_context(failed)?;
        Ok(backup)
    }
}

#[cfg(test)]
mod tests;
