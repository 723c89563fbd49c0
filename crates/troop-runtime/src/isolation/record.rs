//! What is kept about a team's branch from one lead to the next.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use troop_model::TeamName;

use super::{
    elsewhere::StrayWork,
    names,
    repository::Repository,
    rules::{self, BranchOwner, StartCase},
};
use crate::{
    disk,
    git::{Git, GitError, GitResult},
};

/// How many names are tried for a team's branch.
const MAX_NAMES: u32 = 100;

/// Where a team's work began and is collected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BranchRecord {
    /// The top of the project's working folder.
    pub(super) top: PathBuf,
    /// What all working folders of the repository share.
    pub(super) shared: PathBuf,
    /// The team's branch.
    pub(super) branch: String,
    /// The project's branch when the team began; none if it was on no branch.
    pub(super) base: Option<String>,
    /// Branches that members made, and that were merged nowhere when the team last ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) elsewhere: Vec<StrayWork>,
}

impl BranchRecord {
    fn path(folder: &Path) -> PathBuf {
        folder.join("isolation.json")
    }

    /// What is kept in a team's folder, if it is anything.
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

    /// At once, so that none is half.
    pub(super) fn write(&self, folder: &Path) -> GitResult<()> {
        let path = Self::path(folder);
        let written = disk::pretty(self).and_then(|text| disk::put(&path, &text));
        written.map(drop).map_err(GitError::file(&path))
    }

    /// Whether the repository is not where it was: it was moved, or deleted.
    pub(super) fn is_gone(&self) -> bool {
        !self.shared.exists()
    }

    /// The same for where the team's branch is now: in the repository that it was in, or in that one after it was moved.
    /// None if this is another one.
    async fn found(&self, git: &Git, repository: &Repository) -> GitResult<Option<Self>> {
        let Repository { top, shared, .. } = repository;
        if self.shared == *shared {
            return Ok(Some(self.clone()));
        }
        let name = format!("refs/heads/{}", self.branch);
        // Who moved a project took its branches along.
        let is_moved = self.is_gone()
            && git.ask(&["rev-parse", "--quiet", "--verify", &name]).await?.is_some();
        let moved = Self { top: top.clone(), shared: shared.clone(), ..self.clone() };
        Ok(is_moved.then_some(moved))
    }

    /// The team's branch: as it was left, or a new one from where the project is. And what people should know if that is in
    /// another place than before.
    pub(super) async fn find(
        git: &Git,
        repository: &Repository,
        folder: &Path,
        team: &TeamName,
    ) -> GitResult<(Self, Option<String>)> {
        let Some(before) = Self::read(folder)? else {
            return Ok((Self::new(git, repository, folder, team).await?, None));
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
                "the team was in `{was}` before, and `{branch}` is not here: it begins where this project is"
            )),
        };
        Ok((Self::new(git, repository, folder, team).await?, notice))
    }

    /// Goes on with the branch as it was left; none if somebody else has it now.
    async fn go_on(
        &self,
        git: &Git,
        repository: &Repository,
        folder: &Path,
    ) -> GitResult<Option<Self>> {
        let mut record = self.clone();
        // Nobody but the lead of a team moves its branch; a lock on it is of one that was killed.
        let lock = repository.shared.join(format!("refs/heads/{}.lock", record.branch));
        drop(fs::remove_file(lock));
        match begin(git, &record.branch, repository, BranchOwner::IsOurs).await? {
            BranchStart::Not => return Ok(None),
            BranchStart::GoesOn => {}
            BranchStart::Anew => {
                // It comes home to where it begins, which may be somewhere else than the last time.
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
            let record = Self {
                top: repository.top.clone(),
                shared: repository.shared.clone(),
                branch,
                base: repository.branch.clone(),
                elsewhere: Vec::new(),
            };
            if begin(git, &record.branch, repository, BranchOwner::IsOthers).await?
                == BranchStart::Anew
            {
                record.write(folder)?;
                return Ok(record);
            }
        }
        Err(git.nonsense(&["branch", "--list", "troop/*"]))
    }
}

/// Refuses a repository in which somebody has a branch where all branches of ours are to be.
pub(super) async fn check_names(git: &Git) -> GitResult<()> {
    for root in names::ROOTS {
        let name = format!("refs/heads/{root}");
        if git.ask(&["rev-parse", "--quiet", "--verify", &name]).await?.is_some() {
            return Err(GitError::InTheWay { branch: root.to_owned() });
        }
    }
    Ok(())
}

/// Whether somebody has branches below that of a team, or one above those of its members.
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
    Anew,
    /// With work of its own.
    GoesOn,
    /// Not at all: it is somebody else's.
    Not,
}

/// Makes a branch begin where the project is, unless it has work of its own or may be somebody else's.
async fn begin(
    git: &Git,
    branch: &str,
    repository: &Repository,
    owner: BranchOwner,
) -> GitResult<BranchStart> {
    let name = format!("refs/heads/{branch}");
    let parse = ["rev-parse", "--quiet", "--verify", &name];
    let commit = &repository.commit;
    match rules::start_case(git.ask(&parse).await?, owner) {
        StartCase::Not => Ok(BranchStart::Not),
        // An empty old value: it must still not be there.
        StartCase::Make => match git.run(&["update-ref", &name, commit, ""]).await {
            Ok(_) => Ok(BranchStart::Anew),
            Err(_) if git.ask(&parse).await?.is_some() => Ok(BranchStart::Not),
            Err(error) => Err(error),
        },
        StartCase::MoveIfMerged { from } => {
            if !git.is(&["merge-base", "--is-ancestor", &from, commit]).await? {
                return Ok(BranchStart::GoesOn);
            }
            git.run(&["update-ref", &name, commit, &from]).await?;
            Ok(BranchStart::Anew)
        }
    }
}
