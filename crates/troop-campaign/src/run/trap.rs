//! Waiting for what happens once, at a git command or another named place, and what follows.

use std::{fs, time::Duration};

use anyhow::Result;
use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::{
    boundary::Strike,
    course::{STEP, TeamLead},
    plan::{FullEnd, Spring, Trap},
    repository::{PersonView, damaged_files, view},
};
use crate::{
    disk::Disk,
    program::Program,
    tally::ViolationSeverity::{Critical, High},
};

impl Trap {
    /// Its name in a report.
    pub(super) fn name(self) -> &'static str {
        match self.spring {
            Spring::Kill(_) => "lead killed",
            Spring::Lock { with_lead: true, .. } => "git killed with its lead, a lock is left",
            Spring::Lock { with_lead: false, .. } => "git killed alone, a lock is left",
            Spring::Cut { with_lead: true, .. } => "git killed with its lead in the middle",
            Spring::Cut { with_lead: false, .. } => "git killed alone in the middle",
            Spring::Gather { .. } => "landings held up",
            Spring::Full { end: FullEnd::Freed(_), .. } => {
                "disk of the repository full for a while"
            }
            Spring::Full { end: FullEnd::Stopped, .. } => {
                "disk of the repository full, team stopped"
            }
        }
    }
}

/// Waits until it has happened. False if the lead ended before.
pub(super) async fn wait(
    program: &Program,
    lead: &mut TeamLead,
    trap: Trap,
    deadline: Instant,
) -> Result<bool> {
    let sprung = program.folder.join("sprung");
    let mut follower = None;
    if trap.spring == Spring::Kill(Strike::AtCompletion) {
        let words = ["--team", lead.team, "--json", "events", "--follow"];
        follower = Some(program.start("follower", &words)?);
    }
    let said = program.folder.join("follower.out");
    while !sprung.exists() && Instant::now() < deadline && lead.process.end()?.is_none() {
        let log = follower.as_ref().map(|_| fs::read_to_string(&said).unwrap_or_default());
        let n_completed = log.map_or(0, |it| it.matches("\"task.completed\"").count() as u64);
        if n_completed >= trap.nth && lead.process.end()?.is_none() {
            lead.process.signal(Signal::KILL);
            fs::write(&sprung, "completed")?;
        }
        sleep(Duration::from_millis(1)).await;
    }
    if let Some(mut follower) = follower {
        follower.kill().await;
        return Ok(true);
    }
    Ok(sprung.exists())
}

/// The cause of a full disk, and its end.
pub(super) async fn follow(
    program: &Program,
    team: &str,
    trap: Trap,
    disk: Option<&Disk>,
    before: &PersonView,
) -> Result<()> {
    let (Spring::Full { end, .. }, Some(disk)) = (trap.spring, disk) else { return Ok(()) };
    let ballast = disk.fill()?;
    fs::write(program.folder.join("go-on"), "")?;
    match end {
        FullEnd::Freed(after) => sleep(after).await,
        FullEnd::Stopped => stop(program, team).await?,
    }
    // Nobody but troop works here, and it has written all of something or nothing.
    let damaged = damaged_files(&program.place);
    let now = view(program).await?;
    if !damaged.is_empty() || now != *before {
        let what = format!("on a full disk the project is not as it was: {damaged:?}, {now:?}");
        program.record.find(Critical, what);
    }
    fs::remove_file(ballast)?;
    sleep(STEP).await;
    Ok(())
}

/// A person stops the team. The command must come to its end, whatever git or the disk is in.
pub(super) async fn stop(program: &Program, team: &str) -> Result<()> {
    program.record.fault("team stopped by a person");
    let stopped = program.call(&["--team", team, "stop"]).await?;
    // It may have ended by itself just now.
    if !stopped.is_good() && stopped.kind() != "refused" {
        program.record.find(High, format!("a team does not stop: {stopped:?}"));
    }
    Ok(())
}
