//! `troop stop`: stops a team, whichever process leads it.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use troop_app::{
    stop::{self, StopOptions, StoppedTeam},
    team::TeamDesk,
};

use crate::{cli::StopArgs, output::Printer, render};

pub(super) async fn run(args: StopArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let StopArgs { name, reason, wait } = args;
    let options = StopOptions { name, reason, wait: Duration::from_secs(wait) };
    let StoppedTeam { name, members, took } = stop::stop(desk, options).await?;
    if printer.json {
        let seconds = took.as_secs_f64();
        let members: Vec<_> = members.iter().map(|it| &it.name).collect();
        return printer
            .json(&json!({"team": name, "stopped": true, "seconds": seconds, "members": members}));
    }
    for member in members {
        printer.line(&format!("{}: {}", member.name, render::one_line(&member.reason)))?;
    }
    printer.line(&format!("{name} has stopped, after {}", render::took(took)))
}
