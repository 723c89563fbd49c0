//! `.mcp.json`: the MCP servers of a project.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

#[derive(Clone, Debug)]
pub struct McpServer {
    pub name: String,
    pub how: McpTransport,
    /// A person's consent, if it was needed.
    pub agreed: Option<CommandConsent>,
}

/// A person's consent to a command. The files that it names may change, so they are checked where and when it runs.
#[derive(Clone, Debug)]
pub struct CommandConsent {
    pub project: PathBuf,
    /// The command as it was shown.
    pub command: String,
    /// The files that it names, with their content.
    pub names: Vec<String>,
    /// Finds the files of a project that a command names if it runs in a folder, with their present content.
    pub look: fn(&Path, &Path, &str) -> Vec<String>,
}

impl CommandConsent {
    /// Checks that the files in this folder are the ones that were agreed to.
    ///
    /// # Errors
    ///
    /// Names the files that differ.
    pub fn check(&self, folder: &Path) -> Result<(), String> {
        let now = (self.look)(&self.project, folder, &self.command);
        if now == self.names {
            return Ok(());
        }
        let lost = self.names.iter().filter(|it| !now.contains(it)).map(|it| file_of(it));
        let new = now.iter().filter(|it| !self.names.contains(it)).map(|it| file_of(it));
        let mut files: Vec<_> = lost.chain(new).collect();
        files.sort_unstable();
        files.dedup();
        let all = |files: &[&str]| {
            files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(" and ")
        };
        // A teammate's folder has what git knows, and no more.
        let is_absent =
            |file: &&&str| self.project.join(file).exists() && !folder.join(file).exists();
        let absent: Vec<_> = files.iter().filter(is_absent).copied().collect();
        if !absent.is_empty() {
            let (is, it) = if absent.len() == 1 { ("is", "it") } else { ("are", "them") };
            return Err(format!(
                "{} {is} not in `{}`, because a teammate's folder has only what is committed; commit {it}",
                all(&absent),
                folder.display()
            ));
        }
        Err(format!("{} is not what a person agreed to with `troop trust`", all(&files)))
    }
}

