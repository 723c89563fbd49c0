//! `troop run`: a team for this project, led from here until it is over.

use std::{path::Path, sync::Arc};

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::{
    agents::{Agents, RunnableAgents, Thinker, Thinkers},
    surroundings::Surroundings,
    team::TeamDesk,
    trust::{self, ProjectTrust},
};
use troop_model::{
    AgentKind, MAX_TEXT, NewMember, NewTeamCommand, Refusal, Settings, Spawn, TeamId, TeamName,
    check_start, quoted,
};
use troop_protocol::TeamStanding;
use troop_runtime::{Board, LeadEnd, LeadThinks, TeamSummary};
use uuid::Uuid;

use super::given;
use crate::{
    cli::RunArgs,
    environment,
    leading::{Beginning, Leading, RunOutcome, TeamHarvest},
    output::Printer,
    render,
    report::{CallerOptions, Refused, Usage},
};

pub(super) async fn run(args: RunArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let goal = goal(given(args.goal.clone())?)?;
    let trust = trust(desk, printer)?;
    let agents = Agents::read(&desk.surroundings);
    let runnable = Arc::new(runnable(desk, &trust)?);
    let said = args.agent.clone().or_else(|| trust::lead_agent(&desk.surroundings, &trust));
    let mut lead = lead(said, &desk.surroundings, &runnable, &agents)?;
    lead.permissions = Some(args.permissions);
    let members = agents.members(&args.members)?;
    check_names(&lead, &members)?;
    // Some other program is each of these.
    let (external, members): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|it| AgentKind::External.is(&it.agent));
    runnable.check_lead(&lead.agent, lead.model.as_deref())?;
    members.iter().try_for_each(|member| runnable.check_member(member))?;
    let settings = settings(&args, &desk.surroundings)?;
    let thinkers = std::iter::once(&lead).chain(&members).map(Thinker::from).collect();
    runnable.check_price(&Thinkers { dollars: settings.budget.dollars, members: thinkers })?;
    check_start(&settings, members.len())?;
    let lead = (lead, external);
    let board = make_team(desk, &goal, lead, settings).await?;
    let agents = runnable;
    let args = args.lead;
    let is_new = true;
    let instead = None;
    let left = None;
    let trust = &trust;
    let thinks = LeadThinks::Here;
    let leading =
        Leading { desk, board, is_new, printer, trust, agents, instead, thinks, args, left };
    let members = members.into_iter().map(|member| Spawn { member, prompt: None }).collect();
    let begun = match leading.begin().await {
        Ok(begun) => begun,
        Err(error) => {
            // Nobody has heard of it yet, and the next try would find its name taken. What went wrong first is told.
            drop(super::team::erase(desk).await);
            return Err(error);
        }
    };
    let finished = begun.run(Beginning { members, goal: Some(goal) }).await?;
    conclude(&finished, printer)
}

/// What the team is to be like: as said, as configured, or as usual.
fn settings(args: &RunArgs, surroundings: &Surroundings) -> Result<Settings> {
    let teams = &surroundings.teams;
    let mut settings = Settings {
        max_teammates: args.max_teammates.unwrap_or(teams.max_teammates),
        checks: args.checks.clone(),
        budget: teams.budget,
        ..Settings::default()
    };
    settings.budget.dollars = args.budget.or(settings.budget.dollars);
    settings.delegation.delegate_mode =
        (args.delegate || args.no_delegate).then_some(args.delegate);
    let changes = super::settings::changes(&settings, &args.settings)?;
    let settings = settings.changed(&changes).map_err(Refusal::BadSetting)?;
    settings.check().map_err(Refusal::BadSetting)?;
    Ok(settings)
}

/// The agents that may run for a team of this project.
pub(super) fn runnable(desk: &TeamDesk, trust: &ProjectTrust) -> Result<RunnableAgents> {
    let troop = environment::program()?;
    Ok(RunnableAgents::new(&desk.surroundings, trust, troop, desk.other_store().as_deref())?)
}

/// What this project may run; a person hears of what it may not.
pub(super) fn trust(desk: &TeamDesk, printer: &Printer) -> Result<ProjectTrust> {
    let trust = ProjectTrust::look(&desk.surroundings)?;
    if let Some(warning) = trust.warning() {
        printer.warn(warning);
    }
    Ok(trust)
}

