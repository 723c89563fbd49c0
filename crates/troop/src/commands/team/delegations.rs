//! `troop team delegations`, and TEAM.md

use anyhow::Result;
use serde_json::{Value, json};
use troop_model::{ActorKind, Delegation, DelegationStatus, DelegationView, State, Time, team_md};

use crate::{
    desk::{Desk, Standing},
    output::Printer,
    render,
};

/// The delegations at hand, oldest first.
pub(super) async fn list(name: Option<&str>, desk: &mut Desk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    if printer.json {
        let all: Vec<Value> = board.look(all_json).await??;
        return printer.json(&json!({ "delegations": all }));
    }
    let (now, standing) = (desk.clock.now(), desk.standing(&board).await?);
    let rows: Vec<_> = board
        .look(move |state| {
            oldest_first(state).into_iter().map(|it| row(it, standing, now)).collect()
        })
        .await?;
    if rows.is_empty() {
        return printer.text("no delegations\n");
    }
    let header = ["BEGAN", "TASK", "TO", "STATUS", "TOOK", "DELEGATION", "RESULT"];
    printer.text(&render::table(&header, &rows, printer.width()))
}

fn oldest_first(state: &State) -> Vec<&Delegation> {
    let mut all: Vec<_> = state.delegations().collect();
    all.sort_by_key(|it| (it.started_at, it.id));
    all
}

fn all_json(state: &State) -> serde_json::Result<Vec<Value>> {
    let views = oldest_first(state).into_iter().map(|it| DelegationView::new(state, it));
    views.map(serde_json::to_value).collect()
}

fn row(delegation: &Delegation, standing: Standing, now: Time) -> Vec<String> {
    let status = match delegation.status {
        // Without a lead no process runs.
        DelegationStatus::Running if standing != Standing::Running => "waiting".to_owned(),
        status => status.to_string(),
    };
    let until = delegation.ended_at.unwrap_or(now);
    vec![
        render::moment(delegation.started_at),
        delegation.task.to_string(),
        delegation.to.to_string(),
        status,
        render::took(until.since(delegation.started_at)),
        delegation.id.to_string(),
        render::one_line(delegation.result.as_deref().unwrap_or_default()),
    ]
}

/// TEAM.md as the acting member's agent has it; a person is shown the lead's.
pub(super) async fn show_team_md(
    name: Option<&str>,
    desk: &mut Desk,
    printer: &Printer,
) -> Result<()> {
    let actor = desk.actor()?;
    let reader = if actor.kind == ActorKind::Agent { actor.name } else { "lead".into() };
    let board = desk.team(name).await?;
    let text = board
        .look(move |state| state.find_member(&reader).map(|it| team_md(state, it.name.as_str())))
        .await??;
    if printer.json {
        return printer.json(&json!({ "team_md": text }));
    }
    printer.text(&render::clean(&text))
}
