//! Records merges of a killed lead on the board, while its members still count as at work: so each of their tasks
//! ends as it would have ended, and nobody gets it again.

use troop_model::{Actor, Command, MergeRecord, OperationId, Proof, State, TaskCommand};
use uuid::Uuid;

use super::{LeadError, LeadOptions, policy::unheard};
use crate::{Board, BoardError, CommandRequest, UnheardMerge};

/// Records what is merged and unheard of. Nobody may lead the team.
pub(super) async fn record(options: &LeadOptions) -> Result<(), LeadError> {
    let Some(isolation) = &options.isolation else { return Ok(()) };
    let board = &options.board;
    let open = board.look(unheard::open_attempts).await?;
    for merge in isolation.merges_of(&open).await.map_err(LeadError::Merges)? {
        record_one(board, &merge).await?;
        isolation.forget_merge(merge.task).await;
    }
    Ok(())
}

async fn record_one(board: &Board, merge: &UnheardMerge) -> Result<(), BoardError> {
    let looked = merge.clone();
    if !board.look(move |state| unheard::is_recorded(state, &looked)).await? {
        let merged = MergeRecord { into: merge.into.clone(), commit: merge.commit.clone() };
        let evidence = merge.evidence.clone();
        let proof = Proof::new(merge.task, evidence, Some(merged));
        give(board, own(Command::Task(TaskCommand::Prove(proof)))).await?;
    }
    // As it was given: if the board has heard it after all, it has no second effect. A board forgets after a while, and refuses it;
    // then the same as a new command.
    let report = merge.report.clone().map(|it| CommandRequest { fence: None, ..it });
    let again = report.clone().map(|it| {
        let operation = OperationId(Uuid::now_v7());
        CommandRequest { operation, ..it }
    });
    for request in report.into_iter().chain(again) {
        let looked = merge.clone();
        if board.look(move |state| unheard::is_unheard(state, &looked)).await? {
            give(board, request).await?;
        }
    }
    let looked = merge.clone();
    let rest = board.look(move |state: &State| unheard::last_resort(state, &looked)).await?;
    if let Some(command) = rest {
        give(board, own(command)).await?;
    }
    Ok(())
}

fn own(command: Command) -> CommandRequest {
    CommandRequest::new(Actor::system(), command)
}

/// Gives a command; a refusal is an answer, too.
async fn give(board: &Board, request: CommandRequest) -> Result<(), BoardError> {
    match board.submit(request).await {
        Ok(_) | Err(BoardError::Refused(_)) => Ok(()),
        Err(error) => Err(error),
    }
}
