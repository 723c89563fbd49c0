//! Changes to a repository and its folders, as values. `rules` decides which and in which order; they are run here, and nowhere
//! else.
//!
//! A process can die between any two effects, so their order is what protects work. As values they can be read in a table, and a
//! simulator can stop between any two of them.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use super::{
    facts::unknown_repositories,
    listed::{listed, reveal},
    names, remnants,
    rules::in_place_of_new,
    submodules,
    tie::{self, AsidePlace},
};
use crate::git::{Git, GitError, GitResult, parts};

/// The value that a reference must have before it is moved. Git refuses to move it otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OldValue {
    Any,
    /// It must not exist.
    Absent,
    Is(String),
}

/// Makes, moves or deletes a reference in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// The full name, as `refs/heads/main`.
    pub name: String,
    /// None deletes it.
    pub to: Option<String>,
    pub from: OldValue,
    /// For the reflog.
    pub why: Option<String>,
}

impl RefMove {
    pub fn new(name: &str, from: OldValue, to: &str) -> Self {
        Self { name: name.to_owned(), to: Some(to.to_owned()), from, why: None }
    }

    pub fn because(self, why: &str) -> Self {
        Self { why: Some(why.to_owned()), ..self }
    }

    pub fn delete(name: &str, from: OldValue) -> Self {
        Self { name: name.to_owned(), to: None, from, why: None }
    }

    pub(super) async fn run(&self, git: &Git) -> GitResult<()> {
        let mut update = vec!["update-ref"];
        update.extend(self.why.iter().flat_map(|why| ["-m", why]));
        match &self.to {
            Some(to) => update.extend([self.name.as_str(), to]),
            None => update.extend(["-d", &self.name]),
        }
        update.extend(match &self.from {
            OldValue::Any => None,
            OldValue::Absent => Some(""),
            OldValue::Is(commit) => Some(commit.as_str()),
        });
        git.run(&update).await.map(drop)
    }
}

/// The branch or commit that a new worktree is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeStart {
    /// A commit, and no branch.
    Commit(String),
    /// A branch, without its files: the worktree only keeps others from checking the branch out.
    BranchWithoutFiles(String),
}

/// A change to what all folders of a repository share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryEffect {
    MoveRef(RefMove),
    /// By force: the repository may know of a worktree there that is gone, and a person may have the branch checked out.
    AddWorktree {
        folder: PathBuf,
        start: WorktreeStart,
    },
    /// Removes a worktree that holds nothing but what troop put there, however much of it is left.
    RemoveWorktree(PathBuf),
}

impl RepositoryEffect {
    pub(super) async fn run_all(effects: &[Self], project: &Git) -> GitResult<()> {
        for effect in effects {
            effect.run(project).await?;
        }
        Ok(())
    }

    pub(super) async fn run(&self, project: &Git) -> GitResult<()> {
        match self {
            Self::MoveRef(it) => it.run(project).await,
            Self::AddWorktree { folder, start } => {
                let path = folder.to_string_lossy();
                let (how, on) = match start {
                    WorktreeStart::Commit(commit) => ("--detach", commit),
                    WorktreeStart::BranchWithoutFiles(branch) => ("--no-checkout", branch),
                };
                // Twice, because a killed git leaves a worktree locked that it had not made yet.
                let force = ["--force", "--force", how];
                let add: Vec<_> = ["worktree", "add", "--quiet"].into_iter().chain(force).collect();
                project.run(&[&add[..], &[&path, on]].concat()).await.map(drop)
            }
            Self::RemoveWorktree(folder) => remove_worktree(project, folder).await,
        }
    }
}

async fn remove_worktree(project: &Git, folder: &Path) -> GitResult<()> {
    // Includes one whose folder is gone, because a process was killed between the two.
    let path = folder.to_string_lossy();
    let remove = ["worktree", "remove", "--force", "--force", &path];
    if folder.exists() || is_listed(project, folder).await? {
        // If git refuses or is killed, the folder goes anyway, and at the end what git knows of it.
        drop(project.ask(&remove).await);
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(GitError::file(folder)(error)),
        _ => Ok(()),
    }
}

async fn is_listed(project: &Git, folder: &Path) -> GitResult<bool> {
    let list = project.run(&["worktree", "list", "--porcelain", "-z"]).await?;
    let mut listed = parts(&list).filter_map(|part| part.strip_prefix("worktree "));
    Ok(listed.any(|it| Path::new(it) == folder))
}

/// Whether a commit is made that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyCommit {
    /// It may end a merge that changes nothing.
    Make,
    Skip,
}

