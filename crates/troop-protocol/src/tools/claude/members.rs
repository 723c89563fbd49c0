//! Starting and stopping teammates.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use smol_str::SmolStr;
use troop_model::{
    Command, EXTERNAL, Hint, HintCommand, Member, MemberName, MessageKind, NewMember, Outgoing,
    Permissions, Refusal, Spawn,
};

use super::super::{Calls, Category, Seat, TeamTool, ToolAudience, desk::ToolDesk, input};
use super::{member_name, message, short_name};
use crate::code::{Failure, FailureKind};

/// The name of other programs for the default agent.
const ANY_AGENT: &str = "general-purpose";
/// Read-only agents of other programs: here the default agent in plan mode, unless a mode is given.
const LOOKERS: [&str; 2] = ["Explore", "Plan"];

/// A teammate to start.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTeammate {
    /// Its name in the team: lower-case letters, digits, `-`, `_` and `.`
    name: String,
    /// Its first instructions. It knows nothing of your conversation, so include everything that it needs
    #[serde(default, deserialize_with = "input::said")]
    prompt: Option<String>,
    /// The agent to run; the same as yours if not given
    #[serde(
        default,
        alias = "agentType",
        alias = "subagent_type",
        alias = "type",
        alias = "agent"
    )]
    agent_type: Option<String>,
    /// The model to use
    #[serde(default, deserialize_with = "input::said")]
    model: Option<String>,
    /// What it may do without asking: `plan` (read only until you approve its plan), `default`, `acceptEdits`; the same as
    /// you if not given, and never more than you
    #[serde(default, deserialize_with = "input::said")]
    mode: Option<String>,
    /// What it is good at, in a few words
    #[serde(default, deserialize_with = "input::said")]
    description: Option<String>,
}

impl NewTeammate {
    /// Whether it is a read-only agent of other programs.
    fn only_looks(&self) -> bool {
        self.agent_type.as_deref().is_some_and(|agent| LOOKERS.contains(&agent))
    }

    /// The agent to run; `usual` if none is named.
    pub(super) fn agent_or(&self, usual: SmolStr) -> Result<SmolStr, Failure> {
        let named = self.agent_type.as_deref();
        if named.is_some_and(|agent| agent.trim().is_empty()) {
            let failure = Failure::new(FailureKind::Invalid, "the agent type is empty");
            return Err(failure.with_hint("leave it out for the same agent as yours"));
        }
        let named = named.filter(|agent| *agent != ANY_AGENT && !self.only_looks());
        Ok(named.map_or(usual, SmolStr::new))
    }

    /// What starts it with this agent.
    pub(super) fn into_spawn(self, agent: SmolStr) -> Result<Spawn, Failure> {
        let only_looks = self.only_looks();
        let mode = self.mode.or_else(|| only_looks.then(|| Permissions::Plan.to_string()));
        let member = NewMember {
            name: member_name(&self.name)?,
            agent,
            expertise: self.description.unwrap_or_default(),
            model: self.model.map(Into::into),
            permissions: mode.as_deref().map(permissions).transpose()?,
        };
        Ok(Spawn { member, prompt: self.prompt })
    }
}

async fn spawn<C: Calls>(desk: &ToolDesk<'_, C>, new: NewTeammate) -> Result<MemberName, Failure> {
    let usual = usual_agent(desk, &member_name(&new.name)?).await?;
    let agent = new.agent_or(usual)?;
    start(desk, new.into_spawn(agent)?).await
}

