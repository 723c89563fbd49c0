//! `troop resume`: goes on with a team whose lead ended.

use std::sync::Arc;

use anyhow::Result;
use troop_model::{MemberName, NewMember, Spawn, State, Status, Task};
use troop_runtime::was_cut_short;

use super::run::{conclude, trust};
use crate::{
    cli::ResumeArgs,
    desk::Desk,
    leading::{Beginning, Leading, Runnable},
    output::Printer,
};

pub(super) async fn run(args: ResumeArgs, desk: &mut Desk, printer: &Printer) -> Result<()> {
    let board = desk.team(args.name.as_deref()).await?;
    let trust = trust(desk, printer)?;
    let agents = Arc::new(Runnable::new(&desk.surroundings, &trust, desk.other_store())?);
    let lead = |state: &State| state.lead().map(|lead| (lead.agent.clone(), lead.model.clone()));
    let (agent, model) = board.look(lead).await?.unwrap_or_default();
    agents.check(&agent, model.as_deref())?;
    let leading = Leading {
        desk,
        board: board.clone(),
        printer,
        trust: &trust,
        agents: Arc::clone(&agents),
        args: args.lead,
    };
    let begun = leading.begin().await?;
    let found = board.look(Found::new).await?;
    let (members, left): (Vec<_>, Vec<_>) = found
        .ended
        .iter()
        .cloned()
        .partition(|it| found.is_open && agents.check(&it.agent, it.model.as_deref()).is_ok());
    if !printer.json {
        printer.line(&found.says(&members, &left))?;
    }
    let members = members.into_iter().map(|member| Spawn { member, prompt: None }).collect();
    let finished = begun.run(Beginning { members, goal: None }).await?;
    conclude(&finished, printer)
}

/// What is left of a team whose lead ended.
struct Found {
    /// The members that ended with it, or crashed.
    ended: Vec<NewMember>,
    /// Whether there is something to do.
    is_open: bool,
}

impl Found {
    fn new(state: &State) -> Self {
        let again = |member: &troop_model::Member| NewMember {
            name: member.name.clone(),
            agent: member.agent.clone(),
            expertise: member.expertise.clone(),
            model: member.model.clone(),
            permissions: None,
        };
        let ended = state.members().filter(|it| was_cut_short(it)).map(again).collect();
        let is_open = |task: &Task| match task.status {
            Status::Completed | Status::Cancelled => false,
            Status::Failed => task.not_before.is_some(),
            Status::Pending
            | Status::InProgress
            | Status::InReview
            | Status::Blocked
            | Status::Stale => true,
        };
        Self { ended, is_open: state.tasks().iter().any(is_open) }
    }

    fn says(&self, again: &[NewMember], left: &[NewMember]) -> String {
        let names = |members: &[NewMember]| {
            let names: Vec<_> = members.iter().map(|it| MemberName::as_str(&it.name)).collect();
            names.join(", ")
        };
        let ended = match self.ended.len() {
            0 => "no teammate was cut short".to_owned(),
            1 => "1 teammate was cut short".to_owned(),
            n => format!("{n} teammates were cut short"),
        };
        let then = match (again, left) {
            ([], []) => String::new(),
            (_, _) if !self.is_open => "; no task is open, so nobody is started again".to_owned(),
            (again, []) => format!("; started again: {}", names(again)),
            ([], left) => format!("; their agents are not available: {}", names(left)),
            (again, left) => {
                format!("; started again: {}; not available: {}", names(again), names(left))
            }
        };
        ended + &then
    }
}
