//! The project: a repository with a person's uncommitted work in it, seen from outside by git.

use std::{fs, path::Path};

use anyhow::{Result, ensure};

use super::plan::RunPlan;
use crate::program::{CallEnd, Program};

const LEAD: &str = "when started\n  wait until all tasks are done\n";
const WORKER: &str = "when task *\n  run {description}\n  complete {output}\n";

/// The uncommitted changes of the person.
const CHANGED: (&str, &str) = ("notes", "one\ntwo\nnot committed\n");
const STAGED: (&str, &str) = ("staged", "staged\n");
const UNTRACKED: (&str, &str) = ("untracked", "untracked\n");

/// The person's view of their own work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PersonView {
    branch: String,
    changed: String,
    staged: String,
    stash: String,
    status: String,
}

/// Runs git in the project, as the person does: with the real one.
pub(super) async fn git(program: &Program, words: &[&str]) -> Result<CallEnd> {
    let mut command = program.command(real_git());
    // A look at the project writes nothing.
    command.env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.args(words).output().await?;
    Ok(CallEnd {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Git, with the output of a command that must succeed.
pub(super) async fn ask(program: &Program, words: &[&str]) -> Result<String> {
    let end = git(program, words).await?;
    ensure!(end.is_good(), "git {words:?}: {end:?}");
    Ok(end.out)
}

/// The git of the machine, which the one on the path of leads runs.
pub(super) fn real_git() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|it| it.join("git")).find(|it| it.is_file());
    found.map_or_else(|| "git".to_owned(), |it| it.to_string_lossy().into_owned())
}

/// Makes the project, with work in it that the person has not committed.
pub(super) async fn make(program: &Program, plan: &RunPlan) -> Result<()> {
    let project = &program.place;
    ask(program, &["init", "--quiet", "--initial-branch", "main", "."]).await?;
    for (key, value) in [("user.name", "zoe"), ("user.email", "zoe@localhost")] {
        ask(program, &["config", key, value]).await?;
    }
    for (name, text) in [("lead.script", LEAD), ("worker.script", WORKER), ("notes", "one\ntwo\n")]
    {
        fs::write(project.join(name), text)?;
    }
    for team in &plan.teams {
        fs::write(project.join(format!("shared-{}", team.name)), "top\n")?;
    }
    ask(program, &["add", "--all"]).await?;
    ask(program, &["commit", "--quiet", "--message", "begin"]).await?;
    for (name, text) in [CHANGED, STAGED, UNTRACKED] {
        fs::write(project.join(name), text)?;
    }
    ask(program, &["add", STAGED.0]).await?;
    // The file that fills the disk does not belong to the project.
    fs::write(project.join(".git/info/exclude"), "/ballast\n")?;
    Ok(())
}

/// The person's uncommitted work.
pub(super) async fn view(program: &Program) -> Result<PersonView> {
    Ok(PersonView {
        branch: ask(program, &["rev-parse", "--abbrev-ref", "HEAD"]).await?,
        changed: ask(program, &["diff"]).await?,
        staged: ask(program, &["diff", "--cached"]).await?,
        stash: ask(program, &["stash", "list"]).await?,
        status: ask(program, &["status", "--porcelain"]).await?,
    })
}

/// The person's files that are not as they were left.
pub(super) fn damaged_files(project: &Path) -> Vec<&'static str> {
    let is_whole =
        |name: &str, text: &str| fs::read_to_string(project.join(name)).is_ok_and(|it| it == text);
    let all = [CHANGED, STAGED, UNTRACKED].into_iter();
    all.filter(|(name, text)| !is_whole(name, text)).map(|(name, _)| name).collect()
}
