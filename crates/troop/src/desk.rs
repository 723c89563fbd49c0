//! Opens desks for commands, and shows their notices to people.

use troop_app::{
    Result,
    surroundings::Surroundings,
    team::{DeskNotice, DeskOptions, NoticeSink, TeamDesk, WhenOff},
};
use troop_runtime::Following;
use troop_store::Missing;

use crate::{
    output::{self, Printer},
    render,
};

/// The name of this surface in the log.
const CHANNEL: &str = "cli";

/// Opens a desk for one command.
pub(crate) async fn open(
    surroundings: Surroundings,
    following: Following,
    missing: Missing,
    when_off: WhenOff,
    printer: &Printer,
) -> Result<TeamDesk> {
    let is_json = printer.json;
    let notices = NoticeSink::new(move |notice| show(notice, is_json));
    let options = DeskOptions { channel: CHANNEL, following, missing, when_off, notices };
    TeamDesk::open(surroundings, options).await
}

fn show(notice: &DeskNotice, is_json: bool) {
    match notice {
        // Programs that read the answer do not need to hear which team was chosen.
        DeskNotice::TeamChosen { .. } if is_json => {}
        DeskNotice::TeamChosen { name, why, n_teams } => {
            let line = format!("team {}, {why} (of {n_teams})", render::clean(name));
            Printer::plain(false).error_line(&render::paint(render::DIM, &line));
        }
        DeskNotice::FilesUnchanged { reason } => {
            output::warn(format!("the team's files are left unchanged: {reason}"));
        }
        DeskNotice::FileRefused { path, reason } => {
            output::warn(format!("what was written to `{path}` was refused: {reason}"));
        }
    }
}
