//! `troop trust`: what this project's own files would run, and whether they may.

use std::io::{self, IsTerminal as _};

use anyhow::Result;
use serde_json::json;
use troop_app::{
    surroundings::Surroundings,
    trust::{Consent, ProjectCommand, ProjectTrust, check_person},
};
use troop_runtime::Clock;

use crate::{
    cli::TrustArgs,
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

pub(super) fn run(args: &TrustArgs, surroundings: &Surroundings, printer: &Printer) -> Result<()> {
    // A member is refused before anything is shown to agree to.
    check_person()?;
    let mut trust = ProjectTrust::look(surroundings)?;
    if args.revoke {
        return revoke(&mut trust, printer);
    }
    let is_open = matches!(trust.consent, Consent::Missing | Consent::Outdated);
    if args.show || !is_open {
        return show(&trust, printer);
    }
    if !args.yes {
        if printer.json || !io::stdin().is_terminal() {
            let trust = |option: &str| HintCommand::troop("trust").word(option);
            let hint = Hint::from("review it with ")
                .and_run(trust("--show"))
                .and(", then allow it with ")
                .and_run(trust("--yes"));
            return Err(Error::misuse("there is no terminal to ask on", hint).into());
        }
        show(&trust, printer)?;
        if !printer.confirm("run these from now on?")? {
            return printer.line("nothing changed");
        }
    }
    trust.agree(&surroundings.user, Clock::system().now())?;
    if printer.json { show(&trust, printer) } else { printer.line("this project is trusted now") }
}

fn revoke(trust: &mut ProjectTrust, printer: &Printer) -> Result<()> {
    let was_there = trust.revoke()?;
    if printer.json {
        return show(trust, printer);
    }
    let says = if was_there { "is no longer trusted" } else { "was not trusted" };
    printer.line(&format!("this project {says}"))
}

fn show(trust: &ProjectTrust, printer: &Printer) -> Result<()> {
    let (word, says) = match trust.consent {
        Consent::NotNeeded => ("runs_nothing", "there is nothing to trust: its files run nothing"),
        Consent::Given => ("trusted", "trusted: this runs"),
        Consent::Outdated => ("changed", "changed since you trusted it: this does not run"),
        Consent::Missing => ("unknown", "not trusted: this does not run"),
    };
    if printer.json {
        return printer
            .json(&json!({"project": trust.project, "standing": word, "runs": trust.runs}));
    }
    printer.line(&format!("{}: {says}", render::clean(&trust.project)))?;
    show_runs(&trust.runs, printer)
}

/// Lists the commands, and when each would run.
pub(super) fn show_runs(all: &[ProjectCommand], printer: &Printer) -> Result<()> {
    for runs in all {
        let head = format!("  {} on {}, from {}", runs.kind.as_str(), runs.when, runs.file);
        printer.line(&render::paint(render::DIM, &render::clean(&head)))?;
        for line in render::clean(&runs.command).lines() {
            printer.line(&format!("    {line}"))?;
        }
        for name in &runs.names {
            printer.line(&format!("    which runs or reads {}", render::clean(name)))?;
        }
    }
    Ok(())
}
