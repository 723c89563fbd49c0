//! `troop --mode teammate`: runs the agent of one member. Its lead talks to it over standard input and output.
//!
//! A lead starts many of these processes, so this reads and builds only what a teammate needs.

mod arguments;
mod memory;

use std::{ffi::OsString, process::ExitCode};

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use troop_agent::{Exit, Finder, TeammateOptions, Workplace};
use troop_app::agents::thinking::ThinkingPlace;
use troop_process::{adopt_orphans, end_orphans};

use crate::{
    environment,
    report::{self, Error},
};
use arguments::TeammateArguments;

/// The exit code after SIGTERM, as shells have it: 128 and the number of the signal.
const TERMINATED: u8 = 128 + 15;

/// Serves a lead, if that is what the arguments ask for.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let arguments = match TeammateArguments::parse(arguments)? {
        Ok(arguments) => arguments,
        Err(error) => return Some(report::plain(&error)),
    };
    Some(serve(arguments).unwrap_or_else(|error| report::plain(&error)))
}

fn serve(arguments: TeammateArguments) -> Result<ExitCode> {
    let path = std::fs::canonicalize(&arguments.path).with_context(|| {
        format!("the working folder `{}` cannot be used", arguments.path.display())
    });
    let path = path.map_err(|error| wrong_use(&error))?;
    // A member in its own worktree finds its description in the project.
    let environment = environment::read();
    let project = environment.project().unwrap_or_else(|| path.clone());
    let home = environment.troop_home();
    let thinks = |model: Option<&str>| {
        let home = home.as_deref().unwrap_or(&project);
        let place = ThinkingPlace { home, project: &project, environment: &environment };
        let servers = environment.trusted_servers();
        place.options(model, servers.as_deref()).map_err(|fault| fault.why)
    };
    let finder = Finder {
        project: &project,
        home: home.as_deref(),
        thinks: &thinks,
        model: arguments.model.as_deref(),
    };
    let agent = troop_agent::find_agent(&arguments.agent, finder);
    let agent = agent.map_err(|error| wrong_use(&error.into()))?;
    let place =
        Workplace { name: arguments.name, team: arguments.team, path, environment: Vec::new() };
    let options = TeammateOptions { at_rest: memory::give_back, ..TeammateOptions::new(place) };
    // One thread: a hundred of these should cost little.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let terminated = options.terminated.clone();
        let (input, output) = troop_protocol::stdio();
        let mut served = std::pin::pin!(troop_agent::serve(agent, input, output, options));
        let mut orphans = std::pin::pin!(adopt_orphans());
        loop {
            tokio::select! {
                biased;
                exit = &mut served => return anyhow::Ok(exit),
                _ = terminate.recv() => terminated.cancel(),
                never = &mut orphans => match never {},
            }
        }
    })?;
    // A thread that still reads the input must not keep the process alive.
    runtime.shutdown_background();
    end_orphans();
    Ok(match exit {
        Exit::Shutdown | Exit::LeadGone => ExitCode::SUCCESS,
        Exit::Terminated => ExitCode::from(TERMINATED),
    })
}

/// Wrong use, because another start with the same arguments would fail in the same way.
fn wrong_use(error: &anyhow::Error) -> anyhow::Error {
    Error::misuse(format!("{error:#}"), arguments::HINT).into()
}