/// A change to what git keeps of one folder: its index, and the commit that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexEffect {
    /// Has git look again at files that it was told not to look at.
    Reveal(Vec<String>),
    /// Puts everything into the index, but for repositories: git would keep nothing of what they hold.
    StageAll {
        except: Vec<String>,
    },
    Commit {
        message: String,
        empty: EmptyCommit,
    },
}

impl IndexEffect {
    pub(super) async fn run_all(effects: &[Self], git: &Git) -> GitResult<()> {
        for effect in effects {
            effect.run(git).await?;
        }
        Ok(())
    }

    pub(super) async fn run(&self, git: &Git) -> GitResult<()> {
        match self {
            Self::Reveal(hidden) => reveal(git, hidden).await,
            Self::StageAll { except } => {
                let except = except.iter().map(|path| format!(":(top,literal,exclude){path}"));
                let except: Vec<_> = except.collect();
                // Includes files outside a sparse checkout.
                let mut add = vec!["add", "--all", "--sparse", "--", ":/"];
                add.extend(except.iter().map(String::as_str));
                git.run(&add).await.map(drop)
            }
            Self::Commit { empty: EmptyCommit::Skip, .. }
                if git.is(&["diff", "--cached", "--quiet"]).await? =>
            {
                Ok(())
            }
            Self::Commit { message, .. } => {
                let how = ["commit", "--quiet", "--no-verify", "--allow-empty"];
                let what = ["--cleanup=whitespace", "-m", message];
                let commit: Vec<_> = how.into_iter().chain(what).collect();
                git.run(&commit).await.map(drop)
            }
        }
    }
}

/// How git exchanges the files of a folder. It refuses if files that it ignores would be overwritten; those are moved aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileExchange {
    Branch(String),
    FastForward(String),
}

impl FileExchange {
    fn arguments(&self) -> Vec<&str> {
        match self {
            Self::Branch(branch) => {
                vec!["checkout", "--quiet", "--no-overwrite-ignore", branch, "--"]
            }
            Self::FastForward(commit) => {
                // Nothing that is merged here is signed, whatever the person wants of what comes into the project.
                let merge = ["merge", "--quiet", "--ff-only", "--no-verify-signatures"];
                merge.into_iter().chain(["--no-overwrite-ignore", commit]).collect()
            }
        }
    }
}

/// A change to one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderEffect {
    Repository(RepositoryEffect),
    Index(IndexEffect),
    /// Writes the file `.git` that ties the folder to its repository, if it is missing.
    MendTie,
    MakeFolder(PathBuf),
    RemoveEmptyFolder,
    /// Removes the folder and its place in the repository, of which git made only a half.
    RemoveHalfMade,
    /// Moves something in the folder to where nobody deletes it; the folder itself, if the path is empty.
    SetAside(String),
    /// Puts the files back that a killed process began to exchange, and says that they are whole.
    RestoreFiles,
    /// Leaves a git command of several steps where it is: files and branches stay as they are.
    Quit(&'static str),
    /// Makes a branch where the folder is. Nothing in the folder changes, not even an unfinished merge.
    MakeBranch(String),
    AttachHead(String),
    DetachHead {
        at: String,
        why: String,
    },
    /// Moves the branch that the folder is on, and no file.
    MoveHead {
        from: String,
        to: String,
        why: String,
    },
    /// Notes that the files are being exchanged, so that a half-exchanged folder is recognised.
    MarkExchange,
    UnmarkExchange,
    Exchange(FileExchange),
    /// Commits what is uncommitted in submodules, and keeps their commits in the project.
    SaveSubmodules,
    /// Keeps in the project what was committed in submodules.
    KeepSubmodules,
    /// Puts submodules on the commits that the folder names. Those that cannot follow are moved aside.
    FollowSubmodules,
    /// Moves repositories aside that were left in the folder: they could not be merged with the next work.
    ClearRepositories,
}

impl From<RefMove> for FolderEffect {
    fn from(it: RefMove) -> Self {
        Self::Repository(RepositoryEffect::MoveRef(it))
    }
}

/// Runs effects in the folder of one member.
#[derive(Debug)]
pub(super) struct EffectRunner<'a> {
    /// Git in the folder.
    pub(super) git: &'a Git,
    /// Git at the top of the project.
    pub(super) project: &'a Git,
    /// The folder that all worktrees of the repository share.
    pub(super) shared: &'a Path,
    /// Where things are moved that are in the way.
    pub(super) aside: &'a AsidePlace,
}