/// The file of a name with its content.
fn file_of(named: &str) -> &str {
    named.split(" (").next().unwrap_or_default()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that we start and talk to over its standard input and output.
    Stdio {
        program: String,
        arguments: Vec<String>,
        /// Environment variables in addition to ours.
        environment: BTreeMap<String, String>,
    },
    /// A server that runs elsewhere.
    Http {
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// The server cannot be reached.
    Unclear { why: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpFile {
    #[serde(default)]
    mcp_servers: BTreeMap<String, McpEntry>,
}

#[derive(Deserialize)]
struct McpEntry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl McpServer {
    /// Parses a file. `${NAME}` and `${NAME:-default}` are environment variables.
    pub fn read_all(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Self>, String> {
        let file: McpFile =
            serde_json::from_str(text).map_err(|error| format!("`.mcp.json`: {error}"))?;
        let servers = file.mcp_servers.into_iter().map(|(name, entry)| {
            if entry.command.is_none() && entry.url.is_none() {
                return Err(format!(
                    "`.mcp.json`: the server `{name}` has neither `command` nor `url`"
                ));
            }
            let how = entry.how(variable).unwrap_or_else(|missing| McpTransport::Unclear {
                why: format!("`.mcp.json` names the variable `{missing}`, which is not set"),
            });
            Ok(Self { name, how, agreed: None })
        });
        servers.collect()
    }

    /// Whether it is troop's own server for team members. Members have these tools already, under their own name.
    #[must_use]
    pub fn is_of_troop(&self) -> bool {
        let McpTransport::Stdio { program, arguments, .. } = &self.how else { return false };
        let mut words = std::iter::once(program).chain(arguments).map(String::as_str);
        let is_troop = |word: &str| word.rsplit('/').next() == Some("troop");
        // This includes programs that another one starts, as `npx` or `env` do.
        words.any(is_troop) && words.any(|word| word == "mcp")
    }

    /// The command or the URL, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.how {
            McpTransport::Stdio { program, arguments, .. } => {
                let words: Vec<_> =
                    std::iter::once(program).chain(arguments).map(String::as_str).collect();
                words.join(" ")
            }
            McpTransport::Http { url, .. } => url.clone(),
            McpTransport::Unclear { why } => why.clone(),
        }
    }
}

impl McpEntry {
    /// The error is the name of a variable that is not set.
    fn how(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<McpTransport, String> {
        let all = |map: BTreeMap<String, String>| -> Result<_, String> {
            map.into_iter().map(|(name, value)| Ok((name, filled(&value, variable)?))).collect()
        };
        Ok(match self.command {
            Some(program) => McpTransport::Stdio {
                program: filled(&program, variable)?,
                arguments: self
                    .args
                    .iter()
                    .map(|it| filled(it, variable))
                    .collect::<Result<_, _>>()?,
                environment: all(self.env)?,
            },
            None => McpTransport::Http {
                url: filled(&self.url.unwrap_or_default(), variable)?,
                headers: all(self.headers)?,
            },
        })
    }
}

/// Fills in variables. The error is the name of one that is not set and has no default.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, after)) = after.split_once('}') else { break };
        let (name, or_else) = match inner.split_once(":-") {
            Some((name, or_else)) => (name, Some(or_else.to_owned())),
            None => (inner, None),
        };
        filled.push_str(before);
        filled.push_str(&variable(name).or(or_else).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    Ok(filled + rest)
}

#[cfg(test)]
mod tests {
    //! Parsing `.mcp.json`.

    use super::{McpServer, McpTransport};

    #[test]
    fn servers_are_commands_or_urls_with_their_variables_filled_in() {
        let text = r#"{"mcpServers": {
            "a": {"command": "${BIN}/serve", "args": ["--key=${KEY:-none}", "${"], "env": {"T": "${BIN}"}},
            "b": {"type": "http", "url": "https://x/mcp", "headers": {"authorization": "Bearer ${MISSING:-}"}},
            "c": {"command": "serve", "env": {"TOKEN": "${MISSING}"}}
        }}"#;
        let variable = |name: &str| (name == "BIN").then(|| "/opt".to_owned());
        let servers = McpServer::read_all(text, &variable).unwrap();
        assert_eq!(servers[0].shown(), "/opt/serve --key=none ${");
        let McpTransport::Http { url, headers } = &servers[1].how else { panic!("{servers:?}") };
        assert_eq!((url.as_str(), headers["authorization"].as_str()), ("https://x/mcp", "Bearer "));
        let missing = "`.mcp.json` names the variable `MISSING`, which is not set";
        assert_eq!(servers[2].shown(), missing, "a missing variable is not guessed");
    }

    #[test]
    fn troops_own_mcp_server_is_recognised_however_it_is_started() {
        for (entry, is_of_troop) in [
            (r#"{"command": "troop", "args": ["mcp", "--team", "t", "--as", "ann"]}"#, true),
            (r#"{"command": "/opt/bin/troop", "args": ["--home", "x", "mcp"]}"#, true),
            (r#"{"command": "env", "args": ["A=b", "troop", "mcp"]}"#, true),
            (r#"{"command": "mcp", "args": ["troop"]}"#, false),
            (r#"{"command": "trooper", "args": ["mcp"]}"#, false),
            (r#"{"url": "https://troop/mcp"}"#, false),
        ] {
            let text = format!(r#"{{"mcpServers": {{"x": {entry}}}}}"#);
            let servers = McpServer::read_all(&text, &|_| None).unwrap();
            assert_eq!(servers[0].is_of_troop(), is_of_troop, "{entry}");
        }
    }

    #[test]
    fn an_invalid_server_entry_is_reported() {
        let read = |text: &str| McpServer::read_all(text, &|_| None).unwrap_err();
        assert!(read("{").starts_with("`.mcp.json`: "));
        let error = read(r#"{"mcpServers": {"x": {}}}"#);
        assert_eq!(error, "`.mcp.json`: the server `x` has neither `command` nor `url`");
        assert!(McpServer::read_all("{}", &|_| None).unwrap().is_empty());
    }
}
