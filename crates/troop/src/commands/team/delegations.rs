//! `troop team delegations`, and TEAM.md

use std::collections::BTreeSet;

use anyhow::Result;
use troop_app::team::{DelegationProgress, DelegationStage, TeamDesk};
use troop_model::Time;
use troop_protocol::{ContextText, Query};

use crate::{output::Printer, render};

/// The fewest characters of an id that are shown.
const SHORT: usize = 8;

/// Lists the delegations, the oldest first.
pub(super) async fn list(name: Option<&str>, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(name).await?;
    if printer.json {
        return printer.json(&desk.answers(&board).delegations().await?);
    }
    let all = desk.delegations(&board).await?;
    if all.is_empty() {
        return printer.text("no delegations\n");
    }
    let ids: Vec<_> = all.iter().map(|it| it.delegation.id.to_string()).collect();
    let n_chars = short(&ids);
    let now = desk.clock.now();
    let rows: Vec<_> = all.iter().map(|it| row(it, n_chars, now)).collect();
    let header = ["BEGAN", "TASK", "TO", "STATUS", "TOOK", "DELEGATION", "RESULT"];
    printer.text(&render::table(&header, &rows, printer.width()))
}

/// How many characters tell each id from the others; `troop log --delegation` accepts that many.
fn short(ids: &[String]) -> usize {
    let beginnings = |n_chars: usize| {
        ids.iter().map(|id| id.chars().take(n_chars).collect::<String>()).collect::<BTreeSet<_>>()
    };
    let all = ids.iter().collect::<BTreeSet<_>>().len();
    (SHORT..).find(|n_chars| beginnings(*n_chars).len() == all).unwrap_or(SHORT)
}

fn row(progress: &DelegationProgress, n_chars: usize, now: Time) -> Vec<String> {
    let DelegationProgress { delegation, stage } = progress;
    let (status, took) = match stage {
        DelegationStage::Waiting => ("waiting".to_owned(), None),
        DelegationStage::Running => {
            ("running".to_owned(), Some(render::took(now.since(delegation.started_at))))
        }
        DelegationStage::CutShort => ("cut short".to_owned(), None),
        DelegationStage::Ended(status) => (status.to_string(), render::delegation_took(delegation)),
    };
    vec![
        render::moment(delegation.started_at),
        delegation.task.to_string(),
        delegation.to.to_string(),
        status,
        took.unwrap_or_default(),
        delegation.id.to_string().chars().take(n_chars).collect(),
        render::one_line(delegation.result.as_deref().unwrap_or_default()),
    ]
}

/// Shows TEAM.md as the acting member's agent gets it. A person sees the lead's.
pub(super) async fn show_team_md(
    name: Option<&str>,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    desk.team(name).await?;
    let query = Query::Context { dialect: None, is_client: false };
    let context: ContextText = desk.handle().await?.query(query).await?;
    if printer.json {
        printer.json(&context)
    } else {
        printer.text(&render::clean(&context.team_md))
    }
}

#[cfg(test)]
mod tests;
