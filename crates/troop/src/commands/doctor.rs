//! `troop doctor`: what is installed, reachable, misconfigured, and how to fix it.

mod leftovers;

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use serde_json::json;
use troop_agent::builtin::Endpoint;
use troop_app::{
    agents::{self, Agents, thinking::ThinkingPlace},
    surroundings::{Surroundings, TeammateMode, parse_store},
    trust::{self, ProjectTrust},
};
use troop_model::{Status, TeamId};
use troop_runtime::{Board, Clock, Following, StoreSession};
use troop_store::Missing;

use crate::{
    output::Printer,
    render,
    report::{CallerOptions, Hint, HintCommand, Report},
};

pub(super) use leftovers::Care;
use leftovers::DoneTasks;

/// Clocks that are apart by more than this are worth a word.
const TOLERATED_SKEW_SECONDS: u64 = 5;

/// One thing that was looked at.
struct Check {
    name: String,
    state: CheckState,
    says: String,
    /// What to type to repair it, or to use it.
    fix: Option<Hint>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckState {
    Good,
    /// Something optional is missing.
    Missing,
    Bad,
}

impl Check {
    fn good(name: &str, says: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: CheckState::Good, says: says.into(), fix: None }
    }

    fn bad(name: &str, error: &anyhow::Error) -> Self {
        let report = Report::new(error);
        Self {
            name: name.to_owned(),
            state: CheckState::Bad,
            says: report.message,
            fix: report.hint,
        }
    }
}

pub(super) async fn run(surroundings: &Surroundings, care: Care, printer: &Printer) -> Result<()> {
    let mut checks = vec![Check::good("troop", env!("CARGO_PKG_VERSION"))];
    checks.push(home(surroundings));
    checks.push(configuration(surroundings));
    checks.push(teams(surroundings));
    checks.push(hooks(surroundings));
    let (stored, done) = store(surroundings).await;
    checks.extend(stored);
    checks.extend(leftovers::check(surroundings, care, &done).await);
    checks.push(agents(surroundings));
    checks.push(model(surroundings));
    checks.push(git(surroundings));
    checks.extend(clients(surroundings));
    show(&checks, printer)?;
    let n_bad = checks.iter().filter(|check| check.state == CheckState::Bad).count();
    match n_bad {
        0 => Ok(()),
        1 => Err(anyhow::anyhow!("1 thing needs attention")),
        n => Err(anyhow::anyhow!("{n} things need attention")),
    }
}

fn home(surroundings: &Surroundings) -> Check {
    let home = &surroundings.home;
    let probe = home.join(".doctor");
    let result = std::fs::create_dir_all(home)
        .and_then(|()| std::fs::write(&probe, b""))
        .and_then(|()| std::fs::remove_file(&probe));
    match result {
        Ok(()) => Check::good("home", home.display().to_string()),
        Err(error) => Check {
            name: "home".to_owned(),
            state: CheckState::Bad,
            says: format!("`{}` cannot be written: {error}", home.display()),
            fix: Some("make it writable, or use another: `TROOP_HOME=/path troop …`".into()),
        },
    }
}

fn configuration(surroundings: &Surroundings) -> Check {
    let mut files = vec![surroundings.home.join("config.json")];
    files.extend(surroundings.shared.hooks.iter().map(|(path, _)| path.clone()));
    let found: Vec<_> =
        files.iter().filter(|file| file.exists()).map(|file| file.display().to_string()).collect();
    match surroundings.warnings.as_slice() {
        [] if found.is_empty() => Check::good("config", "none (optional)"),
        [] => Check::good("config", found.join(", ")),
        warnings => Check {
            name: "config".to_owned(),
            state: CheckState::Bad,
            says: warnings.join("; "),
            fix: Some("correct the file".into()),
        },
    }
}

/// What the built-in agent would think with.
fn model(surroundings: &Surroundings) -> Check {
    let Surroundings { home, project, environment, .. } = surroundings;
    match (ThinkingPlace { home, project, environment }).options(None, None) {
        Ok(options) => {
            let Endpoint { api, base_url, model, .. } = &options.endpoint;
            let price = if options.price.is_some() { "known" } else { "unknown" };
            Check::good("model", format!("{model} by {api} at {base_url}, price {price}"))
        }
        Err(unfit) => Check {
            name: "model".to_owned(),
            state: CheckState::Missing,
            says: unfit.why,
            fix: Some(unfit.hint),
        },
    }
}

fn teams(surroundings: &Surroundings) -> Check {
    let teams = &surroundings.teams;
    let Some(off) = &teams.off else {
        let mode = teams.teammate_mode.map(TeammateMode::as_str);
        let mode =
            mode.map(|mode| format!("; `teammateMode` is `{mode}`, which has no effect yet"));
        let says =
            format!("on; at most {} teammates{}", teams.max_teammates, mode.unwrap_or_default());
        return Check::good("teams", says);
    };
    Check {
        name: "teams".to_owned(),
        state: CheckState::Missing,
        says: format!("switched off by {}", off.by),
        fix: Some(Hint::from(&off.fix)),
    }
}

fn hooks(surroundings: &Surroundings) -> Check {
    let trust = match ProjectTrust::look(surroundings) {
        Ok(trust) => trust,
        Err(error) => return Check::bad("hooks", &error.into()),
    };
    if let Some(warning) = trust.warning() {
        let name = "hooks".to_owned();
        return Check { name, state: CheckState::Missing, says: warning.to_string(), fix: None };
    }
    let allowed = trust::allowed_hooks(surroundings, &trust);
    if allowed.hooks.is_empty() && !surroundings.warnings.is_empty() {
        let name = "hooks".to_owned();
        let says = "cannot be read: see `config`".to_owned();
        return Check { name, state: CheckState::Missing, says, fix: None };
    }
    let says = match allowed.hooks.len() {
        _ if !allowed.is_enabled => "switched off".to_owned(),
        0 => "none (optional)".to_owned(),
        n_hooks => format!("{n_hooks} configured"),
    };
    Check::good("hooks", says)
}

