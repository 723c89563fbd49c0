//! The agents that can run here: those that every troop knows, and those that the project or the person describes.

mod lead_watch;
mod runnable;
pub mod thinking;

use smol_str::SmolStr;
use troop_agent::Definition;
use troop_model::{
    AgentKind, AgentStart, Hint, HintOption, MemberName, NewMember, Refusal, did_you_mean, nearest,
};
use uuid::Uuid;

use crate::{Error, Result, surroundings::Surroundings, text::clean};
pub use lead_watch::{LeadWatch, UnfinishedLead};
pub use runnable::{AgentFault, RunnableAgents, Thinker, Thinkers};

/// The keys in the front matter of an agent's description.
const FIELDS: [&str; 8] =
    ["name", "description", "model", "tools", "disallowedTools", "agent", "script", "program"];

/// The expertise of every member that follows a script.
const FOLLOWS: &str = "follows a script";

/// The default name of a lead.
const LEAD: &str = "lead";

/// Gives an agent the same id everywhere, from its key.
const NAMESPACE: Uuid = Uuid::from_u128(0x7d9b_31f6_55c2_4c5e_9f0a_6d1f_0e8a_b1c4);

/// One agent that a member can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAgent {
    pub key: String,
    pub id: Uuid,
    pub description: String,
    pub model: Option<String>,
    pub start: AgentStart,
}

/// All agents that a member can be.
#[derive(Clone, Debug)]
pub struct Agents(Vec<KnownAgent>);

impl Agents {
    /// Reads the descriptions: the project's before the person's, both before the built-in agents.
    #[must_use]
    pub fn read(surroundings: &Surroundings) -> Self {
        let mut agents: Vec<KnownAgent> = Vec::new();
        let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
        let described = Definition::read_all(&folders).into_iter().map(|it| KnownAgent {
            model: it.model.clone(),
            ..KnownAgent::new(&it.key, &it.description, start(&it))
        });
        let built_in = AgentKind::TABLE.iter();
        let built_in = built_in.map(|it| KnownAgent::new(it.key, it.description, it.start));
        for agent in described.chain(built_in) {
            if agents.iter().all(|known| known.key != agent.key) {
                agents.push(agent);
            }
        }
        Self(agents)
    }

    /// Parses a member: `NAME=AGENT`, or an agent that also gives the member its name.
    pub fn member(&self, text: &str) -> Result<NewMember> {
        if AgentKind::script_file(text).is_some() {
            let message = format!("`{}` has no member to follow it", clean(text));
            return Err(Error::misuse(message, format!("give it a name: `ann={text}`")));
        }
        let (name, agent) = match text.split_once('=') {
            Some((name, agent)) if AgentKind::script_file(agent).is_some() => {
                (Some(name), &KnownAgent::new(agent, FOLLOWS, AgentStart::Now))
            }
            Some((name, agent)) => (Some(name), self.find(agent, text)?),
            None => (None, self.find(text, text)?),
        };
        let name: Result<MemberName, _> = name.unwrap_or(&agent.key).parse();
        let name = name.map_err(Refusal::from)?;
        Ok(NewMember {
            name,
            agent: SmolStr::new(&agent.key),
            expertise: agent.description.clone(),
            model: agent.model.as_deref().map(SmolStr::new),
            permissions: None,
        })
    }

    /// Parses a lead. A script gives no name: a lead that follows one is called `lead`.
    pub fn lead(&self, text: &str) -> Result<NewMember> {
        let lead = match AgentKind::script_file(text).is_some() {
            true => self.member(&format!("{LEAD}={text}")),
            false => self.member(text),
        }?;
        check_leads(&lead.agent, &self.that_lead())?;
        Ok(lead)
    }

    /// The agents that can lead, as people write them.
    fn that_lead(&self) -> Hint {
        let keys = self.0.iter().filter(|it| it.start != AgentStart::Later && can_lead(&it.key));
        let keys: Vec<_> = keys.map(|it| it.key.as_str()).collect();
        Hint::from(format!("these can lead: {}", keys.join(", ")))
    }

    /// Parses members. Each must have its own name.
    pub fn members(&self, texts: &[String]) -> Result<Vec<NewMember>> {
        let mut members: Vec<NewMember> = Vec::new();
        for text in texts {
            let member = self.member(text)?;
            if members.iter().any(|it| it.name == member.name) {
                let name = &member.name;
                let other = HintOption::new("member", format!("{name}-2={}", member.agent));
                let hint = Hint::from("give each its own name: ").and_option(other);
                return Err(Error::misuse(format!("two members are called `{name}`"), hint));
            }
            members.push(member);
        }
        Ok(members)
    }

