//! Merges of which the board may not have heard, because a lead died right after it moved the team's branch.
//!
//! The merge commit names the team, the task and the attempt, so that the next lead knows that the work is done. What the board has to
//! hear of it is kept in a note from before the branch moves until the board has it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use troop_model::{Evidence, TaskNumber};

use super::{
    Worktrees,
    facts::commit_of,
    names,
    record::BranchRecord,
    rules::{AttemptName, merged_attempt, trailer_begin},
    site::WorktreeSite,
};
use crate::{
    CommandRequest, disk,
    git::{Git, GitError, GitResult},
};

/// A merge that the board has to record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnheardMerge {
    pub task: TaskNumber,
    pub attempt: u32,
    /// The team's branch.
    pub into: String,
    /// The merge commit.
    pub commit: String,
    /// The results of the checks.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// The command that waited for the merge; none if nobody kept it.
    #[serde(default)]
    pub report: Option<CommandRequest>,
}

/// The folder of the notes.
fn notes(site: &WorktreeSite) -> PathBuf {
    site.folder_of_team().join("merges")
}

fn path(folder: &Path, task: TaskNumber) -> PathBuf {
    folder.join(format!("{task}.json"))
}

impl UnheardMerge {
    /// Keeps it. The branch must not move before.
    pub(super) fn keep(&self, site: &WorktreeSite) -> GitResult<()> {
        let folder = notes(site);
        fs::create_dir_all(&folder).map_err(GitError::file(&folder))?;
        let path = path(&folder, self.task);
        let written = disk::pretty(self).and_then(|text| disk::put(&path, &text));
        written.map(drop).map_err(GitError::file(&path))
    }

    fn read(folder: &Path, task: TaskNumber) -> GitResult<Option<Self>> {
        let path = path(folder, task);
        match fs::read(&path) {
            // The merge commit still tells that the work is done.
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::file(&path)(error)),
        }
    }
}

impl Worktrees {
    /// The merges of these attempts that are in the team's branch.
    pub async fn merges_of(&self, attempts: &[AttemptName]) -> Result<Vec<UnheardMerge>, GitError> {
        let Some(_) = attempts.first() else { return Ok(Vec::new()) };
        let site = &self.inner.site;
        let folder = notes(site);
        let said = said_merges(&site.git, &self.inner.record, site.team_id()).await?;
        let mut found = Vec::new();
        for attempt in attempts {
            let is_its = |it: &&SaidMerge| it.attempt == *attempt;
            let Some(SaidMerge { commit, .. }) = said.iter().find(is_its) else { continue };
            let note = UnheardMerge::read(&folder, attempt.task)?;
            let note = note.filter(|it| it.attempt == attempt.attempt && it.commit == *commit);
            found.push(note.unwrap_or_else(|| UnheardMerge {
                task: attempt.task,
                attempt: attempt.attempt,
                into: self.branch().to_owned(),
                commit: commit.clone(),
                evidence: Vec::new(),
                report: None,
            }));
        }
        Ok(found)
    }

    /// The board has heard what became of a task.
    pub async fn forget_merge(&self, task: TaskNumber) {
        let note = path(&notes(&self.inner.site), task);
        // A note that stays is of an attempt that is over.
        drop(spawn_blocking(move || fs::remove_file(note)).await);
    }
}

/// A merge, as its commit names it.
struct SaidMerge {
    attempt: AttemptName,
    commit: String,
}

/// The merges that troop made on the team's branch, the newest first. Only troop's own commits count: those of members are never
/// first parents there.
async fn said_merges(git: &Git, record: &BranchRecord, team: &str) -> GitResult<Vec<SaidMerge>> {
    let branch = names::full(&record.branch);
    let began = match &record.began {
        // It may be gone with another clone of the project.
        Some(began) => commit_of(git, &format!("{began}^{{commit}}")).await?,
        None => None,
    };
    let range = began.map_or_else(|| branch.clone(), |began| format!("{began}..{branch}"));
    let grep = format!("--grep={}", trailer_begin(team));
    let format = "--format=%H %(trailers:key=Troop-Task,valueonly,separator=%x2C)";
    let log = ["log", "--first-parent", "--merges", "--fixed-strings", &grep, format, &range, "--"];
    let said = git.run(&log).await?;
    let merges = said.lines().filter_map(|line| {
        let (commit, named) = line.split_once(' ')?;
        Some(SaidMerge { attempt: merged_attempt(named, team)?, commit: commit.to_owned() })
    });
    Ok(merges.collect())
}