/// Starts a teammate.
pub(super) async fn start<C: Calls>(
    desk: &ToolDesk<'_, C>,
    spawn: Spawn,
) -> Result<MemberName, Failure> {
    let name = spawn.member.name.clone();
    match desk.change(Command::SpawnMember(spawn)).await {
        Ok(_) => Ok(name),
        Err(failure) if failure.hint.is_none() && failure.kind == FailureKind::NotFound => {
            let team = desk.team().await.map(|team| team.name).unwrap_or_default();
            Err(failure
                .with_hint(Hint::from("ask the person to run ").and_hint(how_to_lead(&team))))
        }
        Err(failure) if failure.hint.is_none() && failure.kind == FailureKind::Conflict => {
            let hint = "talk to it: SendMessage {\"to\": …}, or start another under another name";
            Err(failure.with_hint(hint))
        }
        Err(failure) => Err(failure),
    }
}

/// The command that makes a process lead a team while the caller stays the lead's agent.
pub(super) fn how_to_lead(team: &str) -> Hint {
    let resume = HintCommand::troop("resume").team(team).words(["--agent", EXTERNAL]);
    Hint::run(resume).and(", which starts teammates and keeps you as the lead")
}

/// The agent of a member for which none is given: the one it had before, or the lead's agent for a new member.
async fn usual_agent<C: Calls>(
    desk: &ToolDesk<'_, C>,
    name: &MemberName,
) -> Result<SmolStr, Failure> {
    let team = desk.team().await?;
    let known = team.members.iter().find(|it| it.name == *name);
    let usual = known.or_else(|| team.lead()).map(|it| it.agent.clone());
    usual.ok_or_else(|| Failure::new(FailureKind::NotFound, "the team has no lead"))
}

/// Permission modes of troop and Claude Code. Unknown modes map to one that allows no more.
fn permissions(word: &str) -> Result<Permissions, Failure> {
    match word {
        "acceptEdits" => Ok(Permissions::AcceptEdits),
        "bypassPermissions" => Ok(Permissions::Bypass),
        // `dontAsk` denies instead of asking, and `auto` lets the agent decide: neither may allow more than the default.
        "dontAsk" | "auto" | "delegate" => Ok(Permissions::Default),
        word => word.parse().map_err(|error: troop_model::UnknownWord| {
            let message = format!("`mode`: {error}");
            Failure::new(FailureKind::Invalid, &message)
        }),
    }
}

async fn spawned<C: Calls>(desk: &ToolDesk<'_, C>, new: NewTeammate) -> Result<String, Failure> {
    let has_prompt = new.prompt.is_some();
    let name = spawn(desk, new).await?;
    let team = desk.team().await?;
    let is_external = team.members.iter().any(|it| it.name == name && it.is_external());
    let team = team.name;
    if is_external {
        return Ok(format!(
            "{name}@{team} is run by another program, and was not started from here.{} Talk to it with SendMessage, give it tasks \
             with TaskUpdate; its answers come to you as messages.",
            if has_prompt { " It finds the prompt in its inbox." } else { "" }
        ));
    }
    Ok(format!(
        "Spawned successfully.\nagent_id: {name}@{team}\nname: {name}\nteam_name: {team}\nIt works on its own now; its \
         messages come to you."
    ))
}

/// Input of `SpawnTeammate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct SpawnTeammate(NewTeammate);

impl TeamTool for SpawnTeammate {
    const NAME: &'static str = "SpawnTeammate";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str = r#"{"name": "ann", "prompt": "You work on the API. Claim tasks from the board.", "mode": "plan"}"#;

    fn about(_: &Seat) -> String {
        "Start a teammate: a separate agent that works in parallel, claims tasks from the board and sends messages. It does \
         not see your conversation. Use the name of a stopped teammate to start it again. Only work on a task of the board \
         becomes part of the project: create a task for everything that should be kept."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        spawned(desk, self.0).await
    }
}

