//! A person says that a task is done, or that its result is good: its checks run here first, in the project.

use std::time::Duration;

use anyhow::Result;
use troop_model::{
    ActorKind, Command, Context, Evidence, Isolation, Proof, Refusal, State, Status, TaskCommand,
    TaskRef, decide,
};
use troop_process::Mark;
use troop_runtime::{Agreement, CheckDemand, Checks, complaint, find_lead};
use uuid::Uuid;

use crate::{
    config,
    desk::Desk,
    output::Printer,
    report::{Refused, Stopped},
    signals::Signals,
    trust::{self, Standing, Trust},
};

/// Shows that what a person says to be done is: runs the checks of its task, or keeps why they are not run. What would be
/// refused anyway runs nothing and keeps nothing. Members' work is checked by who leads them.
pub(super) async fn prove(
    desk: &mut Desk,
    order: &TaskCommand,
    without: Option<&str>,
    printer: &Printer,
) -> Result<()> {
    let (TaskCommand::Complete { task, .. } | TaskCommand::Approve { task, .. }) = order else {
        return Ok(());
    };
    if desk.signature()?.actor.kind != ActorKind::Human {
        return Ok(());
    }
    let mut proof = Proof { task: task.clone(), evidence: Vec::new(), merge: None, waived: None };
    if let Some(reason) = without {
        proof.waived = Some(reason.to_owned());
        judge(desk, Some(proof.clone()), order).await?;
        desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
        return Ok(());
    }
    judge(desk, None, order).await?;
    let trust = Trust::look(&desk.surroundings)?;
    let configured = trust::allowed_checks(&desk.surroundings, &trust);
    let Some(required) = required(desk, task, configured).await? else { return Ok(()) };
    let Required { commands, seconds, status } = required;
    if matches!(order, TaskCommand::Approve { .. }) {
        let board = desk.team(None).await?;
        let is_led = find_lead(&desk.folder(board.team())).is_some();
        // Who leads runs them itself, on what comes of the merge; and what only may start is not to be checked.
        if is_led || status != Status::InReview {
            return Ok(());
        }
    }
    if commands.is_empty() {
        if let Some(warning) = trust.warning().filter(|_| trust.withholds_checks()) {
            printer.warn(&warning);
        }
        return Ok(());
    }
    check_trust(&trust)?;
    if !printer.json {
        printer.error_line(&format!("running {}", commands.join("; ")));
    }
    proof.evidence = run(desk, commands, seconds).await?;
    let bad = complaint(&proof.evidence);
    desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
    match bad {
        None => Ok(()),
        Some(bad) => Err(Refused::new(bad, way_on(desk).await?).into()),
    }
}

/// What can be done about a check that does not pass here.
async fn way_on(desk: &mut Desk) -> Result<String> {
    let hint = "repair it and try again, or skip the checks: `--without-checks REASON`";
    let board = desk.team(None).await?;
    let look = |state: &State| Some((state.team()?.name.clone(), state.team()?.settings.isolation));
    let isolated = board.look(look).await?.filter(|(_, it)| *it == Isolation::Worktree);
    let is_led = find_lead(&desk.folder(board.team())).is_some();
    Ok(match isolated.filter(|_| is_led) {
        // Nobody can tell whether what was done here or there is meant.
        Some((name, _)) => format!(
            "it ran in this folder, which gets the team's work only when the team has ended (until then: `git log troop/{name}`); {hint}"
        ),
        None => hint.to_owned(),
    })
}

/// Refuses what the board would not take even if it were proved, or with this proof if there is one.
async fn judge(desk: &mut Desk, proof: Option<Proof>, order: &TaskCommand) -> Result<()> {
    let request = desk.request(Command::Task(order.clone()))?;
    let ctx = Context {
        now: desk.clock.now(),
        asker: request.asker(),
        operation: request.operation,
        fence: None,
    };
    let command = request.command;
    let board = desk.team(None).await?;
    let judged = board.look(move |state| {
        let mut state = state.clone();
        let has_proof = proof.is_some();
        if let Some(proof) = proof {
            let prove = Command::Task(TaskCommand::Prove(proof));
            decide(&state, &prove, &ctx)?.iter().for_each(|event| state.apply(event));
        }
        match decide(&state, &command, &ctx) {
            Err(Refusal::NotProved { .. }) if !has_proof => Ok(()),
            judged => judged.map(drop),
        }
    });
    Ok(judged.await??)
}

/// Runs checks here. Who is told to stop meanwhile ends all that they started.
async fn run(desk: &Desk, commands: Vec<String>, seconds: u32) -> Result<Vec<Evidence>> {
    let session = Uuid::now_v7();
    let checks = Checks {
        commands,
        timeout: Duration::from_secs(seconds.into()),
        environment: config::environment(),
        clock: desk.clock.clone(),
        session,
        show: None,
        wanted: CheckDemand::default(),
        // A person has agreed to them as they are now.
        agreement: Agreement::default(),
    };
    let mut signals = Signals::listen()?;
    let wanted = tokio::select! {
        evidence = checks.run(&desk.surroundings.project, None) => return Ok(evidence),
        wanted = signals.next() => wanted,
    };
    // Their groups were killed just now; what left them bears the mark.
    Mark { session, run: None }.kill_all();
    Err(Stopped(wanted).into())
}

/// What must pass before a task is done.
struct Required {
    commands: Vec<String>,
    /// How long each may take.
    seconds: u32,
    /// Where the task stands.
    status: Status,
}

/// What must pass before a task is done, and how long each may take: as the board says, then as it is configured here.
async fn required(
    desk: &mut Desk,
    task: &TaskRef,
    configured: Vec<String>,
) -> Result<Option<Required>> {
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
        let status = state.tasks().status(found.number).unwrap_or(found.status);
        let seconds = team.settings.check_timeout_seconds;
        Some(Required { commands: checks, seconds, status })
    };
    Ok(board.look(look).await?)
}

/// What a check runs is the project's own; a person must have agreed to what the project runs.
fn check_trust(trust: &Trust) -> Result<()> {
    match trust.standing {
        Standing::RunsNothing | Standing::Trusted => Ok(()),
        Standing::Changed | Standing::Unknown => {
            let message = "the checks of this task do not run, because this project is not trusted";
            Err(Refused::new(message, "review it: `troop trust`").into())
        }
    }
}
