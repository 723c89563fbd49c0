//! Remains that troop may not leave behind: locks, folders, references, temporary files. And the answer of `doctor`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;
use serde_json::Value;

use super::repository::ask;
use crate::{
    program::Program,
    tally::ViolationSeverity::{Low, Medium},
};

pub(super) async fn judge(program: &Program) -> Result<()> {
    let record = &program.record;
    let repository = program.place.join(".git");
    let mut locks = found(&repository, &|name| name.ends_with(".lock"));
    // Housekeeping that a member's own git began: nothing but housekeeping waits for it.
    locks.retain(|it| !it.starts_with(repository.join("objects")));
    if !locks.is_empty() {
        record.find(Medium, format!("git locks were left behind: {locks:?}"));
    }
    let of_git = names(&repository.join("worktrees"));
    let teams = fs::read_dir(program.home().join("teams")).into_iter().flatten().flatten();
    let of_troop: Vec<_> = teams.flat_map(|it| names(&it.path().join("worktrees"))).collect();
    if of_git.len() != of_troop.len() {
        let what = format!("git and troop disagree about worktrees: {of_git:?}, {of_troop:?}");
        record.find(Medium, what);
    }
    let references = ask(program, &["for-each-ref", "--format=%(refname)"]).await?;
    let others: Vec<_> = references.lines().filter(|it| !it.starts_with("refs/heads/")).collect();
    if !others.is_empty() {
        record.find(Medium, format!("other references were left behind: {others:?}"));
    }
    let is_temporary =
        |name: &str| name.ends_with(".tmp") || name.ends_with(".new") || name.starts_with(".tmp");
    let temporary = found(&program.home(), &is_temporary);
    if !temporary.is_empty() {
        record.find(Low, format!("temporary files were left behind: {temporary:?}"));
    }
    let doctor = program.call(&["doctor"]).await?;
    let said: Value = serde_json::from_str(&doctor.out).unwrap_or_default();
    if said.get("checks").and_then(Value::as_array).is_none() {
        record.find(Medium, format!("doctor printed no JSON: {doctor:?}"));
    }
    Ok(())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect()
}

/// The files below a folder whose names match.
fn found(folder: &Path, matches: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|it| it.is_dir()) {
            all.extend(found(&path, matches));
        } else if matches(&entry.file_name().to_string_lossy()) {
            all.push(path);
        }
    }
    all
}
