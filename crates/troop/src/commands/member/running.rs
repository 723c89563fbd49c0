//! `troop member spawn|stop|interrupt`

use anyhow::Result;
use serde_json::json;
use troop_app::team::{SpawnOrder, TeamDesk};
use troop_model::{MemberName, Permissions};

use crate::{
    commands::given,
    output::Printer,
    report::{CallerOptions, Hint, HintCommand},
};

pub(super) async fn spawn(
    member: String,
    prompt: Option<String>,
    plan: bool,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let prompt = prompt.map(given).transpose()?;
    let permissions = plan.then_some(Permissions::Plan);
    let member = desk.spawn(SpawnOrder { member, prompt, permissions }).await?;
    if printer.json {
        return printer.json(&member);
    }
    let process = member.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    printer.line(&format!("{} is {} ({}{process})", member.name, member.state, member.agent))
}

pub(super) async fn stop(
    name: &str,
    reason: String,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let member = desk.ask_to_stop(name, reason).await?;
    confirm(&member, "asked to stop", printer)
}

pub(super) async fn interrupt(
    name: &str,
    reason: Option<String>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let member = desk.interrupt(name, reason).await?;
    confirm(&member, "interrupted", printer)?;
    if printer.json {
        return Ok(());
    }
    let send = HintCommand::troop("message send").word(member).text("…");
    let hint = Hint::to("it continues with the next message", send);
    printer.line(&CallerOptions::typed().added_to(&hint).to_string())
}

fn confirm(member: &MemberName, what: &str, printer: &Printer) -> Result<()> {
    if printer.json {
        return printer.json(&json!({"name": member, "done": what}));
    }
    printer.line(&format!("{member} was {what}"))
}