/// Tells what came of it, and fails if that is not what was wanted.
pub(super) fn conclude(finished: &RunOutcome, printer: &Printer) -> Result<()> {
    if printer.json {
        print_json(finished, Vec::new(), printer)?;
        return finished.check();
    }
    let typed = CallerOptions::typed();
    let mut text = text(finished, printer, &typed);
    if let Some(team) = finished.story.state().team() {
        let look =
            format!("\nsee: `troop --team {0} events`, `troop --team {0} log MEMBER`\n", team.name);
        text.push_str(&render::paint(render::DIM, &typed.added_to_text(&look)));
    }
    printer.text(&text)?;
    finished.check()
}

/// The report for people.
pub(super) fn text(finished: &RunOutcome, printer: &Printer, typed: &CallerOptions) -> String {
    // Where a screen was, there is room already.
    let gap = if printer.screen().is_some() { "" } else { "\n" };
    let mut text = format!("{gap}{}", render::summary(&finished.story, printer.width()));
    if let LeadEnd::Stopped { reason } = &finished.ended {
        text.push_str(&format!("\nstopped: {}\n", render::one_line(reason)));
    }
    for (nth, line) in finished.home.iter().flat_map(TeamHarvest::lines).enumerate() {
        let gap = if nth == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{}\n", typed.added_to_text(&line)));
    }
    text
}

