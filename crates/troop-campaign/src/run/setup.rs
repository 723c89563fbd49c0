//! What a trial needs before its teams begin: the project, the git on the path of leads, teams and tasks.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::Result;
use serde_json::json;

use super::{
    boundary::Strike,
    plan::{ErrandWork, FullEnd, LockPlace, RunMind, RunPlan, RunTeam, Spring, Trap},
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
    let trap = plan.trap;
    let (deed, words, lock, after) = match trap.map(|it| it.spring) {
        Some(Spring::Kill(Strike::BeforeGit(words))) => ("before", words, "", 0.0),
        Some(Spring::Kill(Strike::AfterGit(words))) => ("after", words, "", 0.0),
        Some(Spring::Lock { words, lock, with_lead }) => {
            let deed = if with_lead { "lock-with-lead" } else { "lock" };
            (deed, words, name(lock), 0.0)
        }
        Some(Spring::Cut { words, after, with_lead }) => {
            let deed = if with_lead { "cut-with-lead" } else { "cut" };
            (deed, words, "", after.as_secs_f64())
        }
        Some(Spring::Gather { words }) => ("gather", words, "", 0.0),
        Some(Spring::Full { words, end: FullEnd::Freed(_) | FullEnd::Stopped }) => {
            ("full", words, "", 0.0)
        }
        Some(Spring::Kill(Strike::InHook | Strike::InCheck | Strike::AtCompletion)) | None => {
            ("", "", "", 0.0)
        }
    };
    let real = real_git();
    let nth = trap.map_or(1, |it| it.nth);
    let set = format!(
        "real='{real}' trial='{}' nth={nth} n_teams={}\nwords='{words}' deed='{deed}' lock='{lock}' after={after}\n",
        folder.display(),
        plan.teams.len()
    );
    // Its first line names the shell.
    let (shell, rest) = GIT.split_once('\n').unwrap_or_default();
    format!("{shell}\n{set}{rest}")
}

fn name(lock: LockPlace) -> &'static str {
    match lock {
        LockPlace::Index => "index",
        LockPlace::Head => "head",
        LockPlace::Branch => "branch",
        LockPlace::PackedRefs => "packed-refs",
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
