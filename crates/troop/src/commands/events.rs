//! `troop events`

use anyhow::Result;
use troop_app::team::TeamDesk;
use troop_model::{Event, Fact, TaskNumber, Version, encode};

use crate::{cli::EventsArgs, output::Printer, render};

pub(super) async fn run(args: &EventsArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let task = match args.task.clone() {
        Some(task) => Some(board.look(move |state| state.resolve(&task)).await??),
        None => None,
    };
    let mut log = board.subscribe(Version(args.since));
    loop {
        let event = if args.follow { log.next().await? } else { log.next_stored().await? };
        let Some(event) = event else { return Ok(()) };
        if is_meant(&event, task) {
            let line =
                if printer.json { encode(&event) } else { render::event(&event, printer.width()) };
            printer.line(&line)?;
        }
        if matches!(event.fact, Fact::TeamDeleted {}) {
            // This is always the last event.
            return Ok(());
        }
    }
}

fn is_meant(event: &Event, task: Option<TaskNumber>) -> bool {
    task.is_none() || event.fact.task() == task
}
