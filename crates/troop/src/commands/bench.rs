//! `troop bench`: the numbers of docs/performance.md, on this machine.

use anyhow::Result;

use crate::{cli::BenchCommand, output::Printer};

pub(super) async fn run(command: &BenchCommand, printer: &Printer) -> Result<()> {
    let BenchCommand::Board(args) = command;
    printer.text(&format!("{args:?}\n"))
}
