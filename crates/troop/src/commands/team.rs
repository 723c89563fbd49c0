//! `troop team …`

mod delegations;

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::{
    agents::Agents,
    team::{Purpose, TeamDesk},
};
use troop_model::{
    Command, Member, MemberName, MemberState, NewTeamCommand, Refusal, Role, Settings, State,
    TeamId, TeamName, TeamView,
};
use troop_protocol::TeamStanding;
use troop_runtime::{Board, LeftoverState, find_lead, leftovers, rescue};
use uuid::Uuid;

use super::{export, given, mirror, settings};
use crate::{
    cli::TeamCommand,
    leading::Folders,
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand, Refused, Usage},
};

pub(super) async fn run(
    command: TeamCommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    match command {
        TeamCommand::Create { name, lead, members, description, dialect, settings } => {
            let agents = Agents::read(&desk.surroundings);
            let members = agents.members(&members)?;
            let defaults = dialect
                .map_or_else(Settings::default, |dialect| Settings::for_dialect(dialect.into()));
            let new = NewTeamCommand {
                team: TeamId(Uuid::now_v7()),
                name: team_name(&name)?,
                description: given(description)?,
                settings: defaults
                    .changed(&settings::changes(&defaults, &settings)?)
                    .map_err(Refusal::BadSetting)?,
                lead: agents.lead(&lead)?,
                members,
            };
            create(new, desk, printer).await
        }
        TeamCommand::List { all } => list(all, desk, printer).await,
        TeamCommand::Show { name, team_md: true } => {
            delegations::show_team_md(name.as_deref(), desk, printer).await
        }
        TeamCommand::Show { name, team_md: false } => show(name.as_deref(), desk, printer).await,
        TeamCommand::Delegations { name } => {
            delegations::list(name.as_deref(), desk, printer).await
        }
        TeamCommand::Status { name } => status(name.as_deref(), desk, printer).await,
        TeamCommand::Set { name, settings, description } => {
            let (name, settings) = settings::named(name, settings);
            set(name.as_deref(), &settings, description, desk, printer).await
        }
        TeamCommand::Delete { name, purge } => delete(name.as_deref(), purge, desk, printer).await,
        TeamCommand::Export { name, output } => {
            export::export(name.as_deref(), output.as_deref(), desk, printer).await
        }
        TeamCommand::Import { file, name, yes } => {
            let consent =
                if yes { export::ImportConsent::Given } else { export::ImportConsent::Asked };
            export::import(&file, name.as_deref(), consent, desk, printer).await
        }
        TeamCommand::Mirror { folder, layout, once } => {
            mirror::run(&folder, layout.into(), once, desk, printer).await
        }
        TeamCommand::Replay { name, until, at } => {
            export::replay(name.as_deref(), until, at, desk, printer).await
        }
    }
}

async fn create(new: NewTeamCommand, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let signature = desk.signature()?;
    let name = new.name.clone();
    let n_members = new.members.len();
    if let Some(free) = other_name(name.as_str(), desk).await? {
        let delete = HintCommand::troop("team delete").team(&name);
        let hint = Hint::from(format!("use another name, such as `{free}`")).and_to(
            "; or ",
            "free this one",
            delete,
        );
        return Err(Refused::conflict(format!("there is already a team `{name}`"), hint).into());
    }
    let made = desk.session.create(&signature, new).await?.team();
    desk.settle(made);
    if printer.json {
        return show(None, desk, printer).await;
    }
    let members = if n_members == 1 { "member" } else { "members" };
    printer.text(&format!("created team {name}: a lead and {n_members} {members}\n"))
}

/// A name like the one that is wanted, if somebody has that.
pub(super) async fn other_name(wanted: &str, desk: &TeamDesk) -> Result<Option<String>> {
    let teams = desk.session.teams().await?;
    let names: Vec<_> =
        teams.iter().filter(|it| !it.is_retired).map(|it| it.name.as_str()).collect();
    Ok(names.contains(&wanted).then(|| super::run::first_free(wanted, &names)))
}

