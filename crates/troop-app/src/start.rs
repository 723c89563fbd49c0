//! Prepares a new team to be led: its lead, members, permissions, budget and name.

use std::{path::PathBuf, sync::Arc};

use troop_model::{
    ActorKind, AgentKind, Dollars, Hint, HintCommand, HintOption, MAX_TEXT, NewMember,
    NewTeamCommand, Permissions, Refusal, Settings, Spawn, TeamId, TeamName, check_start,
};
use troop_protocol::TeamStanding;
use troop_runtime::{Board, LeadThinks, TeamEntry};
use uuid::Uuid;

use crate::{
    Error, Result,
    agents::{Agents, RunnableAgents, Thinker, Thinkers},
    hint::{follow_events, resume, review_trust},
    leading::{Beginning, LeadTerms, Leading},
    settings,
    surroundings::{Surroundings, TeamDefaults},
    team::{TeamDesk, first_free, free_name, team_name},
    text::one_line,
    trust::{self, ProjectTrust},
};

/// The goal of a team. It is neither empty nor too long for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal(String);

impl Goal {
    pub fn new(text: String) -> Result<Self> {
        let field = "goal";
        let n_chars = text.chars().count();
        let refusal = match n_chars {
            _ if text.trim().is_empty() => Refusal::Empty { field },
            0..=MAX_TEXT => return Ok(Self(text)),
            _ => Refusal::TooLong { field, n_chars, limit: MAX_TEXT },
        };
        Err(refusal.into())
    }
}

/// A person's choices for a new team. `None` leaves it to the configuration.
#[derive(Debug)]
pub struct StartOptions {
    pub goal: Goal,
    /// The agent that leads.
    pub agent: Option<String>,
    /// Members as people write them: `NAME=AGENT`.
    pub members: Vec<String>,
    /// The lead's permissions.
    pub permissions: Permissions,
    pub settings: SettingOptions,
    pub terms: LeadTerms,
}

/// A person's choices among a new team's settings.
#[derive(Debug, Default)]
pub struct SettingOptions {
    pub max_teammates: Option<u32>,
    pub budget: Option<Dollars>,
    /// Whether the lead only coordinates.
    pub delegate_mode: Option<bool>,
    /// Commands that must pass before any task is done.
    pub checks: Vec<String>,
    /// Any setting, as `KEY=VALUE`.
    pub others: Vec<String>,
}

/// A team that can be led, and what it begins with.
#[derive(Debug)]
pub struct TeamStart {
    pub leading: Leading,
    pub beginning: Beginning,
}

/// Makes a team, after checking that everything it needs is here. `troop` is the program to start for teammates.
pub async fn start(
    desk: &mut TeamDesk,
    trust: &ProjectTrust,
    troop: PathBuf,
    options: StartOptions,
) -> Result<TeamStart> {
    let StartOptions { goal: Goal(goal), agent, members, permissions, settings, terms } = options;
    desk.check_may_lead()?;
    if desk.actor()?.kind == ActorKind::Agent {
        let message = "only a person starts a team with a goal";
        let create = HintCommand::troop("team create").blank("NAME");
        return Err(Error::forbidden(message, Hint::to("make a team that you lead", create)));
    }
    let known = Agents::read(&desk.surroundings);
    let agents = Arc::new(RunnableAgents::of_desk(desk, trust, troop)?);
    let agent = agent.or_else(|| trust::lead_agent(&desk.surroundings, trust));
    let lead = lead(agent, &desk.surroundings, &agents, &known)?;
    let lead = NewMember { permissions: Some(permissions), ..lead };
    let members = known.members(&members)?;
    check_names(&lead, &members)?;
    // Other programs run the external ones.
    let (external, members): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|it| AgentKind::External.is(&it.agent));
    agents.check_lead(&lead.agent, lead.model.as_deref())?;
    members.iter().try_for_each(|member| agents.check_member(member))?;
    let settings = settings.over(&desk.surroundings.teams)?;
    let thinkers = std::iter::once(&lead).chain(&members).map(Thinker::from).collect();
    agents.check_price(&Thinkers { dollars: settings.budget.dollars, members: thinkers })?;
    check_start(&settings, members.len())?;
    let new = NewTeamCommand {
        // The goal is the lead's: members see the description of their team.
        goal: goal.clone(),
        team: TeamId(Uuid::now_v7()),
        name: name_for(desk).await?,
        description: String::new(),
        settings,
        lead,
        members: external,
    };
    let leading = Leading {
        board: make_team(desk, new).await?,
        is_new: true,
        agents,
        substitute: None,
        thinks: LeadThinks::Here,
        terms,
        left: None,
    };
    let members = members.into_iter().map(|member| Spawn { member, prompt: None }).collect();
    Ok(TeamStart { leading, beginning: Beginning { members, goal: Some(goal) } })
}

