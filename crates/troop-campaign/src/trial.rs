//! One trial: creates a team, gives it work, injects faults, and checks it once it is at rest.

mod cut_off;
mod faults;
mod lead_process;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use troop_model::{
    Actor, Command, Member, MemberName, MemberState, Metadata, NewMember, NewTask, NewTeamCommand,
    Outgoing, Party, Role, Settings, Spawn, State, Status, TaskCommand, TaskNumber, TeamId,
};
use troop_process::Mark;
use troop_runtime::{Board, BoardError, Clock, CommandRequest, Following, Signature};
use troop_store::{Missing, Store, StoreUrl};
use uuid::Uuid;

use crate::{
    Options, check,
    clock::ShiftedClock,
    disk::Disk,
    lead::{FOREIGN, Orders},
    memory::MemoryLimit,
    network::MachineLink,
    plan::{Backend, Chore, Fault, MateMind, Plan, PostgresPlace, Weather},
    servers::TrialServers,
    tally::{TrialFinding, TrialOutcome, Violation, ViolationSeverity},
};
use cut_off::Machines;
use lead_process::LeadProcess;

/// How long a team may take to come to rest after the last fault.
const PATIENCE: Duration = Duration::from_secs(40);
/// Between two looks.
const STEP: Duration = Duration::from_millis(20);
/// After how many looks in a row the trial restarts a teammate that is down.
const MANY_LOOKS: u32 = 15;
const SCRIPT: &str = include_str!("mate.sh");

