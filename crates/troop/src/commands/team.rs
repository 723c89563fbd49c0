//! `troop team …`

mod delegations;

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::{
    agents::Agents,
    settings,
    team::{Deletion, TeamDesk, name_of, team_name},
};
use troop_model::{Command, Fact, Member, NewTeamCommand, Refusal, State, TeamId};
use troop_protocol::TeamListing;
use troop_runtime::Board;
use uuid::Uuid;

use super::{export, given, mirror};
use crate::{cli::TeamCommand, output::Printer, render, report::CallerOptions};

pub(super) async fn run(
    command: TeamCommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    match command {
        TeamCommand::Create { name, lead, members, description, dialect, settings } => {
            let agents = Agents::read(&desk.surroundings);
            let members = agents.members(&members)?;
            let dialect = settings::dialect_among(&settings)?.or(dialect.map(Into::into));
            let defaults = desk.surroundings.teams.settings(dialect);
            let new = NewTeamCommand {
                goal: String::new(),
                team: TeamId(Uuid::now_v7()),
                name: team_name(&name)?,
                description: given(description)?,
                settings: settings::changed(&defaults, &settings)?,
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
            let (name, settings) = named(name, settings);
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
    let name = new.name.clone();
    let n_members = new.members.len();
    desk.create_team(new).await?;
    if printer.json {
        return show(None, desk, printer).await;
    }
    let members = if n_members == 1 { "member" } else { "members" };
    printer.text(&format!("created team {name}: a lead and {n_members} {members}\n"))
}

async fn list(all: bool, desk: &TeamDesk, printer: &Printer) -> Result<()> {
    let list = desk.teams(all).await?;
    if printer.json {
        return printer.json(&list);
    }
    if list.teams.is_empty() {
        return printer.text("no teams\n");
    }
    let row =
        |team: TeamListing| vec![team.name, team.state.as_str().to_owned(), team.id.to_string()];
    let rows: Vec<_> = list.teams.into_iter().map(row).collect();
    printer.text(&render::table(&["TEAM", "STATE", "ID"], &rows, printer.width()))
}

pub(super) async fn show(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    let team = desk.answers(&board).team().await?.ok_or(Refusal::NoTeam)?;
    if printer.json {
        return printer.json(&team);
    }
    let mut text = status_text(&board, desk).await?;
    text.push('\n');
    for (key, value) in settings::named(&team.settings) {
        text.push_str(&format!("  {key} = {value}\n"));
    }
    printer.text(&text)
}

async fn status(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    if printer.json {
        let members = desk.roster(&board).await?;
        let standing = desk.standing(&board).await?;
        let stopped = desk.stopped_lead(board.team());
        let mut value = board.look(move |state| status_json(state, &members)).await?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("state".to_owned(), standing.as_str().into());
            fields.insert("stopped_process".to_owned(), json!(stopped.map(|it| it.process)));
        }
        return printer.json(&value);
    }
    printer.text(&status_text(&board, desk).await?)
}

/// The status of a team. If its lead was stopped, also what to do about that.
async fn status_text(board: &Board, desk: &TeamDesk) -> Result<String> {
    let members = desk.roster(board).await?;
    let now = desk.clock.now();
    let standing = desk.standing(board).await?.as_str();
    let standing = match desk.stopped_lead(board.team()) {
        Some(stopped) => format!("{standing}, but {}; {}", stopped.says(), stopped.ways_out()),
        None => standing.to_owned(),
    };
    // Hints may be pasted in another folder, where another team is meant, so they name this one.
    let options = CallerOptions::typed().about(Some(&name_of(board).await?));
    let look = move |state: &State| render::team_status(state, &members, &standing, now, &options);
    Ok(board.look(look).await?)
}

async fn set(
    name: Option<&str>,
    changes: &[String],
    description: Option<String>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    if changes.is_empty() && description.is_none() {
        return Err(settings::nothing_to_set(name).into());
    }
    let board = desk.team(name).await?;
    let look = |state: &State| {
        let team = state.team()?;
        Some((team.name.clone(), team.settings.clone(), team.description.clone()))
    };
    let (name, before, old) = board.look(look).await?.ok_or(Refusal::NoTeam)?;
    let settings = settings::changes(&before, changes)?;
    let done = desk.submit(Command::UpdateTeam { description, settings }).await?;
    if printer.json {
        return show(None, desk, printer).await;
    }
    let mut changed = Vec::new();
    for event in &done.events {
        // The old value is known from before; the event has the new one: by now others may have changed more.
        let Fact::TeamUpdated { description: new, settings: after } = &event.fact else { continue };
        changed.extend(settings::differences(&before, after));
        changed.extend((old != *new).then(|| format!("description = {:?}", render::one_line(new))));
    }
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
    let deletion = if purge { Deletion::Everything } else { Deletion::Team };
    let name = desk.delete_team(name, deletion).await?;
    if printer.json {
        return printer.json(&json!({"name": name, "deleted": true}));
    }
    let what = if purge { "erased" } else { "deleted" };
    printer.text(&format!("{what} team {name}\n"))
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

/// The requests that nobody has answered.
fn requests_json(state: &State) -> Vec<Value> {
    let row = |(id, it): (&Uuid, &troop_model::Request)| json!({"id": id, "kind": it.kind, "from": it.from, "to": it.to, "at": it.at});
    state.requests().map(row).collect()
}

/// A team's name and the changes to it: the first word is the name unless it is `KEY=VALUE`.
fn named(first: Option<String>, mut rest: Vec<String>) -> (Option<String>, Vec<String>) {
    match first {
        Some(change) if change.contains('=') => {
            rest.insert(0, change);
            (None, rest)
        }
        name => (name, rest),
    }
}
