//! What runs in the lead's process: a lead without an agent, so that all it does is what the campaign asks for.

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

/// The agent of teammates that are no troop.
pub(crate) const FOREIGN: &str = "foreign";

/// What a lead is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// Where the team is kept.
    pub(crate) url: String,
    pub(crate) team: TeamId,
    /// Where the lead keeps its own things.
    pub(crate) folder: PathBuf,
    /// Where the team works.
    pub(crate) project: PathBuf,
    pub(crate) troop: PathBuf,
    /// The script of teammates that are no troop.
    pub(crate) script: PathBuf,
    /// How many teammates there are, whom they may write to.
    pub(crate) n_mates: usize,
    /// How long every call to the store takes besides.
    pub(crate) delay: Duration,
    /// The call whose answer is lost; 0 is none.
    pub(crate) lost: usize,
}

/// Leads the team that the first line of standard input names, until it is told to stop. Without a line it does nothing.
///
/// # Errors
///
/// If it cannot lead, or cannot any more.
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

/// Times that do not keep a trial waiting.
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
