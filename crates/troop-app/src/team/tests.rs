//! A handle on a team that nobody leads, on a store in memory.

use std::{path::Path, sync::Arc, time::Duration};

use troop_model::{Actor, Command, MemberName, NewTask, TaskCommand};
use troop_protocol::{Failure, FailureKind};
use troop_runtime::{BoardError, Clock, Following, RouteError, Signature, StoreSession};
use troop_store::MemoryStore;

use super::TeamHandle;
use crate::{
    Diagnosis, Error,
    tests::{new_team, task},
};

/// How long a claim waits: far longer than any test.
const HOUR: Duration = Duration::from_secs(3_600);

/// Handles for pat, who made the team, and for its member ann.
struct TeamHandles {
    pat: TeamHandle,
    ann: TeamHandle,
}

async fn handles(folder: &Path) -> TeamHandles {
    let clock = Clock::system();
    let store = Arc::new(MemoryStore::default());
    let mut session = StoreSession::new(store, clock.clone(), Following::Always);
    let pat = Actor::human("pat");
    let ann = Actor::agent(&"ann".parse::<MemberName>().unwrap());
    let signature = Signature::new(pat.clone());
    let board = session.create(&signature, new_team(&["ann"])).await.unwrap().clone();
    let handle = |who: Actor| TeamHandle::new(board.clone(), folder, clock.clone(), who.into());
    TeamHandles { pat: handle(pat), ann: handle(ann) }
}

fn create(subject: &str) -> Command {
    let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
    Command::Task(TaskCommand::Create(new))
}

#[tokio::test]
async fn a_claim_waits_until_there_is_work() {
    let folder = tempfile::tempdir().unwrap();
    let TeamHandles { pat, ann } = handles(folder.path()).await;
    let none = ann.claim_next(Duration::ZERO).await.unwrap_err();
    assert!(matches!(&none, Error::Board(BoardError::Refused(_))), "{none}");
    // The first claim is given before the task is made, and is refused as the one above.
    let (claimed, created) = tokio::join!(ann.claim_next(HOUR), pat.submit(create("dig")));
    created.unwrap();
    let number = claimed.unwrap().number().unwrap();
    let owner = ann.look(move |state| state.tasks().get(number).unwrap().owner.clone()).await;
    assert_eq!(owner.unwrap().unwrap().as_str(), "ann");
}

#[tokio::test]
async fn a_claim_waits_only_for_work() {
    let folder = tempfile::tempdir().unwrap();
    let TeamHandles { pat, .. } = handles(folder.path()).await;
    let refused = pat.claim_next(HOUR).await.unwrap_err();
    assert_eq!(refused.to_string(), "only a member can hold a task");
}

#[tokio::test]
async fn a_refusal_of_the_lead_carries_the_hint_of_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let TeamHandles { ann, .. } = handles(folder.path()).await;
    let claim = Command::Task(TaskCommand::Claim { task: Some(task(9)) });
    let refused = ann.submit(claim.clone()).await.unwrap_err();
    let Error::Board(BoardError::Refused(refusal)) = &refused else { panic!("{refused}") };
    let request = ann.signature(None).on(claim);
    // As a lead of another version may answer.
    let bare = Failure { hint: None, ..Failure::from(refusal) };
    let explained = ann.explain(RouteError::Lead(bare), &request).await.unwrap();
    let hint = |error: &Error| Diagnosis::of(error).unwrap().hint.map(|hint| hint.to_string());
    assert_eq!(explained.to_string(), refused.to_string());
    assert_eq!(hint(&explained).unwrap(), "see the board: `troop task list --status all`");
    // A hook of the lead refuses what the rules may refuse as well, for another reason.
    let veto = Failure::new(FailureKind::Conflict, "not on a Friday");
    let explained = ann.explain(RouteError::Lead(veto), &request).await.unwrap();
    assert_eq!((explained.to_string(), hint(&explained)), ("not on a Friday".to_owned(), None));
}
