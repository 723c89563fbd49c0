//! `troop stop`: stops a team, whoever leads it.

use std::{path::Path, time::Duration};

use anyhow::Result;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use troop_app::team::{StoppedLead, TeamDesk};
use troop_model::{Command, Fact, LeadLease, MemberState, Refusal, TeamStatus};
use troop_runtime::{BoardResult, Subscription, lead_has_died};

use crate::{
    cli::StopArgs,
    leading::Folders,
    output::Printer,
    render,
    report::{Hint, HintCommand, Refused},
};

pub(super) async fn run(args: &StopArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(args.name.as_deref()).await?;
    let look = |state: &troop_model::State| {
        let team = state.team()?;
        let is_over = team.status == TeamStatus::Completed;
        let of_lead = (team.lead_lease.clone(), team.n_leads);
        Some((team.name.clone(), of_lead, is_over, state.version()))
    };
    let (name, (lease, n_leads), is_over, version) =
        board.look(look).await?.ok_or(Refusal::NoTeam)?;
    let status = || HintCommand::troop("team status").team(&name);
    let lease = lease.ok_or_else(|| match n_leads {
        _ if is_over => Refused::new(
            "nobody is running this team",
            Hint::from("its work is over").and_to("; ", "see the outcome", status()),
        ),
        0 => Refused::new(
            "this team has never run: there is nothing to stop",
            Hint::to("see its state", status()),
        ),
        _ => Refused::new("nobody is running this team", resume(name.as_str())),
    })?;
    let folder = desk.folder(board.team());
    if lead_has_died(&folder, lease.session) {
        return Err(died(&lease, name.as_str()));
    }
    let hears_nothing = |stopped: StoppedLead| {
        let message = format!("team `{name}` does not respond: {}", stopped.says());
        let stop = HintCommand::troop("stop").team(&name);
        Refused::new(message, Hint::from(stopped.ways_out()).and(", then: ").and_run(stop))
    };
    if let Some(stopped) = desk.stopped_lead(board.team()) {
        return Err(hears_nothing(stopped).into());
    }
    let mut news = board.subscribe(version);
    let since = Instant::now();
    desk.submit(Command::StopTeam { reason: args.reason.clone() }).await?;
    let deadline = since + Duration::from_secs(args.wait);
    let Ok(stopped) = timeout_at(deadline, over(&mut news, &folder)).await else {
        if lead_has_died(&folder, lease.session) {
            return Err(died(&lease, name.as_str()));
        }
        if let Some(stopped) = desk.stopped_lead(board.team()) {
            return Err(hears_nothing(stopped).into());
        }
        let message = format!(
            "{} was asked to stop `{name}` but has not within {}s",
            lease.holder, args.wait
        );
        let follow = HintCommand::troop("events").word("--follow").in_team(name);
        let hint = Hint::to("see what it waits for", follow);
        return Err(Refused::new(message, hint).into());
    };
    let stopped = stopped?;
    let took = since.elapsed();
    if printer.json {
        let seconds = took.as_secs_f64();
        let members: Vec<_> = stopped.iter().map(|(member, _)| member).collect();
        return printer
            .json(&json!({"team": name, "stopped": true, "seconds": seconds, "members": members}));
    }
    for (member, reason) in stopped {
        printer.line(&format!("{member}: {}", render::one_line(&reason)))?;
    }
    printer.line(&format!("{name} has stopped, after {}", render::took(took)))
}

/// Waits until nobody leads the team any more, and what it made is brought home: who goes on with it before that would be in the
/// way. Who stopped, and how.
async fn over(news: &mut Subscription, folder: &Path) -> BoardResult<Vec<(String, String)>> {
    let stopped = released(news).await;
    Folders::left(folder).await;
    stopped
}

/// Waits until nobody leads the team any more. Who stopped, and how.
#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is not waited for")]
async fn released(news: &mut Subscription) -> BoardResult<Vec<(String, String)>> {
    let mut stopped = Vec::new();
    while let Some(event) = news.next().await? {
        match &event.fact {
            Fact::LeadReleased {} | Fact::LeadTaken { .. } | Fact::TeamDeleted {} => break,
            Fact::MemberStateChanged { member, state, reason, .. }
                if matches!(state, MemberState::Stopped | MemberState::Crashed) =>
            {
                let reason = reason.clone().unwrap_or_else(|| state.to_string());
                stopped.push((member.to_string(), reason));
            }
            _ => {}
        }
    }
    Ok(stopped)
}

fn died(lease: &LeadLease, name: &str) -> anyhow::Error {
    let message = format!("nobody is running this team: {} is dead", lease.holder);
    Refused::new(message, resume(name)).into()
}

fn resume(name: &str) -> Hint {
    Hint::to("continue it", HintCommand::troop("resume").team(name))
}
