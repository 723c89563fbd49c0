//! Checks that must pass before a person can complete or approve a task. They run in the project.

use std::time::Duration;

use troop_model::{
    ActorKind, Command, Evidence, Hint, HintCommand, HintOption, Isolation, Proof, Refusal, State,
    Status, TaskCommand, TaskRef,
};
use troop_process::Mark;
use troop_protocol::Answer;
use troop_runtime::{
    Agreement, BoardError, CheckDemand, Checks, CommandRequest, complaint, recorded_branch,
};
use uuid::Uuid;

use crate::{
    Error, Result,
    hint::review_trust,
    team::TeamDesk,
    trust::{self, Consent, ProjectTrust},
};

/// A notice for a person before a task is changed.
#[derive(Clone, Copy, Debug)]
pub enum ProofNotice<'a> {
    /// The project has checks that do not run because nobody trusts it.
    Warning(&'a Hint),
    /// These checks run now.
    Running(&'a [String]),
}

/// How an order about a task ended.
#[derive(Clone, Debug)]
pub enum OrderEnd<T> {
    Done(Answer),
    /// The caller stopped the checks, for this reason. Nothing has changed.
    Stopped(T),
}

impl TeamDesk {
    /// Changes a task. Before a person completes or approves a task, its checks run here;
    /// `without` is the person's reason to go without them. If `stop` ends while checks run, so does everything that they
    /// started.
    pub async fn change_task<T>(
        &mut self,
        order: TaskCommand,
        without: Option<&str>,
        stop: impl Future<Output = T>,
        tell: impl Fn(ProofNotice<'_>),
    ) -> Result<OrderEnd<T>> {
        match prepare(self, &order, without).await? {
            CompletionProof::Complete { warning } => {
                warning.iter().for_each(|warning| tell(ProofNotice::Warning(warning)));
            }
            CompletionProof::Checks(checks) => {
                tell(ProofNotice::Running(&checks.commands));
                if let Err(reason) = checks.run(self, stop).await? {
                    return Ok(OrderEnd::Stopped(reason));
                }
            }
        }
        Ok(OrderEnd::Done(self.submit(Command::Task(order)).await?))
    }
}

/// The step before a person can complete or approve a task.
#[derive(Debug)]
enum CompletionProof {
    /// Nothing more. The warning says which checks the project has that nobody trusts.
    Complete { warning: Option<Hint> },
    /// These checks must pass.
    Checks(CompletionChecks),
}

/// The checks of a task that a person wants to complete or approve.
#[derive(Debug)]
struct CompletionChecks {
    task: TaskRef,
    commands: Vec<String>,
    /// How many seconds each may take.
    seconds: u32,
}

/// Finds out which checks a person's order needs. A reason to go without checks is recorded at once. An order
/// that the board would refuse anyway runs nothing and records nothing. The lead checks the work of its members itself.
async fn prepare(
    desk: &mut TeamDesk,
    order: &TaskCommand,
    without: Option<&str>,
) -> Result<CompletionProof> {
    let complete = CompletionProof::Complete { warning: None };
    let (TaskCommand::Complete { task, .. } | TaskCommand::Approve { task, .. }) = order else {
        return Ok(complete);
    };
    if desk.signature()?.asker.actor.kind != ActorKind::Human {
        return Ok(complete);
    }
    if let Some(reason) = without {
        let proof = Proof::waiver(task.clone(), reason);
        judge(desk, Some(proof.clone()), order).await?;
        desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
        return Ok(complete);
    }
    judge(desk, None, order).await?;
    let trust = ProjectTrust::look(&desk.surroundings)?;
    let configured = trust::allowed_checks(&desk.surroundings, &trust);
    let Some(required) = required(desk, task, configured).await? else { return Ok(complete) };
    if matches!(order, TaskCommand::Approve { .. }) {
        let board = desk.team(None).await?;
        let is_led = desk.is_led(board.team());
        // A lead runs them itself, on the merged result; and a task that may only start has nothing to check.
        if is_led || required.status != Status::InReview {
            return Ok(complete);
        }
    }
    if required.commands.is_empty() {
        let warning = trust.warning().filter(|_| trust.withholds_checks());
        return Ok(CompletionProof::Complete { warning });
    }
    check_trust(&trust)?;
    let RequiredChecks { commands, seconds, .. } = required;
    Ok(CompletionProof::Checks(CompletionChecks { task: task.clone(), commands, seconds }))
}

impl CompletionChecks {
    /// Runs the checks in the project and records what they said. A failed check refuses the order. If `stop` ends first, so
    /// does everything that the checks started, and its output is the inner error.
    async fn run<T>(
        self,
        desk: &mut TeamDesk,
        stop: impl Future<Output = T>,
    ) -> Result<Result<(), T>> {
        let Self { task, commands, seconds } = self;
        let evidence = match run(desk, commands, seconds, stop).await {
            Ok(evidence) => evidence,
            Err(reason) => return Ok(Err(reason)),
        };
        let failed = complaint(&evidence);
        let proof = Proof::new(task, evidence, None);
        desk.submit(Command::Task(TaskCommand::Prove(proof))).await?;
        match failed {
            None => Ok(Ok(())),
            Some(message) => Err(Error::refused(message, way_on(desk).await?)),
        }
    }
}

/// The hint for a check that does not pass here.
async fn way_on(desk: &mut TeamDesk) -> Result<Hint> {
    let hint = Hint::from("repair it and try again, or skip the checks: ")
        .and_option(HintOption::blank("without-checks", "REASON"));
    let board = desk.team(None).await?;
    let isolation = board.look(|state| Some(state.team()?.settings.isolation.place)).await?;
    let is_isolated = isolation == Some(Isolation::Worktree) && desk.is_led(board.team());
    // Without a readable record nothing is known of the branch, and the rest of the hint still holds.
    let branch = recorded_branch(&desk.folder(board.team())).ok().flatten();
    Ok(match branch.filter(|_| is_isolated) {
        // Nobody can tell whether the work in this folder or in the team's is meant.
        Some(branch) => {
            let log = HintCommand::other("git").word("log").word(branch);
            Hint::from(
                "it ran in this folder, which gets the team's work only when the team has ended (",
            )
            .and_to("", "until then", log)
            .and("); ")
            .and_hint(hint)
        }
        None => hint,
    })
}

/// Refuses an order that the board would not take even with a proof, or with this one if there is one.
async fn judge(desk: &mut TeamDesk, proof: Option<Proof>, order: &TaskCommand) -> Result<()> {
    let request = desk.request(Command::Task(order.clone()))?;
    let now = desk.clock.now();
    let board = desk.team(None).await?;
    let judged = board.look(move |state| {
        let mut state = state.clone();
        let has_proof = proof.is_some();
        if let Some(proof) = proof {
            let command = Command::Task(TaskCommand::Prove(proof));
            let prove = CommandRequest { command, ..request.clone() };
            prove.judged(&state, now)?.iter().for_each(|event| state.apply(event));
        }
        match request.judged(&state, now) {
            Err(Refusal::NotProved { .. }) if !has_proof => Ok(()),
            judged => judged.map(drop),
        }
    });
    Ok(judged.await?.map_err(BoardError::from)?)
}

/// Runs checks in the project. If `stop` ends first, its output is the error.
async fn run<T>(
    desk: &TeamDesk,
    commands: Vec<String>,
    seconds: u32,
    stop: impl Future<Output = T>,
) -> Result<Vec<Evidence>, T> {
    let session = Uuid::now_v7();
    let checks = Checks {
        commands,
        timeout: Duration::from_secs(seconds.into()),
        environment: desk.surroundings.environment.variables(),
        clock: desk.clock.clone(),
        session,
        show: None,
        wanted: CheckDemand::default(),
        // A person has agreed to them as they are now.
        agreement: Agreement::default(),
    };
    let reason = tokio::select! {
        evidence = checks.run(&desk.surroundings.project, None) => return Ok(evidence),
        reason = stop => reason,
    };
    // Their process groups were killed just now; processes that left them carry the mark.
    Mark { session, run: None }.kill_all();
    Err(reason)
}

/// The checks that a task needs.
struct RequiredChecks {
    commands: Vec<String>,
    /// How many seconds each may take.
    seconds: u32,
    status: Status,
}

/// The checks of a task: those on the board, then those that are configured here.
async fn required(
    desk: &mut TeamDesk,
    task: &TaskRef,
    configured: Vec<String>,
) -> Result<Option<RequiredChecks>> {
    let board = desk.team(None).await?;
    let wanted = task.clone();
    let look = move |state: &State| {
        let found = state.tasks().get(state.resolve(&wanted).ok()?)?;
        let team = state.team()?;
        let required = found.required_checks(team);
        let mut checks: Vec<_> = required.into_iter().map(str::to_owned).collect();
        for check in configured {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        let status = state.tasks().status(found.number).unwrap_or(found.status);
        let seconds = team.settings.check_timeout_seconds;
        Some(RequiredChecks { commands: checks, seconds, status })
    };
    Ok(board.look(look).await?)
}

/// Checks run the project's own code, so a person must have agreed to what the project runs.
fn check_trust(trust: &ProjectTrust) -> Result<()> {
    match trust.consent {
        Consent::NotNeeded | Consent::Given => Ok(()),
        Consent::Outdated | Consent::Missing => {
            let message = "the checks of this task do not run, because this project is not trusted";
            Err(Error::refused(message, review_trust()))
        }
    }
}

#[cfg(test)]
mod tests;