/// Input of `Agent`, which older clients call `Task`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentTool {
    /// The teammate's name
    #[serde(default, deserialize_with = "input::said")]
    name: Option<String>,
    /// Its first instructions. It knows nothing of your conversation, so include everything that it needs
    prompt: String,
    /// Its work, in a few words
    #[serde(default, deserialize_with = "input::said")]
    description: Option<String>,
    /// The agent to run; the same as yours if not given
    #[serde(default)]
    subagent_type: Option<String>,
    /// The model to use
    #[serde(default, deserialize_with = "input::said")]
    model: Option<String>,
    /// What it may do without asking: `plan`, `default`, `acceptEdits`; the same as you if not given
    #[serde(default, deserialize_with = "input::said")]
    mode: Option<String>,
    /// Accepted and not used: a session has one team, which decides where its teammates run
    #[serde(rename = "team_name")]
    #[schemars(skip)]
    _team_name: Option<Value>,
    #[serde(rename = "isolation")]
    #[schemars(skip)]
    _isolation: Option<Value>,
    #[serde(rename = "run_in_background")]
    #[schemars(skip)]
    _run_in_background: Option<Value>,
}

impl TeamTool for AgentTool {
    const NAME: &'static str = "Agent";
    const ALSO: &'static [&'static str] = &["Task"];
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str =
        r#"{"name": "ann", "description": "Write the API", "prompt": "You work on …"}"#;

    fn about(_: &Seat) -> String {
        "Start a teammate by name, as SpawnTeammate does. Only work on a task of the board becomes part of the project: create \
         a task for everything that should be kept."
            .to_owned()
    }

    fn schema(_: &Seat) -> Value {
        input::requiring("name", input::schema::<Self>())
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let Some(name) = self.name else {
            return Err(input::missing("`Agent`", "name", Self::EXAMPLE));
        };
        let new = NewTeammate {
            name,
            prompt: Some(self.prompt),
            agent_type: self.subagent_type,
            model: self.model,
            mode: self.mode,
            description: self.description,
        };
        spawned(desk, new).await
    }
}

/// Input of `ShutdownTeammate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShutdownTeammate {
    /// The teammate
    #[serde(alias = "agent_id", alias = "agentId", alias = "recipient", alias = "to")]
    name: String,
    /// Why
    #[serde(default, alias = "content", alias = "message", deserialize_with = "input::said")]
    reason: Option<String>,
}

impl TeamTool for ShutdownTeammate {
    const NAME: &'static str = "ShutdownTeammate";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str = r#"{"name": "ann", "reason": "the work is done"}"#;

    fn about(_: &Seat) -> String {
        "Ask a teammate to stop. It finishes its task, then agrees or says why not; its answer comes to you as a message."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let to = short_name(&self.name).to_owned();
        let team = desk.team().await?;
        if let Some(ended) = team.members.iter().find(|it| it.name.as_str() == to && has_ended(it))
        {
            let (member, state) = (ended.name.clone(), ended.state);
            return Err(Failure::from(&Refusal::NotRunning { member, state }));
        }
        let content = self.reason.unwrap_or_default();
        message::send(desk, Outgoing::new(to, MessageKind::ShutdownRequest, content)).await
    }
}

/// Whether a member ran here and does not any more.
fn has_ended(member: &Member) -> bool {
    !member.is_external() && !member.is_running() && member.state_cause.is_some()
}

#[cfg(test)]
mod tests {
    //! Modes as other programs write them.

    use troop_model::Permissions;

    use super::permissions;

    #[test]
    fn modes_of_other_programs_map_to_ones_that_allow_no_more() {
        for (word, wanted) in [
            ("plan", Permissions::Plan),
            ("default", Permissions::Default),
            ("acceptEdits", Permissions::AcceptEdits),
            ("accept-edits", Permissions::AcceptEdits),
            ("bypassPermissions", Permissions::Bypass),
            ("bypass", Permissions::Bypass),
            ("dontAsk", Permissions::Default),
            ("auto", Permissions::Default),
            ("delegate", Permissions::Default),
        ] {
            assert_eq!(permissions(word).unwrap(), wanted, "{word}");
        }
        let refused = permissions("everything").unwrap_err();
        assert!(refused.message.starts_with("`mode`: `everything` is none of"), "{refused:?}");
    }
}
