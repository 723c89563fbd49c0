//! Changes a task for the command line: shows the checks that run before a person completes or approves it.

use anyhow::Result;
use troop_app::{
    prove::{OrderEnd, ProofNotice},
    team::TeamDesk,
};
use troop_model::TaskCommand;
use troop_protocol::Answer;

use crate::{output::Printer, report::SignalExit, signals::Signals};

pub(super) async fn change(
    desk: &mut TeamDesk,
    order: TaskCommand,
    without: Option<&str>,
    printer: &Printer,
) -> Result<Answer> {
    let stop = async {
        let mut signals = Signals::listen()?;
        Ok::<_, anyhow::Error>(signals.next().await)
    };
    let tell = |notice: ProofNotice<'_>| match notice {
        ProofNotice::Warning(warning) => printer.warn(warning.clone()),
        ProofNotice::Running(_) if printer.json => {}
        ProofNotice::Running(commands) => {
            printer.error_line(&format!("running {}", commands.join("; ")));
        }
    };
    match desk.change_task(order, without, stop, tell).await? {
        OrderEnd::Done(done) => Ok(done),
        OrderEnd::Stopped(signal) => Err(SignalExit(signal?).into()),
    }
}
