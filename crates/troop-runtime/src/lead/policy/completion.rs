//! What somebody wants done passes stages on its way to the board; this says in which order, and what follows from each.

use troop_model::{
    ActorKind, Command, DelegationOutcome, MemberName, State, Status, TaskCommand, TaskNumber,
    TaskRef, WorkspaceFolder,
};

use crate::{Aim, CommandRequest};

/// How often a member may say in one attempt that it is done when it is not. Then the attempt fails, and the task is tried
/// anew.
pub(in super::super) const MAX_REFUSALS: u32 = 5;

/// A stage on the way to the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum PassageStage {
    /// The files that the holder of a task wrote for it are recorded as the task's.
    Files,
    /// Hooks judge it.
    Hooks,
    /// Checks run, and the work is merged.
    Proof,
    /// The board decides.
    Board,
}

/// The order of the stages. Files come first: they belong to the task only while its holder has it. Hooks come before proof,
/// since a proof changes the team's branch and nobody takes that back.
pub(in super::super) const ORDER: [PassageStage; 4] =
    [PassageStage::Files, PassageStage::Hooks, PassageStage::Proof, PassageStage::Board];

/// The stages that are left after one that is over, or all of them.
pub(in super::super) fn stages_after(
    over: Option<PassageStage>,
) -> impl Iterator<Item = PassageStage> {
    let n_over =
        over.and_then(|over| ORDER.iter().position(|it| *it == over)).map_or(0, |it| it + 1);
    ORDER.into_iter().skip(n_over)
}

/// Something that is said to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct DoneClaim {
    pub(in super::super) task: TaskNumber,
    /// Whose work it is.
    pub(in super::super) member: MemberName,
    pub(in super::super) way: DoneWay,
}

/// In which way something is said to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum DoneWay {
    /// By its holder.
    Finish(Aim),
    /// By somebody who approves what was handed in.
    Approve,
}

/// What a command says to be done, if it does. A person's word counts at once; what the holder made is merged right after.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other command says that something is done")]
pub(in super::super) fn done_claim(state: &State, request: &CommandRequest) -> Option<DoneClaim> {
    let is_reviewed = state.team()?.settings.require_review;
    let aim = if is_reviewed { Aim::HandIn } else { Aim::Merge };
    let (task, way) = match &request.command {
        Command::Task(TaskCommand::Complete { task, .. }) => {
            (state.resolve(task).ok()?, DoneWay::Finish(aim))
        }
        Command::Task(TaskCommand::Review { task, .. }) => {
            (state.resolve(task).ok()?, DoneWay::Finish(Aim::HandIn))
        }
        Command::Task(TaskCommand::Approve { task, .. }) => {
            (state.resolve(task).ok()?, DoneWay::Approve)
        }
        Command::FinishDelegation { delegation, outcome: DelegationOutcome::Completed(_) } => {
            let mut all = state.delegations();
            (all.find(|it| it.id == *delegation)?.task, DoneWay::Finish(aim))
        }
        _ => return None,
    };
    let is_approval = way == DoneWay::Approve;
    if is_approval && state.tasks().status(task) != Some(Status::InReview) {
        return None;
    }
    if !is_approval && request.actor.kind == ActorKind::Human {
        return None;
    }
    let owner = state.tasks().get(task)?.owner.clone();
    let actor = || state.find_member(&request.actor.name).ok().map(|it| it.name.clone());
    Some(DoneClaim { task, member: owner.or_else(actor)?, way })
}

/// A task that its holder lets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Departure {
    pub(in super::super) task: TaskNumber,
    pub(in super::super) owner: MemberName,
    /// Where the task's files are.
    pub(in super::super) folder: WorkspaceFolder,
}

