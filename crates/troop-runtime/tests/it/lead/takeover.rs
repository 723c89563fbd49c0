//! Leads that die or fail at the wrong moment, and their successors.

use std::{
    fs::{self, File},
    sync::{Arc, atomic::Ordering::SeqCst},
};

use troop_model::{Actor, Command, LeadLease};
use troop_runtime::{Board, BoardError, Clock, Following, LeadEnd, LeadError, lead_has_died};
use troop_testkit::wait_for;

use super::stage::{Setting, Stage};
use crate::probe::Probe;

/// A team without a lead.
pub(super) async fn leaderless() -> Stage {
    let mut stage = Stage::new(Setting::default()).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("another comes").await.unwrap();
    assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. }));
    stage
}

/// Opens the team as another process would, through a store whose appends can be held.
pub(super) async fn open_anew(stage: &mut Stage) -> Arc<Probe> {
    let probe = Probe::new(stage.store.store());
    let (store, team) = (Arc::clone(&probe) as _, stage.board.team());
    stage.board = Board::open(store, Clock::system(), Following::Always, team).await.unwrap();
    probe
}

/// Takes the lead and dies while its append is held. The append completes when the store is let go.
async fn die_while_taking(stage: &Stage, probe: &Probe) {
    let n_before = probe.n_appends.load(SeqCst);
    probe.hold_appends();
    let taking = Box::pin(stage.start(Setting::default()));
    let begun = wait_for("the store is asked", async || {
        (probe.n_appends.load(SeqCst) > n_before).then_some(())
    });
    tokio::select! {
        _ = taking => panic!("the lead cannot be taken now"),
        () = begun => {}
    }
}

async fn lease(stage: &Stage) -> Option<LeadLease> {
    stage.board.catch_up().await.unwrap();
    stage.board.look(|state| state.team().unwrap().lead_lease.clone()).await.unwrap()
}

#[tokio::test]
async fn a_lead_that_dies_while_taking_the_lease_is_known_to_be_dead() {
    let mut stage = leaderless().await;
    let probe = open_anew(&mut stage).await;
    // The second lead dies while it takes over from the first, which died in the same way.
    for _ in 0..2 {
        die_while_taking(&stage, &probe).await;
        probe.let_append();
        let left = lease(&stage).await.unwrap();
        assert!(lead_has_died(stage.folder.path(), left.session));
    }
    assert_eq!(stage.start(Setting::default()).await.unwrap().fence(), 4);
}

#[tokio::test]
async fn a_late_append_of_a_dead_lead_does_not_block_the_next_lead() {
    let mut stage = leaderless().await;
    let dead = open_anew(&mut stage).await;
    die_while_taking(&stage, &dead).await;
    let _board_of_the_dead = stage.board.clone();
    let next = open_anew(&mut stage).await;
    next.hold_appends();
    let first_comes_late = async {
        wait_for("the next one has decided", async || {
            (next.n_appends.load(SeqCst) > 0).then_some(())
        })
        .await;
        dead.let_append();
        wait_for("the dead one leads", async || lease_in_store(&stage).await).await;
        next.let_append();
    };
    let taking = stage.start(Setting::default());
    let (lead, ()) = tokio::join!(Box::pin(taking), first_comes_late);
    assert_eq!(lead.unwrap().fence(), 3);
}

/// The lease in the store, read through a new board.
async fn lease_in_store(stage: &Stage) -> Option<LeadLease> {
    let (store, team) = (stage.store.store(), stage.board.team());
    let board = Board::open(store, Clock::system(), Following::WhenAsked, team).await.unwrap();
    board.look(|state| state.team().unwrap().lead_lease.clone()).await.unwrap()
}

#[tokio::test]
async fn a_lead_that_cannot_start_gives_its_lease_back() {
    let stage = leaderless().await;
    let in_the_way = stage.folder.path().join("lead.sock");
    fs::create_dir(&in_the_way).unwrap();
    let refused = stage.start(Setting::default()).await;
    assert!(matches!(refused, Err(LeadError::Folder { .. })));
    assert_eq!(lease(&stage).await, None);
    fs::remove_dir(&in_the_way).unwrap();
    stage.start(Setting::default()).await.unwrap();
}

#[tokio::test]
async fn looking_for_a_lead_does_not_keep_another_from_leading() {
    let stage = leaderless().await;
    let looking = File::open(stage.folder.path().join("lead.lock")).unwrap();
    looking.lock_shared().unwrap();
    let mut taking = Box::pin(stage.start(Setting::default()));
    tokio::select! {
        biased;
        _ = &mut taking => panic!("the lock is held"),
        () = std::future::ready(()) => {}
    }
    drop(looking);
    taking.await.unwrap();
}

#[tokio::test]
async fn a_second_lead_is_refused_with_the_holder_of_the_lease() {
    let stage = Stage::new(Setting::default()).await;
    let error = stage.start(Setting::default()).await.unwrap_err();
    assert!(matches!(error, LeadError::Board(BoardError::Refused(_))), "{error:?}");
    assert!(error.to_string().starts_with("zoe has led the team since "), "{error}");
}

#[tokio::test]
async fn a_lead_that_is_superseded_ends() {
    let mut stage = Stage::new(Setting::default()).await;
    let lead = stage.lead.take().unwrap();
    let take = Command::TakeLead {
        session: uuid::Uuid::now_v7(),
        holder: "somebody else".to_owned(),
        over: Some(lead.fence()),
        checks: Vec::new(),
    };
    stage.submit(Actor::system(), take).await.unwrap();
    assert_eq!(lead.ended().await, LeadEnd::Superseded);
}
