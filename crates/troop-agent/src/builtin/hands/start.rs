//! Starting teammates. One that runs commands without asking needs the permission that a command needs.

use serde_json::{Map, Value};
use troop_model::preview;
use troop_protocol::Category;

use super::Hands;
use crate::{
    Definition, RegistryError,
    builtin::{team::TeamTools, tools::OwnTool},
    registry::OwnAgent,
};

/// The fields of team tools that name the agent to start.
const KEYS: [&str; 5] = ["subagent_type", "agent_type", "agentType", "type", "agent"];
/// Agent types of Claude Code that we do not have: the lead's own agent takes their place.
const OF_OTHERS: [&str; 3] = ["general-purpose", "Explore", "Plan"];

impl Hands<'_> {
    /// Refuses to start teammates that the agent has no permission for. Starting one that thinks only gives it work.
    pub(super) async fn check_start(
        &self,
        team: &TeamTools<'_>,
        name: &str,
        input: &Map<String, Value>,
    ) -> Result<(), String> {
        for Recruit { name: member, agent } in recruits(name, input)? {
            let of_lead = team.lead_agent();
            let agent = agent.unwrap_or(&of_lead);
            let described = Definition::read_all(&self.described);
            if !thinks(agent, &described) {
                // An unknown agent is refused without a question.
                check_known(agent, &described)?;
                // It will run whatever its tasks say, so this needs the permission for the command that a person
                // would type.
                let line = format!("troop member spawn {member}={agent}");
                let action = self.action(OwnTool::Shell.name(), Category::Shell, &line, &line);
                self.check_permission(&action, input).await?;
            }
        }
        Ok(())
    }
}

/// The members that a tool call starts. The error is for the model.
fn recruits<'i>(name: &str, input: &'i Map<String, Value>) -> Result<Vec<Recruit<'i>>, String> {
    let several = || {
        let lists = ["members", "teammates"].into_iter().filter_map(|key| input.get(key));
        lists.filter_map(Value::as_array).flatten()
    };
    let all: Vec<_> = match name {
        "Agent" | "Task" | "SpawnTeammate" => vec![input],
        // The tool might understand another form differently than this check does.
        "TeamCreate" => several()
            .map(|it| it.as_object().ok_or("each of `members` must be an object with a `name`"))
            .collect::<Result<_, _>>()?,
        _ => Vec::new(),
    };
    let name = |it: &'i Map<String, Value>| it.get("name")?.as_str();
    let ours = |it: &'i Map<String, Value>| agent(it).filter(|it| !OF_OTHERS.contains(it));
    let recruit = |it| Recruit { name: name(it).unwrap_or_default(), agent: ours(it) };
    Ok(all.into_iter().map(recruit).collect())
}

/// A member that a tool call starts.
#[derive(Debug, PartialEq, Eq)]
struct Recruit<'i> {
    name: &'i str,
    /// None if the call names no agent of ours.
    agent: Option<&'i str>,
}

/// The agent that a tool call names.
pub(super) fn agent(input: &Map<String, Value>) -> Option<&str> {
    KEYS.into_iter().find_map(|key| input.get(key)?.as_str())
}

/// Refuses an unknown agent.
fn check_known(agent: &str, described: &[Definition]) -> Result<(), String> {
    let is_described = described.iter().any(|it| it.key == agent);
    if is_described || OwnAgent::parse(agent).is_some() {
        return Ok(());
    }
    let described = described.iter().map(|it| it.key.clone()).collect();
    Err(RegistryError::Unknown { key: preview(agent, 80), described }.to_string())
}

/// Whether an agent thinks. Unknown agents do not.
fn thinks(agent: &str, described: &[Definition]) -> bool {
    let own = OwnAgent::parse(agent).or_else(|| {
        let definition = described.iter().find(|it| it.key == agent)?;
        definition.own_agent().filter(|_| definition.program.is_empty())
    });
    own == Some(OwnAgent::Builtin)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::{Definition, Recruit, check_known, recruits, thinks};

    #[test]
    fn every_way_to_name_a_new_member_is_understood() {
        let eve = Recruit { name: "eve", agent: Some("command") };
        let ann = Recruit { name: "ann", agent: None };
        for key in ["subagent_type", "agent_type", "agentType", "type", "agent"] {
            let input = json!({"name": "eve", key: "command"});
            let team = json!({"team_name": "blue", "members": [input, {"name": "ann"}]});
            for (tool, input) in
                [("Agent", &input), ("SpawnTeammate", &input), ("TeamCreate", &team)]
            {
                let found = recruits(tool, input.as_object().unwrap()).unwrap();
                assert_eq!(found[0], eve, "{tool} {key}");
                assert!(found.get(1).is_none_or(|it| *it == ann), "{found:?}");
            }
        }
        let any = json!({"name": "eve", "subagent_type": "Explore"});
        assert_eq!(
            recruits("Agent", any.as_object().unwrap()).unwrap(),
            [Recruit { name: "eve", agent: None }]
        );
        let list = json!({"team_name": "blue", "members": [["eve", "hi", "command"]]});
        let refusal = recruits("TeamCreate", list.as_object().unwrap()).unwrap_err();
        assert_eq!(refusal, "each of `members` must be an object with a `name`");
        let message = json!({"to": "eve", "type": "message"});
        assert_eq!(recruits("SendMessage", message.as_object().unwrap()), Ok(vec![]));
    }

    #[test]
    fn only_agents_with_a_model_count_as_thinking() {
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
                "there is no agent `{key}`; the agents are: `builtin`, `command`, `script:FILE`, `doer`, "
            );
            assert!(refusal.starts_with(&wanted), "{refusal}");
        }
    }
}
