//! Sets a trial up before its teams begin: the project, the git on the path of leads, teams and tasks.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Result;
use serde_json::json;

use super::{
    boundary::Strike,
    plan::{ErrandWork, LockPlace, RunMind, RunPlan, RunTeam, Spring, Trap},
    repository::real_git,
};
use crate::program::Program;

const GIT: &str = include_str!("git.sh");
const ERRAND: &str = include_str!("errand.sh");
const STRIKE: &str = include_str!("strike.sh");

/// Writes the scripts of a trial, and the hooks of its person.
pub(super) fn write_scripts(program: &Program, plan: &RunPlan) -> Result<()> {
    let folder = &program.folder;
    fs::create_dir_all(folder.join("bin"))?;
    fs::write(folder.join("errand.sh"), ERRAND)?;
    fs::write(folder.join("strike.sh"), STRIKE)?;
    let git = folder.join("bin/git");
    fs::write(&git, trapped_git(folder, plan))?;
    fs::set_permissions(git, fs::Permissions::from_mode(0o755))?;
    let has_hooks = plan.teams.iter().any(|it| it.has_hooks);
    let strikes = plan.trap.filter(|it| it.spring == Spring::Kill(Strike::InHook));
    let completed = match strikes {
        Some(trap) => strike(folder, trap),
        None => "sleep 0.05".to_owned(),
    };
    let hooks = json!([
        { "event": "task-completed", "command": completed },
        { "event": "team-shutdown", "command": "sleep 0.05" },
    ]);
    let hooks = if has_hooks { hooks } else { json!([]) };
    let config = json!({ "hooks": { "hooks": hooks } });
    Ok(fs::write(program.home().join("config.json"), config.to_string())?)
}

fn strike(folder: &Path, trap: Trap) -> String {
    format!("sh '{}' '{}' {}", folder.join("strike.sh").display(), folder.display(), trap.nth)
}

/// The git on the path of leads, with the trap of the trial.
fn trapped_git(folder: &Path, plan: &RunPlan) -> String {
    let deed = plan.trap.map(|it| GitDeed::of(it.spring)).unwrap_or_default();
    let GitDeed { name, words, lock, after } = deed;
    let real = real_git();
    let trial = folder.display();
    let nth = plan.trap.map_or(1, |it| it.nth);
    let n_teams = plan.teams.len();
    let set = format!(
        "real='{real}' trial='{trial}' n_teams={n_teams}\n\
         words='{words}' nth={nth} deed='{name}' lock='{lock}' after={after}\n"
    );
    // Its first line names the shell.
    let (shell, rest) = GIT.split_once('\n').unwrap_or_default();
    format!("{shell}\n{set}{rest}")
}

/// An action of a trial's git at one command, in the words of its script.
#[derive(Clone, Copy, Debug, Default)]
struct GitDeed {
    name: &'static str,
    /// The words of the command.
    words: &'static str,
    lock: &'static str,
    /// In seconds.
    after: f64,
}

impl GitDeed {
    fn of(spring: Spring) -> Self {
        let at = |words, name| Self { name, words, ..Self::default() };
        match spring {
            Spring::Kill(Strike::BeforeGit(words)) => at(words, "before"),
            Spring::Kill(Strike::AfterGit(words)) => at(words, "after"),
            Spring::Kill(Strike::InHook | Strike::InCheck | Strike::AtCompletion) => {
                Self::default()
            }
            Spring::Lock { words, lock, with_lead } => {
                let name = if with_lead { "lock-with-lead" } else { "lock" };
                Self { lock: lock.name(), ..at(words, name) }
            }
            Spring::Cut { words, after, with_lead } => {
                let name = if with_lead { "cut-with-lead" } else { "cut" };
                Self { after: after.as_secs_f64(), ..at(words, name) }
            }
            Spring::Gather { words } => at(words, "gather"),
            Spring::Full { words, .. } => at(words, "full"),
        }
    }
}

impl LockPlace {
    fn name(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Head => "head",
            Self::Branch => "branch",
            Self::PackedRefs => "packed-refs",
        }
    }
}

/// Makes a team with its tasks.
pub(super) async fn make_team(program: &Program, plan: &RunPlan, team: &RunTeam) -> Result<()> {
    let mut words: Vec<String> = ["team", "create", team.name].map(Into::into).to_vec();
    words.extend(["--lead", "lead=script:lead.script"].map(Into::into));
    for (nth, mind) in team.minds.iter().enumerate() {
        let agent = match mind {
            RunMind::Command => "command",
            RunMind::Script => "script:worker.script",
        };
        words.extend(["--member".to_owned(), format!("{}={agent}", RunPlan::member(nth))]);
    }
    let mut set = |setting: String| words.extend(["--set".to_owned(), setting]);
    set("max_attempts=40".to_owned());
    set("retry_backoff_seconds=0".to_owned());
    set("isolation_watch_seconds=1".to_owned());
    set(format!("lease_seconds={}", team.lease_seconds));
    if team.has_check {
        let check = match plan.trap.filter(|it| it.spring == Spring::Kill(Strike::InCheck)) {
            Some(trap) => strike(&program.folder, trap),
            None => "test -d out".to_owned(),
        };
        set(format!("checks={}", json!([check])));
    }
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    program.must(&words).await?;
    for nth in 0..team.errands.len() {
        make_task(program, team, nth).await?;
    }
    Ok(())
}

async fn make_task(program: &Program, team: &RunTeam, nth: usize) -> Result<()> {
    let Some(errand) = team.errands.get(nth) else { return Ok(()) };
    let work = match errand.work {
        ErrandWork::Plain => "plain",
        ErrandWork::Shared => "shared",
        ErrandWork::Same => "same",
        ErrandWork::FailsFirst => "fails-first",
        ErrandWork::Commits => "commits",
        ErrandWork::LeavesProcess => "leaves-process",
    };
    let folder = program.folder.display();
    let number = nth + 1;
    let takes = errand.takes.as_secs_f64();
    let run = format!("sh '{folder}/errand.sh' '{folder}' {} {number} {work} {takes}", team.name);
    let subject = format!("errand {number}");
    let mut words = vec!["--team", team.name, "task", "create", &subject, "-d", &run];
    let waits_for: Vec<_> = errand.waits_for.iter().map(|it| (it + 1).to_string()).collect();
    words.extend(waits_for.iter().flat_map(|it| ["--blocked-by", it.as_str()]));
    program.must(&words).await.map(drop)
}
