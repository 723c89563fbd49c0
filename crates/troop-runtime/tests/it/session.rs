//! One session with a store, and the one team that it works with.

use std::sync::{Arc, atomic::Ordering::SeqCst};

use troop_model::{Actor, Command, MemberState, Party, Refusal, Role, TeamStatus, Version};
use troop_runtime::{
    Board, BoardError, BoardResult, Clock, Following, RouteError, Signature, StoreSession,
    TeamRoute,
};
use troop_store::{Store, StoreError};
use troop_testkit::TestStore;

use crate::{
    probe::Probe,
    support::{
        LEAD, MEMBERS, add_tasks, by, create, events, name, new_team, refusal, say, state_of,
    },
};

on_every_store! {
    a_session_has_at_most_one_team,
    without_a_team_every_command_fails,
    a_deleted_team_frees_its_name_and_stays_readable,
    an_interrupted_deletion_can_be_repeated,
    deleting_a_team_frees_its_name,
    a_team_with_busy_teammates_is_not_deleted,
    an_unknown_team_lists_the_known_ones,
    a_purged_team_is_gone,
    a_team_reads_back_as_it_was_created,
    a_message_reaches_its_recipient,
    an_imported_team_is_independent,
    events_that_are_not_a_log_are_not_imported,
}

fn zoe() -> Signature {
    Signature::new(Actor::human("zoe"))
}

fn session(store: Arc<dyn Store>) -> StoreSession {
    StoreSession::new(store, Clock::system(), Following::WhenAsked)
}

/// Deletes the active team, as every surface does.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other error can come")]
async fn delete(session: &mut StoreSession, signature: Signature) -> BoardResult<()> {
    let folder = tempfile::tempdir().unwrap();
    let board = session.team()?.clone();
    let route = TeamRoute::new(board, folder.path(), signature.asker.clone());
    let deleted = route.delete(signature).await.map_err(|error| match error {
        RouteError::Board(error) => error,
        other => panic!("nobody leads the team: {other}"),
    });
    deleted?;
    session.close().await;
    Ok(())
}

async fn with_team(store: &TestStore) -> StoreSession {
    let mut session = session(store.store());
    session.create(&zoe(), new_team("crew")).await.unwrap();
    session
}

async fn a_session_has_at_most_one_team(store: TestStore) {
    let mut session = with_team(&store).await;
    let already = |error: BoardError| {
        assert!(matches!(error, BoardError::AlreadyActive { .. }));
        assert_eq!(error.to_string(), "team `crew` is already active in this session");
    };
    already(session.create(&zoe(), new_team("second")).await.unwrap_err());
    already(session.create(&zoe(), new_team("crew")).await.unwrap_err());
    already(session.open("crew").await.unwrap_err());
    assert_eq!(session.teams().await.unwrap().len(), 1);
    session.close().await;
    session.create(&zoe(), new_team("second")).await.unwrap();
    session.close().await;
    let board = session.open("crew").await.unwrap();
    assert_eq!(add_tasks(board, 1).await, [1]);
    // A team of another session does not matter, but its name is taken.
    let mut other = self::session(store.reopen().await);
    let taken = other.create(&zoe(), new_team("crew")).await.unwrap_err();
    assert!(
        matches!(taken, BoardError::Store(error) if matches!(*error, StoreError::Conflict { .. }))
    );
    other.open("second").await.unwrap();
}

