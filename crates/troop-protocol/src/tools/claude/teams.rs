//! Creating and deleting teams.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use smol_str::SmolStr;
use troop_model::{Command, EXTERNAL, Hint, MemberName, Spawn, TaskFilter, TeamName, TeamStatus};

use super::super::{
    Calls, Category, Seat, TeamTool, ToolAudience,
    desk::{ToolDesk, read},
    seen::{TaskPageLines, ToolTeam},
};
use super::members::{NewTeammate, how_to_lead, start};
use crate::{
    call::Query,
    code::{Failure, FailureKind},
};

/// Input of `TeamCreate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamCreate {
    /// The team's name: lower-case letters, digits, `-`, `_` and `.`
    #[serde(alias = "name", alias = "teamName")]
    team_name: String,
    /// What the team is for
    description: Option<String>,
    /// Accepted and not used: the lead's agent is known
    #[serde(rename = "agent_type", alias = "agentType")]
    #[schemars(skip)]
    _agent_type: Option<String>,
    /// Teammates to start at once; more can be started later
    #[serde(default, alias = "teammates")]
    members: Vec<NewTeammate>,
}

impl TeamTool for TeamCreate {
    const NAME: &'static str = "TeamCreate";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str =
        r#"{"team_name": "shop", "description": "Build the checkout page"}"#;

    fn about(_: &Seat) -> String {
        "Create a team that you lead: a shared task board and a mailbox. A session has one team at a time. Then put work on \
         the board with TaskCreate and start teammates with SpawnTeammate."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let name: TeamName = self
            .team_name
            .parse()
            .map_err(|error: troop_model::NameError| Failure::new(FailureKind::Invalid, &error))?;
        let former: Option<ToolTeam> = desk.query(Query::Team {}).await?;
        let lead = former.as_ref().and_then(ToolTeam::lead);
        let usual = lead.map_or(SmolStr::new_static(EXTERNAL), |lead| lead.agent.clone());
        let fresh = match former.filter(|team| team.status != TeamStatus::Deleted) {
            Some(team) if team.name == name.as_str() && is_fresh(desk, &team).await? => Some(team),
            Some(team) => return Err(already_active(&team)),
            None => None,
        };
        let members = self.members.into_iter().map(|new| {
            let agent = new.agent_or(usual.clone())?;
            new.into_spawn(agent)
        });
        let members: Vec<_> = members.collect::<Result<_, _>>()?;
        check_names(&desk.seat.member, &members)?;
        if !fresh.as_ref().is_some_and(ToolTeam::is_led) {
            check_without_lead(&name, &members)?;
        }
        let description = self.description.unwrap_or_default();
        if fresh.is_none() {
            desk.calls.make_team(name.clone(), description).await?;
        } else if !description.trim().is_empty() {
            let settings = Vec::new();
            let description = Some(description);
            desk.change(Command::UpdateTeam { description, settings }).await?;
        }
        let spawned = start_all(desk, members).await?;
        let lead = &desk.seat.member;
        let lead = format!("{lead}@{name}");
        Ok(json!({"team_name": name, "lead_agent_id": lead, "members": spawned}).to_string())
    }
}

/// Refuses members that have one name, before anything is made.
fn check_names(lead: &MemberName, members: &[Spawn]) -> Result<(), Failure> {
    let mut names = BTreeSet::from([lead]);
    match members.iter().map(|it| &it.member.name).find(|name| !names.insert(*name)) {
        None => Ok(()),
        Some(name) if name == lead => {
            let message = format!("`{name}` is you: give your teammates other names");
            Err(Failure::new(FailureKind::Invalid, &message))
        }
        Some(name) => {
            let message = format!("two of the members are called `{name}`");
            Err(Failure::new(FailureKind::Invalid, &message))
        }
    }
}

