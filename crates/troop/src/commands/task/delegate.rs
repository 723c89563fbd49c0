//! `troop task delegate`

use anyhow::Result;
use serde_json::Value;
use troop_app::team::{DelegateOrder, TeamDesk};
use troop_model::{Delegation, DelegationStatus, DelegationView};
use troop_runtime::Board;

use crate::{output::Printer, render};

pub(super) async fn run(
    order: DelegateOrder,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let has_waited = order.wait.is_some();
    let warn = |warning| {
        if !printer.json {
            printer.warn(warning);
        }
    };
    let Some(found) = desk.delegate(order, warn).await? else {
        return printer.text("nothing changed\n");
    };
    show(&desk.team(None).await?, &found, printer).await?;
    match found.status {
        DelegationStatus::Completed => Ok(()),
        DelegationStatus::Running if !has_waited => Ok(()),
        DelegationStatus::Running | DelegationStatus::Failed | DelegationStatus::Cancelled => {
            Ok(desk.check_delegation(&found).await?)
        }
    }
}

async fn show(board: &Board, delegation: &Delegation, printer: &Printer) -> Result<()> {
    let found = delegation.clone();
    let number = delegation.task;
    if printer.json {
        let view: Value = board
            .look(move |state| serde_json::to_value(DelegationView::new(state, &found)))
            .await??;
        return printer.json(&view);
    }
    let subject = board
        .look(move |state| state.tasks().get(number).map(|task| task.subject.clone()))
        .await?
        .unwrap_or_default();
    let subject = render::one_line(&subject);
    let result = render::clean(delegation.result.as_deref().unwrap_or_default());
    let took = render::delegation_took(delegation).map(|took| format!(" after {took}"));
    let took = took.unwrap_or_default();
    let to = &delegation.to;
    printer.text(&match delegation.status {
        DelegationStatus::Running => format!("delegated {number}: {subject} ({to})\n"),
        DelegationStatus::Completed => {
            format!("{to} completed {number}: {subject}{took}\n{result}\n")
        }
        DelegationStatus::Failed => format!("{to} failed at {number}: {subject}{took}\n{result}\n"),
        DelegationStatus::Cancelled => {
            format!("{to} stopped working on {number}: {subject}{took}\n{result}\n")
        }
    })
}