async fn without_a_team_every_command_fails(store: TestStore) {
    let mut session = session(store.store());
    assert!(matches!(session.team().unwrap_err(), BoardError::NoActiveTeam));
    let error = delete(&mut session, zoe()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no active team");
    session.close().await;
}

async fn a_deleted_team_frees_its_name_and_stays_readable(store: TestStore) {
    let mut session = with_team(&store).await;
    let board = session.team().unwrap();
    let team = board.team();
    add_tasks(board, 2).await;
    let is_tagged = |state: &troop_model::State| state.links().all(|link| link.team.is_some());
    assert!(board.look(is_tagged).await.unwrap());
    delete(&mut session, Signature::new(by(LEAD, Command::Tick).asker)).await.unwrap();
    assert!(matches!(session.team().unwrap_err(), BoardError::NoActiveTeam));

    let second = session.create(&zoe(), new_team("crew")).await.unwrap().team();
    assert_ne!(second, team);
    session.close().await;
    assert_eq!(session.open("crew").await.unwrap().team(), second);
    session.close().await;

    let teams = session.teams().await.unwrap();
    let retired: Vec<_> = teams.iter().map(|team| (team.id, team.is_retired)).collect();
    assert_eq!(retired, [(team, true), (second, false)]);
    let state = state_of(session.open(&team.to_string()).await.unwrap()).await;
    assert_eq!(state.team().unwrap().status, TeamStatus::Deleted);
    assert_eq!((state.tasks().len(), state.links().count()), (2, MEMBERS.len()));
    assert!(state.links().all(|link| link.team.is_none()), "links outlive their team");
    let refused = session.team().unwrap().submit(by(LEAD, create("more"))).await;
    assert!(matches!(refusal(refused), Refusal::TeamDeleted));
}

async fn an_interrupted_deletion_can_be_repeated(store: TestStore) {
    let probe = Probe::new(store.store());
    let mut session = session(probe.clone());
    session.create(&zoe(), new_team("crew")).await.unwrap();
    // The process ends after the team was deleted and before its name was freed.
    probe.keeps_names.store(true, SeqCst);
    session.team().unwrap().submit(zoe().on(Command::DeleteTeam)).await.unwrap_err();
    session.close().await;
    session.open("crew").await.unwrap();
    delete(&mut session, zoe()).await.unwrap_err();
    probe.keeps_names.store(false, SeqCst);
    delete(&mut session, zoe()).await.unwrap();
    session.create(&zoe(), new_team("crew")).await.unwrap();
}

async fn deleting_a_team_frees_its_name(store: TestStore) {
    let mut session = with_team(&store).await;
    let team = session.team().unwrap().team();
    let other = Board::open(store.store(), Clock::system(), Following::WhenAsked, team);
    other.await.unwrap().submit(zoe().on(Command::DeleteTeam)).await.unwrap();
    let retired: Vec<_> = session.teams().await.unwrap().iter().map(|it| it.is_retired).collect();
    assert_eq!(retired, [true]);
    session.close().await;
    session.create(&zoe(), new_team("crew")).await.unwrap();
}

async fn a_team_with_busy_teammates_is_not_deleted(store: TestStore) {
    let mut session = with_team(&store).await;
    let to = |state| {
        zoe().on(Command::SetMemberState {
            member: name("bob"),
            state,
            reason: None,
            cause: None,
            pid: None,
        })
    };
    session.team().unwrap().submit(to(MemberState::Working)).await.unwrap();
    let refusal = refusal(delete(&mut session, zoe()).await);
    assert!(refusal.to_string().contains("`bob`"), "{refusal}");
    assert!(!session.teams().await.unwrap()[0].is_retired);
    session.team().unwrap().submit(to(MemberState::Stopped)).await.unwrap();
    delete(&mut session, zoe()).await.unwrap();
}

async fn an_unknown_team_lists_the_known_ones(store: TestStore) {
    let mut session = with_team(&store).await;
    session.close().await;
    let error = session.open("crow").await.unwrap_err();
    let BoardError::NoSuchTeam { name, known } = error else { panic!("{error:?}") };
    assert_eq!((name.as_str(), known), ("crow", vec!["crew".to_owned()]));
}

async fn a_purged_team_is_gone(store: TestStore) {
    let mut session = with_team(&store).await;
    let team = session.team().unwrap().team();
    delete(&mut session, zoe()).await.unwrap();
    session.purge(team).await.unwrap();
    session.purge(team).await.unwrap();
    assert_eq!(session.teams().await.unwrap(), []);
    let error = session.open(&team.to_string()).await.unwrap_err();
    assert!(matches!(error, BoardError::NoSuchTeam { .. }));
    assert!(store.read(team, Version::ZERO, 1).await.is_err());
}

async fn a_team_reads_back_as_it_was_created(store: TestStore) {
    let mut first = session(store.store());
    let mut new = new_team("crew");
    new.settings.lease_seconds = 77;
    new.settings.access.deny_channels = vec!["irc".into()];
    let made = state_of(first.create(&zoe(), new.clone()).await.unwrap()).await;
    first.close().await;
    let mut second = session(store.reopen().await);
    let read = state_of(second.open("crew").await.unwrap()).await;
    assert!(read == made);
    let team = read.team().unwrap();
    assert_eq!((team.id, &team.name, &team.settings), (new.team, &new.name, &new.settings));
    assert_eq!((team.status, read.lead().unwrap().role), (TeamStatus::Active, Role::Lead));
    assert_eq!(read.members().filter(|member| member.role == Role::Member).count(), MEMBERS.len());
}

async fn a_message_reaches_its_recipient(store: TestStore) {
    let session = with_team(&store).await;
    let board = session.team().unwrap();
    board.submit(by("cyd", say("bob", "hello"))).await.unwrap();
    let state = state_of(board).await;
    let unread = |member: &str| state.mailbox().n_unread(&Party::member(&name(member)));
    assert_eq!(unread("bob"), 1);
    assert!([LEAD, "cyd", "dan", "eve"].into_iter().all(|member| unread(member) == 0));
    assert!(matches!(
        refusal(board.submit(by("cyd", say("bo", "hello"))).await),
        Refusal::UnknownMember { .. }
    ));
}

async fn an_imported_team_is_independent(store: TestStore) {
    let mut session = with_team(&store).await;
    let team = session.team().unwrap().team();
    add_tasks(session.team().unwrap(), 3).await;
    session.close().await;
    let log = events(&*store, team).await;
    let taken = session.import(log.clone(), None).await.unwrap_err();
    assert!(
        matches!(taken, BoardError::Store(error) if matches!(*error, StoreError::Conflict { .. }))
    );
    let copy = session.import(log.clone(), Some("copy".parse().unwrap())).await.unwrap();
    let (id, state) = (copy.team(), state_of(copy).await);
    assert_eq!((state.team().unwrap().id, state.team().unwrap().name.as_str()), (id, "copy"));
    assert!(state.links().count() == MEMBERS.len() && state.links().all(|it| it.team == Some(id)));
    assert_eq!(add_tasks(copy, 1).await, [4]);
    assert_eq!(events(&*store, team).await, log);
}

async fn events_that_are_not_a_log_are_not_imported(store: TestStore) {
    let mut session = with_team(&store).await;
    let log = events(&*store, session.team().unwrap().team()).await;
    let name = || Some("copy".parse().unwrap());
    assert!(matches!(
        session.import(log.clone(), name()).await.unwrap_err(),
        BoardError::AlreadyActive { .. }
    ));
    session.close().await;
    let gap = [&log[..2], &log[3..]].concat();
    for (events, told) in [
        (vec![], "it does not begin with the creation of a team"),
        (log[1..].to_vec(), "it does not begin with the creation of a team"),
        (gap, "event 4 follows event 2"),
    ] {
        let error = session.import(events, name()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("this is not the log of a team: {told}"));
    }
    assert_eq!(session.teams().await.unwrap().len(), 1);
}
