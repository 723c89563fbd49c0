//! `troop resume`: continues a team whose lead ended.

use anyhow::Result;
use troop_app::{
    resume::{self, ResumeOptions, ResumePlan, TeamResumption},
    team::TeamDesk,
};

use super::run::{conclude, trust};
use crate::{cli::ResumeArgs, environment, leading, output::Printer};

pub(super) async fn run(args: ResumeArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = resume::open(desk, args.name.as_deref()).await?;
    let trust = trust(desk, printer)?;
    let options = ResumeOptions { agent: args.agent, terms: args.lead.into() };
    let resumed = resume::resume(desk, board, &trust, environment::program()?, options).await?;
    let TeamResumption { leading, resumption } = resumed;
    let led = leading::begin(leading, desk, &trust).await;
    let led = led.map_err(|error| match error.downcast() {
        Ok(error) => resumption.explain(error, desk).into(),
        Err(other) => other,
    })?;
    let ResumePlan { beginning, report } = resumption.plan().await?;
    if !printer.json {
        printer.line(&report.to_string())?;
    }
    conclude(&Box::pin(led.run(beginning, printer)).await?, printer)
}
