//! The stages of a command on its way to the board: their order, and the consequences of each.

use troop_model::{
    ActorKind, Command, MemberName, State, Status, Task, TaskCommand, TaskNumber, TaskRef,
    WorkspaceFolder,
};

use super::attempt_end::{AttemptEnd, AttemptEnding, attempt_end};
use crate::{Aim, CommandRequest};

/// A stage on the way to the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassageStage {
    /// The agent of a new member is checked.
    Agent,
    /// Files that the holder wrote are attached to the task.
    Files,
    /// Hooks judge it.
    Hooks,
    /// Checks run, and the work is merged.
    Proof,
    /// The board decides.
    Board,
}

/// The order of the stages. An agent that cannot run needs nothing else. Files come next: they belong to the task only while its holder has it. Hooks come before proof,
/// since a proof changes the team's branch, which cannot be undone.
pub const ORDER: [PassageStage; 5] = [
    PassageStage::Agent,
    PassageStage::Files,
    PassageStage::Hooks,
    PassageStage::Proof,
    PassageStage::Board,
];

/// The stages after a finished one, or all of them.
pub fn stages_after(over: Option<PassageStage>) -> impl Iterator<Item = PassageStage> {
    let n_over =
        over.and_then(|over| ORDER.iter().position(|it| *it == over)).map_or(0, |it| it + 1);
    ORDER.into_iter().skip(n_over)
}

/// A claim that a task is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneClaim {
    pub task: TaskNumber,
    /// The member whose work it is.
    pub member: MemberName,
    /// The current attempt; none if the task has no holder, or is no longer worked on.
    pub attempt: Option<u32>,
    pub way: DoneWay,
}

/// The kind of a done claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneWay {
    /// By its holder.
    Finish(Aim),
    /// By the approval of submitted work.
    Approve,
}

/// The done claim of a command, if it is one. A completion by a person needs no proof; the holder's work is merged right after.
pub fn done_claim(state: &State, request: &CommandRequest) -> Option<DoneClaim> {
    let is_reviewed = state.team()?.settings.require_review;
    let aim = if is_reviewed { Aim::HandIn } else { Aim::Merge };
    let AttemptEnd { task, ending } = attempt_end(state, &request.asker.actor, &request.command)?;
    let way = match ending {
        AttemptEnding::Done(_) => DoneWay::Finish(aim),
        AttemptEnding::Submitted => DoneWay::Finish(Aim::HandIn),
        AttemptEnding::Approved => DoneWay::Approve,
        AttemptEnding::Failed | AttemptEnding::GivenBack => return None,
    };
    let is_approval = way == DoneWay::Approve;
    if is_approval && state.tasks().status(task) != Some(Status::InReview) {
        return None;
    }
    if !is_approval && request.asker.actor.kind == ActorKind::Human {
        return None;
    }
    let found = state.tasks().get(task)?;
    let is_held =
        found.owner.is_some() && matches!(found.status, Status::InProgress | Status::Stale);
    let actor = || state.find_member(&request.asker.actor.name).ok().map(|it| it.name.clone());
    let member = found.owner.clone().or_else(actor)?;
    Some(DoneClaim { task, member, attempt: is_held.then_some(found.attempts), way })
}

/// Names the attempt in the holder's completion of its task. Without it, the command would claim the task anew if it was lost
/// meanwhile, and so it would have to wait for programs that have the task's file locked.
pub fn name_attempt(state: &State, request: &mut CommandRequest) {
    let actor = &request.asker.actor;
    let Command::Task(TaskCommand::Complete { task, attempt: attempt @ None, .. }) =
        &mut request.command
    else {
        return;
    };
    let found = state.resolve(task).ok().and_then(|it| state.tasks().get(it));
    let is_its = |found: &&Task| {
        actor.kind == ActorKind::Agent
            && matches!(found.status, Status::InProgress | Status::Stale)
            && found.owner.as_ref().is_some_and(|it| actor.name == it.as_str())
    };
    *attempt = found.filter(is_its).map(|it| it.attempts);
}

/// A task that its holder lets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub task: TaskNumber,
    pub owner: MemberName,
    /// The workspace folder of the task.
    pub folder: WorkspaceFolder,
}

/// The task that its holder lets go by a command, if it does.
pub fn departure(state: &State, request: &CommandRequest) -> Option<Departure> {
    let AttemptEnd { task, ending } = attempt_end(state, &request.asker.actor, &request.command)?;
    if matches!(ending, AttemptEnding::Approved | AttemptEnding::GivenBack) {
        // Work that is approved was let go before; work that is given back goes on in the same folder.
        return None;
    }
    let found = state.tasks().get(task)?;
    let owner = found.owner.clone()?;
    let is_its =
        request.asker.actor.kind == ActorKind::Agent && request.asker.actor.name == owner.as_str();
    is_its.then(|| Departure { task, owner, folder: state.folder_of(found) })
}

/// The objection to a done claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objection {
    /// The proof is no longer wanted.
    Unwanted,
    /// Checks fail, or the work conflicts.
    Work,
    /// The proof could not be completed.
    Fault,
}

/// The consequence of an objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sentence {
    /// The board gets the command anyway, and says why it is refused.
    LetTheBoardSay,
    /// The caller has to complete it again.
    Again,
    /// The refusal is recorded, and the board decides whether the holder repairs it or the attempt fails.
    Refuse,
    /// A submitted result goes back to its member.
    SendBack,
}

/// The consequence of an objection to a done claim.
pub fn after_objection(way: DoneWay, objection: Objection, would_be_taken: bool) -> Sentence {
    match (objection, way) {
        // If the board would accept it again, it is another attempt, of which nothing was merged.
        (Objection::Unwanted, _) if would_be_taken => Sentence::Again,
        (Objection::Unwanted, _) => Sentence::LetTheBoardSay,
        // The member is not to blame for conflicts with work that was merged meanwhile.
        (Objection::Work, DoneWay::Approve) => Sentence::SendBack,
        (Objection::Work | Objection::Fault, _) => Sentence::Refuse,
    }
}

/// The number of the current attempt at a task.
pub fn attempt_at(state: &State, task: TaskNumber) -> u32 {
    state.tasks().get(task).map_or(0, |it| it.attempts)
}

/// Whether a report is about an earlier attempt at a task: it does not end the current one.
pub fn is_late(state: &State, task: &TaskRef, attempt: Option<u32>) -> bool {
    let Ok(task) = state.resolve(task) else { return false };
    attempt.is_some_and(|attempt| attempt != attempt_at(state, task))
}

#[cfg(test)]
mod tests;
