//! The record about a team's branch, from one lead to the next.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use troop_model::TeamName;

use super::{
    elsewhere::StrayWork,
    facts::{commit_of, is_ancestor},
    names,
    repository::Repository,
    rules::{self, BranchOwner, StartCase},
};
use crate::{
    disk,
    git::{Git, GitError, GitResult},
};

/// How many names we try for a team's branch.
const MAX_NAMES: u32 = 100;

/// Where a team's work began and is collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BranchRecord {
    /// The top of the project's working folder.
    pub(super) top: PathBuf,
    /// The folder that all worktrees of the repository share.
    pub(super) shared: PathBuf,
    /// The team's branch.
    pub(super) branch: String,
    /// The project's branch when the team began; none if it was on no branch.
    pub(super) base: Option<String>,
    /// The commit at which the team's branch first began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) began: Option<String>,
    /// Whether the branch was still to be made. If a lead is killed then, the next one finds that the branch is the team's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_pending: bool,
    /// Branches of members that were merged nowhere when the team last ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) elsewhere: Vec<StrayWork>,
}

impl BranchRecord {
    fn path(folder: &Path) -> PathBuf {
        folder.join("isolation.json")
    }

    /// Reads the record in a team's folder, if there is one.
    pub(super) fn read(folder: &Path) -> GitResult<Option<Self>> {
        let path = Self::path(folder);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(GitError::File { path, source }),
        };
        let read = serde_json::from_slice(&text);
        read.map(Some).map_err(|error| GitError::File { path, source: error.into() })
    }

    /// Writes it in one step, so that nobody reads half of it.
    pub(super) fn write(&self, folder: &Path) -> GitResult<()> {
        let path = Self::path(folder);
        let written = disk::pretty(self).and_then(|text| disk::put(&path, &text));
        written.map(drop).map_err(GitError::file(&path))
    }

    /// Whether the repository is not where it was: it was moved, or deleted.
    pub(super) fn is_gone(&self) -> bool {
        !self.shared.exists()
    }

    /// The record for where the team's branch is now: in the same repository, perhaps moved. None if this is another one.
    async fn found(&self, git: &Git, repository: &Repository) -> GitResult<Option<Self>> {
        let Repository { top, shared, .. } = repository;
        if self.shared == *shared {
            return Ok(Some(self.clone()));
        }
        // A project that was moved took its branches along.
        let is_moved =
            self.is_gone() && commit_of(git, &names::full(&self.branch)).await?.is_some();
        let moved = Self { top: top.clone(), shared: shared.clone(), ..self.clone() };
        Ok(is_moved.then_some(moved))
    }

    /// Whether the branch was made. One that was only to be made may be another team's, unless it is where this team began.
    async fn is_made(&self, git: &Git) -> GitResult<bool> {
        if !self.is_pending {
            return Ok(true);
        }
        let found = commit_of(git, &names::full(&self.branch)).await?;
        Ok(found.is_some() && found == self.began)
    }

    /// The team's branch: as it was left, or a new one from where the project is. Also what people should know if it is in
    /// another place than before.
    pub(super) async fn find(
        git: &Git,
        repository: &Repository,
        folder: &Path,
        team: &TeamName,
    ) -> GitResult<(Self, Option<String>)> {
        let before = match Self::read(folder)? {
            Some(before) if before.is_made(git).await? => Self { is_pending: false, ..before },
            _ => return Ok((Self::new(git, repository, folder, team).await?, None)),
        };
        let was = before.top.display();
        let branch = &before.branch;
        let found = before.found(git, repository).await?;
        if let Some(record) = &found
            && let Some(record) = record.go_on(git, repository, folder).await?
        {
            let notice = (record.shared != before.shared).then(|| {
                format!(
                    "this project was `{was}` before; the team continues on its branch `{branch}`"
                )
            });
            return Ok((record, notice));
        }
        let notice = match found {
            Some(_) => None,
            None if !before.is_gone() => {
                Some(format!("what the team made in `{was}` stays on `{branch}` there"))
            }
            None => Some(format!(
                "the team was in `{was}` before, and `{branch}` is not here: it starts from this project's commit"
            )),
        };
        Ok((Self::new(git, repository, folder, team).await?, notice))
    }

    /// Continues with the branch as it was left; none if somebody else has it now.
    async fn go_on(
        &self,
        git: &Git,
        repository: &Repository,
        folder: &Path,
    ) -> GitResult<Option<Self>> {
        let mut record = self.clone();
        match begin(git, &record.branch, repository, BranchOwner::IsOurs).await? {
            BranchStart::Taken => return Ok(None),
            BranchStart::Continues => {}
            BranchStart::AtProject => {
                // Its work is merged where it begins, which may differ from the last time.
                let now = repository.branch.clone().filter(|it| *it != record.branch);
                record.base = if repository.branch.is_some() { now.or(record.base) } else { None };
                record.top = repository.top.clone();
            }
        }
        record.write(folder)?;
        Ok(Some(record))
    }

    /// A new branch from where the project is.
    async fn new(
        git: &Git,
        repository: &Repository,
        folder: &Path,
        team: &TeamName,
    ) -> GitResult<Self> {
        for nth in 1..=MAX_NAMES {
            let branch = names::team_branch(team, nth);
            if is_blocked(git, &branch).await? {
                continue;
            }
            let mut record = Self {
                top: repository.top.clone(),
                shared: repository.shared.clone(),
                branch,
                base: repository.branch.clone(),
                began: Some(repository.commit.clone()),
                is_pending: true,
                elsewhere: Vec::new(),
            };
            record.write(folder)?;
            if begin(git, &record.branch, repository, BranchOwner::IsOthers).await?
                == BranchStart::AtProject
            {
                record.is_pending = false;
                record.write(folder)?;
                return Ok(record);
            }
        }
        Err(git.nonsense(&["branch", "--list", "troop/*"]))
    }
}

