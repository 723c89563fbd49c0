//! `troop run`: a team for this project, led from here until it is over.

use anyhow::Result;
use serde_json::{Value, json};
use troop_app::{
    leading::RunReport,
    start::{self, Goal, SettingOptions, StartOptions, TeamStart},
    team::TeamDesk,
    trust::ProjectTrust,
};
use troop_model::TeamStatus;
use troop_runtime::LeadEnd;

use super::given;
use crate::{
    cli::RunArgs,
    environment, leading,
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand},
};

pub(super) async fn run(args: RunArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let goal = Goal::new(given(args.goal)?)?;
    let trust = trust(desk, printer)?;
    let options = StartOptions {
        goal,
        agent: args.agent,
        members: args.members,
        permissions: args.permissions,
        settings: SettingOptions {
            max_teammates: args.max_teammates,
            budget: args.budget,
            delegate_mode: (args.delegate || args.no_delegate).then_some(args.delegate),
            checks: args.checks,
            others: args.settings,
        },
        terms: args.lead.into(),
    };
    let start = start::start(desk, &trust, environment::program()?, options).await?;
    let TeamStart { leading, beginning } = start;
    let led = leading::begin(leading, desk, &trust).await?;
    conclude(&Box::pin(led.run(beginning, printer)).await?, printer)
}

/// Looks up what this project may run, and warns of what it may not.
pub(super) fn trust(desk: &TeamDesk, printer: &Printer) -> Result<ProjectTrust> {
    let trust = ProjectTrust::look(&desk.surroundings)?;
    if let Some(warning) = trust.warning() {
        printer.warn(warning);
    }
    Ok(trust)
}

/// Shows the outcome, and fails unless the team did its work.
pub(super) fn conclude(finished: &RunReport, printer: &Printer) -> Result<()> {
    if printer.json {
        print_json(finished, Vec::new(), printer)?;
        return Ok(finished.check()?);
    }
    let typed = CallerOptions::typed();
    let mut text = text(finished, printer, |hint| typed.added_to(hint));
    if let Some(team) = finished.story.state().team() {
        // Another team may have the name of a deleted one.
        let label = match team.status {
            TeamStatus::Deleted => team.id.to_string(),
            TeamStatus::Active | TeamStatus::Completed => team.name.to_string(),
        };
        let events = HintCommand::troop("events").in_team(&label);
        let log = HintCommand::troop("log").blank("MEMBER").in_team(&label);
        let look = typed.added_to(&Hint::to("see", events).and(", ").and_run(log));
        text.push_str(&render::paint(render::DIM, &format!("\n{look}\n")));
    }
    printer.text(&text)?;
    Ok(finished.check()?)
}

/// The report for people. `fit` adapts the commands in it to the caller.
pub(super) fn text(finished: &RunReport, printer: &Printer, fit: impl Fn(&Hint) -> Hint) -> String {
    // After a screen there is a gap already.
    let gap = if printer.screen().is_some() { "" } else { "\n" };
    let mut text = format!("{gap}{}", render::summary(&finished.story, printer.width()));
    if let LeadEnd::Stopped { reason } = &finished.ended {
        text.push_str(&format!("\nstopped: {}\n", render::one_line(reason)));
    }
    for (nth, note) in finished.landing.notes().iter().enumerate() {
        let gap = if nth == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{}\n", fit(note)));
    }
    text
}

/// The report for programs, with more fields.
pub(super) fn print_json(
    finished: &RunReport,
    extra: Vec<(&str, Value)>,
    printer: &Printer,
) -> Result<()> {
    let (how, reason) = match &finished.ended {
        LeadEnd::Quiet => ("quiet", None),
        LeadEnd::Stopped { reason } => ("stopped", Some(reason)),
        LeadEnd::Superseded => ("superseded", None),
        LeadEnd::Lost { reason } => ("lost", Some(reason)),
    };
    let mut report = render::summary_json(&finished.story);
    if let Some(fields) = report.as_object_mut() {
        fields.insert("ended".to_owned(), json!({"how": how, "reason": reason}));
        fields.insert("work".to_owned(), finished.landing.json());
        fields.insert("success".to_owned(), finished.check().is_ok().into());
        fields.extend(extra.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    printer.json(&report)
}
