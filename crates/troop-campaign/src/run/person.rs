//! A person who works in the project while teams do.

use std::{fs, time::Duration};

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::{
    course::STEP,
    plan::PersonDeed,
    repository::{ask, git},
};
use crate::{
    program::Program,
    tally::ViolationSeverity::{Critical, Medium},
};

/// The person's own file.
const FILE: &str = "person";
/// How long a person tries again, while troop has a lock.
const PATIENCE: Duration = Duration::from_secs(20);

/// The deeds of a person.
#[derive(Clone, Debug, Default)]
pub(super) struct PersonRecord {
    /// The subjects of the commits, in their order.
    pub(super) commits: Vec<String>,
    /// Whether commits were rewritten; then others are no longer on the branch by their names.
    pub(super) has_rebased: bool,
}

/// Does one deed after the other.
pub(super) async fn act(
    program: Program,
    deeds: Vec<(Duration, PersonDeed)>,
) -> Result<PersonRecord> {
    let mut record = PersonRecord::default();
    for (pause, deed) in deeds {
        sleep(pause).await;
        match deed {
            PersonDeed::Commit => commit(&program, &mut record).await?,
            PersonDeed::Rebase => rebase(&program, &mut record).await?,
            PersonDeed::Stash(pause) => stash(&program, pause).await?,
        }
    }
    Ok(record)
}

async fn commit(program: &Program, record: &mut PersonRecord) -> Result<()> {
    let subject = format!("person {}", record.commits.len());
    fs::write(program.place.join(FILE), format!("{subject}\n"))?;
    let words = ["commit", "--quiet", "--message", &subject, "--", FILE];
    let is_done = again(program, &["add", FILE]).await? && again(program, &words).await?;
    if is_done {
        program.record.fault("person commits meanwhile");
        record.commits.push(subject);
    } else {
        let what = "the person cannot commit: troop has a lock for too long";
        program.record.find(Medium, what);
    }
    Ok(())
}

/// Repeats a command while another git has the lock.
async fn again(program: &Program, words: &[&str]) -> Result<bool> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let end = git(program, words).await?;
        if end.is_good() {
            return Ok(true);
        }
        if Instant::now() > deadline {
            return Ok(false);
        }
        sleep(STEP).await;
    }
}

/// Only own commits are rewritten, as a person does.
async fn rebase(program: &Program, record: &mut PersonRecord) -> Result<()> {
    let last = ask(program, &["log", "-1", "--format=%s"]).await?;
    if record.commits.last().is_none_or(|it| *it != last.trim()) {
        return Ok(());
    }
    record.has_rebased = true;
    let words = ["rebase", "--quiet", "--autostash", "--force-rebase", "HEAD~1"];
    if git(program, &words).await?.is_good() {
        program.record.fault("person rebases meanwhile");
    } else if program.place.join(".git/rebase-merge").exists() {
        again(program, &["rebase", "--abort"]).await?;
    }
    Ok(())
}

async fn stash(program: &Program, pause: Duration) -> Result<()> {
    let push = ["stash", "push", "--quiet", "--include-untracked", "--message", "by a person"];
    if !git(program, &push).await?.is_good() {
        return Ok(());
    }
    sleep(pause).await;
    if again(program, &["stash", "pop", "--quiet", "--index"]).await? {
        program.record.fault("person stashes meanwhile");
    } else {
        let end = git(program, &["stash", "pop", "--index"]).await?;
        let what = format!("what the person put into the stash does not come out again: {end:?}");
        program.record.find(Critical, what);
    }
    Ok(())
}