/// Refuses members that somebody would have to start, if nobody does.
fn check_without_lead(team: &TeamName, members: &[Spawn]) -> Result<(), Failure> {
    let Some(first) = members.iter().find(|it| it.member.agent != EXTERNAL) else { return Ok(()) };
    let name = &first.member.name;
    let message = format!("nobody leads the team `{team}` yet, so nobody would start `{name}`");
    let hint = Hint::from("create it without members, then ask the person to run ")
        .and_hint(how_to_lead(team.as_str()));
    Err(Failure::new(FailureKind::NotFound, &message).with_hint(hint))
}

/// Starts teammates, one after the other. If one cannot be started, the failure says which run already.
async fn start_all<C: Calls>(
    desk: &ToolDesk<'_, C>,
    members: Vec<Spawn>,
) -> Result<Vec<String>, Failure> {
    let mut started: Vec<String> = Vec::new();
    for spawn in members {
        let name = spawn.member.name.clone();
        match start(desk, spawn).await {
            Ok(name) => started.push(name.to_string()),
            Err(failure) if started.is_empty() => return Err(failure),
            Err(mut failure) => {
                let others = started.join(", ");
                failure.message = format!("{others} started, but not {name}: {}", failure.message);
                return Err(failure);
            }
        }
    }
    Ok(started)
}

/// Whether nothing has happened in a team yet, so that it counts as new.
async fn is_fresh<C: Calls>(desk: &ToolDesk<'_, C>, team: &ToolTeam) -> Result<bool, Failure> {
    let answer = desk.answer(Query::Tasks { status: TaskFilter::All, page: 1 }).await?;
    let TaskPageLines { tasks, .. } = read(&answer)?;
    Ok(team.members.len() == 1 && tasks.is_empty())
}

fn already_active(team: &ToolTeam) -> Failure {
    let message = format!("a team is already active: `{}`; a session has one at a time", team.name);
    let hint = "work with it (TaskList, TaskCreate, SpawnTeammate), or clean it up first: CleanupTeam {}; if you have called that \
                in this turn, the team goes when the turn ends, so the next one can only be made after it";
    Failure::new(FailureKind::Conflict, &message).with_hint(hint)
}

/// The hint when running teammates prevent the deletion of a team.
const STOP_FIRST: &str =
    "ask each to stop (ShutdownTeammate), wait until it has, then call this again";

/// Input of `TeamDelete`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamDelete {
    /// Accepted and not used: a session has one team
    #[serde(rename = "team_name", alias = "name", alias = "teamName")]
    #[schemars(skip)]
    _team_name: Option<Value>,
}

/// Input of `CleanupTeam`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct CleanupTeam(TeamDelete);

impl TeamTool for TeamDelete {
    const NAME: &'static str = "TeamDelete";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str = "{}";

    fn about(_: &Seat) -> String {
        "The same as CleanupTeam.".to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        let team = desk.team().await?;
        let done =
            desk.change(Command::DeleteTeam).await.map_err(|failure| match &failure.hint {
                None if failure.kind == FailureKind::Conflict => failure.with_hint(STOP_FIRST),
                _ => failure,
            })?;
        let message = match done.events.is_empty() {
            // The lead's process deletes it once the lead has said its last words.
            true => format!(
                "Team \"{}\" is cleaned up at the end of your turn, and its session ends with it: now tell the user the result. Until then \
                 the team is still there; what you still put on its board goes with it",
                team.name
            ),
            false => format!("Cleaned up team \"{}\"", team.name),
        };
        Ok(json!({"success": true, "message": message, "team_name": team.name}).to_string())
    }
}

impl TeamTool for CleanupTeam {
    const NAME: &'static str = "CleanupTeam";
    const CATEGORY: Category = Category::Coordination;
    const FOR: ToolAudience = ToolAudience::Lead;
    const EXAMPLE: &'static str = "{}";

    fn about(_: &Seat) -> String {
        "Delete the team with its board and mailbox when its work is over. Refused while a teammate is running: first ask each \
         to stop with ShutdownTeammate and wait for its answer."
            .to_owned()
    }

    async fn run<C: Calls>(self, desk: &ToolDesk<'_, C>) -> Result<String, Failure> {
        self.0.run(desk).await
    }
}
