//! A process that works on the board alone, from its own machine: claims, works, completes. Its lease may end meanwhile.

use troop_model::{Actor, Command, MemberName, Status, TaskCommand, TaskNumber};

use crate::{board::SimulatedBoard, process::ProcessSeat, promise::Promise};

pub(crate) async fn claimant(seat: ProcessSeat) {
    let Ok(name) = seat.name.parse::<MemberName>() else { return };
    let actor = Actor::agent(&name);
    let mut board = SimulatedBoard::open(&seat).await;
    loop {
        drop(board.give(Actor::system(), Command::Tick).await);
        let held = board.state().tasks().held_by(&name).next();
        let claim = Command::Task(TaskCommand::Claim { task: None });
        let claimed = match held {
            Some(task) => Some(task),
            None => board.give(actor.clone(), claim).await.ok().and_then(|it| it.task()),
        };
        let Some(task) = claimed else {
            board.catch_up().await;
            let tasks = board.state().tasks();
            if tasks.numbers().all(|it| tasks.status(it) == Some(Status::Completed)) {
                return;
            }
            seat.sleep(200_000).await;
            continue;
        };
        work(&seat, &mut board, &actor, task).await;
    }
}

/// Works for a while, with or without a sign of life, and says that it is done.
async fn work(seat: &ProcessSeat, board: &mut SimulatedBoard, actor: &Actor, task: TaskNumber) {
    let attempt = board.state().tasks().get(task).map(|it| it.attempts);
    let micros = [20_000, 600_000, 1_500_000].get(seat.one_of(3)).copied().unwrap_or_default();
    seat.sleep(micros).await;
    if seat.one_of(2) == 1 {
        let renew = TaskCommand::Renew { task: task.into(), attempt };
        drop(board.give(actor.clone(), Command::Task(renew)).await);
    }
    let complete = TaskCommand::Complete {
        task: task.into(),
        result: "done".to_owned(),
        summary: None,
        attempt,
    };
    match board.give(actor.clone(), Command::Task(complete)).await {
        Ok(done) => {
            seat.count("a member completed a task on the board");
            let is_done = board.state().tasks().status(task) == Some(Status::Completed);
            if done.task() != Some(task) || !is_done {
                let what = format!("{actor} was told that it completed {task}");
                seat.object(Promise::AnswerIsTrue, what);
            }
            seat.world.judge.borrow_mut().done(task, &seat.name);
        }
        Err(refusal) => {
            seat.count("a late holder was refused");
            seat.tell(|| format!("is refused: {refusal}"));
        }
    }
}
