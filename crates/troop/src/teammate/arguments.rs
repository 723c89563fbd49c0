//! The arguments with which a lead starts a teammate. Parsed by hand: building the whole command line takes longer than a
//! teammate takes to be ready.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::report::Error;

pub(super) const HINT: &str = "leads start it as: troop --mode teammate --team TEAM --name NAME --agent AGENT \
                    --lead-session SESSION [--model MODEL] [--path FOLDER]";

/// The member that this process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TeammateArguments {
    pub(super) team: String,
    pub(super) name: String,
    pub(super) agent: String,
    pub(super) path: PathBuf,
    /// The model to use, if the lead named one.
    pub(super) model: Option<String>,
}

/// The arguments as they were given.
#[derive(Debug, Default)]
struct TypedArguments {
    /// `--teammate`, the other form: `--agent` is the member's name, and a folder describes its team.
    is_by_folder: bool,
    team: Option<String>,
    name: Option<String>,
    agent: Option<String>,
    lead_session: Option<String>,
    path: Option<String>,
    model: Option<String>,
    base_dir: Option<String>,
}

impl TeammateArguments {
    /// Parses the arguments after the program's name. None if they do not ask for a teammate.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Result<Self>> {
        let arguments: Vec<_> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
        if !asks_for_teammate(&arguments) {
            return None;
        }
        Some(TypedArguments::read(arguments).and_then(TypedArguments::check))
    }
}

/// Whether the flags before the first other word ask for a teammate: `task create --teammate` does not.
fn asks_for_teammate(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--teammate" | "--mode=teammate" => return true,
            "--mode" => return words.next() == Some("teammate"),
            "--team" | "--name" | "--agent" | "--lead-session" | "--model" | "--path"
            | "--base-dir" => {
                words.next();
            }
            flag if flag.starts_with("--") => {}
            _ => return false,
        }
    }
    false
}

impl TypedArguments {
    fn read(arguments: Vec<String>) -> Result<Self> {
        let mut given = Self::default();
        let mut words = arguments.into_iter();
        while let Some(word) = words.next() {
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            if flag == "--teammate" && value.is_none() {
                given.is_by_folder = true;
                continue;
            }
            let mut ignored = None;
            let place = match flag.as_str() {
                "--team" => &mut given.team,
                "--name" => &mut given.name,
                "--agent" => &mut given.agent,
                "--lead-session" => &mut given.lead_session,
                "--path" => &mut given.path,
                "--base-dir" => &mut given.base_dir,
                "--model" => &mut given.model,
                "--mode" => &mut ignored,
                _ => return Err(wrong(format!("a teammate has no argument `{flag}`"))),
            };
            let value = value.or_else(|| words.next()).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| wrong(format!("`{flag}` needs a value")))?;
            *place = Some(value);
        }
        Ok(given)
    }

    fn check(self) -> Result<TeammateArguments> {
        let path = self.path.map_or_else(|| PathBuf::from("."), PathBuf::from);
        let team = self.team.ok_or_else(|| missing("--team"))?;
        let agent = self.agent.ok_or_else(|| missing("--agent"))?;
        if self.is_by_folder {
            let folder = self.base_dir.ok_or_else(|| missing("--base-dir"))?;
            let described = agent_of(Path::new(&folder), &team, &agent);
            let name = agent.clone();
            let agent = described.unwrap_or(agent);
            return Ok(TeammateArguments { team, name, agent, path, model: self.model });
        }
        let name = self.name.ok_or_else(|| missing("--name"))?;
        self.lead_session.ok_or_else(|| missing("--lead-session"))?;
        Ok(TeammateArguments { team, name, agent, path, model: self.model })
    }
}

/// The agent of a member, from the description of its team.
fn agent_of(folder: &Path, team: &str, member: &str) -> Option<String> {
    let file = folder.join("teams").join(team).join("config.json");
    let config: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let members = config.get("members")?.as_array()?;
    let member = members.iter().find(|it| it.get("name").is_some_and(|name| name == member))?;
    let agent = member.get("agent").or_else(|| member.get("agentType"))?;
    agent.as_str().map(str::to_owned)
}

fn missing(flag: &str) -> anyhow::Error {
    wrong(format!("a teammate needs `{flag}`"))
}

fn wrong(message: String) -> anyhow::Error {
    Error::misuse(message, HINT).into()
}

#[cfg(test)]
mod tests;
