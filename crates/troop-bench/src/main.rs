//! The `troop-bench` program: what the board, a running team and the observer cost, beside what the same machine can do at best.

mod agent;
mod board;
mod child;
mod cli;
mod mate;
mod mcp;
mod observe;
mod outcome;
mod output;
mod partner;
mod raw_file;
mod raw_sqlite;
mod report;
mod running;
mod server;
mod shared;
mod team;
mod work;
mod workbench;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;

use crate::{
    cli::{BenchCli, BenchCommand},
    output::BenchPrinter,
    workbench::Workbench,
};

/// Contestants alternate this often within one measurement, so that a slow moment of the machine hits them all.
const ROUNDS: u32 = 3;

fn main() -> ExitCode {
    let cli = BenchCli::parse();
    let printer = BenchPrinter { json: cli.json };
    match run(&cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report::print(&error, &printer),
    }
}

fn run(cli: &BenchCli, printer: &BenchPrinter) -> Result<()> {
    // The program that is measured uses one thread, and so do we.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(measure(cli, printer));
    // A thread that still waits for a slow file must not keep the process.
    runtime.shutdown_background();
    done
}

async fn measure(cli: &BenchCli, printer: &BenchPrinter) -> Result<()> {
    let bench = || Workbench::new(cli.command.folder(), cli.troop.as_deref());
    match &cli.command {
        BenchCommand::Board(args) => board::run(args, bench()?, printer).await,
        BenchCommand::Team(args) => running::run(args, bench()?, printer).await,
        BenchCommand::Mcp(args) => mcp::run(args, &bench()?, printer).await,
        BenchCommand::Agent(args) => Box::pin(agent::run(args, bench()?, printer)).await,
        BenchCommand::Work(args) => work::run(args, bench()?, printer).await,
        BenchCommand::Observe(args) => observe::run(args, &bench()?, printer),
        BenchCommand::Files(args) => shared::run(args, &bench()?, printer).await,
        BenchCommand::Child(command) => Box::pin(child::run(command, printer)).await,
    }
}
