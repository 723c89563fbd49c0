//! The agents that members can be: the built-in ones, and those that the project and the person describe.

use std::path::Path;

use anyhow::Result;
use smol_str::SmolStr;
use troop_model::{MemberName, NewMember};
use uuid::Uuid;

use crate::{
    config::Surroundings,
    report::{Usage, nearest},
};

/// What every troop can run.
const BUILT_IN: [(&str, &str); 6] = [
    ("builtin", "troop's own agent, on a model by API"),
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("acp", "any agent that speaks the Agent Client Protocol"),
    ("command", "runs a task's command"),
    ("script", "follows a script; for tests and demonstrations"),
];

/// Makes the same id for the same key everywhere.
const NAMESPACE: Uuid = Uuid::from_u128(0x7d9b_31f6_55c2_4c5e_9f0a_6d1f_0e8a_b1c4);

/// One agent that a member can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) key: String,
    pub(crate) id: Uuid,
    pub(crate) description: String,
    pub(crate) model: Option<String>,
}

/// All agents that a member can be.
#[derive(Clone, Debug)]
pub(crate) struct Agents(pub(crate) Vec<Agent>);

impl Agents {
    /// Reads the descriptions: a project's before the person's, both before the built-in ones.
    pub(crate) fn read(surroundings: &Surroundings) -> Self {
        let mut agents: Vec<Agent> = Vec::new();
        let folders = [
            surroundings.project.join(".troop/agents"),
            surroundings.project.join(".claude/agents"),
            surroundings.home.join("agents"),
        ];
        let described = folders.iter().flat_map(|folder| read_folder(folder));
        let built_in = BUILT_IN.iter().map(|(key, description)| Agent::new(key, description, None));
        for agent in described.chain(built_in) {
            if agents.iter().all(|known| known.key != agent.key) {
                agents.push(agent);
            }
        }
        Self(agents)
    }

    /// The member that a text describes: `NAME=AGENT`, or an agent that gives the member its name.
    pub(crate) fn member(&self, text: &str) -> Result<NewMember> {
        let (name, agent) = match text.split_once('=') {
            Some((name, agent)) => (Some(name), self.find(agent, text)?),
            None => (None, self.find(text, text)?),
        };
        let name: MemberName =
            name.unwrap_or(&agent.key).parse().map_err(troop_model::Refusal::from)?;
        Ok(NewMember {
            name,
            agent: SmolStr::new(&agent.key),
            expertise: agent.description.clone(),
            model: agent.model.as_deref().map(SmolStr::new),
            permissions: None,
        })
    }

    /// Finds an agent by its key or its id.
    fn find(&self, text: &str, whole: &str) -> Result<&Agent> {
        let id: Option<Uuid> = text.parse().ok();
        let found = self.0.iter().find(|agent| agent.key == text || Some(agent.id) == id);
        found.ok_or_else(|| {
            let hint = match nearest(text, self.0.iter().map(|agent| agent.key.as_str())) {
                Some(near) => format!("did you mean `{}`?", whole.replace(text, near)),
                None if whole.contains('=') => format!("the agents are: {}", self.keys()),
                None => format!(
                    "say what thinks for it: `{text}=claude`; the agents are: {}",
                    self.keys()
                ),
            };
            Usage::new(format!("there is no agent `{}`", crate::render::clean(text)), hint).into()
        })
    }

    fn keys(&self) -> String {
        self.0.iter().map(|agent| agent.key.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Agent {
    fn new(key: &str, description: &str, model: Option<String>) -> Self {
        let id = Uuid::new_v5(&NAMESPACE, key.as_bytes());
        Self { key: key.to_owned(), id, description: description.to_owned(), model }
    }
}

/// The agents that a folder's markdown files describe, by file name. What cannot be read describes nobody.
fn read_folder(folder: &Path) -> Vec<Agent> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> =
        entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    files.sort();
    let is_markdown =
        |path: &&std::path::PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let described = files.iter().filter(is_markdown).filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        let stem = path.file_stem()?.to_str()?;
        Some(describe(stem, &text))
    });
    described.collect()
}

/// Reads the front matter of an agent's description: `name`, `description`, `model`.
fn describe(stem: &str, text: &str) -> Agent {
    let matter = text
        .strip_prefix("---")
        .and_then(|rest| rest.split_once("\n---"))
        .map_or("", |(matter, _)| matter);
    let field = |name: &str| {
        let mut lines = matter.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
        let value = value.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    Agent::new(
        &field("name").unwrap_or_else(|| stem.to_owned()),
        &field("description").unwrap_or_default(),
        field("model"),
    )
}

#[cfg(test)]
mod tests;
