//! Starting teammates: one that runs commands without asking anybody needs the leave that a command needs.

use serde_json::{Map, Value};
use troop_model::preview;
use troop_protocol::Category;

use super::Hands;
use crate::{Definition, RegistryError, builtin::tools::Own};

/// Where tools of a team say with which agent somebody is to be started.
const KEYS: [&str; 5] = ["subagent_type", "agent_type", "agentType", "type", "agent"];
/// Agents that think, and ask before they do what they may not. Others call them by other names.
const THINK: [&str; 4] = ["builtin", "general-purpose", "Explore", "Plan"];
/// Agents that run what they are told.
const RUN: [&str; 2] = ["command", "script"];

impl Hands<'_> {
    /// Whether teammates may be started, as far as that is more than to give them work.
    pub(super) async fn may_start(
        &self,
        name: &str,
        input: &Map<String, Value>,
    ) -> Result<(), String> {
        for (member, agent) in newcomers(name, input) {
            let described = Definition::read_all(&self.described);
            if !thinks(agent, &described) {
                // Nobody is asked about what cannot be.
                check_known(agent, &described)?;
                // Whatever tasks say is run then, so this is judged as what a person would type.
                let line = format!("troop member spawn {member}={agent}");
                let deed = self.deed(Own::Shell.name(), Category::Shell, (&line, &line));
                self.permitted(&deed, input).await?;
            }
        }
        Ok(())
    }
}

/// Whom a tool starts, by name, and with which agents, where that is said.
fn newcomers<'i>(name: &str, input: &'i Map<String, Value>) -> Vec<(&'i str, &'i str)> {
    let several = || {
        let lists = ["members", "teammates"].into_iter().filter_map(|key| input.get(key));
        lists.filter_map(Value::as_array).flatten()
    };
    let all: Vec<_> = match name {
        "Agent" | "Task" | "SpawnTeammate" => vec![input],
        "TeamCreate" => several().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    let name = |it: &'i Map<String, Value>| it.get("name")?.as_str();
    all.into_iter().filter_map(|it| Some((name(it).unwrap_or_default(), agent(it)?))).collect()
}

/// The agent that is to be started, where that is said.
pub(super) fn agent(input: &Map<String, Value>) -> Option<&str> {
    KEYS.into_iter().find_map(|key| input.get(key)?.as_str())
}

/// Refuses an agent that nobody knows.
fn check_known(agent: &str, described: &[Definition]) -> Result<(), String> {
    let is_described = described.iter().any(|it| it.key == agent);
    if is_described || RUN.contains(&agent) || agent.starts_with("script:") {
        return Ok(());
    }
    let described = described.iter().map(|it| it.key.clone()).collect();
    Err(RegistryError::Unknown { key: preview(agent, 80), described }.to_string())
}

/// Whether an agent thinks. One that nobody knows does not.
fn thinks(agent: &str, described: &[Definition]) -> bool {
    let is_described = || {
        let found = described.iter().find(|it| it.key == agent);
        found.is_some_and(|it| {
            it.program.is_empty() && it.agent.as_deref().is_none_or(|it| THINK.contains(&it))
        })
    };
    THINK.contains(&agent) || is_described()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{Definition, check_known, newcomers, thinks};

    #[test]
    fn whom_a_tool_starts_is_known_however_it_says_so() {
        let eve = [("eve", "command")];
        for key in ["subagent_type", "agent_type", "agentType", "type", "agent"] {
            let input = json!({"name": "eve", key: "command"});
            let team = json!({"team_name": "blue", "members": [input, {"name": "ann"}]});
            for (tool, input) in
                [("Agent", &input), ("SpawnTeammate", &input), ("TeamCreate", &team)]
            {
                assert_eq!(newcomers(tool, input.as_object().unwrap()), eve, "{tool} {key}");
            }
        }
        let message = json!({"to": "eve", "type": "message"});
        assert!(newcomers("SendMessage", message.as_object().unwrap()).is_empty());
    }

    #[test]
    fn who_runs_what_it_is_told_does_not_think_however_it_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let table = [
            ("looker", "description: looks", true),
            ("thinker", "agent: builtin", true),
            ("doer", "agent: command", false),
            ("follower", "agent: script\nscript: a.script", false),
            ("other", "program: [sh, x.sh]", false),
        ];
        for (key, front, _) in table {
            let file = folder.path().join(format!("{key}.md"));
            fs::write(file, format!("---\nname: {key}\n{front}\n---\n")).unwrap();
        }
        let described = Definition::read_all(&[folder.path().to_owned()]);
        for (key, _, wanted) in table {
            assert_eq!(thinks(key, &described), wanted, "{key}");
            assert_eq!(check_known(key, &described), Ok(()), "{key}");
        }
        for key in ["command", "script:a.script", "script"] {
            assert!(!thinks(key, &described), "{key}");
            assert_eq!(check_known(key, &described), Ok(()), "{key}");
        }
        for key in ["nobody", "Command", ""] {
            assert!(!thinks(key, &described), "{key}");
            let refusal = check_known(key, &described).unwrap_err();
            let wanted = format!(
                "there is no agent `{key}`; there is: `builtin`, `command`, `script:FILE`, `doer`, "
            );
            assert!(refusal.starts_with(&wanted), "{refusal}");
        }
        assert!(thinks("Explore", &[]));
    }
}
