//! A person's or an agent's loop of `troop task claim` and `troop task complete` on a store with files. Each command opens the
//! team, takes in what others wrote, gives its command and writes what that changed: `troop-app/src/team/files.rs`.

use troop_model::{Actor, Command, MemberName, Refusal, Status, TaskCommand, TaskNumber};
use troop_runtime::{CommandEffect, CommandRequest};

use super::SimulatedMirror;
use crate::{board::SimulatedBoard, process::ProcessSeat, promise::Promise};

/// How long it works on a task, in microseconds.
const WORK: u64 = 10_000;

pub(crate) async fn command_line(seat: ProcessSeat) {
    let Ok(name) = seat.name.parse::<MemberName>() else { return };
    loop {
        // Tasks that it held before it was killed.
        let held = held_by(&seat, &name).await;
        let claimed = match held {
            Some(task) => Some(task),
            None => claim(&seat, &name).await,
        };
        let Some(task) = claimed else {
            if is_all_done(&seat) {
                // It looks at the board once more, which brings the files in step.
                let board = SimulatedBoard::open(&seat).await;
                return SimulatedMirror::new(&seat, board).pass().await;
            }
            seat.sleep(WORK).await;
            continue;
        };
        seat.sleep(WORK).await;
        complete(&seat, &name, task).await;
    }
}

/// A member that completes pending tasks through a lead without claiming them.
pub(crate) async fn hasty_member(seat: ProcessSeat) {
    let Ok(name) = seat.name.parse::<MemberName>() else { return };
    while !is_all_done(&seat) {
        let board = SimulatedBoard::open(&seat).await;
        let pending: Vec<_> = board.state().tasks().ready_for(&name).collect();
        if let Some(task) = pending.get(seat.one_of(pending.len())).copied()
            && run(&seat, &name, completion(task), Some(1)).await.is_ok()
        {
            seat.count("a task was completed without a claim, through a lead");
            seat.tell(|| format!("is told that it completed {task}"));
            let mut judge = seat.world.judge.borrow_mut();
            judge.claimed(task, name.as_str());
            judge.done(task, name.as_str());
        }
        seat.sleep(WORK).await;
    }
}

async fn held_by(seat: &ProcessSeat, name: &MemberName) -> Option<TaskNumber> {
    let board = SimulatedBoard::open(seat).await;
    board.state().tasks().held_by(name).next()
}

fn is_all_done(seat: &ProcessSeat) -> bool {
    let store = seat.world.store.borrow();
    let tasks = store.state().tasks();
    tasks.numbers().all(|it| tasks.status(it) == Some(Status::Completed))
}

async fn claim(seat: &ProcessSeat, name: &MemberName) -> Option<TaskNumber> {
    let claim = Command::Task(TaskCommand::Claim { task: None });
    let claimed = run(seat, name, claim, None).await.ok()?.task()?;
    seat.count("a command line claimed a task");
    seat.tell(|| format!("is told that it has {claimed}"));
    seat.world.judge.borrow_mut().claimed(claimed, name.as_str());
    Some(claimed)
}

/// A completion that does not name its attempt.
fn completion(task: TaskNumber) -> Command {
    let result = "done".to_owned();
    Command::Task(TaskCommand::Complete { task: task.into(), result, summary: None, attempt: None })
}

async fn complete(seat: &ProcessSeat, name: &MemberName, task: TaskNumber) {
    match run(seat, name, completion(task), None).await {
        Ok(done) => {
            if done.task() != Some(task) {
                seat.object(Promise::AnswerIsTrue, format!("{name} completed {task}, and did not"));
            }
            seat.count("a command line completed a task");
            seat.world.judge.borrow_mut().done(task, name.as_str());
        }
        Err(refusal) => {
            seat.count("a command line was refused a completion");
            seat.tell(|| format!("is refused: {refusal}"));
            seat.world.judge.borrow_mut().gave_up(task, name.as_str());
        }
    }
}

/// One command: files and board are brought in step before it and after it. `lead`: the fence of the lead that passes it on.
async fn run(
    seat: &ProcessSeat,
    name: &MemberName,
    command: Command,
    lead: Option<u64>,
) -> Result<CommandEffect, Refusal> {
    let board = SimulatedBoard::open(seat).await;
    let mut mirror = SimulatedMirror::new(seat, board);
    mirror.pass().await;
    let operation = seat.operation();
    let asker = Actor::agent(name).into();
    let request = CommandRequest { operation, asker, command, fence: None };
    let given = mirror.give(request, lead).await;
    if given.is_ok() {
        mirror.pass().await;
    }
    given
}
