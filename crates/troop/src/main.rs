//! The `troop` program: parse, run, report.

mod cli;
mod commands;
mod desk;
mod environment;
mod guard;
mod leading;
mod mcp;
mod output;
mod render;
mod report;
mod signals;
mod teammate;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use troop_app::surroundings::Surroundings;

use crate::{
    cli::{Cli, CliCommand},
    output::Printer,
    report::Report,
};

fn main() -> ExitCode {
    // Leads start many of these processes, so we check for them before anything else.
    let arguments = || std::env::args_os().skip(1);
    if let Some(code) = guard::run(arguments()).or_else(|| teammate::run(arguments())) {
        return code;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return report::usage(&error),
    };
    let printer = Printer::new(&cli.global);
    match report::catch(|| run(cli, &printer)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Report::new(&error).print(&printer),
    }
}

fn run(cli: Cli, printer: &Printer) -> anyhow::Result<()> {
    if let CliCommand::Completions { shell } = cli.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "troop", &mut script);
        return printer.text(&String::from_utf8_lossy(&script));
    }
    if let CliCommand::Bench { arguments } = &cli.command {
        return commands::bench::run(arguments, cli.global.json);
    }
    // One thread is enough for one command, and starts faster than many.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let CliCommand::Observe(args) = &cli.command {
        // It needs no configuration. So it reads none, and a broken one does not stop it.
        let done = runtime.block_on(commands::observe::run(args, printer));
        runtime.shutdown_background();
        return done;
    }
    let surroundings = if let CliCommand::Doctor { .. } = cli.command {
        Surroundings::read_what_is_there(environment::read(), cli.global.choices())?
    } else {
        let surroundings = Surroundings::read(environment::read(), cli.global.choices())?;
        surroundings.warnings.iter().for_each(|warning| printer.warn(warning));
        surroundings
    };
    let done = runtime.block_on(commands::run(cli, surroundings, printer));
    // A thread that still waits for a slow file must not keep the process alive.
    runtime.shutdown_background();
    done
}