/// The store and its teams, with what is done in those.
async fn store(surroundings: &Surroundings) -> (Vec<Check>, BTreeMap<TeamId, DoneTasks>) {
    let mut done = BTreeMap::new();
    let url = match parse_store(&surroundings.store_url()) {
        Ok(url) => url,
        Err(error) => return (vec![Check::bad("store", &error.into())], done),
    };
    let is_default = surroundings.is_default_store();
    let missing = if is_default { Missing::Make } else { Missing::Refuse };
    let store = match troop_store::open(&url, missing).await {
        Ok(store) => store,
        Err(error) => return (vec![Check::bad("store", &error.into())], done),
    };
    let mut checks = vec![Check::good("store", url.to_string())];
    let session = StoreSession::new(Arc::clone(&store), Clock::system(), Following::WhenAsked);
    let teams = match session.teams().await {
        Ok(teams) => teams,
        Err(error) => {
            checks.push(Check::bad("teams", &error.into()));
            return (checks, done);
        }
    };
    for team in teams.iter().filter(|team| !team.is_retired) {
        let name = format!("team {}", team.name);
        match Board::open(Arc::clone(&store), Clock::system(), Following::WhenAsked, team.id).await
        {
            Ok(board) => {
                checks.push(team_check(&name, &board).await);
                done.insert(team.id, board.look(done_in).await.unwrap_or_default());
            }
            Err(error) => checks.push(Check::bad(&name, &error.into())),
        }
    }
    (checks, done)
}

/// Who did the tasks that are done and merged.
fn done_in(state: &troop_model::State) -> DoneTasks {
    let tasks = state.tasks().iter();
    let done = tasks.filter(|it| it.status == Status::Completed && it.proof.merged.is_some());
    done.filter_map(|it| Some((it.number, it.owner.clone()?))).collect()
}

async fn team_check(name: &str, board: &Board) -> Check {
    let seen = board.look(|state| (state.version(), state.tasks().len(), state.latest())).await;
    let (version, n_tasks, latest) = match seen {
        Ok(seen) => seen,
        Err(error) => return Check::bad(name, &error.into()),
    };
    let ahead = latest.since(Clock::system().now());
    if ahead.as_secs() > TOLERATED_SKEW_SECONDS {
        return Check {
            name: name.to_owned(),
            state: CheckState::Bad,
            says: format!("its log is {} ahead of this machine's clock", render::span(ahead)),
            fix: Some("set the clocks of all machines that share the store, for example with `timedatectl set-ntp true`".into()),
        };
    }
    Check::good(name, format!("{version} events, {n_tasks} tasks"))
}

fn agents(surroundings: &Surroundings) -> Check {
    let wrong = agents::misspelt(surroundings);
    if wrong.is_empty() {
        return Check::good("agents", Agents::read(surroundings).list());
    }
    Check {
        name: "agents".to_owned(),
        state: CheckState::Bad,
        says: wrong.join("; "),
        fix: Some("correct the file".into()),
    }
}

/// Git, which keeps teammates apart.
fn git(surroundings: &Surroundings) -> Check {
    match surroundings.environment.find_program("git") {
        Some(path) => Check::good("git", path.display().to_string()),
        None => Check {
            name: "git".to_owned(),
            state: CheckState::Missing,
            says: "not installed".to_owned(),
            fix: Some("to give each teammate its own worktree: `apt-get install git`".into()),
        },
    }
}

/// The installed agents that can join a team over MCP. troop needs none of them.
fn clients(surroundings: &Surroundings) -> impl Iterator<Item = Check> {
    let known = [
        ("claude", "claude-code"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("opencode", "opencode"),
    ];
    known.into_iter().filter_map(|(program, client)| {
        let says = surroundings.environment.find_program(program)?.display().to_string();
        let install = HintCommand::troop("mcp install").word(client);
        let fix = Hint::to("to let it join a team", install);
        Some(Check { fix: Some(fix), ..Check::good(program, says) })
    })
}

fn show(checks: &[Check], printer: &Printer) -> Result<()> {
    let typed = CallerOptions::typed();
    if printer.json {
        let word = |state| match state {
            CheckState::Good => "good",
            CheckState::Missing => "missing",
            CheckState::Bad => "bad",
        };
        let checks: Vec<_> = checks
            .iter()
            .map(|it| {
                let fix = it.fix.as_ref().map(|fix| typed.written(fix));
                json!({"name": it.name, "state": word(it.state), "says": it.says, "fix": fix})
            })
            .collect();
        return printer.json(&json!({ "checks": checks }));
    }
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    for check in checks {
        let mark = match check.state {
            CheckState::Good => render::paint(render::GOOD, "✓"),
            CheckState::Missing => render::paint(render::DIM, "–"),
            CheckState::Bad => render::paint(render::BAD, "✗"),
        };
        printer.line(&format!(
            "{mark} {}  {}",
            render::pad(&check.name, width),
            render::clean(&check.says)
        ))?;
        if let Some(fix) = &check.fix {
            printer.line(&render::paint(
                render::DIM,
                &format!("  {}  {}", " ".repeat(width), render::clean(&typed.written(fix))),
            ))?;
        }
    }
    Ok(())
}
