//! The agents that members can be: the built-in ones, and those that the project and the person describe.

use anyhow::Result;
use smol_str::SmolStr;
use troop_agent::Definition;
use troop_model::{MemberName, NewMember};
use troop_runtime::EXTERNAL;
use uuid::Uuid;

use crate::{
    config::Surroundings,
    report::{Usage, nearest},
};

/// What every troop can run.
const BUILT_IN: [(&str, &str); 7] = [
    ("builtin", "troop's own agent, on a model by API"),
    ("claude", "Claude Code"),
    ("codex", "Codex"),
    ("acp", "any agent that speaks the Agent Client Protocol"),
    ("command", "runs a task's command"),
    (EXTERNAL, "a program that troop does not run, and that shares files with the team"),
    ("script", "follows a script, as `script:FILE`; for tests and demonstrations"),
];

/// What an agent begins with that follows a script of its own: `script:FILE`.
const SCRIPT: &str = "script:";

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
        let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
        let described = Definition::read_all(&folders)
            .into_iter()
            .map(|it| Agent::new(&it.key, &it.description, it.model));
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
            Some((name, agent)) if agent.starts_with(SCRIPT) => {
                (Some(name), &Agent::new(agent, "follows a script", None))
            }
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

#[cfg(test)]
mod tests;
