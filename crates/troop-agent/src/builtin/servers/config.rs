//! `.mcp.json`: which servers a project has.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// What it is called.
    pub name: String,
    /// How it is reached.
    pub how: How,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// What it finds in its environment besides what is in ours.
        environment: BTreeMap<String, String>,
    },
    /// A server that runs elsewhere.
    Http {
        /// Where.
        url: String,
        /// What it wants to hear with every request.
        headers: BTreeMap<String, String>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    mcp_servers: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Server {
    /// Reads a file. `${NAME}` and `${NAME:-else}` mean variables of the environment.
    pub fn read_all(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Vec<Self>, String> {
        let file: File =
            serde_json::from_str(text).map_err(|error| format!("`.mcp.json`: {error}"))?;
        let servers = file.mcp_servers.into_iter().map(|(name, entry)| {
            let all = |map: BTreeMap<String, String>| {
                map.into_iter().map(|(name, value)| (name, filled(&value, variable))).collect()
            };
            let how = match (entry.command, entry.url) {
                (Some(program), _) => How::Stdio {
                    program: filled(&program, variable),
                    arguments: entry.args.iter().map(|it| filled(it, variable)).collect(),
                    environment: all(entry.env),
                },
                (None, Some(url)) => {
                    How::Http { url: filled(&url, variable), headers: all(entry.headers) }
                }
                (None, None) => {
                    return Err(format!(
                        "`.mcp.json`: the server `{name}` has neither `command` nor `url`"
                    ));
                }
            };
            Ok(Self { name, how })
        });
        servers.collect()
    }

    /// What would run or be reached, as people are shown it.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.how {
            How::Stdio { program, arguments, .. } => {
                let words: Vec<_> =
                    std::iter::once(program).chain(arguments).map(String::as_str).collect();
                words.join(" ")
            }
            How::Http { url, .. } => url.clone(),
        }
    }
}

/// A text with the variables that it names.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, after)) = after.split_once('}') else { break };
        let (name, or_else) = inner.split_once(":-").unwrap_or((inner, ""));
        filled.push_str(before);
        filled.push_str(&variable(name).unwrap_or_else(|| or_else.to_owned()));
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    //! Reading `.mcp.json`.

    use super::{How, Server};

    #[test]
    fn servers_are_programs_or_addresses_with_the_variables_that_they_name() {
        let text = r#"{"mcpServers": {
            "a": {"command": "${BIN}/serve", "args": ["--key=${KEY:-none}", "${"], "env": {"T": "${BIN}"}},
            "b": {"type": "http", "url": "https://x/mcp", "headers": {"authorization": "Bearer ${MISSING}"}}
        }}"#;
        let variable = |name: &str| (name == "BIN").then(|| "/opt".to_owned());
        let servers = Server::read_all(text, &variable).unwrap();
        assert_eq!(servers[0].shown(), "/opt/serve --key=none ${");
        let How::Http { url, headers } = &servers[1].how else { panic!("{servers:?}") };
        assert_eq!((url.as_str(), headers["authorization"].as_str()), ("https://x/mcp", "Bearer "));
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let read = |text: &str| Server::read_all(text, &|_| None).unwrap_err();
        assert!(read("{").starts_with("`.mcp.json`: "));
        let error = read(r#"{"mcpServers": {"x": {}}}"#);
        assert_eq!(error, "`.mcp.json`: the server `x` has neither `command` nor `url`");
        assert_eq!(Server::read_all("{}", &|_| None), Ok(Vec::new()));
    }
}
