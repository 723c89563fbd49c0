//! The agents that members can be: the built-in ones, and those that the project and the person describe.

use anyhow::Result;
use smol_str::SmolStr;
use troop_agent::Definition;
use troop_model::{EXTERNAL, MemberName, NewMember, did_you_mean, nearest, quoted};
use uuid::Uuid;

use crate::{config::Surroundings, report::Usage};

/// Whether an agent runs in this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Now,
    /// It is known, so that a board can say who works; troop does not start it yet.
    Later,
    /// It is never started: some other program is the member.
    Elsewhere,
}

/// The agents that every troop knows: the one list of what runs and what does not.
const BUILT_IN: [(&str, &str, Runs); 7] = [
    ("builtin", "troop's own agent, on a model by API", Runs::Now),
    ("claude", "Claude Code", Runs::Later),
    ("codex", "Codex", Runs::Later),
    ("acp", "any agent that speaks the Agent Client Protocol", Runs::Later),
    ("command", "runs a task's command", Runs::Now),
    (
        EXTERNAL,
        "a program that troop does not run, and that shares files with the team",
        Runs::Elsewhere,
    ),
    ("script", "follows a script, as `script:FILE`; for tests and demonstrations", Runs::Now),
];

/// The agent that hints name, since it runs everywhere.
pub(crate) const SUGGESTED: &str = "command";

/// What a person can write in front of an agent's description.
const FIELDS: [&str; 8] =
    ["name", "description", "model", "tools", "disallowedTools", "agent", "script", "program"];

/// What an agent begins with that follows a script of its own: `script:FILE`.
const SCRIPT: &str = "script:";

/// What everybody is good at who follows a script.
const FOLLOWS: &str = "follows a script";

/// What a lead is called that nobody gave a name.
const LEAD: &str = "lead";

/// Makes the same id for the same key everywhere.
const NAMESPACE: Uuid = Uuid::from_u128(0x7d9b_31f6_55c2_4c5e_9f0a_6d1f_0e8a_b1c4);

/// One agent that a member can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) key: String,
    pub(crate) id: Uuid,
    pub(crate) description: String,
    pub(crate) model: Option<String>,
    pub(crate) runs: Runs,
}

/// All agents that a member can be.
#[derive(Clone, Debug)]
pub(crate) struct Agents(pub(crate) Vec<Agent>);

impl Agents {
    /// Reads the descriptions: a project's before the person's, both before the built-in ones.
    pub(crate) fn read(surroundings: &Surroundings) -> Self {
        let mut agents: Vec<Agent> = Vec::new();
        let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
        let described = Definition::read_all(&folders).into_iter().map(|it| Agent {
            model: it.model.clone(),
            ..Agent::new(&it.key, &it.description, runs(&it))
        });
        let built_in =
            BUILT_IN.iter().map(|(key, description, runs)| Agent::new(key, description, *runs));
        for agent in described.chain(built_in) {
            if agents.iter().all(|known| known.key != agent.key) {
                agents.push(agent);
            }
        }
        Self(agents)
    }

