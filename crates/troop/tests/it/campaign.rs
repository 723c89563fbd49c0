//! Small campaigns with fixed seeds: one of every kind of trial. `cargo xtask campaign` runs hundreds of these.

use troop_campaign::{
    Backend, CampaignEnd, CampaignTally, Machine, Mix, Options, TrialKind, TrialPlan,
};

const SEED: u64 = 3;

/// Runs trials of some kinds, in turn, on some stores in turn.
async fn hold(kinds: &str, backends: &[Backend], n_trials: u64) {
    let mix = Mix { kinds: TrialKind::parse(kinds).unwrap(), backends: backends.to_vec() };
    hold_from(0, mix, n_trials).await;
}

/// Runs the first trial of a team whose plan has this fault.
async fn hold_with(fault: &str, backend: Backend) {
    let mix = Mix { kinds: vec![TrialKind::Team], backends: vec![backend] };
    let machine = Machine::look(tempfile::tempdir().unwrap().path()).await;
    let has_fault = |trial: &u64| match TrialPlan::new(SEED, *trial, &mix, machine) {
        TrialPlan::Team(plan) => plan.fault_names().contains(&fault),
        TrialPlan::Run(_) | TrialPlan::Board(_) => false,
    };
    let first = (0..1000).find(has_fault).unwrap();
    let tally = hold_from(first, mix, 1).await;
    assert!(tally.n_faults(fault) > 0, "trial {first}: {}", tally.tables());
}

async fn hold_from(first: u64, mix: Mix, n_trials: u64) -> CampaignTally {
    let folder = tempfile::tempdir().unwrap();
    let itself = std::env::current_exe().unwrap();
    let errand = ["--exact", "campaign::the_lead_of_a_trial", "--nocapture"];
    let options = Options {
        troop: env!("CARGO_BIN_EXE_troop").into(),
        lead: [itself.into()].into_iter().chain(errand.map(Into::into)).collect(),
        seed: SEED,
        mix,
        folder: folder.path().to_owned(),
        n_at_once: 3,
        first,
        until: CampaignEnd::Trials(n_trials),
    };
    let tally = troop_campaign::run(options, |_| {}).await.unwrap();
    assert_eq!(tally.n_trials(), n_trials);
    if !tally.violations.is_empty() {
        panic!("seed {SEED}, from {first}, kept in {:?}: {:#?}", folder.keep(), tally.violations);
    }
    tally
}

#[tokio::test]
async fn a_team_keeps_its_promises_whatever_goes_wrong() {
    hold("team", &Backend::ALL, 3).await;
}

#[tokio::test]
async fn a_team_goes_on_when_its_server_is_restarted() {
    hold_with("database restarted (fast)", Backend::Postgres).await;
}

#[tokio::test]
async fn a_team_goes_on_when_its_server_is_ended_at_once() {
    hold_with("database restarted (immediate)", Backend::Postgres).await;
}

#[tokio::test]
async fn a_team_goes_on_when_the_standby_takes_over() {
    let fault = "primary killed, standby promoted, old primary comes back";
    hold_with(fault, Backend::Postgres).await;
}

#[tokio::test]
async fn a_team_works_behind_a_pooler() {
    hold_with("PgBouncer in transaction mode, for all of a trial", Backend::Postgres).await;
}

#[tokio::test]
async fn a_team_keeps_its_promises_when_its_clock_jumps() {
    hold_with("clock jumped by hours, and back", Backend::Sqlite).await;
}

/// Another leads when the lease of the one that is cut off has expired, after a minute.
#[tokio::test]
async fn a_lead_that_is_cut_off_from_its_database_ends_before_another_leads() {
    let mix = Mix { kinds: vec![TrialKind::CutOff], backends: vec![Backend::Postgres] };
    let tally = hold_from(0, mix, 1).await;
    let machine = Machine::look(tempfile::tempdir().unwrap().path()).await;
    let n_cut_off = tally.n_faults("machine of the lead cut off until another leads");
    assert_eq!(n_cut_off > 0, machine.can_connect_machines, "{}", tally.tables());
}

/// Where memory cannot be limited (without root, or in a container without control groups), no plan has that fault.
#[tokio::test]
async fn a_team_goes_on_when_the_memory_of_a_teammate_is_limited() {
    let machine = Machine::look(tempfile::tempdir().unwrap().path()).await;
    match machine.can_limit_memory {
        true => hold_with("teammate's memory limited", Backend::Files).await,
        false => hold("team", &[Backend::Files], 1).await,
    }
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
