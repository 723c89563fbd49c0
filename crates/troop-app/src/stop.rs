//! Stops a team, whichever process leads it, and waits until that process has left the team's folders.

use std::{path::Path, time::Duration};

use tokio::time::{Instant, timeout_at};
use troop_model::{
    Command, Fact, Hint, HintCommand, LeadLease, MemberState, Refusal, State, TeamName, TeamStatus,
    Version,
};
use troop_runtime::{BoardResult, Subscription, lead_has_died};

use crate::{
    Error, Result,
    hint::{follow_events, resume},
    leading::Folders,
    team::{StoppedLead, TeamDesk},
};

/// How a team is to stop.
#[derive(Clone, Debug)]
pub struct StopOptions {
    pub name: Option<String>,
    pub reason: Option<String>,
    /// How long to wait for it.
    pub wait: Duration,
}

/// A team that has stopped.
#[derive(Clone, Debug)]
pub struct StoppedTeam {
    pub name: TeamName,
    pub members: Vec<StoppedMember>,
    pub took: Duration,
}

/// A member that stopped with its team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedMember {
    pub name: String,
    pub reason: String,
}

/// The facts about a team before it stops.
#[derive(Clone, Debug)]
struct TeamBefore {
    name: TeamName,
    lease: Option<LeadLease>,
    has_run: bool,
    is_over: bool,
    version: Version,
}

/// Stops a team.
pub async fn stop(desk: &mut TeamDesk, options: StopOptions) -> Result<StoppedTeam> {
    let board = desk.team(options.name.as_deref()).await?;
    let before = board.look(TeamBefore::new).await?.ok_or(Refusal::NoTeam)?;
    let lease = before.lease()?;
    let name = before.name.clone();
    let folder = desk.folder(board.team());
    check_lead(desk.stopped_lead(board.team()), &folder, &lease, &name)?;
    let mut news = board.subscribe(before.version);
    let since = Instant::now();
    desk.submit(Command::StopTeam { reason: options.reason }).await?;
    let Ok(members) = timeout_at(since + options.wait, stopped(&mut news, &folder)).await else {
        check_lead(desk.stopped_lead(board.team()), &folder, &lease, &name)?;
        let seconds = options.wait.as_secs();
        let holder = &lease.holder;
        let message = format!("{holder} was asked to stop `{name}` but has not within {seconds}s");
        let hint = Hint::to("see what it waits for", follow_events(&name));
        return Err(Error::refused(message, hint));
    };
    Ok(StoppedTeam { name, members: members?, took: since.elapsed() })
}

impl TeamBefore {
    fn new(state: &State) -> Option<Self> {
        let team = state.team()?;
        Some(Self {
            name: team.name.clone(),
            lease: team.lead_lease.clone(),
            has_run: team.n_leads > 0,
            is_over: team.status == TeamStatus::Completed,
            version: state.version(),
        })
    }

    /// The lease of the team's lead, or why there is nothing to stop.
    fn lease(&self) -> Result<LeadLease> {
        if let Some(lease) = &self.lease {
            return Ok(lease.clone());
        }
        let nobody = "nobody is running this team";
        let status = HintCommand::troop("team status").team(&self.name);
        Err(match (self.is_over, self.has_run) {
            (true, _) => {
                let hint = Hint::from("its work is over").and_to("; ", "see the outcome", status);
                Error::refused(nobody, hint)
            }
            (false, false) => {
                let message = "this team has never run: there is nothing to stop";
                Error::refused(message, Hint::to("see its state", status))
            }
            (false, true) => Error::refused(nobody, Hint::to("continue it", resume(&self.name))),
        })
    }
}

/// Refuses to wait for a lead that has died, or that hears nothing.
fn check_lead(
    stopped: Option<StoppedLead>,
    folder: &Path,
    lease: &LeadLease,
    name: &TeamName,
) -> Result<()> {
    if lead_has_died(folder, lease.session) {
        let message = format!("nobody is running this team: {} is dead", lease.holder);
        return Err(Error::refused(message, Hint::to("continue it", resume(name))));
    }
    let Some(stopped) = stopped else { return Ok(()) };
    let message = format!("team `{name}` does not respond: {}", stopped.says());
    let stop = HintCommand::troop("stop").team(name);
    Err(Error::refused(message, stopped.ways_out().and(", then: ").and_run(stop)))
}

/// Waits until nobody leads the team and its work has landed: the next lead would be in the way before that.
async fn stopped(news: &mut Subscription, folder: &Path) -> BoardResult<Vec<StoppedMember>> {
    let stopped = released(news).await;
    Folders::left(folder).await;
    stopped
}

/// Waits until nobody leads the team. Returns the members that stopped meanwhile.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is about the end of a team")]
async fn released(news: &mut Subscription) -> BoardResult<Vec<StoppedMember>> {
    let mut stopped = Vec::new();
    while let Some(event) = news.next().await? {
        match &event.fact {
            Fact::LeadReleased {} | Fact::LeadTaken { .. } | Fact::TeamDeleted {} => break,
            Fact::MemberStateChanged { member, state, reason, .. }
                if matches!(state, MemberState::Stopped | MemberState::Crashed) =>
            {
                let reason = reason.clone().unwrap_or_else(|| state.to_string());
                stopped.push(StoppedMember { name: member.to_string(), reason });
            }
            _ => {}
        }
    }
    Ok(stopped)
}

#[cfg(test)]
mod tests;
