//! Trials of whole runs in a repository, driven by the program `troop` alone and judged from outside: by git, the disk, what
//! `troop` prints, and what the workers themselves noted.
//!
//! `run/plan.rs` is everything random, `run/setup.rs` prepares, `run/course.rs` lets the teams run while things go wrong,
//! `run/judge.rs` judges.

mod boundary;
mod course;
mod harming;
mod judge;
mod person;
mod plan;
mod remains;
mod repository;
mod setup;
mod trap;

use std::{fs, path::PathBuf};

use anyhow::Result;

pub use boundary::KillBoundary;
pub use plan::RunPlan;

use self::{
    course::TeamLead,
    person::PersonRecord,
    repository::{PersonView, view},
};
use crate::{
    Options, check,
    disk::Disk,
    program::{Program, TrialRecord},
    tally::{TrialOutcome, Violation, ViolationSeverity::High},
    trial::store_url,
};

/// Runs a trial and checks the promises.
pub(crate) async fn hold(options: Options, plan: RunPlan, nth: u64) -> Result<TrialOutcome> {
    let folder = options.folder.join(format!("trial-{nth}"));
    for part in ["store", "home", "user", "project"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let disk = match plan.has_small_disk() {
        true => Some(Disk::mount(&folder.join("project")).await?),
        false => None,
    };
    let program = program(&options, &plan, folder.clone()).await?;
    let record = program.record.clone();
    let mut trial = RunTrial { program, plan, disk, leads: Vec::new(), n_events: 0 };
    if let Err(error) = trial.hold().await {
        record.find(High, format!("{error:#}"));
    }
    trial.end().await;
    let RunTrial { plan, disk, n_events, .. } = trial;
    let violation = Violation::of(nth, plan.kind, record.findings(), folder.clone());
    if violation.is_some() {
        fs::write(folder.join("plan.txt"), format!("{plan:#?}\n{:#?}\n", record.faults()))?;
    }
    if let Some(disk) = disk {
        disk.unmount().await;
    }
    if violation.is_none() {
        fs::remove_dir_all(&folder)?;
    }
    let n_tasks = plan.teams.iter().map(|it| it.errands.len() as u64).sum();
    let faults = record.faults();
    let RunPlan { kind, backend, .. } = plan;
    Ok(TrialOutcome { kind, backend, faults, n_tasks, n_events, violation })
}

async fn program(options: &Options, plan: &RunPlan, folder: PathBuf) -> Result<Program> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [folder.join("bin")].into_iter().chain(std::env::split_paths(&path));
    Ok(Program {
        troop: options.troop.clone(),
        place: folder.join("project"),
        store: store_url(plan.backend, &folder).await,
        path: std::env::join_paths(own)?,
        record: TrialRecord::default(),
        folder,
    })
}

/// A running trial.
struct RunTrial {
    plan: RunPlan,
    program: Program,
    /// The disk of the project.
    disk: Option<Disk>,
    leads: Vec<TeamLead>,
    n_events: u64,
}

impl RunTrial {
    async fn hold(&mut self) -> Result<()> {
        setup::write_scripts(&self.program, &self.plan)?;
        repository::make(&self.program, &self.plan).await?;
        for team in &self.plan.teams {
            setup::make_team(&self.program, &self.plan, team).await?;
        }
        let before = view(&self.program).await?;
        let person = self.play(&before).await?;
        self.judge(&before, &person).await
    }

    /// Kills what still runs.
    async fn end(&mut self) {
        for lead in &mut self.leads {
            lead.process.kill().await;
        }
        for team in &self.plan.teams {
            // Without a log there were no processes.
            let Ok(events) = self.program.events(team.name).await else { continue };
            for outlived in check::orphans(&events).await {
                self.program.record.find(High, outlived);
            }
        }
    }
}