impl EffectRunner<'_> {
    /// Runs effects in their order, up to the first that fails. Returns where things are now that were moved aside.
    pub(super) async fn run_all(&self, effects: &[FolderEffect]) -> GitResult<Vec<PathBuf>> {
        let mut aside = Vec::new();
        for effect in effects {
            self.run(effect, &mut aside).await?;
        }
        Ok(aside)
    }

    async fn run(&self, effect: &FolderEffect, aside: &mut Vec<PathBuf>) -> GitResult<()> {
        let git = self.git;
        match effect {
            FolderEffect::Repository(it) => it.run(self.project).await,
            FolderEffect::Index(it) => it.run(git).await,
            FolderEffect::MendTie => tie::mend(self.shared, git.folder()),
            FolderEffect::MakeFolder(path) => {
                fs::create_dir_all(path).map_err(GitError::file(path))
            }
            FolderEffect::RemoveEmptyFolder => {
                fs::remove_dir(git.folder()).map_err(GitError::file(git.folder()))
            }
            FolderEffect::RemoveHalfMade => {
                remnants::remove_half_made(self.shared, git.folder());
                Ok(())
            }
            FolderEffect::SetAside(what) => {
                aside.push(self.aside.take(git.folder(), what)?);
                Ok(())
            }
            FolderEffect::RestoreFiles => {
                git.exchange(&["reset", "--quiet", "--hard"]).await?;
                self.unmark_exchange()
            }
            FolderEffect::Quit(command) => git.run(&[command, "--quit"]).await.map(drop),
            FolderEffect::MakeBranch(branch) => {
                git.run(&["branch", "--no-track", branch, "HEAD"]).await.map(drop)
            }
            FolderEffect::AttachHead(branch) => {
                git.run(&["symbolic-ref", "HEAD", &names::full(branch)]).await.map(drop)
            }
            FolderEffect::DetachHead { at, why } => {
                git.run(&["update-ref", "--no-deref", "-m", why, "HEAD", at]).await.map(drop)
            }
            FolderEffect::MoveHead { from, to, why } => {
                git.run(&["update-ref", "-m", why, "HEAD", to, from]).await.map(drop)
            }
            FolderEffect::MarkExchange => {
                let mark = exchange_mark(git);
                mark.map_or(Ok(()), |mark| fs::write(&mark, "").map_err(GitError::file(&mark)))
            }
            FolderEffect::UnmarkExchange => self.unmark_exchange(),
            FolderEffect::Exchange(it) => self.exchange(&it.arguments(), aside).await,
            FolderEffect::SaveSubmodules => submodules::save(git, git.folder(), self.project).await,
            FolderEffect::KeepSubmodules => submodules::keep(git, git.folder(), self.project).await,
            FolderEffect::FollowSubmodules => self.follow_submodules(aside).await,
            FolderEffect::ClearRepositories => {
                for path in unknown_repositories(git, &listed(git).await?).await? {
                    aside.push(self.aside.take(git.folder(), &path)?);
                }
                Ok(())
            }
        }
    }

    fn unmark_exchange(&self) -> GitResult<()> {
        let mark = exchange_mark(self.git);
        mark.map_or(Ok(()), |mark| fs::remove_file(&mark).map_err(GitError::file(&mark)))
    }

    async fn exchange(&self, arguments: &[&str], aside: &mut Vec<PathBuf>) -> GitResult<()> {
        let says = match self.git.exchange(arguments).await {
            Err(GitError::Failed { says, .. }) if !in_place_of_new(&says).is_empty() => says,
            exchanged => return exchanged,
        };
        for path in in_place_of_new(&says) {
            aside.push(self.aside.take(self.git.folder(), path)?);
        }
        self.git.exchange(arguments).await
    }

    async fn follow_submodules(&self, aside: &mut Vec<PathBuf>) -> GitResult<()> {
        let folder = self.git.folder();
        submodules::prepare(self.git, folder, self.project).await?;
        for path in submodules::follow(self.git, folder, self.project).await? {
            aside.push(self.aside.take(folder, &path)?);
            // As git leaves a submodule that is not filled.
            fs::create_dir(folder.join(&path)).map_err(GitError::file(folder))?;
        }
        Ok(())
    }
}

/// The file that says that the files of a folder are being exchanged, in the folder's place in the repository.
fn exchange_mark(git: &Git) -> Option<PathBuf> {
    tie::place_of(git.folder()).map(|place| place.join("troop-half"))
}

/// Whether a killed process left the files of a folder half exchanged.
pub(super) fn is_half_exchanged(git: &Git) -> bool {
    exchange_mark(git).is_some_and(|mark| mark.exists())
}
