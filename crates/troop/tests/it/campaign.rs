//! Small campaigns with fixed seeds: one of every kind of trial. `cargo xtask campaign` runs hundreds of these.

use troop_campaign::{Backend, CampaignEnd, Mix, Options, TrialKind};

const SEED: u64 = 3;

/// Runs trials of some kinds, in turn, on some stores in turn.
async fn hold(kinds: &str, backends: &[Backend], n_trials: u64) {
    let folder = tempfile::tempdir().unwrap();
    let itself = std::env::current_exe().unwrap();
    let errand = ["--exact", "campaign::the_lead_of_a_trial", "--nocapture"];
    let options = Options {
        troop: env!("CARGO_BIN_EXE_troop").into(),
        lead: [itself.into()].into_iter().chain(errand.map(Into::into)).collect(),
        seed: SEED,
        mix: Mix { kinds: TrialKind::parse(kinds).unwrap(), backends: backends.to_vec() },
        folder: folder.path().to_owned(),
        n_at_once: 3,
        first: 0,
        until: CampaignEnd::Trials(n_trials),
    };
    let tally = troop_campaign::run(options, |_| {}).await.unwrap();
    assert_eq!(tally.n_trials(), n_trials);
    if !tally.violations.is_empty() {
        panic!("{kinds}, seed {SEED}, kept in {:?}: {:#?}", folder.keep(), tally.violations);
    }
}

#[tokio::test]
async fn a_team_keeps_its_promises_whatever_goes_wrong() {
    hold("team", &Backend::ALL, 3).await;
}

/// Not a test: the campaign runs it in the process of a lead.
#[tokio::test]
async fn the_lead_of_a_trial() {
    troop_campaign::lead::run().await.unwrap();
}

#[tokio::test]
async fn work_in_a_repository_is_in_the_project_once_whatever_is_killed() {
    hold("run", &[Backend::Sqlite], 1).await;
}

#[tokio::test]
async fn teams_that_land_at_once_harm_neither_the_project_nor_each_other() {
    hold("landing", &[Backend::Files], 1).await;
}

#[tokio::test]
async fn a_person_who_commits_rebases_and_stashes_meanwhile_loses_nothing() {
    hold("person", &[Backend::Postgres], 1).await;
}

#[tokio::test]
async fn a_git_that_is_killed_under_its_lead_blocks_nobody() {
    hold("git", &[Backend::Sqlite], 1).await;
}

#[tokio::test]
async fn a_full_disk_of_the_repository_harms_nothing() {
    hold("disk", &[Backend::Files], 1).await;
}

#[tokio::test]
async fn commands_and_programs_that_know_only_the_files_share_a_board() {
    hold("board", &[Backend::Files, Backend::Sqlite], 2).await;
}

#[tokio::test]
async fn a_lead_killed_before_the_merge_of_a_task_leaves_it_undone_and_unharmed() {
    hold("killed-after-commit,killed-in-check", &[Backend::Files], 2).await;
}

#[tokio::test]
async fn a_lead_killed_around_the_merge_of_a_task_leaves_it_done_once() {
    hold("killed-after-move,killed-after-board", &[Backend::Sqlite], 2).await;
}

#[tokio::test]
async fn a_lead_killed_while_it_lands_leaves_a_whole_project() {
    hold("killed-before-landing,killed-after-tidy", &[Backend::Sqlite], 2).await;
}
