//! Folders of teams, for one process at a time.

use super::*;

#[tokio::test]
async fn the_next_lead_waits_until_the_folders_are_free() {
    let team = tempfile::tempdir().unwrap();
    let first = Folders::take(team.path()).await.unwrap();
    assert!(first.is_some() && Folders::are_taken(team.path()));
    let mut next = Box::pin(Folders::take(team.path()));
    tokio::select! {
        biased;
        taken = &mut next => panic!("two processes have them: {taken:?}"),
        () = std::future::ready(()) => {}
    }
    drop(first);
    assert!(next.await.unwrap().is_some());
    Folders::left(team.path()).await;
}
