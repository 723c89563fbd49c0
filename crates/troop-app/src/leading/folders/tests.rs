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

/// A lock file of a lead, locked by somebody.
fn lead_lock(team: &Path, pid: u32) -> File {
    let text = format!(r#"{{"session":"{}","pid":{pid},"socket":null}}"#, uuid::Uuid::nil());
    fs::write(team.join("lead.lock"), text).unwrap();
    let file = File::open(team.join("lead.lock")).unwrap();
    file.lock().unwrap();
    file
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
    let waits = tokio::time::timeout(PAUSE, &mut next).await;
    assert!(waits.is_err(), "nobody leads without the folders: {waits:?}");
    drop((first, held));
    assert!(next.await.unwrap().is_some());
}
