//! A person says that a task is done: its checks run here first, in the project.

use std::time::Duration;

use anyhow::Result;
use troop_model::{ActorKind, Command, Proof, State, TaskCommand, TaskRef};
use troop_runtime::{Checks, complaint};
use uuid::Uuid;

use crate::{
    config,
    desk::Desk,
    output::Printer,
    report::Refused,
    trust::{self, Standing, Trust},
};

/// Runs the checks of a task that a person is about to complete, or keeps why they are not run. Members' work is checked by
/// who leads them.
pub(super) async fn prove(
    desk: &mut Desk,
    task: &TaskRef,
    without: Option<&str>,
    printer: &Printer,
) -> Result<()> {
    if desk.signature()?.actor.kind != ActorKind::Human {
        return Ok(());
    }
    let trust = Trust::look(&desk.surroundings)?;
    let configured = trust::allowed_checks(&desk.surroundings, &trust);
    let Some((commands, seconds)) = required(desk, task, configured).await? else { return Ok(()) };
    let mut proof = Proof { task: task.clone(), evidence: Vec::new(), merge: None, waived: None };
    if let Some(reason) = without {
        proof.waived = Some(reason.to_owned());
        desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
        return Ok(());
    }
    if commands.is_empty() {
        if let Some(warning) = trust.warning().filter(|_| trust.withholds_checks()) {
            printer.warn(&warning);
        }
        return Ok(());
    }
    check_trust(&trust)?;
    if !printer.json {
        printer.warn(&format!("running {}", commands.join("; ")));
    }
    let checks = Checks {
        commands,
        timeout: Duration::from_secs(seconds.into()),
        environment: config::environment(),
        clock: desk.clock.clone(),
        session: Uuid::now_v7(),
        show: None,
    };
    proof.evidence = checks.run(&desk.surroundings.project, None).await;
    let bad = complaint(&proof.evidence);
    desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
    match bad {
        None => Ok(()),
        Some(bad) => {
            let hint =
                "repair it and complete the task again, or do without: `--without-checks REASON`";
            Err(Refused::new(bad, hint).into())
        }
    }
}

/// What must pass before a task is done, and how long each may take: as the board says, then as it is configured here.
async fn required(
    desk: &mut Desk,
    task: &TaskRef,
    configured: Vec<String>,
) -> Result<Option<(Vec<String>, u32)>> {
    let (board, wanted) = (desk.team(None).await?, task.clone());
    let look = move |state: &State| {
        let (found, team) = (state.tasks().get(state.resolve(&wanted).ok()?)?, state.team()?);
        let required = found.required_checks(team);
        let mut checks: Vec<_> = required.into_iter().map(str::to_owned).collect();
        for check in configured {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        Some((checks, team.settings.check_timeout_seconds))
    };
    Ok(board.look(look).await?)
}

/// What a check runs is the project's own; a person must have agreed to what the project runs.
fn check_trust(trust: &Trust) -> Result<()> {
    match trust.standing {
        Standing::RunsNothing | Standing::Trusted => Ok(()),
        Standing::Changed | Standing::Unknown => {
            let message = "the checks of this task do not run, because this project is not trusted";
            Err(Refused::new(message, "look and decide: `troop trust`").into())
        }
    }
}
