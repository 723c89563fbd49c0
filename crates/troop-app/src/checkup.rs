//! The checkup of an installation: programs, stores, configuration, leftovers of teams, and how to fix them.

mod leftovers;

use std::{collections::BTreeMap, sync::Arc};

use troop_agent::builtin::Endpoint;
use troop_model::{Hint, HintCommand, HintOption, MemberName, State, Status, TaskNumber, TeamId};
use troop_runtime::{Board, Clock, Following, StoreSession};
use troop_store::{GrowthNotice, Missing};

use crate::{
    Diagnosis, Error,
    agents::{self, Agents, thinking::ThinkingPlace},
    surroundings::{Surroundings, TeammateMode, parse_store},
    text::{chain, span},
    trust::{self, ProjectTrust},
};

/// Clocks that are further apart than this are worth a word.
const TOLERATED_SKEW_SECONDS: u64 = 5;

/// The programs that can join a team over MCP, and what `troop mcp install` calls them.
const CLIENTS: [(&str, &str); 4] =
    [("claude", "claude-code"), ("codex", "codex"), ("gemini", "gemini"), ("opencode", "opencode")];

/// One thing that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    pub name: String,
    pub health: Health,
    pub says: String,
    /// What to do to repair it, or to use it.
    pub fix: Option<Hint>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    Good,
    /// Something optional is missing.
    Missing,
    Bad,
}

impl Health {
    /// The word that programs read.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Missing => "missing",
            Self::Bad => "bad",
        }
    }
}

/// The handling of what teams left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    Look,
    /// Commit it and keep it on branches.
    Rescue,
}

/// The members that did the tasks of a team that are done and merged.
type DoneTasks = BTreeMap<TaskNumber, MemberName>;

impl Checkup {
    fn new(name: &str, health: Health, says: impl Into<String>) -> Self {
        Self { name: name.to_owned(), health, says: says.into(), fix: None }
    }

    fn good(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, Health::Good, says)
    }

    fn missing(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, Health::Missing, says)
    }

    fn bad(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, Health::Bad, says)
    }

    fn with_fix(self, fix: impl Into<Hint>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn failed(name: &str, error: &Error) -> Self {
        let fix = Diagnosis::of(error).and_then(|it| it.hint);
        Self { fix, ..Self::bad(name, chain(error)) }
    }
}

/// Checks everything.
pub async fn examine(surroundings: &Surroundings, care: Care) -> Vec<Checkup> {
    let mut found = vec![
        Checkup::good("troop", env!("CARGO_PKG_VERSION")),
        home(surroundings),
        configuration(surroundings),
        teams(surroundings),
        hooks(surroundings),
    ];
    let StoreCheckup { checkups, done } = store(surroundings).await;
    found.extend(checkups);
    found.extend(leftovers::check(surroundings, care, &done).await);
    found.extend([agents(surroundings), model(surroundings), git(surroundings)]);
    found.extend(clients(surroundings));
    found
}

fn home(surroundings: &Surroundings) -> Checkup {
    let home = &surroundings.home;
    let probe = home.join(".doctor");
    let result = std::fs::create_dir_all(home)
        .and_then(|()| std::fs::write(&probe, b""))
        .and_then(|()| std::fs::remove_file(&probe));
    match result {
        Ok(()) => Checkup::good("home", home.display().to_string()),
        Err(error) => {
            Checkup::bad("home", format!("`{}` cannot be written: {error}", home.display()))
                .with_fix("make it writable, or use another: `TROOP_HOME=/path troop …`")
        }
    }
}

fn configuration(surroundings: &Surroundings) -> Checkup {
    let mut files = vec![surroundings.home.join("config.json")];
    files.extend(surroundings.shared.hooks.iter().map(|(path, _)| path.clone()));
    let found: Vec<_> =
        files.iter().filter(|file| file.exists()).map(|file| file.display().to_string()).collect();
    match surroundings.warnings.as_slice() {
        [] if found.is_empty() => Checkup::good("config", "none (optional)"),
        [] => Checkup::good("config", found.join(", ")),
        warnings => Checkup::bad("config", warnings.join("; ")).with_fix("correct the file"),
    }
}

/// The model that the built-in agent would use.
fn model(surroundings: &Surroundings) -> Checkup {
    let Surroundings { home, project, environment, .. } = surroundings;
    match (ThinkingPlace { home, project, environment }).options(None, None) {
        Ok(options) => {
            let Endpoint { api, base_url, model, .. } = &options.endpoint;
            let price = if options.price.is_some() { "known" } else { "unknown" };
            Checkup::good("model", format!("{model} by {api} at {base_url}, price {price}"))
        }
        Err(unfit) => Checkup::missing("model", unfit.why).with_fix(unfit.hint),
    }
}

fn teams(surroundings: &Surroundings) -> Checkup {
    let teams = &surroundings.teams;
    if let Some(off) = &teams.off {
        let says = format!("switched off by {}", off.by);
        return Checkup::missing("teams", says).with_fix(off.fix.clone());
    }
    let mode = Some(teams.teammate_mode).filter(|mode| *mode != TeammateMode::default());
    let mode = mode.map(TeammateMode::as_str);
    let mode = mode.map(|mode| format!("; `teammateMode` is `{mode}`, which has no effect yet"));
    let says = format!("on; at most {} teammates{}", teams.max_teammates, mode.unwrap_or_default());
    Checkup::good("teams", says)
}

