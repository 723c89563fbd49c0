//! `troop profile` of a large repository, beside listing and counting its files and reading 200 of them.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use tokio::time::Instant;

use super::WorkSetup;
use crate::{
    cli::BenchWorkPart,
    outcome::{Comparison, Subject, Target, Unit, median},
};

/// How many files a folder has.
const IN_A_FOLDER: u32 = 100;
/// How many files are read.
const N_READ: u32 = 200;
/// How often each is done at least, and at most.
const N_RUNS: std::ops::Range<usize> = 5..500;

pub(crate) fn measure(setup: &WorkSetup) -> Result<Vec<Comparison>> {
    let repository = setup.bench.join("repository");
    let read = make(&repository, setup.n_files)?;
    let start = Instant::now();
    let mut ours = Vec::new();
    let mut baseline = Vec::new();
    for nth in 0..N_RUNS.end {
        ours.push(micros(|| profile(setup, &repository))?);
        baseline.push(micros(|| list_and_read(&repository, &read))?);
        let is_enough = nth + 1 >= N_RUNS.start || setup.span.is_zero();
        if is_enough && start.elapsed() >= setup.span {
            break;
        }
    }
    let subject = Subject {
        part: BenchWorkPart::Profile.name(),
        what: "troop profile of a large repository",
        against: "git ls-files | wc -l, and reading 200 files",
        unit: Unit::Micros,
    };
    Ok(vec![Comparison::new(subject, median(ours), median(baseline), Target::AtMost(2.0))])
}

/// Makes a repository of files of a usual length; returns those that are read.
fn make(repository: &Path, n_files: u32) -> Result<Vec<PathBuf>> {
    let text = "// TODO: say what this is for\npub fn answer() -> u32 {\n    42\n}\n".repeat(40);
    let mut read = Vec::new();
    for nth in 0..n_files {
        let folder = repository.join(format!("src/part{:05}", nth / IN_A_FOLDER));
        if nth % IN_A_FOLDER == 0 {
            fs::create_dir_all(&folder)?;
        }
        let path = folder.join(format!("file{nth:06}.rs"));
        fs::write(&path, &text)?;
        read.extend((nth < N_READ).then_some(path));
    }
    fs::write(repository.join("Cargo.toml"), "[package]\n")?;
    for line in ["git init --quiet", "git add --all"] {
        shell(repository, line)?;
    }
    Ok(read)
}

fn profile(setup: &WorkSetup, repository: &Path) -> Result<()> {
    let mut command = setup.bench.troop_command();
    command.args(["profile", "--json"]).arg(repository);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "`troop profile` ended badly");
    Ok(())
}

fn list_and_read(repository: &Path, read: &[PathBuf]) -> Result<()> {
    shell(repository, "git ls-files | wc -l")?;
    for path in read {
        black_box(fs::read(path)?);
    }
    Ok(())
}

fn shell(folder: &Path, line: &str) -> Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("`{line}` cannot be started"))?;
    ensure!(status.success(), "`{line}` ended badly");
    Ok(())
}

fn micros(run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}