async fn list(all: bool, desk: &TeamDesk, printer: &Printer) -> Result<()> {
    let mut teams = desk.session.teams().await?;
    teams.retain(|team| all || !team.is_retired);
    let mut rows = Vec::new();
    for team in &teams {
        let standing =
            if team.is_retired { TeamStanding::Deleted } else { desk.standing_of(team.id).await? };
        rows.push((team, standing.as_str()));
    }
    if printer.json {
        let row = |(team, state): &(&troop_runtime::TeamEntry, &str)| json!({"id": team.id, "name": team.name, "state": state, "deleted": team.is_retired});
        let teams: Vec<_> = rows.iter().map(row).collect();
        return printer.json(&json!({ "teams": teams }));
    }
    if teams.is_empty() {
        return printer.text("no teams\n");
    }
    let row = |(team, state): (&troop_runtime::TeamEntry, &str)| {
        vec![team.name.clone(), state.to_owned(), team.id.to_string()]
    };
    let rows: Vec<_> = rows.into_iter().map(row).collect();
    printer.text(&render::table(&["TEAM", "STATE", "ID"], &rows, printer.width()))
}

pub(super) async fn show(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    let value = board.look(team_json).await??;
    if printer.json {
        return printer.json(&value);
    }
    let now = desk.clock.now();
    let members = desk.roster(&board).await?;
    let standing = standing(&board, desk).await?;
    let options = options_about(&board).await?;
    let look = move |state: &State| render::team_status(state, &members, &standing, now, &options);
    let mut text = board.look(look).await?;
    text.push('\n');
    for (key, value) in settings::flatten(value.get("settings").unwrap_or(&Value::Null)) {
        text.push_str(&format!("  {key} = {value}\n"));
    }
    printer.text(&text)
}

async fn status(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    let members = desk.roster(&board).await?;
    let now = desk.clock.now();
    if printer.json {
        let standing = desk.standing(&board).await?;
        let stopped = desk.stopped_lead(board.team());
        let mut value = board.look(move |state| status_json(state, &members)).await?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("state".to_owned(), standing.as_str().into());
            fields.insert("stopped_process".to_owned(), json!(stopped.map(|it| it.process)));
        }
        return printer.json(&value);
    }
    let standing = standing(&board, desk).await?;
    let options = options_about(&board).await?;
    let look = move |state: &State| render::team_status(state, &members, &standing, now, &options);
    printer.text(&board.look(look).await?)
}

/// The caller's options for hints about this team. Hints name it, because they may be pasted in another folder, where another
/// team is meant.
async fn options_about(board: &Board) -> Result<CallerOptions> {
    let name = board.look(|state| state.team().map(|team| team.name.clone())).await?;
    Ok(CallerOptions::typed().about(name.as_ref().map(TeamName::as_str)))
}

/// What a team is, and what keeps it from being that, if its lead was stopped.
async fn standing(board: &Board, desk: &TeamDesk) -> Result<String> {
    let standing = desk.standing(board).await?.as_str().to_owned();
    Ok(match desk.stopped_lead(board.team()) {
        Some(stopped) => format!("{standing}, but {}; {}", stopped.says(), stopped.ways_out()),
        None => standing,
    })
}

async fn set(
    name: Option<&str>,
    changes: &[String],
    description: Option<String>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    if changes.is_empty() && description.is_none() {
        return Err(settings::nothing_to_set(name));
    }
    let board = desk.team(name).await?;
    let look = |state: &State| {
        let team = state.team()?;
        Some((team.name.clone(), team.settings.clone(), team.description.clone()))
    };
    let (name, before, old) = board.look(look).await?.ok_or(Refusal::NoTeam)?;
    let settings = settings::changes(&before, changes)?;
    desk.submit(Command::UpdateTeam { description, settings }).await?;
    if printer.json {
        return show(None, desk, printer).await;
    }
    let (_, after, new) = board.look(look).await?.ok_or(Refusal::NoTeam)?;
    let mut changed = settings::differences(&before, &after)?;
    changed.extend((old != new).then(|| format!("description = {:?}", render::one_line(&new))));
    match changed.as_slice() {
        [] => printer.text(&format!("nothing changed in {name}\n")),
        changed => printer.text(&format!("changed {name}: {}\n", changed.join(", "))),
    }
}

