//! The lead's process: a lead without an agent, which does only what the campaign asks for.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, IsTerminal as _},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use tokio::sync::watch;
use troop_model::TeamId;
use troop_runtime::{
    Agreement, Board, Clock, Following, Hooks, InProcess, Lead, LeadEnd, LeadOptions, LeadThinks,
    LeadWork, Programs, Timing, Until, silent_lead,
};
use troop_store::{Missing, StoreUrl};
use troop_testkit::{Fault, FaultyStore};

/// The agent of teammates that are not `troop`.
pub(crate) const FOREIGN: &str = "foreign";

/// The orders of a lead.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// Where the team is kept.
    pub(crate) url: String,
    pub(crate) team: TeamId,
    /// The lead's folder.
    pub(crate) folder: PathBuf,
    /// Where the team works.
    pub(crate) project: PathBuf,
    pub(crate) troop: PathBuf,
    /// The script of teammates that are not `troop`.
    pub(crate) script: PathBuf,
    /// How many teammates there are to write to.
    pub(crate) n_mates: usize,
    /// The extra time of every call to the store.
    pub(crate) delay: Duration,
    /// The call whose answer is lost; 0 for none.
    pub(crate) lost: usize,
}

/// Leads the team that the first line of standard input names, until it is told to stop. Without a line it does nothing.
///
/// # Errors
///
/// If it cannot lead, or can no longer lead.
pub async fn run() -> Result<()> {
    let mut line = String::new();
    if !io::stdin().is_terminal() {
        io::stdin().lock().read_line(&mut line)?;
    }
    if line.is_empty() {
        return Ok(());
    }
    let orders: Orders = serde_json::from_str(&line)?;
    let store = troop_store::open(&StoreUrl::parse(&orders.url)?, Missing::Refuse).await?;
    let store = FaultyStore::new(store, Fault::LosesAnswer, orders.lost).slowed(orders.delay);
    let following = Following::Always;
    let board = Board::open(Arc::new(store), Clock::system(), following, orders.team).await?;
    let shell = ["sh".into(), orders.script.into(), orders.n_mates.to_string().into()];
    let others = Arc::new(Programs {
        troop: orders.troop,
        own: BTreeMap::from([(SmolStr::new_static(FOREIGN), shell.to_vec())]),
        environment: Vec::new(),
    });
    let lead = Lead::start(LeadOptions {
        board: board.clone(),
        clock: Clock::system(),
        folder: orders.folder,
        project: orders.project,
        holder: format!("process {}", std::process::id()),
        thinks: LeadThinks::Here,
        launch: Arc::new(InProcess { run: silent_lead, others }),
        hooks: Hooks::none(),
        isolation: None,
        checks: Vec::new(),
        agreement: Agreement::default(),
        environment: Vec::new(),
        timing: timing(),
        until: Until::Stopped,
        work: watch::channel(LeadWork::Done).1,
        warnings: None,
    });
    match lead.await?.ended().await {
        LeadEnd::Stopped { .. } | LeadEnd::Quiet => {}
        how @ (LeadEnd::Superseded | LeadEnd::Lost { .. }) => bail!("it lost the lead: {how:?}"),
    }
    board.close().await;
    Ok(())
}

/// Short intervals, so that trials do not wait.
fn timing() -> Timing {
    Timing {
        ready: Duration::from_secs(5),
        grace: Duration::from_millis(500),
        term: Duration::from_millis(300),
        tick: Duration::from_millis(50),
        renew: Duration::from_secs(5),
        restart: Duration::from_millis(20),
        max_restarts: 5,
        last_words: Duration::from_millis(200),
    }
}
