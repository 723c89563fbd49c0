//! A small campaign with a fixed seed: a team on every store, under faults. `cargo xtask campaign` runs hundreds of these.

use troop_campaign::{Backend, CampaignEnd, Mix, Options, TrialKind};

const SEED: u64 = 3;

#[tokio::test]
async fn a_team_keeps_its_promises_whatever_goes_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let itself = std::env::current_exe().unwrap();
    let errand = ["--exact", "campaign::the_lead_of_a_trial", "--nocapture"];
    let options = Options {
        troop: env!("CARGO_BIN_EXE_troop").into(),
        lead: [itself.into()].into_iter().chain(errand.map(Into::into)).collect(),
        seed: SEED,
        mix: Mix { kinds: vec![TrialKind::Team], backends: Backend::ALL.to_vec() },
        folder: folder.path().to_owned(),
        n_at_once: 3,
        first: 0,
        until: CampaignEnd::Trials(3),
    };
    let tally = troop_campaign::run(options, |_| {}).await.unwrap();
    assert_eq!(tally.n_trials(), 3);
    if !tally.violations.is_empty() {
        panic!("seed {SEED}, kept in {:?}: {:#?}", folder.keep(), tally.violations);
    }
}

/// Not a test: the campaign runs it in the process of a lead.
#[tokio::test]
async fn the_lead_of_a_trial() {
    troop_campaign::lead::run().await.unwrap();
}
