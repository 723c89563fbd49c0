//! Which commands of the board need the lock of a task's file, and of which one.
//!
//! A program that has the lock and reads `pending` may believe that it wins the task. So whatever changes a task has its lock.

use troop_model::{
    ActorKind, Command, MemberName, State, Status, TaskCommand, TaskNumber, TaskRef,
};

use crate::{CommandRequest, mirror::operation};

/// How many tasks are tried for a command that takes the next one.
const N_TRIED: usize = 100;

/// The task whose file a command needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoorTarget {
    Named(TaskRef),
    /// The next one that this member would get.
    NextFor(String),
}

/// The task whose file must be locked before a command is given; none if it may be given at once.
pub fn door_target(request: &CommandRequest) -> Option<DoorTarget> {
    if operation::is_of_task(request.operation) {
        return None;
    }
    let asker = &request.asker.actor;
    let named = |task: &TaskRef| Some(DoorTarget::Named(task.clone()));
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other commands change no task that a program could take"
    )]
    match &request.command {
        Command::Task(TaskCommand::Claim { task: None }) => {
            Some(DoorTarget::NextFor(asker.name.to_string()))
        }
        Command::Task(TaskCommand::Assign { task: None, to }) => next_for(to),
        Command::ReportIdle { member, .. } => next_for(member),
        Command::Delegate { task: Some(task), .. } => named(task),
        Command::Task(command) => {
            let is_watched = request.fence.is_some() && asker.kind != ActorKind::Human;
            named_task(command).filter(|_| !is_watched || begins(command)).and_then(named)
        }
        _ => None,
    }
}

fn next_for(member: &MemberName) -> Option<DoorTarget> {
    Some(DoorTarget::NextFor(member.to_string()))
}

/// The task that a command names, if its file shows what the command changes.
fn named_task(command: &TaskCommand) -> Option<&TaskRef> {
    match command {
        TaskCommand::Claim { task: Some(task) }
        | TaskCommand::Assign { task: Some(task), .. }
        | TaskCommand::Release { task, .. }
        | TaskCommand::Complete { task, .. }
        | TaskCommand::Fail { task, .. }
        | TaskCommand::Review { task, .. }
        | TaskCommand::Approve { task, .. }
        | TaskCommand::Reject { task, .. }
        | TaskCommand::Cancel { task, .. }
        | TaskCommand::Retry { task }
        | TaskCommand::Update { task, .. }
        | TaskCommand::Delete { task } => Some(task),
        TaskCommand::Create(_)
        | TaskCommand::Claim { task: None }
        | TaskCommand::Assign { task: None, .. }
        | TaskCommand::Renew { .. }
        | TaskCommand::Comment { .. }
        | TaskCommand::Progress { .. }
        | TaskCommand::Attach { .. }
        | TaskCommand::Prove(_)
        | TaskCommand::AskUser { .. }
        | TaskCommand::ClearAskUser { .. } => None,
    }
}

/// Whether a command is about a task that nobody has to hold. The others come from the holder, whose task no program can take;
/// a lead passes them on without delay, in the order in which its members give them. A completion that names its attempt comes
/// from the holder, or the board refuses it; one that does not may claim the task first.
fn begins(command: &TaskCommand) -> bool {
    matches!(
        command,
        TaskCommand::Claim { .. }
            | TaskCommand::Complete { attempt: None, .. }
            | TaskCommand::Assign { .. }
            | TaskCommand::Approve { .. }
            | TaskCommand::Reject { .. }
            | TaskCommand::Cancel { .. }
            | TaskCommand::Retry { .. }
            | TaskCommand::Update { .. }
            | TaskCommand::Delete { .. }
    )
}

/// The tasks to try, in the board's order. None if the board needs no lock to decide: it refuses the command, or has nothing to
/// give.
pub fn candidates(state: &State, target: &DoorTarget) -> Vec<TaskNumber> {
    match target {
        DoorTarget::Named(task) => {
            state.resolve(task).into_iter().filter(|it| state.tasks().get(*it).is_some()).collect()
        }
        DoorTarget::NextFor(member) => match state.find_member(member) {
            Ok(member) => state.tasks().ready_for(&member.name).take(N_TRIED).collect(),
            Err(_) => Vec::new(),
        },
    }
}

/// The command, about the task whose file is locked.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other commands name their task")]
pub fn about(command: Command, number: TaskNumber) -> Command {
    let Command::Task(order) = command else { return command };
    Command::Task(match order {
        TaskCommand::Claim { task: None } => TaskCommand::Claim { task: Some(number.into()) },
        TaskCommand::Assign { task: None, to } => {
            TaskCommand::Assign { task: Some(number.into()), to }
        }
        order => order,
    })
}

/// Whether a command need not wait until a program lets go of the file. A lead's command about a task that somebody holds takes
/// it from no program, and must not come after what its members do next.
pub fn goes_without_lock(state: &State, request: &CommandRequest, number: TaskNumber) -> bool {
    let status = state.tasks().status(number);
    request.fence.is_some() && !matches!(status, Some(Status::Pending | Status::Blocked))
}