fn hooks(surroundings: &Surroundings) -> Checkup {
    let trust = match ProjectTrust::look(surroundings) {
        Ok(trust) => trust,
        Err(error) => return Checkup::failed("hooks", &error),
    };
    if let Some(warning) = trust.warning() {
        return Checkup::missing("hooks", warning.to_string());
    }
    let allowed = trust::allowed_hooks(surroundings, &trust);
    if allowed.hooks.is_empty() && !surroundings.warnings.is_empty() {
        return Checkup::missing("hooks", "cannot be read: see `config`");
    }
    let says = match allowed.hooks.len() {
        _ if !allowed.is_enabled => "switched off".to_owned(),
        0 => "none (optional)".to_owned(),
        n_hooks => format!("{n_hooks} configured"),
    };
    Checkup::good("hooks", says)
}

/// The store and its teams.
#[derive(Debug, Default)]
struct StoreCheckup {
    checkups: Vec<Checkup>,
    done: BTreeMap<TeamId, DoneTasks>,
}

async fn store(surroundings: &Surroundings) -> StoreCheckup {
    let failed = |error: Error| StoreCheckup {
        checkups: vec![Checkup::failed("store", &error)],
        done: BTreeMap::new(),
    };
    let url = match parse_store(&surroundings.store_url()) {
        Ok(url) => url,
        Err(error) => return failed(error),
    };
    let is_default = surroundings.is_default_store();
    let missing = if is_default { Missing::Make } else { Missing::Refuse };
    let store = match troop_store::open(&url, missing).await {
        Ok(store) => store,
        Err(error) => return failed(error.into()),
    };
    let mut found = StoreCheckup::default();
    found.checkups.push(Checkup::good("store", url.to_string()));
    found.checkups.extend(notices(store.notice()));
    let session = StoreSession::new(Arc::clone(&store), Clock::system(), Following::WhenAsked);
    let teams = match session.teams().await {
        Ok(teams) => teams,
        Err(error) => {
            found.checkups.push(Checkup::failed("teams", &error.into()));
            return found;
        }
    };
    for team in teams.iter().filter(|team| !team.is_retired) {
        let name = format!("team {}", team.name);
        let store = Arc::clone(&store);
        match Board::open(store, Clock::system(), Following::WhenAsked, team.id).await {
            Ok(board) => {
                found.checkups.push(log(&name, &board).await);
                found.done.insert(team.id, board.look(done_in).await.unwrap_or_default());
            }
            Err(error) => found.checkups.push(Checkup::failed(&name, &error.into())),
        }
    }
    found
}

/// Growth that is polled for because the store cannot announce it.
fn notices(notice: GrowthNotice) -> Option<Checkup> {
    let GrowthNotice::Polled(span) = notice else { return None };
    let says = format!(
        "a connection pooler shares its sessions, so no LISTEN: troop looks every {} ms instead",
        span.as_millis()
    );
    let fix =
        "to be told at once, name the PostgreSQL server itself, or a pooler in session mode, in ";
    let fix = Hint::from(fix).and_option(HintOption::flag("store"));
    Some(Checkup::missing("notices", says).with_fix(fix))
}

fn done_in(state: &State) -> DoneTasks {
    let tasks = state.tasks().iter();
    let done = tasks.filter(|it| it.status == Status::Completed && it.proof.merged.is_some());
    done.filter_map(|it| Some((it.number, it.owner.clone()?))).collect()
}

/// The log of a team.
async fn log(name: &str, board: &Board) -> Checkup {
    let seen = board.look(|state| (state.version(), state.tasks().len(), state.latest())).await;
    let (version, n_tasks, latest) = match seen {
        Ok(seen) => seen,
        Err(error) => return Checkup::failed(name, &error.into()),
    };
    let ahead = latest.since(Clock::system().now());
    if ahead.as_secs() > TOLERATED_SKEW_SECONDS {
        let says = format!("its log is {} ahead of this machine's clock", span(ahead));
        let set = HintCommand::other("timedatectl").words(["set-ntp", "true"]);
        let fix = "set the clocks of all machines that share the store, for example with ";
        return Checkup::bad(name, says).with_fix(Hint::from(fix).and_run(set));
    }
    Checkup::good(name, format!("{version} events, {n_tasks} tasks"))
}

fn agents(surroundings: &Surroundings) -> Checkup {
    let wrong = agents::misspelt(surroundings);
    match wrong.as_slice() {
        [] => Checkup::good("agents", Agents::read(surroundings).list()),
        wrong => Checkup::bad("agents", wrong.join("; ")).with_fix("correct the file"),
    }
}

fn git(surroundings: &Surroundings) -> Checkup {
    if let Some(path) = surroundings.environment.find_program("git") {
        return Checkup::good("git", path.display().to_string());
    }
    let install = HintCommand::other("apt-get").words(["install", "git"]);
    let fix = Hint::to("to give each teammate its own worktree", install);
    Checkup::missing("git", "not installed").with_fix(fix)
}

/// The installed agents that can join a team over MCP. troop needs none of them.
fn clients(surroundings: &Surroundings) -> impl Iterator<Item = Checkup> {
    CLIENTS.into_iter().filter_map(|(program, client)| {
        let says = surroundings.environment.find_program(program)?.display().to_string();
        let install = HintCommand::troop("mcp install").word(client);
        let fix = Hint::to("to let it join a team", install);
        Some(Checkup::good(program, says).with_fix(fix))
    })
}