impl SettingOptions {
    /// The settings of a new team: as chosen, as configured, or as usual.
    fn over(self, defaults: &TeamDefaults) -> Result<Settings> {
        let mut settings = Settings {
            max_teammates: self.max_teammates.unwrap_or(defaults.max_teammates),
            checks: self.checks,
            ..defaults.settings(settings::dialect_among(&self.others)?)
        };
        settings.budget.dollars = self.budget.or(settings.budget.dollars);
        settings.delegation.delegate_mode = self.delegate_mode;
        let settings = settings::changed(&settings, &self.others)?;
        settings.check().map_err(Refusal::BadSetting)?;
        Ok(settings)
    }
}

/// The member that leads: the agent that was chosen or configured.
pub(crate) fn lead(
    agent: Option<String>,
    surroundings: &Surroundings,
    runnable: &RunnableAgents,
    known: &Agents,
) -> Result<NewMember> {
    let Some(agent) = agent else {
        if let Some(agent) = &surroundings.shared.agent {
            let message = format!(
                "this project names `{agent}` as its lead, but you have not trusted the project"
            );
            return Err(Error::refused(message, review_trust()));
        }
        let message = "there is no agent to lead the team: none was chosen, and none is set as `agent` in config.json";
        return Err(Error::refused(message, runnable.how_to_lead().clone()));
    };
    known.member(&format!("lead={agent}"))
}

/// Refuses a member that is called like the lead.
fn check_names(lead: &NewMember, members: &[NewMember]) -> Result<()> {
    let member = members.iter().find(|it| it.name == lead.name);
    let Some(NewMember { name, agent, .. }) = member else { return Ok(()) };
    let message = format!("`{name}` leads the team and cannot also be a teammate");
    let other = HintOption::new("member", format!("ann={agent}"));
    Err(Error::misuse(message, Hint::from("give it another name: ").and_option(other)))
}

/// Makes the team. Its name changes if somebody takes it meanwhile and nobody chose it.
async fn make_team(desk: &mut TeamDesk, mut new: NewTeamCommand) -> Result<Board> {
    loop {
        let error = match desk.create_team(new.clone()).await {
            Ok(board) => return Ok(board),
            Err(error) => error,
        };
        let name = name_for(desk).await?;
        if name == new.name {
            return Err(error);
        }
        new = NewTeamCommand { team: TeamId(Uuid::now_v7()), name, ..new };
    }
}

/// The name that was chosen, if no team has it; else a free one after the project's folder.
async fn name_for(desk: &TeamDesk) -> Result<TeamName> {
    let mut teams = desk.session.teams().await?;
    teams.retain(|team| !team.is_retired);
    let names: Vec<_> = teams.iter().map(|team| team.name.clone()).collect();
    let Some(chosen) = desk.chosen_team() else {
        return free_name(&desk.surroundings.project, &names);
    };
    if let Some(team) = teams.iter().find(|team| team.name == chosen) {
        return Err(taken(team, &first_free(chosen, &names), desk).await?);
    }
    team_name(chosen)
}

/// Why a name cannot be used, with what can be done instead.
async fn taken(team: &TeamEntry, free: &str, desk: &TeamDesk) -> Result<Error> {
    let TeamEntry { id, name, .. } = team;
    let other = Hint::from(", or use another name: ").and_option(HintOption::new("team", free));
    let standing = desk.standing_of(*id).await?;
    Ok(match desk.holder_of(*id).await?.filter(|_| standing == TeamStanding::Running) {
        Some(holder) => Error::conflict(
            format!("team `{name}` is already running, led by {}", one_line(&holder)),
            Hint::to("see what it is doing", follow_events(name))
                .and_to(", ", "stop it", HintCommand::troop("stop").team(name))
                .and_hint(other),
        ),
        None => Error::conflict(
            format!("there is already a team `{name}`"),
            Hint::to("continue it", resume(name))
                .and_to(", ", "delete it", HintCommand::troop("team delete").team(name))
                .and_hint(other),
        ),
    })
}

#[cfg(test)]
mod tests;
