//! `troop team export`, `import` and `replay`: a team's log as a file, and a team as it once was.

use std::{io::IsTerminal as _, path::Path};

use anyhow::Result;
use serde_json::json;
use troop_app::{
    team::{TeamDesk, name_of},
    transfer::{self, TeamImport},
};
use troop_model::{TaskView, Time, Version};
use troop_protocol::TeamStanding;
use troop_runtime::Moment;

use super::team;
use crate::{output::Printer, render, report::CallerOptions};

pub(super) async fn export(
    name: Option<&str>,
    output: Option<&Path>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let board = desk.team(name).await?;
    let Some(path) = output else {
        let write = |lines: &str| printer.bytes(lines.as_bytes());
        transfer::export(desk, &board, write).await?;
        return Ok(());
    };
    let header = transfer::export_to_file(desk, &board, path).await?;
    if printer.json {
        return printer.json(&header);
    }
    let path = path.display();
    printer.text(&format!("wrote {} events of team {} to {path}\n", header.events, header.team))
}

/// Whether a person agrees to the commands that an imported team would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportConsent {
    /// The person has agreed.
    Given,
    /// The person is asked.
    Asked,
}

pub(super) async fn import(
    file: &Path,
    name: Option<&str>,
    consent: ImportConsent,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let is_input = file == Path::new("-");
    let import = match is_input {
        true => TeamImport::read(std::io::stdin().lock(), file, name)?,
        false => TeamImport::open(file, name)?,
    };
    import.check_name(desk).await?;
    let runs = import.commands(desk);
    if consent == ImportConsent::Asked && !runs.is_empty() {
        if printer.json || is_input || !std::io::stdin().is_terminal() {
            return Err(import.refuse(&runs).into());
        }
        printer.line("when this team is led here, it would run:")?;
        super::trust::show_runs(&runs, printer)?;
        if !printer.confirm("import it and allow this?")? {
            return printer.line("nothing was imported");
        }
    }
    let board = import.take(desk).await?;
    if printer.json {
        team::show(None, desk, printer).await
    } else {
        printer.text(&format!("imported team {}\n", name_of(&board).await?))
    }
}

pub(super) async fn replay(
    name: Option<&str>,
    until: Option<u64>,
    at: Option<Time>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let moment = match (until, at) {
        (Some(version), _) => Moment::Version(Version(version)),
        (None, Some(time)) => Moment::Time(time),
        (None, None) => Moment::Version(Version(u64::MAX)),
    };
    let board = desk.team(name).await?;
    let state = transfer::replay(desk, &board, moment).await?;
    let members: Vec<_> = state.members().cloned().collect();
    if printer.json {
        let tasks: Vec<_> =
            state.tasks().iter().map(|task| TaskView::brief(&state, task)).collect();
        let team = team::status_json(&state, &members);
        return printer.json(&json!({
            "version": state.version(), "at": state.latest(), "team": team, "tasks": tasks,
        }));
    }
    let now = state.latest();
    let rows: Vec<_> =
        state.tasks().iter().map(|task| render::Row::new(&state, task, now)).collect();
    let standing = state.team().map_or(TeamStanding::Deleted, |team| {
        let lease = team.lead_lease.as_ref();
        TeamStanding::of(team, lease.is_some_and(|lease| lease.until > now))
    });
    let options = CallerOptions::typed().about(name);
    let status = render::team_status(&state, &members, standing.as_str(), now, &options);
    let tasks = render::board(&rows, printer.width());
    let when = format!("version {}, {}", state.version(), render::moment(now));
    printer.text(&format!("{}\n{status}\n{tasks}", render::paint(render::DIM, &when)))
}
