//! The answers to board calls, whoever makes them: members on their wires, other processes on the socket.

use std::path::Path;

use serde_json::value::{RawValue, to_raw_value};
use troop_model::{
    Actor, ActorKind, Asker, DelegationView, LEAD_ALIASES, MessageView, OperationId, Origin, Party,
    Role, State, TaskView, TeamView, team_md,
};
use troop_protocol::{
    Answer, Call, ContextText, DelegationList, Failure, FailureKind, MemberList, MessageList,
    Query, Session, TaskList,
};
use troop_store::StoreError;
use uuid::Uuid;

use super::files::FileDesk;
use crate::{Board, BoardError, Done, Signature, TaskPage, workspace::Files};

/// Answers a call on a board that is open here, as a lead answers those on its socket; but no hook is asked. The team's own
/// folder on this machine is `folder`.
pub async fn answer(
    board: &Board,
    folder: &Path,
    session: Session,
    call: Call,
) -> Result<Box<RawValue>, Failure> {
    let caller = Caller { actor: session.actor, origin: session.origin };
    match call {
        Call::Query(look) => query(board, caller, look).await,
        Call::Change(asked) => {
            let Caller { actor, origin } = caller;
            let operation = asked.operation.unwrap_or_else(|| OperationId(Uuid::now_v7()));
            let request = Signature { operation, actor, origin }.on(asked.command);
            let given = board.give_and_look(request, |state, done| change(state, &done)).await;
            let given = given.map_err(|error| failure(&error))?;
            let answer = given.done().await.map_err(|error| failure(&error))?;
            to_raw_value(&answer).map_err(|error| Failure::new(FailureKind::Bug, &error))
        }
        Call::File(call) => {
            let files = Files::new(board.clone(), folder);
            FileDesk { files, board: board.clone(), fence: None }.serve(caller, call).await
        }
        Call::Open(_) => Err(Failure::new(FailureKind::Forbidden, "who asks is known here")),
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) actor: Actor,
    pub(super) origin: Origin,
}

/// What a call changed, with the task that it was about. What has left the board is not shown.
pub(super) fn change(state: &State, done: &Done) -> Answer {
    let task = done.task().and_then(|number| state.tasks().get(number));
    let task = task.and_then(|task| to_raw_value(&TaskView::brief(state, task)).ok());
    Answer { version: done.version, task, events: done.events.to_vec() }
}

/// What is looked at.
pub(super) async fn query(
    board: &Board,
    caller: Caller,
    query: Query,
) -> Result<Box<RawValue>, Failure> {
    match query {
        Query::Task { task } => {
            let task = board.task(task).await.map_err(|error| failure(&error))?;
            look(board, move |state| to_raw_value(&TaskView::full(state, &task))).await
        }
        Query::Tasks { status, page } => {
            let page = board
                .list(status, caller.origin, page as usize)
                .await
                .map_err(|error| failure(&error))?;
            list(board, page).await
        }
        Query::Search { text, page } => {
            let page = board
                .search(&text, caller.origin, page as usize)
                .await
                .map_err(|error| failure(&error))?;
            list(board, page).await
        }
        Query::Next {} => {
            let next = board
                .next(Asker { actor: caller.actor, origin: caller.origin })
                .await
                .map_err(|error| failure(&error))?;
            look(board, move |state| to_raw_value(&TaskView::brief(state, &next))).await
        }
        Query::Members {} => {
            look(board, |state| {
                let mut members: Vec<_> = state.members().cloned().collect();
                members.sort_by_key(|member| member.role != Role::Lead);
                to_raw_value(&MemberList { members })
            })
            .await
        }
        Query::Delegations {} => {
            look(board, |state| {
                let mut delegations: Vec<_> =
                    state.delegations().map(|it| DelegationView::new(state, it)).collect();
                delegations.sort_by_key(|it| (it.started_at, it.id));
                to_raw_value(&DelegationList { delegations })
            })
            .await
        }
        Query::Context {} => {
            let is_member = caller.actor.kind == ActorKind::Agent;
            // People are shown what their lead knows.
            let reader = if is_member { caller.actor.name } else { LEAD_ALIASES[0].into() };
            look(board, move |state| {
                to_raw_value(&ContextText { team_md: team_md(state, &reader) })
            })
            .await
        }
        Query::Messages { all } => messages(board, &caller.actor, all).await,
        Query::Team {} => {
            let now = board.now();
            look(board, move |state| {
                let mut team = state.team().map(|team| TeamView::new(state, team));
                if let Some(team) = &mut team {
                    // Who was killed has left its lease behind, and does nothing for anybody.
                    team.lead_lease = team.lead_lease.take().filter(|lease| lease.is_held(now));
                }
                to_raw_value(&team)
            })
            .await
        }
    }
}

async fn messages(board: &Board, actor: &Actor, all: bool) -> Result<Box<RawValue>, Failure> {
    let name = actor.name.clone();
    let is_member = actor.kind == ActorKind::Agent;
    look(board, move |state| {
        let own = state.find_member(&name).ok().filter(|_| is_member);
        let is_ordinary = own.is_some_and(|member| member.role == Role::Member);
        let reader = own.map_or_else(Party::user, |member| Party::member(&member.name));
        let mailbox = state.mailbox();
        let messages: Vec<_> = if all && !is_ordinary {
            mailbox.iter().map(|it| MessageView::new(it, None)).collect()
        } else {
            mailbox.unread_of(&reader).map(|it| MessageView::new(it, Some(&reader))).collect()
        };
        to_raw_value(&MessageList { messages })
    })
    .await
}

async fn list(board: &Board, page: TaskPage) -> Result<Box<RawValue>, Failure> {
    look(board, move |state| {
        let tasks = page.tasks.iter().map(|task| TaskView::brief(state, task)).collect();
        to_raw_value(&TaskList { tasks, page: page.page, pages: page.pages, version: page.version })
    })
    .await
}

async fn look(
    board: &Board,
    look: impl FnOnce(&State) -> serde_json::Result<Box<RawValue>> + Send + 'static,
) -> Result<Box<RawValue>, Failure> {
    let looked = board.look(look).await.map_err(|error| failure(&error))?;
    looked.map_err(|error| Failure::new(FailureKind::Bug, &error))
}

/// How what a board answers is told over a wire.
pub(crate) fn failure(error: &BoardError) -> Failure {
    match error {
        BoardError::Refused(refusal) => refusal.into(),
        BoardError::Store(store) => Failure::new(store_failure(store), error),
        BoardError::Closed => Failure::new(FailureKind::Unavailable, error),
        BoardError::Log { .. }
        | BoardError::Misplaced { .. }
        | BoardError::Archive { .. }
        | BoardError::NotALog { .. } => Failure::new(FailureKind::Corrupt, error),
        BoardError::NoSuchTeam { .. } | BoardError::NoActiveTeam => {
            Failure::new(FailureKind::NotFound, error)
        }
        BoardError::AlreadyActive { .. } => Failure::new(FailureKind::Conflict, error),
        BoardError::Broken { .. } => Failure::new(FailureKind::Bug, error),
    }
}

fn store_failure(error: &StoreError) -> FailureKind {
    match error {
        StoreError::Refused { .. } => FailureKind::Invalid,
        StoreError::NotFound { .. } => FailureKind::NotFound,
        StoreError::Conflict { .. } => FailureKind::Conflict,
        StoreError::Corrupt { .. } => FailureKind::Corrupt,
        StoreError::Bug { .. } => FailureKind::Bug,
        // Of those that are not known here nobody can say that it was not done.
        StoreError::Unavailable { .. } | _ => FailureKind::Unavailable,
    }
}