/// Which task its holder lets go by a command, if it does.
pub(in super::super) fn departure(state: &State, request: &CommandRequest) -> Option<Departure> {
    let Command::Task(
        TaskCommand::Complete { task, .. }
        | TaskCommand::Fail { task, .. }
        | TaskCommand::Review { task, .. },
    ) = &request.command
    else {
        return None;
    };
    let task = state.resolve(task).ok()?;
    let found = state.tasks().get(task)?;
    let owner = found.owner.clone()?;
    let is_its = request.actor.kind == ActorKind::Agent && request.actor.name == owner.as_str();
    is_its.then(|| Departure { task, owner, folder: state.folder_of(found) })
}

/// What is against something that was said to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Objection {
    /// Nobody wants to know any more whether it is done.
    Unwanted,
    /// Checks fail, or the work does not fit.
    Work,
    /// It could not be found out.
    Fault,
}

/// What is known of whoever would have to repair something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Repairer {
    /// Whether it can change what it made.
    pub(in super::super) can_repair: bool,
    /// How often it was told before in this attempt that it is not done.
    pub(in super::super) n_refusals: u32,
}

/// What becomes of something that was said to be done, after an objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Sentence {
    /// The board gets it all the same, and says why not.
    LetTheBoardSay,
    /// Whoever said so is told, and repairs it in the same attempt.
    Repair,
    /// The attempt fails.
    FailAttempt,
    /// What was handed in goes back to whoever made it ...
    SendBack,
    /// ... who cannot repair it, so that the attempt fails.
    SendBackAndFail,
    /// What was handed in still waits for approval.
    StillInReview,
}

/// What becomes of something that is not done after all.
pub(in super::super) fn after_objection(
    way: DoneWay,
    objection: Objection,
    repairer: Repairer,
    would_be_taken: bool,
) -> Sentence {
    match (objection, way) {
        // If the board would take it again, it is another attempt, of which nothing was merged.
        (Objection::Unwanted, _) if would_be_taken => Sentence::Repair,
        (Objection::Unwanted, _) => Sentence::LetTheBoardSay,
        // It is no fault of whoever made it that others were merged meanwhile: its refusals are not counted.
        (Objection::Work, DoneWay::Approve) if repairer.can_repair => Sentence::SendBack,
        (Objection::Work, DoneWay::Approve) => Sentence::SendBackAndFail,
        (Objection::Fault, DoneWay::Approve) => Sentence::StillInReview,
        (Objection::Work | Objection::Fault, DoneWay::Finish(_)) => after_refusal(repairer),
    }
}

/// What becomes of an attempt whose holder says that it is done when it is not. A holder that cannot repair it, or does not,
/// has failed.
pub(in super::super) fn after_refusal(repairer: Repairer) -> Sentence {
    let is_last = repairer.n_refusals + 1 >= MAX_REFUSALS;
    if is_last || !repairer.can_repair { Sentence::FailAttempt } else { Sentence::Repair }
}

/// Whether the holder of a task can do anything about what is said against its result.
pub(in super::super) fn can_repair(state: &State, task: TaskNumber) -> bool {
    let owner = state.tasks().get(task).and_then(|it| it.owner.as_ref());
    let agent = owner.and_then(|it| state.member(it));
    agent.is_none_or(|it| troop_model::can_repair(&it.agent))
}

/// Whether a task that fails now is tried again by itself.
pub(in super::super) fn is_retried(state: &State, task: TaskNumber) -> bool {
    let max = state.team().map_or(0, |team| team.settings.max_attempts);
    state.tasks().get(task).is_some_and(|it| it.attempts_used() < max)
}

/// Which attempt at a task is the current one.
pub(in super::super) fn attempt_at(state: &State, task: TaskNumber) -> u32 {
    state.tasks().get(task).map_or(0, |it| it.attempts)
}

/// Whether somebody speaks of an earlier attempt at a task: that ends nothing of this one.
pub(in super::super) fn is_late(state: &State, task: &TaskRef, attempt: Option<u32>) -> bool {
    let Ok(task) = state.resolve(task) else { return false };
    attempt.is_some_and(|attempt| attempt != attempt_at(state, task))
}

#[cfg(test)]
mod tests;
