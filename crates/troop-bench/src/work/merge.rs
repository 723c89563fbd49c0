//! Merging finished branches, beside plain `git merge` of the same branches.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use tokio::time::Instant;
use troop_model::{MemberName, TaskNumber};
use troop_runtime::{
    Agreement, Aim, CheckDemand, Checks, Clock, IsolationOptions, MergeOutcome, Worktrees,
};
use uuid::Uuid;

use super::WorkSetup;
use crate::outcome::{Comparison, Subject, Target, Unit, median};

/// How many branches are merged.
const N_BRANCHES: u32 = 100;
/// How many when each thing is done once.
const N_FEW: u32 = 3;

pub(crate) async fn measure(setup: &WorkSetup) -> Result<Vec<Comparison>> {
    let n_branches = if setup.span.is_zero() { N_FEW } else { N_BRANCHES };
    let (isolation, works) = ours(&setup.bench.join("ours"), n_branches).await?;
    let project = plain(&setup.bench.join("plain"), n_branches).await?;
    let checks = nothing_to_check();
    let mut ours = Vec::new();
    let mut plain = Vec::new();
    // They alternate, so that a slow moment of the machine hits both.
    for (work, nth) in works.iter().zip(1..) {
        let since = Instant::now();
        let finished = isolation.finish(work, Aim::Merge, &checks).await?;
        ours.push(since.elapsed().as_secs_f64() * 1e6);
        if !matches!(finished.outcome, MergeOutcome::Merged(_)) {
            bail!("a branch could not be merged");
        }
        let since = Instant::now();
        git(&project, &["merge", "--quiet", "--no-edit", &format!("b{nth}")]).await?;
        plain.push(since.elapsed().as_secs_f64() * 1e6);
    }
    let compared = |what, ours, plain| {
        let against = "`git merge` of the same";
        let subject = Subject { part: "merge", what, against, unit: Unit::Micros };
        Comparison::new(subject, ours, plain, Target::AtMost(1.5))
    };
    let all_of_ours = ours.iter().sum();
    let all_of_plain = plain.iter().sum();
    Ok(vec![
        compared("finished branches of one file, all of them", all_of_ours, all_of_plain),
        // A slow moment of the disk hits only one of them.
        compared("one of them, the middle", median(ours), median(plain)),
    ])
}

/// Members with finished work: clean folders, and branches to merge into the team's.
async fn ours(
    folder: &Path,
    n_branches: u32,
) -> Result<(Worktrees, Vec<troop_runtime::TaskAttempt>)> {
    let project = repository(&folder.join("project")).await?;
    let options = IsolationOptions {
        project,
        folder: folder.join("team"),
        aside: folder.join("aside"),
        team: "bench".parse().context("a name")?,
        environment: std::env::vars_os().collect(),
    };
    let opened = Worktrees::open(options).await?;
    let isolation = opened.isolation.context("there is no git to measure")?;
    let mut works = Vec::new();
    for nth in 1..=n_branches {
        let member: MemberName = format!("m{nth}").parse().context("a name")?;
        let place = isolation.place(&member).await?;
        let task = TaskNumber(nth);
        let subject = format!("write {nth}");
        let work = troop_runtime::TaskAttempt { member, task, attempt: 1, subject, report: None };
        isolation.begin(&work).await?;
        fs::write(place.join(format!("{nth}.txt")), format!("{nth}\n"))?;
        git(&place, &["add", "--all"]).await?;
        git(&place, &["commit", "--quiet", "-m", "work"]).await?;
        works.push(work);
    }
    Ok((isolation, works))
}

/// These branches in one folder, where a person merges them.
async fn plain(folder: &Path, n_branches: u32) -> Result<PathBuf> {
    let project = repository(&folder.join("project")).await?;
    for nth in 1..=n_branches {
        git(&project, &["checkout", "--quiet", "-b", &format!("b{nth}"), "main"]).await?;
        fs::write(project.join(format!("{nth}.txt")), format!("{nth}\n"))?;
        git(&project, &["add", "--all"]).await?;
        git(&project, &["commit", "--quiet", "-m", "work"]).await?;
    }
    git(&project, &["checkout", "--quiet", "main"]).await?;
    Ok(project)
}

fn nothing_to_check() -> Checks {
    Checks {
        commands: Vec::new(),
        timeout: Duration::from_secs(1),
        environment: Vec::new(),
        clock: Clock::system(),
        session: Uuid::now_v7(),
        show: None,
        wanted: CheckDemand::default(),
        agreement: Agreement::default(),
    }
}

/// A repository with a hundred files.
async fn repository(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    git(folder, &["init", "--quiet", "--initial-branch=main"]).await?;
    for nth in 0..100 {
        fs::write(folder.join(format!("file-{nth}")), format!("{nth}\n"))?;
    }
    git(folder, &["add", "--all"]).await?;
    git(folder, &["commit", "--quiet", "-m", "begin"]).await?;
    Ok(folder.to_owned())
}

async fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let identity = ["-c", "user.name=troop", "-c", "user.email=troop@localhost"];
    let mut git = troop_process::command("git");
    let output = git.args(identity).args(arguments).current_dir(folder).output().await?;
    if !output.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