    /// The member that a text describes: `NAME=AGENT`, or an agent that gives the member its name.
    pub(crate) fn member(&self, text: &str) -> Result<NewMember> {
        if text.starts_with(SCRIPT) {
            let message = format!("`{}` has no member to follow it", crate::render::clean(text));
            return Err(Usage::new(message, format!("give it a name: `ann={text}`")).into());
        }
        let (name, agent) = match text.split_once('=') {
            Some((name, agent)) if agent.starts_with(SCRIPT) => {
                (Some(name), &Agent::new(agent, FOLLOWS, Runs::Now))
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

    /// The lead that a text describes. A script gives nobody a name: whoever follows it is called `lead`.
    pub(crate) fn lead(&self, text: &str) -> Result<NewMember> {
        match text.starts_with(SCRIPT) {
            true => self.member(&format!("{LEAD}={text}")),
            false => self.member(text),
        }
    }

    /// The members that texts describe. Each has a name of its own.
    pub(crate) fn members(&self, texts: &[String]) -> Result<Vec<NewMember>> {
        let mut members: Vec<NewMember> = Vec::new();
        for text in texts {
            let member = self.member(text)?;
            if members.iter().any(|it| it.name == member.name) {
                let name = &member.name;
                let other = quoted(&format!("{name}-2={}", member.agent));
                let hint = format!("give each its own name: `--member {other}`");
                return Err(Usage::new(format!("two members are called `{name}`"), hint).into());
            }
            members.push(member);
        }
        Ok(members)
    }

    /// Finds an agent by its key or its id.
    fn find(&self, text: &str, whole: &str) -> Result<&Agent> {
        let id: Option<Uuid> = text.parse().ok();
        let found = self.0.iter().find(|agent| agent.key == text || Some(agent.id) == id);
        found.ok_or_else(|| {
            let hint = match nearest(text, self.0.iter().map(|agent| agent.key.as_str())) {
                Some(near) => did_you_mean(&whole.replace(text, near)),
                None if whole.contains('=') => format!("the agents are: {}", self.list()),
                None => {
                    format!("name its agent: `{text}={SUGGESTED}`; the agents are: {}", self.list())
                }
            };
            Usage::new(format!("there is no agent `{}`", crate::render::clean(text)), hint).into()
        })
    }

    /// What an agent is, for a member of which nothing else is said.
    pub(crate) fn description(&self, key: &str) -> &str {
        let found = self.0.iter().find(|agent| agent.key == key);
        match found {
            Some(agent) => &agent.description,
            None if key.starts_with(SCRIPT) => FOLLOWS,
            None => "",
        }
    }

    /// What runs now, and what does not yet or never.
    pub(crate) fn list(&self) -> String {
        let keys = |runs: Runs| {
            let keys = self.0.iter().filter(|it| it.runs == runs).map(|it| it.key.as_str());
            keys.collect::<Vec<_>>().join(", ")
        };
        let mut list = keys(Runs::Now);
        for (what, runs) in
            [("not in this version", Runs::Later), ("not run by troop", Runs::Elsewhere)]
        {
            let keys = keys(runs);
            if !keys.is_empty() {
                list += &format!(" ({what}: {keys})");
            }
        }
        list
    }
}

impl Agent {
    fn new(key: &str, description: &str, runs: Runs) -> Self {
        let id = Uuid::new_v5(&NAMESPACE, key.as_bytes());
        Self { key: key.to_owned(), id, description: description.to_owned(), model: None, runs }
    }
}

/// Whether an agent that is known to every troop runs only in a later version.
pub(crate) fn runs_later(key: &str) -> bool {
    BUILT_IN.iter().any(|(known, _, runs)| *known == key && *runs == Runs::Later)
}

/// What can be run, as people write it.
pub(crate) fn available() -> String {
    let now = BUILT_IN.iter().filter(|(_, _, runs)| *runs == Runs::Now).map(|(key, ..)| *key);
    let mut keys: Vec<_> =
        now.map(|key| if key == "script" { "script:FILE" } else { key }).collect();
    keys.push("your own program");
    keys.join(", ")
}

/// Whether what a file describes runs: a program of its own, or an agent that does.
fn runs(definition: &Definition) -> Runs {
    let agent = definition.agent.as_deref().unwrap_or("builtin");
    if !definition.program.is_empty() || agent.starts_with(SCRIPT) {
        return Runs::Now;
    }
    let known = BUILT_IN.iter().find(|(key, ..)| *key == agent);
    known.map_or(Runs::Later, |(_, _, runs)| *runs)
}

/// Words in front of descriptions that are probably misspelt, and what was meant.
pub(crate) fn misspelt(surroundings: &Surroundings) -> Vec<String> {
    let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
    let read = |definition: Definition| {
        let text = std::fs::read_to_string(&definition.file).unwrap_or_default();
        let matter = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
        let lines = matter.map_or("", |(matter, _)| matter).lines();
        let keys = lines.filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim());
        // Other programs have words of their own, which are nothing like ours.
        let wrong = keys.filter(|key| !FIELDS.contains(key)).filter_map(|key| {
            let near = nearest(key, FIELDS)?;
            let file = definition.file.display();
            Some(format!("`{file}`: unknown key `{key}`; {}", did_you_mean(near)))
        });
        wrong.collect::<Vec<_>>()
    };
    Definition::read_all(&folders).into_iter().flat_map(read).collect()
}

#[cfg(test)]
mod tests;
