//! Leads that die at the wrong moment, and those that take over.

use std::{path::Path, sync::Arc};

use troop_model::Actor;
use troop_runtime::{Board, Clock, Ended, Following, LeadError, Signature};
use troop_testkit::wait_for;

use super::stage::{Setting, Stage};
use crate::{probe::Probe, support::new_team};

fn named_in_lock(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("lead.lock")).ok()?;
    let entry: serde_json::Value = serde_json::from_str(text.lines().next()?).ok()?;
    Some(entry["session"].as_str()?.to_owned())
}

/// A team without a lead, in a store that can be held.
async fn stage() -> (Stage, Arc<Probe>) {
    let mut stage = Stage::new(Setting::default()).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("another comes").await.unwrap();
    assert!(matches!(lead.ended().await, Ended::Stopped { .. }));
    let probe = Probe::new(stage.store.store());
    let (clock, always) = (Clock::system(), Following::Always);
    let mut new = new_team("second-crew");
    (new.members, new.lead.agent) = (Vec::new(), "person".into());
    let signature = Signature::new(Actor::human("zoe"));
    let store: Arc<dyn troop_store::Store> = Arc::clone(&probe) as _;
    stage.board = Board::create(store, clock, always, &signature, new).await.unwrap();
    (stage, probe)
}

#[tokio::test]
async fn who_dies_while_it_takes_the_lead_is_known_to_be_dead() {
    let (stage, probe) = stage().await;
    for _ in 0..2 {
        // The second one dies while it takes over from the first, which died in the same way.
        let before = named_in_lock(stage.folder.path());
        probe.hold_appends();
        let taking = Box::pin(stage.start(Setting::default()));
        let written = wait_for("its name is in the lock", async || {
            named_in_lock(stage.folder.path()).filter(|now| Some(now) != before.as_ref())
        });
        tokio::select! {
            _ = taking => panic!("nobody can take the lead now"),
            _ = written => {}
        }
        probe.let_append();
        // What it had begun is done without it.
        stage.board.catch_up().await.unwrap();
    }
    let lead: Result<_, LeadError> = stage.start(Setting::default()).await;
    assert!(lead.unwrap().fence() > 1, "one that died had come to lead");
}
