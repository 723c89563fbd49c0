//! Trials of a board whose members troop does not run: commands, killed and stopped at random, beside programs that know only
//! the files. What each was answered, or did itself, is held against the log.

mod client;
mod judge;
mod outside;
mod plan;

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use rustix::process::Signal;
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

pub use plan::BoardPlan;

use self::{
    client::{BoardClient, Deal},
    outside::{Belief, OutsideProgram},
};
use crate::{
    Options, check,
    kind::TrialKind,
    plan::Backend,
    program::{LongRunning, Program, TrialRecord},
    tally::{TrialOutcome, Violation, ViolationSeverity::High},
    trial::store_url,
};

const TEAM: &str = "chaos";
/// How long a lead may take that was told to stop.
const STOPS_WITHIN: Duration = Duration::from_secs(20);
/// How long the follower may take to see the end of the log.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(15);
const STEP: Duration = Duration::from_millis(20);
/// How long the lock of a killed command may stay, and how often we look.
const LOCKS_LAST: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Runs a trial and checks the promises.
pub(crate) async fn hold(options: Options, plan: BoardPlan, nth: u64) -> Result<TrialOutcome> {
    let folder = options.folder.join(format!("trial-{nth}"));
    for part in ["store", "home", "user", "place"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let program = program(&options, &plan, folder.clone()).await;
    let record = program.record.clone();
    let mut trial = BoardTrial { program, plan, n_events: 0 };
    if let Err(error) = trial.hold().await {
        record.find(High, format!("{error:#}"));
    }
    let BoardTrial { plan, n_events, .. } = trial;
    let kind = TrialKind::Board;
    let violation = Violation::of(nth, kind, record.findings(), folder.clone());
    match &violation {
        Some(_) => fs::write(folder.join("plan.txt"), format!("{plan:#?}\n"))?,
        None => fs::remove_dir_all(&folder)?,
    }
    let faults = record.faults();
    Ok(TrialOutcome {
        kind,
        backend: plan.backend,
        faults,
        n_tasks: plan.n_tasks,
        n_events,
        violation,
    })
}

async fn program(options: &Options, plan: &BoardPlan, folder: PathBuf) -> Program {
    let mut store = store_url(plan.backend, &folder).await;
    if plan.backend == Backend::Files {
        store += &format!("?layout={}", plan.layout);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let record = TrialRecord::default();
    let place = folder.join("place");
    Program { troop: options.troop.clone(), place, store, path, record, folder }
}

/// A running trial.
struct BoardTrial {
    program: Program,
    plan: BoardPlan,
    n_events: u64,
}

impl BoardTrial {
    async fn hold(&mut self) -> Result<()> {
        self.make_team().await?;
        let mut follower =
            self.program.start("follower", &["--team", TEAM, "--json", "events", "--follow"])?;
        let mut programs = self.start_programs();
        let mut leading = JoinSet::new();
        leading.spawn(lead(self.program.clone(), self.plan.clone()));
        let mut clients = self.start_clients();
        let mut deals = Vec::new();
        while let Some(given) = clients.join_next().await {
            deals.extend(given??);
        }
        while let Some(led) = leading.join_next().await {
            led??;
        }
        fs::write(self.program.folder.join("over"), "")?;
        let mut beliefs = Vec::new();
        while let Some(belief) = programs.join_next().await {
            beliefs.push(belief??);
        }
        self.take_in_the_rest().await?;
        let events = self.program.events(TEAM).await?;
        self.n_events = events.len() as u64;
        self.follower_saw_it_all(&events).await?;
        follower.kill().await;
        judge::all(&self.program, &deals, &beliefs, &events).await?;
        for outlived in check::orphans(&events).await {
            self.program.record.find(High, outlived);
        }
        Ok(())
    }

    /// Every command takes in what the programs wrote last, unless a killed command left its lock: one that is a folder counts
    /// as left behind only after ten seconds.
    async fn take_in_the_rest(&self) -> Result<()> {
        let tasks = self.program.folder.join("store/troop/tasks").join(TEAM);
        let deadline = Instant::now() + LOCKS_LAST;
        loop {
            self.program.must(&["--team", TEAM, "task", "list"]).await?;
            let mut paths =
                fs::read_dir(&tasks).into_iter().flatten().flatten().map(|it| it.path());
            let is_lock =
                |it: &PathBuf| it.is_dir() && it.extension().is_some_and(|it| it == "lock");
            let Some(lock) = paths.find(is_lock) else { return Ok(()) };
            if Instant::now() > deadline {
                let what = format!("the lock of a killed command stays: {}", lock.display());
                self.program.record.find(High, what);
                return Ok(());
            }
            sleep(BETWEEN_LOOKS).await;
        }
    }

    fn members(&self) -> Vec<String> {
        (0..self.plan.members.len()).map(BoardPlan::member).collect()
    }

    async fn make_team(&self) -> Result<()> {
        let programs = (0..self.plan.programs.len()).map(BoardPlan::program);
        let all: Vec<_> = self.members().into_iter().chain(programs).collect();
        let members: Vec<_> = all.iter().map(|it| format!("{it}=external")).collect();
        let mut words = vec!["team", "create", TEAM, "--lead", "lead=external"];
        words.extend(members.iter().flat_map(|it| ["--member", it.as_str()]));
        for setting in ["assignment=claim", "max_attempts=50", "retry_backoff_seconds=0"] {
            words.extend(["--set", setting]);
        }
        self.program.must(&words).await?;
        for nth in 0..self.plan.n_tasks {
            let subject = format!("task {nth}");
            self.program.must(&["--team", TEAM, "task", "create", &subject]).await?;
        }
        Ok(())
    }

    fn start_clients(&self) -> JoinSet<Result<Vec<Deal>>> {
        let mut clients = JoinSet::new();
        let members = self.plan.members.iter().enumerate();
        let members = members.map(|(nth, seed)| (Some(BoardPlan::member(nth)), *seed));
        let persons = self.plan.persons.iter().map(|seed| (None, *seed));
        for (member, seed) in members.chain(persons) {
            let mut client = BoardClient::new(self.program.clone(), member, seed);
            let me = client.member.clone();
            let programs = (0..self.plan.programs.len()).map(BoardPlan::program);
            let all = self.members().into_iter().chain(programs);
            client.others = all.filter(|it| Some(it) != me.as_ref()).collect();
            client.n_tasks = self.plan.n_tasks;
            client.harm = self.plan.harm;
            clients.spawn(client.act(self.plan.n_steps));
        }
        clients
    }

    fn start_programs(&self) -> JoinSet<Result<Belief>> {
        let mut programs = JoinSet::new();
        for (nth, seed) in self.plan.programs.iter().enumerate() {
            self.program.record.fault("programs that know only the files");
            let program = OutsideProgram {
                name: BoardPlan::program(nth),
                tasks: self.program.folder.join("store/troop/tasks").join(TEAM),
                is_claude: self.plan.layout == "claude",
                over: self.program.folder.join("over"),
                seed: *seed,
            };
            programs.spawn(program.work());
        }
        programs
    }

    /// The follower printed every event, once and in order.
    async fn follower_saw_it_all(&self, events: &[troop_model::Event]) -> Result<()> {
        let file = self.program.folder.join("follower.out");
        let deadline = Instant::now() + FOLLOWS_WITHIN;
        let last = events.last().context("a log is never empty")?.version;
        loop {
            let said = fs::read_to_string(&file).unwrap_or_default();
            let whole = said.lines().filter(|it| it.ends_with('}'));
            let seen: Vec<Value> = whole.map(serde_json::from_str).collect::<Result<_, _>>()?;
            let versions = seen.iter().map(|it| it.get("version").and_then(Value::as_u64));
            let versions: Vec<_> = versions.flatten().collect();
            if versions.last() >= Some(&last.0) {
                let is_whole = versions.iter().copied().eq(1..=versions.len() as u64);
                if !is_whole {
                    let what =
                        format!("a follower saw another order, a gap or a double: {versions:?}");
                    self.program.record.find(crate::tally::ViolationSeverity::Critical, what);
                }
                return Ok(());
            }
            if Instant::now() > deadline {
                let what = format!("a follower does not see the end of the log: {versions:?}");
                self.program.record.find(High, what);
                return Ok(());
            }
            sleep(STEP).await;
        }
    }
}

/// Leads one after the other, through which the commands go.
async fn lead(program: Program, plan: BoardPlan) -> Result<()> {
    for life in plan.leads {
        let words = ["resume", TEAM, "--agent", "external", "--keep"];
        let mut lead = program.start("lead", &words)?;
        sleep(life.lasts).await;
        if life.is_killed {
            program.record.fault("lead killed");
        } else {
            program.record.fault("lead told to stop");
            lead.signal(Signal::TERM);
            end(&program, &mut lead).await?;
        }
        lead.kill().await;
    }
    Ok(())
}

async fn end(program: &Program, lead: &mut LongRunning) -> Result<()> {
    let deadline = Instant::now() + STOPS_WITHIN;
    while lead.end()?.is_none() {
        if Instant::now() > deadline {
            program.record.find(High, format!("a lead does not stop: {}", lead.last_words()));
            return Ok(());
        }
        sleep(STEP).await;
    }
    Ok(())
}