/// Runs a trial and checks the promises.
pub(crate) async fn hold(options: Options, plan: Plan, nth: u64) -> Result<TrialOutcome> {
    let folder = options.folder.join(format!("trial-{nth}"));
    for part in ["store", "lead", "project"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let disk = match plan.has_small_disk {
        true => Some(Disk::mount(&folder.join("store")).await?),
        false => None,
    };
    let mut trial = Trial::new(&options, plan, folder.clone(), disk).await?;
    let mut what = Vec::new();
    if let Err(error) = trial.run().await {
        what.push(TrialFinding::new(ViolationSeverity::High, format!("{error:#}")));
        trial.lead.end().await;
    }
    let n_events = trial.board.look(|state| state.version().0).await?;
    let outlived = std::mem::take(&mut trial.vigils).join_all().await.into_iter().flatten();
    what.extend(outlived.map(|it| TrialFinding::new(ViolationSeverity::High, it)));
    what.extend(check::all(&trial).await?);
    let kind = trial.plan.kind();
    if let Some(machines) = trial.machines.take() {
        what.extend(machines.remove().await);
    }
    let violation = Violation::of(nth, kind, what, folder.clone());
    let (plan, faults, disk) = trial.close(violation.is_some()).await?;
    if let Some(disk) = disk {
        disk.unmount().await;
    }
    if violation.is_none() {
        fs::remove_dir_all(&folder)?;
    }
    let faults = faults.iter().map(|it| it.name()).chain(plan.lasting_faults()).collect();
    let n_tasks = plan.chores.len() as u64;
    Ok(TrialOutcome { kind, backend: plan.backend, faults, n_tasks, n_events, violation })
}

/// A running trial.
pub(crate) struct Trial {
    pub(crate) plan: Plan,
    pub(crate) folder: PathBuf,
    pub(crate) url: String,
    pub(crate) board: Board,
    /// Messages from outside that the team accepted.
    pub(crate) letters: Vec<String>,
    /// The faults so far.
    faults: Vec<Fault>,
    /// Faults that are being undone.
    healing: JoinSet<()>,
    /// Checks whether killed leads leave processes behind.
    pub(crate) vigils: JoinSet<Option<String>>,
    disk: Option<Disk>,
    servers: Option<TrialServers>,
    clock: Option<ShiftedClock>,
    /// Limits of this trial; their processes have ended when it is dropped.
    memory: Vec<Arc<MemoryLimit>>,
    machines: Option<Machines>,
    lead: LeadProcess,
}

impl Trial {
    async fn new(
        options: &Options,
        plan: Plan,
        folder: PathBuf,
        disk: Option<Disk>,
    ) -> Result<Self> {
        let links = match plan.place == PostgresPlace::Remote {
            true => Some(Machines::make().await?),
            false => None,
        };
        let addresses: Vec<_> = links.iter().flatten().map(|it: &MachineLink| it.address).collect();
        let servers = match plan.backend {
            Backend::Postgres => Some(TrialServers::start(plan.place, &addresses).await),
            Backend::Sqlite | Backend::Files => None,
        };
        let url = match &servers {
            Some(servers) => servers.url.clone(),
            None => store_url(plan.backend, &folder).await,
        };
        let clock = plan.has_shifted_clock.then(|| ShiftedClock::new(&folder)).transpose()?;
        let script = folder.join("mate.sh");
        fs::write(&script, SCRIPT)?;
        let board = make_team(open_store(&url, Missing::Make).await?).await?;
        let (delay, lost) = match plan.weather {
            Weather::Fair => (Duration::ZERO, 0),
            Weather::Slow(delay) => (delay, 0),
            Weather::LostAnswer(nth) => (Duration::ZERO, nth),
        };
        let orders = Orders {
            url: url.clone(),
            team: board.team(),
            folder: folder.join("lead"),
            project: folder.join("project"),
            troop: options.troop.clone(),
            script,
            n_mates: plan.mates.len(),
            delay,
            lost,
        };
        let (machines, lead) = match links {
            Some(links) => {
                let (machines, lead) = Machines::lead_from(links, &options.lead, &orders);
                (Some(machines), lead)
            }
            None => {
                let environment = clock.as_ref().map(ShiftedClock::environment).unwrap_or_default();
                let log = folder.join("lead.log");
                (None, LeadProcess::new(options.lead.clone(), environment, orders, log))
            }
        };
        let memory = Vec::new();
        let letters = Vec::new();
        let faults = Vec::new();
        let healing = JoinSet::new();
        let vigils = JoinSet::new();
        Ok(Self {
            plan,
            folder,
            url,
            board,
            letters,
            faults,
            healing,
            vigils,
            disk,
            servers,
            clock,
            memory,
            machines,
            lead,
        })
    }

    /// Where the team works.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    async fn run(&mut self) -> Result<()> {
        self.lead.start().await?;
        self.until_led().await?;
        for (nth, chore) in self.plan.chores.clone().into_iter().enumerate() {
            self.submit(Command::Task(TaskCommand::Create(new_task(nth, &chore)))).await?;
        }
        let start = Instant::now();
        let mut disturbances = self.disturbances(start);
        let mut n_looks_down = vec![0; self.plan.mates.len()];
        let mut deadline = Instant::now() + PATIENCE;
        loop {
            self.lead.see_to().await?;
            while disturbances.last().is_some_and(|(at, _)| *at <= Instant::now()) {
                if let Some((_, disturbance)) = disturbances.pop() {
                    self.disturb(disturbance).await?;
                    deadline = Instant::now() + PATIENCE;
                }
            }
            self.start_who_is_down(&mut n_looks_down).await?;
            while self.healing.try_join_next().is_some() {
                deadline = Instant::now() + PATIENCE;
            }
            self.see_to_cut_off().await?;
            if self.is_cut_off() {
                deadline = Instant::now() + PATIENCE;
            }
            let is_undisturbed =
                disturbances.is_empty() && self.healing.is_empty() && !self.is_cut_off();
            let unrest = self.unrest().await?;
            if is_undisturbed && unrest.is_empty() {
                return self.stop().await;
            }
            if Instant::now() > deadline {
                bail!("it did not come to rest: {unrest}");
            }
            sleep(STEP).await;
        }
    }

    /// Waits until there is a lead.
    async fn until_led(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.board.look(is_led).await? {
            self.lead.see_to().await?;
            if Instant::now() > deadline {
                bail!("nobody leads");
            }
            sleep(STEP).await;
        }
        Ok(())
    }

    /// Starts missing teammates, and those that are down and that the lead does not restart.
    async fn start_who_is_down(&mut self, n_looks_down: &mut [u32]) -> Result<()> {
        for (nth, n_looks) in n_looks_down.iter_mut().enumerate() {
            let name: MemberName = Plan::mate(nth).parse()?;
            let found = name.clone();
            let state = self.board.look(move |state| state.member(&found).map(|it| it.state));
            let waits = match state.await? {
                None => 0,
                Some(MemberState::Crashed | MemberState::Stopped) => MANY_LOOKS,
                Some(_) => u32::MAX,
            };
            *n_looks += 1;
            if waits == u32::MAX {
                *n_looks = 0;
            } else if *n_looks > waits {
                *n_looks = 0;
                self.spawn(nth, name).await?;
            }
        }
        Ok(())
    }

    async fn spawn(&mut self, nth: usize, name: MemberName) -> Result<()> {
        let agent = match self.plan.mates.get(nth) {
            Some(MateMind::Foreign) => FOREIGN,
            Some(MateMind::Command) | None => "command",
        };
        let member = NewMember::new(name, agent);
        let request = person(Command::SpawnMember(Spawn { member, prompt: None }));
        match self.board.submit(request).await {
            // A later look tries again.
            Ok(_) | Err(BoardError::Refused(_) | BoardError::Store(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Repeats a command until it is accepted or refused; the same operation has one effect.
    pub(crate) async fn submit(&self, command: Command) -> Result<()> {
        let request = person(command);
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.board.submit(request.clone()).await {
                Ok(_) => return Ok(()),
                Err(BoardError::Store(_)) if Instant::now() < deadline => sleep(STEP).await,
                Err(error) => return Err(error).context("a command was not taken"),
            }
        }
    }

    /// The parts that are not at rest yet; empty if all are.
    async fn unrest(&self) -> Result<String> {
        let look = |state: &State| {
            let session =
                state.team().and_then(|team| team.lead_lease.as_ref()).map(|it| it.session);
            let pids = mates(state).filter_map(|it| Some((it.name.to_string(), it.pid?)));
            (unrest(state), session, pids.collect::<Vec<_>>())
        };
        let (unrest, session, pids) = self.board.look(look).await?;
        if !unrest.is_empty() {
            return Ok(unrest);
        }
        let Some(session) = session else { return Ok("nobody leads".to_owned()) };
        let alive = Mark { session, run: None }.processes();
        let dead = pids.into_iter().find(|(_, pid)| !alive.contains(pid));
        Ok(dead
            .map(|(name, pid)| format!("{name} runs, but process {pid} is dead"))
            .unwrap_or_default())
    }

    async fn stop(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while self.lead.check_running()? {
            if !self.lead.is_told_to_stop {
                let stop = Command::StopTeam { reason: Some("the trial is over".to_owned()) };
                self.lead.is_told_to_stop = self.board.submit(person(stop)).await.is_ok();
            }
            if Instant::now() > deadline {
                bail!("the lead did not stop when it was told to");
            }
            sleep(STEP).await;
        }
        Ok(())
    }

    /// Ends what still runs. After a violation, the log is kept in a readable form.
    async fn close(self, is_kept: bool) -> Result<(Plan, Vec<Fault>, Option<Disk>)> {
        let Self { plan, folder, board, faults, disk, servers, mut lead, .. } = self;
        lead.end().await;
        if is_kept {
            keep_log(&board, &folder.join("log.jsonl")).await?;
            fs::write(folder.join("plan.txt"), format!("{plan:#?}\n{faults:#?}\n"))?;
        }
        board.close().await;
        if let Some(servers) = servers {
            servers.end().await;
        }
        Ok((plan, faults, disk))
    }
}

fn mates(state: &State) -> impl Iterator<Item = &Member> {
    state.members().filter(|it| it.role == Role::Member)
}

/// The parts that are not at rest yet according to the log; empty if all are.
fn unrest(state: &State) -> String {
    let tasks = state.tasks();
    let will_move = |number: &TaskNumber| match tasks.status(*number) {
        Some(Status::Completed | Status::Cancelled) | None => false,
        Some(Status::Failed) => tasks.get(*number).is_some_and(|it| it.start.not_before.is_some()),
        Some(_) => true,
    };
    let open = tasks.numbers().filter(will_move).map(|it| {
        let status = tasks.status(it).map(|it| it.to_string()).unwrap_or_default();
        format!("{it} is {status}")
    });
    let unread = mates(state).filter_map(|it| {
        let n_unread = state.mailbox().n_unread(&Party::member(&it.name));
        (n_unread > 0).then(|| format!("{} has {n_unread} unread, and is {}", it.name, it.state))
    });
    let down = mates(state).filter(|it| !it.is_running());
    let down = down.map(|it| format!("{} is {}", it.name, it.state));
    open.chain(unread).chain(down).collect::<Vec<_>>().join(", ")
}

fn is_led(state: &State) -> bool {
    state.team().is_some_and(|team| team.lead_lease.is_some())
}

fn person(command: Command) -> CommandRequest {
    CommandRequest::new(Actor::human("zoe"), command)
}

/// A fresh place for teams.
pub(crate) async fn store_url(backend: Backend, folder: &Path) -> String {
    match backend {
        Backend::Sqlite => format!("sqlite:{}", folder.join("store/troop.db").display()),
        Backend::Files => format!("files:{}", folder.join("store/troop").display()),
        Backend::Postgres => troop_testkit::postgres::database().await.url().to_owned(),
    }
}

pub(crate) async fn open_store(url: &str, missing: Missing) -> Result<Arc<dyn Store>> {
    Ok(troop_store::open(&StoreUrl::parse(url)?, missing).await?)
}

async fn make_team(store: Arc<dyn Store>) -> Result<Board> {
    let settings = Settings {
        lease_seconds: 1,
        max_attempts: 100,
        retry_backoff_seconds: 0,
        max_teammates: 20,
        ..Settings::default()
    };
    let new = NewTeamCommand {
        goal: String::new(),
        team: TeamId(Uuid::now_v7()),
        name: "crew".parse()?,
        description: String::new(),
        settings,
        lead: NewMember::new(MemberName::lead(), "person"),
        members: Vec::new(),
    };
    let signature = Signature::new(Actor::human("zoe"));
    Ok(Board::create(store, Clock::system(), Following::Always, &signature, new).await?)
}

/// The file that a chore leaves behind proves that it was done, and its result names the process.
fn new_task(nth: usize, chore: &Chore) -> NewTask {
    let fails = match chore.fails_first {
        true => "echo x >>tries-$TROOP_TASK; test $(wc -l <tries-$TROOP_TASK) -gt 1 || exit 1; ",
        false => "",
    };
    let takes = chore.takes.as_secs_f64();
    let script = format!("sleep {takes}; {fails}echo $PPID >>done-$TROOP_TASK; echo by $PPID");
    let command = json!(["sh", "-c", script]);
    NewTask {
        subject: format!("chore {nth}"),
        metadata: Metadata([("command".to_owned(), command)].into_iter().collect()),
        blocked_by: chore.waits_for.iter().map(|it| TaskNumber(*it as u32 + 1).into()).collect(),
        ..NewTask::default()
    }
}

fn letter(to: usize, content: &str) -> Command {
    Command::Send(Outgoing::message(Plan::mate(to), content))
}

async fn keep_log(board: &Board, file: &Path) -> Result<()> {
    let mut log = board.subscribe(troop_model::Version::ZERO);
    let mut text = String::new();
    while let Some(event) = log.next_stored().await? {
        text += &troop_model::encode(&event);
        text.push('\n');
    }
    Ok(fs::write(file, text)?)
}
