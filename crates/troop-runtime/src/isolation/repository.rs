//! The repository that a project is in, and whether teammates can have their own worktrees of it.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use troop_model::quoted_path;

use crate::git::{Git, GitError, GitResult, parts};

/// The first git that merges without a working folder.
const OLDEST: (u32, u32) = (2, 38);

/// A repository of which teammates can have their own worktrees.
#[derive(Clone, Debug)]
pub(super) struct Repository {
    /// The top of the project's working folder.
    pub(super) top: PathBuf,
    /// The project's place below it.
    pub(super) prefix: PathBuf,
    /// The folder that all its worktrees share.
    pub(super) shared: PathBuf,
    /// The branch that the project is on; none if it is on no branch.
    pub(super) branch: Option<String>,
    /// The commit that the project is on.
    pub(super) commit: String,
}

/// Why teammates cannot have their own worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RepositoryObstacle {
    NoGit,
    OldGit(String),
    NoRepository,
    Bare,
    NoCommit,
    OfOthers(PathBuf),
    Unusable(String),
}

impl fmt::Display for RepositoryObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoGit => f.write_str("`git` is not installed"),
            Self::OldGit(version) => {
                let (major, minor) = OLDEST;
                write!(f, "{version} is too old; {major}.{minor} or newer is needed")
            }
            Self::NoRepository => {
                f.write_str("this is not a git repository (`git init`, then commit)")
            }
            Self::Bare => f.write_str("a bare repository has no files to work on"),
            Self::NoCommit => f.write_str("this repository has no commit yet (`git commit` first)"),
            Self::OfOthers(project) => {
                let project = quoted_path(project);
                write!(
                    f,
                    "this folder belongs to somebody else, so git refuses it; if you trust it: `git config --global --add safe.directory {project}`"
                )
            }
            Self::Unusable(says) => write!(f, "git refuses this repository: {says}"),
        }
    }
}

/// Finds the repository of a project, or why it cannot be used.
pub(super) async fn look(
    git: &Git,
    project: &Path,
) -> GitResult<Result<Repository, RepositoryObstacle>> {
    let version = match git.run(&["version"]).await {
        Ok(version) => version,
        Err(error) if error.is_missing() && project.is_dir() => {
            return Ok(Err(RepositoryObstacle::NoGit));
        }
        Err(error) => return Err(error),
    };
    if !is_new_enough(&version) {
        return Ok(Err(RepositoryObstacle::OldGit(version)));
    }
    let kind = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree"];
    let output = git.output(&kind).await?;
    if !output.status.success() {
        let says = git.no(&kind, &output);
        let says = says.to_string();
        return Ok(Err(if says.contains("not a git repository") {
            RepositoryObstacle::NoRepository
        } else if says.contains("dubious ownership") {
            RepositoryObstacle::OfOthers(project.to_owned())
        } else {
            RepositoryObstacle::Unusable(says)
        }));
    }
    if String::from_utf8_lossy(&output.stdout).lines().nth(1) != Some("true") {
        return Ok(Err(RepositoryObstacle::Bare));
    }
    let Some(commit) = git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).await?
    else {
        return Ok(Err(RepositoryObstacle::NoCommit));
    };
    let where_is = [
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-common-dir",
        "--show-prefix",
    ];
    let said = git.run(&where_is).await?;
    let mut lines = said.lines();
    let (Some(top), Some(shared)) = (lines.next(), lines.next()) else {
        return Err(git.nonsense(&where_is));
    };
    let prefix = lines.next().unwrap_or_default();
    let branch = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    Ok(Ok(Repository {
        top: top.into(),
        prefix: prefix.into(),
        shared: shared.into(),
        branch,
        commit,
    }))
}

fn is_new_enough(version: &str) -> bool {
    let numbers = version.split_whitespace().nth(2).unwrap_or_default();
    let mut numbers = numbers.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

impl Repository {
    /// Refuses a repository with files that cannot be committed, because a filter that they require does not work.
    pub(super) async fn check_filters(&self, git: &Git) -> GitResult<()> {
        let git = git.at(&self.top);
        let list = ["config", "--type=bool", "--get-regexp", r"^filter\..*\.required$"];
        let said = git.ask(&list).await?.unwrap_or_default();
        let required = said.lines().filter_map(|line| line.strip_suffix(".required true"));
        for filter in required.filter_map(|name| name.strip_prefix("filter.")) {
            // A filter whose name cannot be asked for cannot be named in attributes either.
            let having = format!(":(top,attr:filter={filter})");
            let files = git.ask(&["ls-files", "-z", "--", &having]).await?.unwrap_or_default();
            let Some(file) = parts(&files).next() else { continue };
            let path = format!("--path={file}");
            let output = git.output(&["hash-object", "--stdin", &path]).await?;
            if !output.status.success() {
                let says = String::from_utf8_lossy(&output.stderr);
                let says = says.trim().lines().collect::<Vec<_>>().join("; ");
                let filter = filter.to_owned();
                return Err(GitError::Filter { filter, file: file.to_owned(), says });
            }
        }
        Ok(())
    }

    /// Warnings for a person before teammates begin.
    pub(super) async fn notices(&self, git: &Git) -> GitResult<Vec<String>> {
        let mut notices = Vec::new();
        let changed = git.at(&self.top).run(&["status", "--porcelain", "-z"]).await?;
        let n_changed = parts(&changed).count();
        if n_changed > 0 {
            let (changes, them) = match n_changed {
                1 => ("1 change in this project is".to_owned(), "it"),
                n => (format!("{n} changes in this project are"), "them"),
            };
            notices.push(format!(
                "teammates start from the last commit: {changes} not committed, and they do not see {them}"
            ));
        }
        if fs::exists(self.top.join(".gitmodules")).unwrap_or(false) {
            notices.push(
                "submodules are empty in teammates' worktrees; run `git submodule update --init` there if needed"
                    .to_owned(),
            );
        }
        Ok(notices)
    }
}
