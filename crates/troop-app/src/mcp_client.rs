//! Adds troop's MCP server to a client's own configuration. Everything else in the file stays as it is.

mod edit;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use troop_model::{Hint, HintOption};

use crate::{
    Error, FileAct, Result,
    whole_file::{self, FileAccess},
};

/// The name under which clients know the server.
const NAME: &str = "troop";
/// The extension of the backup that is kept beside a changed file.
const BACKUP: &str = "before-troop";

/// A program that uses MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpClient {
    ClaudeCode,
    Codex,
    Gemini,
    Opencode,
    Cursor,
}

/// The command with which a client starts the server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    pub program: String,
    pub arguments: Vec<String>,
}

/// A change to a client's configuration that has not been made.
#[derive(Debug)]
pub struct ConfigChange {
    /// The file, with symbolic links followed, so that they stay links.
    pub path: PathBuf,
    before: Option<String>,
    after: String,
}

/// Where a client keeps its configuration: most in the project, Codex in the home folder.
pub fn place(client: McpClient, project: &Path, codex_home: Option<&Path>) -> Result<PathBuf> {
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
                let message = "there is no home folder for Codex's configuration";
                Error::refused(message, "set `CODEX_HOME`")
            })?;
            home.join("config.toml")
        }
    })
}

/// Plans the change that adds the server to a file.
pub fn plan(client: McpClient, path: &Path, server: &ServerCommand) -> Result<ConfigChange> {
    let unreadable = Error::file(path, FileAct::Read);
    let real = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        found => found.map_err(unreadable)?,
    };
    let before = match fs::read_to_string(&real) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(unreadable)?),
    };
    let text = before.as_deref().unwrap_or_default();
    let after = edit::with_server(client, text, NAME, server).map_err(|problem| {
        let message = format!("`{}` is not changed: {problem}", real.display());
        let hint = Hint::from("repair it first, or see what to put there: ");
        Error::refused(message, hint.and_option(HintOption::flag("print")))
    })?;
    Ok(ConfigChange { path: real, before, after })
}

/// A configuration that contains only the server.
#[must_use]
pub fn snippet(client: McpClient, server: &ServerCommand) -> String {
    edit::with_server(client, "", NAME, server).expect("an empty configuration takes any entry")
}

impl ConfigChange {
    /// Whether the file has the server already.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.before.as_deref() == Some(self.after.as_str())
    }

    /// The removed and added lines, with two lines of context.
    #[must_use]
    pub fn diff(&self) -> String {
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

    /// Writes the file, all of it or nothing, and keeps the old one. Returns the path of the backup.
    pub fn write(&self) -> Result<Option<PathBuf>> {
        let failed = Error::file(&self.path, FileAct::Written);
        let folder = whole_file::folder(&self.path);
        fs::create_dir_all(folder).map_err(failed)?;
        let mut backup = None;
        if self.before.is_some() {
            let name = self.path.file_name().unwrap_or_default().to_string_lossy();
            let kept = folder.join(format!("{name}.{BACKUP}"));
            fs::copy(&self.path, &kept).map_err(failed)?;
            backup = Some(kept);
        }
        whole_file::write(&self.path, self.after.as_bytes(), FileAccess::LikeOthers)
            .map_err(failed)?;
        Ok(backup)
    }
}

#[cfg(test)]
mod tests;
