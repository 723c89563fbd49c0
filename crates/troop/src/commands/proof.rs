//! Runs and shows the checks of a task that a person completes or approves.

use anyhow::Result;
use troop_app::{
    prove::{self, ChecksEnd, CompletionProof},
    team::TeamDesk,
};
use troop_model::TaskCommand;

use crate::{output::Printer, report::Stopped, signals::Signals};

pub(super) async fn prove(
    desk: &mut TeamDesk,
    order: &TaskCommand,
    without: Option<&str>,
    printer: &Printer,
) -> Result<()> {
    let checks = match prove::prepare(desk, order, without).await? {
        CompletionProof::Checks(checks) => checks,
        CompletionProof::Complete { warning } => {
            if let Some(warning) = warning {
                printer.warn(warning);
            }
            return Ok(());
        }
    };
    if !printer.json {
        printer.error_line(&format!("running {}", checks.commands().join("; ")));
    }
    let mut signals = Signals::listen()?;
    match checks.run(desk, signals.next()).await? {
        ChecksEnd::Passed => Ok(()),
        ChecksEnd::Stopped(signal) => Err(Stopped(signal).into()),
    }
}