async fn delete(
    name: Option<&str>,
    purge: bool,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let retired = desk.session.teams().await?;
    let retired =
        retired.iter().find(|team| team.is_retired && Some(team.id.to_string().as_str()) == name);
    if let Some(team) = retired {
        if !purge {
            let delete = HintCommand::troop("team delete").team(team.id).word("--purge");
            let hint = Hint::to("erase its log too", delete);
            return Err(Usage::new(format!("team `{}` is already deleted", team.name), hint).into());
        }
        purge_all(team.id, &team.name, desk).await?;
        return said(printer, "erased", &team.name);
    }
    let board = desk.team_for(Purpose::Delete, name).await?;
    let id = board.team();
    let name = board
        .look(|state| state.team().map(|team| team.name.to_string()))
        .await?
        .unwrap_or_default();
    if desk.standing(&board).await? == TeamStanding::Running {
        return Err(runs(&board, &name, desk).await?.into());
    }
    let dead = dead(&board, desk).await?;
    drop(board);
    if purge {
        // Nothing is marked as deleted before its folders are gone.
        clear(id, &name, desk).await?;
    }
    for member in dead {
        let reason = Some("its lead ended".to_owned());
        desk.submit(Command::RemoveMember { member, reason }).await?;
    }
    let signature = desk.signature()?;
    desk.session.delete(signature).await?;
    if purge {
        purge_all(id, &name, desk).await?;
    }
    said(printer, if purge { "erased" } else { "deleted" }, &name)
}

/// Who counts as running, and ended with the lead: nobody was left to write that down.
async fn dead(board: &Board, desk: &TeamDesk) -> Result<Vec<MemberName>> {
    let running = board.look(|state| {
        let running = state.members().filter(|it| it.role == Role::Member && it.is_running());
        running.map(|it| it.name.clone()).collect::<Vec<_>>()
    });
    let running = running.await?;
    let now = desk.roster(board).await?;
    let is_dead = |name: &MemberName| {
        now.iter().any(|it| it.name == *name && it.state == MemberState::Crashed)
    };
    Ok(running.into_iter().filter(is_dead).collect())
}

/// Refuses that a team is deleted that runs.
async fn runs(board: &Board, name: &str, desk: &TeamDesk) -> Result<Refused> {
    let members = desk.roster(board).await?;
    let running: Vec<_> =
        members.iter().filter(|it| it.role == Role::Member && it.is_running()).collect();
    let running: Vec<_> = running.iter().map(|it| format!("{} is {}", it.name, it.state)).collect();
    let lease = board.look(|state| state.team().and_then(|team| team.lead_lease.clone())).await?;
    let holder = lease.map(|lease| lease.holder).unwrap_or_default();
    let running =
        if running.is_empty() { String::new() } else { format!("; {}", running.join(", ")) };
    let message = format!("team `{name}` is led by {}{running}", render::one_line(&holder));
    Ok(Refused::conflict(message, stop_first(name)))
}

fn stop_first(name: &str) -> Hint {
    Hint::to("stop it first", HintCommand::troop("stop").team(name))
}

/// Erases the team that this session has.
pub(super) async fn erase(desk: &mut TeamDesk) -> Result<()> {
    let team = desk.session.team()?.team();
    desk.session.delete(desk.signature()?).await?;
    purge_all(team, "", desk).await
}

/// Erases a team with its folder. First the folder, so that what was not done is done by the same command again.
async fn purge_all(team: TeamId, name: &str, desk: &TeamDesk) -> Result<()> {
    clear(team, name, desk).await?;
    let folder = desk.folder(team);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            let what = format!("`{}` cannot be removed", folder.display());
            return Err(anyhow::Error::from(error).context(what));
        }
        _ => {}
    }
    Ok(desk.session.purge(team).await?)
}