    /// Finds an agent by its key or its id.
    fn find(&self, text: &str, whole: &str) -> Result<&KnownAgent> {
        let id: Option<Uuid> = text.parse().ok();
        let found = self.0.iter().find(|agent| agent.key == text || Some(agent.id) == id);
        found.ok_or_else(|| {
            let hint = match nearest(text, self.0.iter().map(|agent| agent.key.as_str())) {
                Some(near) => did_you_mean(&whole.replace(text, near)),
                None if whole.contains('=') => format!("the agents are: {}", self.list()),
                None => {
                    format!(
                        "name its agent: `{text}={}`; the agents are: {}",
                        AgentKind::PROPOSED.key(),
                        self.list()
                    )
                }
            };
            Error::misuse(format!("there is no agent `{}`", clean(text)), hint)
        })
    }

    /// The expertise of a member that was given none: that of its agent.
    #[must_use]
    pub fn description(&self, key: &str) -> &str {
        let found = self.0.iter().find(|agent| agent.key == key);
        match found {
            Some(agent) => &agent.description,
            None if AgentKind::script_file(key).is_some() => FOLLOWS,
            None => "",
        }
    }

    /// The agents for people: those that run now, and those that do not run yet or not here.
    #[must_use]
    pub fn list(&self) -> String {
        let keys = |start: AgentStart| {
            let keys = self.0.iter().filter(|it| it.start == start).map(|it| it.key.as_str());
            keys.collect::<Vec<_>>().join(", ")
        };
        let mut list = keys(AgentStart::Now);
        for (what, start) in [
            ("not in this version", AgentStart::Later),
            ("not run by troop", AgentStart::Elsewhere),
        ] {
            let keys = keys(start);
            if !keys.is_empty() {
                list += &format!(" ({what}: {keys})");
            }
        }
        list
    }
}

/// Refuses a lead that can only run commands.
pub(crate) fn check_leads(agent: &str, hint: &Hint) -> Result<()> {
    if can_lead(agent) {
        return Ok(());
    }
    let message = format!("`{agent}` cannot lead: it only runs the commands of tasks");
    Err(Error::misuse(message, hint.clone()))
}

fn can_lead(agent: &str) -> bool {
    AgentKind::of(agent).is_none_or(|kind| kind.traits().can_lead)
}

impl KnownAgent {
    fn new(key: &str, description: &str, start: AgentStart) -> Self {
        let id = Uuid::new_v5(&NAMESPACE, key.as_bytes());
        Self { key: key.to_owned(), id, description: description.to_owned(), model: None, start }
    }
}

/// Whether an agent that every troop knows runs only in a later version.
#[must_use]
pub fn runs_later(key: &str) -> bool {
    AgentKind::of(key).is_some_and(|kind| kind.traits().start == AgentStart::Later)
}

/// The agents that troop can start, as people write them.
#[must_use]
pub fn available() -> String {
    let now = AgentKind::TABLE.iter().filter(|it| it.start == AgentStart::Now);
    let mut keys: Vec<_> =
        now.map(|it| if it.kind == AgentKind::Script { "script:FILE" } else { it.key }).collect();
    keys.push("your own program");
    keys.join(", ")
}

/// Whether troop starts the agent that a file describes: its own program, or the agent that it names.
fn start(definition: &Definition) -> AgentStart {
    if !definition.program.is_empty() {
        return AgentStart::Now;
    }
    let kind = definition.agent.as_deref().map_or(Some(AgentKind::Builtin), AgentKind::of);
    kind.map_or(AgentStart::Later, |kind| kind.traits().start)
}

/// Keys in the front matter of descriptions that are probably misspelt, with the right spelling.
#[must_use]
pub fn misspelt(surroundings: &Surroundings) -> Vec<String> {
    let folders = Definition::folders(&surroundings.project, Some(&surroundings.home));
    let read = |definition: Definition| {
        let text = std::fs::read_to_string(&definition.file).unwrap_or_default();
        let matter = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
        let lines = matter.map_or("", |(matter, _)| matter).lines();
        let keys = lines.filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim());
        // Other programs have their own keys, which are not close to ours.
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
