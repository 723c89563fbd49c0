//! Folders of teams, for one process at a time.

use std::{future::poll_fn, pin::Pin, task::Poll};

use super::*;
use crate::tests::lead_lock;

/// Whether a future has to wait for something. It goes on from there.
async fn is_waiting(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

#[tokio::test]
async fn the_next_lead_waits_until_the_folders_are_free() {
    let team = tempfile::tempdir().unwrap();
    let first = Folders::take(team.path()).await.unwrap();
    assert!(first.is_some() && Folders::are_taken(team.path()));
    let mut next = Box::pin(Folders::take(team.path()));
    assert!(is_waiting(next.as_mut()).await, "two processes have them");
    drop(first);
    assert!(next.await.unwrap().is_some());
    Folders::left(team.path()).await;
}

#[tokio::test]
async fn the_folders_of_a_killed_lead_are_waited_for_while_a_program_that_it_started_has_its_locks()
{
    let team = tempfile::tempdir().unwrap();
    let first = Folders::take(team.path()).await.unwrap();
    let running = lead_lock(team.path(), std::process::id());
    assert!(Folders::take(team.path()).await.unwrap().is_none(), "somebody leads the team");
    drop(running);
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let held = lead_lock(team.path(), gone.id());
    let mut next = Box::pin(Folders::take(team.path()));
    assert!(is_waiting(next.as_mut()).await, "nobody leads without the folders");
    drop((first, held));
    assert!(next.await.unwrap().is_some());
}
