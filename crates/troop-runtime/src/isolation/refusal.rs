//! Why work is not merged: for the member who did it, and for others.

use std::fmt;

use troop_model::quoted;

/// How many files a message names.
pub(super) const MAX_NAMED: usize = 10;

/// Why work is not merged. Everything that was done is committed on the member's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeRefusal {
    /// It conflicts with what others did meanwhile.
    Conflict(Conflict),
    /// A merge that the member began is unfinished: these files still have conflict markers.
    Unresolved(Vec<String>),
    /// A merge that the member began is unfinished: git has two versions of these files, and cannot mix them.
    Undecided(Vec<String>),
    /// A git command of several steps is unfinished.
    Unfinished(&'static str),
    /// It contains repositories, of which git would keep nothing but a name.
    Repositories(Vec<String>),
    /// It contains submodules with uncommitted changes, of which git would keep nothing.
    Submodules(Vec<String>),
    /// It has no commit in common with the team's branch, so that nobody knows what was changed.
    Unrelated {
        /// The team's branch.
        with: String,
        /// The commit that it is on.
        own: String,
    },
    /// The folder is a separate repository now, so that nothing in it belongs to this one.
    Replaced,
    /// The folder was gone. It is back, as it was last committed.
    Gone,
    /// A check failed.
    Unproved,
    /// It is no longer wanted: the task was taken away, or is over.
    Unwanted,
}

/// The conflicting files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The team's branch.
    pub with: String,
    pub files: Vec<String>,
    /// The tasks that changed them, with their members.
    pub tasks: Vec<String>,
}

impl MergeRefusal {
    pub(super) fn unrelated(team_branch: &str, own: &str) -> Self {
        let own = own.chars().take(10).collect();
        Self::Unrelated { with: team_branch.to_owned(), own }
    }

    /// The reason, for others than the member who did the work.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Conflict(Conflict { with, files, .. }) => {
                format!("it conflicts with what is in `{with}` now: {}", named(files))
            }
            Self::Unresolved(files) => {
                format!(
                    "a merge in the folder is unfinished: {} has conflict markers",
                    named(files)
                )
            }
            Self::Undecided(files) => {
                format!("a merge in the folder is unfinished: {} is not resolved", named(files))
            }
            Self::Unfinished(command) => format!("`git {command}` in the folder is unfinished"),
            Self::Repositories(folders) => {
                format!("it contains repositories that are not submodules: {}", named(folders))
            }
            Self::Submodules(paths) => {
                format!("submodules have uncommitted changes: {}", named(paths))
            }
            Self::Unrelated { with, .. } => {
                format!("it has no commit in common with `{with}`, so git cannot merge it")
            }
            Self::Replaced => "its folder is now a separate repository".to_owned(),
            Self::Gone => "its folder was deleted, with everything uncommitted".to_owned(),
            Self::Unproved => "a check failed".to_owned(),
            Self::Unwanted => "the task was taken away in the meantime".to_owned(),
        }
    }
}

impl fmt::Display for MergeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(conflict) => conflict.fmt(f),
            Self::Unresolved(files) => write!(
                f,
                "the merge in your folder is unfinished: {} still has conflict markers; resolve them and complete the task again",
                named(files)
            ),
            Self::Undecided(files) => write!(
                f,
                "the merge in your folder is unfinished: git cannot tell whether {} is as you want it; edit it, mark it as resolved (`git add FILE`, or `git rm FILE`), and complete the task again",
                named(files)
            ),
            Self::Unfinished(command) => write!(
                f,
                "`git {command}` in your folder is unfinished; continue it (`git {command} --continue`), or abort it (`git {command} --abort`), and complete the task again"
            ),
            Self::Repositories(folders) => {
                let first = quoted(folders.first().map_or("", String::as_str));
                write!(
                    f,
                    "the contents of {} would be lost, because it is a separate repository; make it files of this one (`git rm -q --cached --ignore-unmatch {first}; rm -rf {first}/.git`), a submodule (`git submodule add`), or move it away, and complete the task again",
                    named(folders)
                )
            }
            Self::Submodules(paths) => {
                let first = quoted(paths.first().map_or("", String::as_str));
                write!(
                    f,
                    "uncommitted changes in the submodule {} would be lost; commit it there (`git -C {first} add --all && git -C {first} commit -m WHY`), or drop it (`git -C {first} reset --hard && git -C {first} clean -fd`), and complete the task again",
                    named(paths)
                )
            }
            Self::Unrelated { with, own } => write!(
                f,
                "your work has no commit in common with `{with}`, so git cannot merge it; begin from there (`git checkout -b NAME {with}`), take over what you want to keep (`git checkout {own} -- FILE`), and complete the task again"
            ),
            Self::Replaced => f.write_str(
                "your folder is now a separate repository, so nothing in it can be merged; remove its `.git` (`rm -rf .git` at its top) and complete the task again: what is in the folder then counts as your work",
            ),
            Self::Gone => f.write_str(
                "your folder was deleted, with everything uncommitted; it has been restored to the last commit: redo what is missing, and complete the task again",
            ),
            Self::Unproved => f.write_str("a check failed"),
            Self::Unwanted => f.write_str("the task was taken away in the meantime"),
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "your work conflicts with what is in `{}` now: {}",
            self.with,
            named(&self.files)
        )?;
        if !self.tasks.is_empty() {
            write!(f, ", changed by {}", self.tasks.join(", "))?;
        }
        write!(
            f,
            "; in your folder run `git merge {}`, resolve it, and complete the task again",
            self.with
        )
    }
}

pub(super) fn named(files: &[String]) -> String {
    let mut names: Vec<_> = files.iter().take(MAX_NAMED).map(|file| format!("`{file}`")).collect();
    if files.len() > MAX_NAMED {
        names.push(format!("and {} more", files.len() - MAX_NAMED));
    }
    names.join(", ")
}