/// The branch that collects the work of the team of a folder, if the team has one.
pub fn recorded_branch(folder: &Path) -> Result<Option<String>, GitError> {
    Ok(BranchRecord::read(folder)?.map(|record| record.branch))
}

/// Refuses a repository with a branch whose name is the prefix of all branches of troop.
pub(super) async fn check_names(git: &Git) -> GitResult<()> {
    for root in names::ROOTS {
        if commit_of(git, &names::full(root)).await?.is_some() {
            return Err(GitError::InTheWay { branch: root.to_owned() });
        }
    }
    Ok(())
}

/// Whether somebody has branches below the team's branch, or one above those of its members.
async fn is_blocked(git: &Git, branch: &str) -> GitResult<bool> {
    let below = format!("refs/heads/{branch}/");
    let above = format!("refs/heads/{}", names::work_branches(branch));
    let list = ["for-each-ref", "--format=%(refname)", &below, &above];
    let found = git.run(&list).await?;
    Ok(found.lines().any(|name| name.starts_with(&below) || name == above))
}

/// How a branch begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchStart {
    /// Where the project is now.
    AtProject,
    /// With its own work.
    Continues,
    /// It is somebody else's.
    Taken,
}

/// Makes a branch begin where the project is, unless it holds work or may be somebody else's.
async fn begin(
    git: &Git,
    branch: &str,
    repository: &Repository,
    owner: BranchOwner,
) -> GitResult<BranchStart> {
    let name = names::full(branch);
    let found = commit_of(git, &name).await?;
    match rules::start_case(&name, found, &repository.commit, owner) {
        StartCase::Taken => Ok(BranchStart::Taken),
        StartCase::Make(step) => match step.run(git).await {
            Ok(()) => Ok(BranchStart::AtProject),
            Err(_) if commit_of(git, &name).await?.is_some() => Ok(BranchStart::Taken),
            Err(error) => Err(error),
        },
        StartCase::MoveIfMerged { from, to_project } => {
            if !is_ancestor(git, &from, &repository.commit).await? {
                return Ok(BranchStart::Continues);
            }
            to_project.run(git).await?;
            Ok(BranchStart::AtProject)
        }
    }
}