/// The report for programs, with what else there is to say.
pub(super) fn print_json(
    finished: &RunOutcome,
    extra: Vec<(&str, Value)>,
    printer: &Printer,
) -> Result<()> {
    let (how, reason) = match &finished.ended {
        LeadEnd::Quiet => ("quiet", None),
        LeadEnd::Stopped { reason } => ("stopped", Some(reason)),
        LeadEnd::Superseded => ("superseded", None),
        LeadEnd::Lost { reason } => ("lost", Some(reason)),
    };
    let mut report = render::summary_json(&finished.story);
    if let Some(fields) = report.as_object_mut() {
        fields.insert("ended".to_owned(), json!({"how": how, "reason": reason}));
        fields.insert(
            "work".to_owned(),
            finished.home.as_ref().map_or(Value::Null, TeamHarvest::json),
        );
        fields.insert("success".to_owned(), finished.check().is_ok().into());
        fields.extend(extra.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    printer.json(&report)
}

/// What is to be done. It must be something that can be told.
fn goal(goal: String) -> Result<String> {
    let n_chars = goal.chars().count();
    if goal.trim().is_empty() {
        return Err(Refusal::Empty { field: "goal" }.into());
    }
    if n_chars > MAX_TEXT {
        return Err(Refusal::TooLong { field: "goal", n_chars, limit: MAX_TEXT }.into());
    }
    Ok(goal)
}

/// Who leads: as said, or as configured.
pub(super) fn lead(
    agent: Option<String>,
    surroundings: &Surroundings,
    runnable: &RunnableAgents,
    agents: &Agents,
) -> Result<NewMember> {
    let Some(agent) = agent else {
        if let Some(agent) = &surroundings.shared.agent {
            let message = format!(
                "this project names `{agent}` as its lead, but you have not trusted the project"
            );
            return Err(Refused::new(message, "review it: `troop trust`").into());
        }
        let message = "there is no agent to lead the team: none was given with `--agent`, and none is set as `agent` in config.json";
        return Err(Refused::new(message, runnable.how_to_lead().clone()).into());
    };
    if AgentKind::of(&agent).is_some_and(|kind| !kind.traits().can_lead) {
        let message = format!("`{agent}` cannot lead: it only runs the commands of tasks");
        return Err(Usage::new(message, runnable.how_to_lead().clone()).into());
    }
    Ok(agents.member(&format!("lead={agent}"))?)
}

/// Refuses a member that is called like the lead.
fn check_names(lead: &NewMember, members: &[NewMember]) -> Result<()> {
    let member = members.iter().find(|it| it.name == lead.name);
    let Some(member) = member else { return Ok(()) };
    let NewMember { name, agent, .. } = member;
    let message = format!("`{name}` leads the team and cannot also be a teammate");
    Err(Usage::new(
        message,
        format!("give it another name: `--member {}`", quoted(&format!("ann={agent}"))),
    )
    .into())
}

/// Makes the team, named after the project's folder.
async fn make_team(
    desk: &mut TeamDesk,
    goal: &str,
    (lead, members): (NewMember, Vec<NewMember>),
    settings: Settings,
) -> Result<Board> {
    let mut new = NewTeamCommand {
        team: TeamId(Uuid::now_v7()),
        name: name_for(desk).await?,
        description: goal.to_owned(),
        settings,
        lead,
        members,
    };
    let board = loop {
        let signature = desk.signature()?;
        let Err(error) = desk.session.create(&signature, new.clone()).await else {
            break desk.session.team()?.clone();
        };
        // Somebody else may have taken the name meanwhile.
        let name = name_for(desk).await?;
        if name == new.name {
            return Err(error.into());
        }
        (new.team, new.name) = (TeamId(Uuid::now_v7()), name);
    };
    desk.catch_up(&board).await?;
    Ok(board)
}

/// The name that is said, if nobody has it; else one after the project's folder that nobody has.
async fn name_for(desk: &TeamDesk) -> Result<TeamName> {
    let mut teams = desk.session.teams().await?;
    teams.retain(|team| !team.is_retired);
    let names: Vec<_> = teams.iter().map(|team| team.name.as_str()).collect();
    let Some(said) = desk.chosen_team() else {
        return free_name(&desk.surroundings.project, &names);
    };
    if let Some(team) = teams.iter().find(|team| team.name == said) {
        return Err(taken(team, &first_free(said, &names), desk).await?.into());
    }
    Ok(said.parse().map_err(Refusal::from)?)
}

/// Refuses the name of a team that is there, with what can be done instead.
async fn taken(team: &TeamSummary, free: &str, desk: &TeamDesk) -> Result<Refused> {
    let TeamSummary { id, name, .. } = team;
    let other = format!("or use another name: `--team {free}`");
    let standing = desk.standing_of(*id).await?;
    Ok(match desk.holder_of(*id).await?.filter(|_| standing == TeamStanding::Running) {
        Some(holder) => Refused::conflict(
            format!("team `{name}` is already running, led by {}", render::one_line(&holder)),
            format!(
                "see what it is doing: `troop --team {name} events --follow`, stop it: `troop stop {name}`, {other}"
            ),
        ),
        None => Refused::conflict(
            format!("there is already a team `{name}`"),
            format!(
                "continue it: `troop resume {name}`, delete it: `troop team delete {name}`, {other}"
            ),
        ),
    })
}

/// A name like that of the folder which nobody has yet.
pub(super) fn free_name(project: &Path, taken: &[&str]) -> Result<TeamName> {
    let folder = project.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let name: String = folder
        .unwrap_or_default()
        .chars()
        .map(|c| if is_good(c) { c } else { '-' })
        .take(50)
        .collect();
    let name = name.trim_matches(['-', '_', '.']);
    let name = if name.is_empty() { "team" } else { name };
    Ok(first_free(name, taken).parse().map_err(Refusal::from)?)
}

/// A name, or if somebody has it the first number behind it that nobody has.
pub(super) fn first_free(name: &str, taken: &[&str]) -> String {
    let numbered = (2..).map(|nth| format!("{name}-{nth}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(&name.as_str())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! Names of teams.

    use std::path::Path;

    use super::free_name;

    #[test]
    fn a_team_is_named_after_its_folder_and_nobody_elses_name_is_taken() {
        let name =
            |folder: &str, taken: &[&str]| free_name(Path::new(folder), taken).unwrap().to_string();
        assert_eq!(name("/home/pat/Parser", &[]), "parser");
        assert_eq!(name("/home/pat/Größe & Co.", &[]), "gr--e---co");
        assert_eq!(name("/", &[]), "team");
        assert_eq!(name("/.config", &["config", "config-2"]), "config-3");
        assert_eq!(name(&format!("/{}", "x".repeat(200)), &[]).len(), 50);
    }
}
