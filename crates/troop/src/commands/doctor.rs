//! `troop doctor`: what is installed, reachable and misconfigured, and how to fix it.

use anyhow::Result;
use serde_json::json;
use troop_app::{
    checkup::{self, Care, Checkup, Health},
    surroundings::Surroundings,
};

use crate::{output::Printer, render, report::CallerOptions};

pub(super) async fn run(surroundings: &Surroundings, care: Care, printer: &Printer) -> Result<()> {
    let checks = checkup::examine(surroundings, care).await;
    show(&checks, printer)?;
    match checks.iter().filter(|check| check.health == Health::Bad).count() {
        0 => Ok(()),
        1 => Err(anyhow::anyhow!("1 thing needs attention")),
        n => Err(anyhow::anyhow!("{n} things need attention")),
    }
}

fn show(checks: &[Checkup], printer: &Printer) -> Result<()> {
    let typed = CallerOptions::typed();
    if printer.json {
        let row = |it: &Checkup| {
            let fix = it.fix.as_ref().map(|fix| typed.added_to(fix).to_string());
            json!({"name": it.name, "state": it.health.as_str(), "says": it.says, "fix": fix})
        };
        let checks: Vec<_> = checks.iter().map(row).collect();
        return printer.json(&json!({ "checks": checks }));
    }
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let mark = match check.health {
            Health::Good => render::paint(render::GOOD, "✓"),
            Health::Missing => render::paint(render::DIM, "–"),
            Health::Bad => render::paint(render::BAD, "✗"),
        };
        let name = render::pad(&check.name, width);
        printer.line(&format!("{mark} {name}  {}", render::clean(&check.says)))?;
        if let Some(fix) = &check.fix {
            let fix = render::clean(&typed.added_to(fix).to_string());
            let line = format!("  {}  {fix}", " ".repeat(width));
            printer.line(&render::paint(render::DIM, &line))?;
        }
    }
    Ok(())
}
