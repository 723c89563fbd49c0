//! `troop team export`, `import` and `replay`: a team's log as a file, and what it amounted to once.

use std::{
    fs::File,
    io::{BufReader, BufWriter, IsTerminal as _, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result};
use serde_json::json;
use troop_app::{
    team::TeamDesk,
    trust::imported_commands,
    whole_file::{FileAccess, FileDraft},
};
use troop_model::{State, TaskView, Time, Version};
use troop_protocol::TeamStanding;
use troop_runtime::{Board, ExportError, ExportHeader, Moment, read_export};

use super::team;
use crate::{
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand, Refused, Usage},
};

pub(super) async fn export(
    name: Option<&str>,
    output: Option<&Path>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let board = desk.team(name).await?;
    let name = name_of(&board).await?;
    let team = board.team();
    let Some(path) = output else {
        let write = |lines: &str| printer.bytes(lines.as_bytes());
        troop_runtime::export(desk.store.as_ref(), team, &name, write).await?;
        return Ok(());
    };
    let header = to_file(path, team, &name, desk).await?;
    if printer.json {
        return printer.json(&header);
    }
    let n_events = header.events;
    printer.text(&format!("wrote {n_events} events of team {name} to {}\n", path.display()))
}

/// Writes a whole file or none: one that is half there would be taken for a backup.
async fn to_file(
    path: &Path,
    team: troop_model::TeamId,
    name: &str,
    desk: &TeamDesk,
) -> Result<ExportHeader> {
    let unwritten = || format!("`{}` cannot be written", path.display());
    let mut file = BufWriter::new(FileDraft::new(path).with_context(unwritten)?);
    let write = |lines: &str| file.write_all(lines.as_bytes()).with_context(unwritten);
    let header = troop_runtime::export(desk.store.as_ref(), team, name, write).await?;
    let file =
        file.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(unwritten)?;
    file.put(FileAccess::Owner).with_context(unwritten)?;
    Ok(header)
}

/// How many things are named in one line.
const MAX_NAMED: usize = 5;

/// Whether what an imported team would run may run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImportConsent {
    /// A person said so.
    Given,
    /// A person is asked.
    Asked,
}

pub(super) async fn import(
    file: &Path,
    name: Option<&str>,
    consent: ImportConsent,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let name = name.map(team::team_name).transpose()?;
    let unreadable = || format!("`{}` cannot be imported", file.display());
    let read = if file == Path::new("-") {
        read_export(std::io::stdin().lock())
    } else {
        File::open(file)
            .map_err(ExportError::Unreadable)
            .and_then(|file| read_export(BufReader::new(file)))
    };
    let (_, events) = read.with_context(unreadable)?;
    let mut state = State::default();
    events.iter().for_each(|event| state.apply(event));
    let again = HintCommand::troop("team import").word(file.display());
    let wanted = name.as_ref().or(state.team().map(|team| &team.name));
    if let Some(wanted) = wanted
        && let Some(free) = team::other_name(wanted.as_str(), desk).await?
    {
        let again = again.word("--name").word(free);
        let hint = Hint::to("import it under another name", again);
        return Err(Refused::conflict(format!("there is already a team `{wanted}`"), hint).into());
    }
    let again = match &name {
        Some(name) => again.word("--name").word(name),
        None => again,
    };
    let again = again.word("--yes");
    if consent == ImportConsent::Asked && !may_run(&state, file, &again, desk, printer)? {
        return printer.line("nothing was imported");
    }
    let board = desk.session.import(events, name).await?.clone();
    desk.settle(board.team());
    let name = name_of(&board).await?;
    if printer.json {
        team::show(None, desk, printer).await
    } else {
        printer.text(&format!("imported team {name}\n"))
    }
}

/// Whether a team from a file may run here what it would run. Nobody of this place put that on its board, so a person is
/// asked, who is the last that could be.
fn may_run(
    state: &State,
    file: &Path,
    again: &HintCommand,
    desk: &TeamDesk,
    printer: &Printer,
) -> Result<bool> {
    let runs = imported_commands(state, &desk.surroundings, file);
    if runs.is_empty() {
        return Ok(true);
    }
    if printer.json || file == Path::new("-") || !std::io::stdin().is_terminal() {
        let things = if runs.len() == 1 { "1 thing" } else { &format!("{} things", runs.len()) };
        let named = runs.iter().take(MAX_NAMED);
        let mut named: Vec<_> =
            named.map(|it| format!("`{}`", render::one_line(&it.command))).collect();
        let more = runs.len().saturating_sub(MAX_NAMED);
        named.extend((more > 0).then(|| format!("and {more} more")));
        let message = format!("this team would run {things} here: {}", named.join(", "));
        let hint = Hint::from("review the file").then_to("allow it", again.clone());
        return Err(Refused::new(message, hint).into());
    }
    printer.line("when this team is led here, it would run:")?;
    super::trust::show_runs(&runs, printer)?;
    printer.confirm("import it and allow this?")
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
    let state = troop_runtime::replay(desk.store.as_ref(), board.team(), moment).await?;
    check_moment(&state, until)?;
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

/// Whether there was a team then, and the log is as long as somebody thinks.
fn check_moment(state: &State, until: Option<u64>) -> Result<()> {
    let hint = Hint::to("see what happened when", HintCommand::troop("events"));
    if state.team().is_none() {
        return Err(Usage::new("the team did not exist yet", hint).into());
    }
    match until.filter(|until| *until > state.version().0) {
        Some(until) => {
            let message = format!("the log has no event {until}; it ends at {}", state.version());
            Err(Usage::new(message, hint).into())
        }
        None => Ok(()),
    }
}

async fn name_of(board: &Board) -> Result<String> {
    let name = board.look(|state| state.team().map(|team| team.name.to_string())).await?;
    Ok(name.unwrap_or_default())
}