/// Refuses that a team is erased while somebody leads it, or while its folder holds work that is nowhere else.
async fn check_unused(team: TeamId, name: &str, desk: &TeamDesk) -> Result<()> {
    let folder = desk.folder(team);
    if find_lead(&folder).is_some() || Folders::are_taken(&folder) {
        let message = format!("team `{name}` cannot be erased while somebody leads it");
        return Err(Refused::new(message, stop_first(name)).into());
    }
    let left = leftovers(&folder, &desk.surroundings.environment.variables()).await?;
    let left = left.iter().filter(|it| it.state != LeftoverState::Merged);
    let left: Vec<_> = left.filter_map(|it| it.folder.as_ref()).collect();
    let named: Vec<_> = left.iter().map(|folder| format!("`{}`", folder.display())).collect();
    let hold = match left.len() {
        0 => return Ok(()),
        1 => "holds",
        _ => "hold",
    };
    let message =
        format!("team `{name}` cannot be erased: {} {hold} unmerged work", named.join(", "));
    let rescue = HintCommand::troop("doctor").word("--rescue");
    Err(Refused::new(message, Hint::to("keep it on a branch first", rescue)).into())
}

/// Removes the folders of teammates, all of whose work is merged.
async fn clear(team: TeamId, name: &str, desk: &TeamDesk) -> Result<()> {
    check_unused(team, name, desk).await?;
    let environment = desk.surroundings.environment.variables();
    for leftover in leftovers(&desk.folder(team), &environment).await? {
        let rescued = rescue(&leftover, &desk.surroundings.aside(), &environment).await;
        rescued.map_err(|error| {
            let message = format!("team `{name}` cannot be erased: {}", error.chain());
            let doctor = HintCommand::troop("doctor");
            Refused::new(message, Hint::to("see what is left, and what to do with it", doctor))
        })?;
    }
    Ok(())
}

fn said(printer: &Printer, what: &str, name: &str) -> Result<()> {
    if printer.json {
        printer.json(&json!({"name": name, "deleted": true}))
    } else {
        printer.text(&format!("{what} team {name}\n"))
    }
}

fn team_json(state: &State) -> Result<Value> {
    let team = state.team().ok_or(Refusal::NoTeam)?;
    Ok(serde_json::to_value(TeamView::new(state, team))?)
}

pub(super) fn status_json(state: &State, members: &[Member]) -> Value {
    let tasks = state.tasks();
    let counts: serde_json::Map<String, Value> = troop_model::Status::ALL
        .iter()
        .map(|it| (it.to_string(), tasks.n_with(*it).into()))
        .collect();
    let members: Vec<_> = members
        .iter()
        .map(|member| {
            let unread = state.mailbox().n_unread(&troop_model::Party::member(&member.name));
            let held: Vec<_> = tasks.held_by(&member.name).collect();
            json!({
                "name": member.name, "role": member.role, "agent": member.agent, "state": member.state,
                "state_since": member.state_since, "state_reason": member.state_reason, "tasks": held,
                "unread": unread, "usage": member.usage,
            })
        })
        .collect();
    let team = state.team();
    let scopes: Vec<_> = state
        .scopes()
        .into_iter()
        .map(|(channel, chat)| json!({"channel": channel, "chat_id": chat}))
        .collect();
    json!({
        "name": team.map(|team| &team.name), "status": team.map(|team| team.status), "version": state.version(),
        "tasks": counts, "archived": tasks.n_archived(), "members": members, "scopes": scopes,
        "known_users": state.known_users(), "usage": team.map(|team| &team.usage), "spending": state.spending(),
        "budget": team.map(|team| &team.settings.budget), "requests": requests_json(state),
    })
}

/// What waits for an answer.
fn requests_json(state: &State) -> Vec<Value> {
    let row = |(id, it): (&Uuid, &troop_model::Request)| json!({"id": id, "kind": it.kind, "from": it.from, "to": it.to, "at": it.at});
    state.requests().map(row).collect()
}

pub(super) fn team_name(text: &str) -> Result<TeamName> {
    Ok(text.parse().map_err(Refusal::from)?)
}
