//! The one place that runs git: quietly, without the repository's hooks, without questions, with output in English.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::time::{sleep, timeout};
use troop_model::{Hint, HintCommand, with_causes};
use troop_process::{Group, command};

use crate::{
    fault::{is_of_machine, is_said_of_machine},
    isolation::FolderFault,
    locks::{CommandNotes, LONGEST as PATIENCE},
};

/// How long a git that takes too long has to remove its locks.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Commands that only read, and take no locks.
const READERS: [&str; 18] = [
    "cat-file",
    "commit-tree",
    "diff",
    "diff-files",
    "diff-index",
    "for-each-ref",
    "hash-object",
    "log",
    "ls-files",
    "merge-base",
    "merge-tree",
    "reflog",
    "rev-list",
    "rev-parse",
    "show",
    "status",
    "var",
    "version",
];

/// How long, and how often, we wait for another git command in the same place.
const BETWEEN: Duration = Duration::from_millis(100);
const N_TRIES: u32 = 20;

/// The settings of every call. Those of a repository or a person must not run anything, ask anything, hide anything or tidy up
/// meanwhile.
const SETTINGS: [&str; 13] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "merge.conflictStyle=merge",
    "advice.detachedHead=false",
    // Files that git does not show would count as missing, and be removed with the folder.
    "status.showUntrackedFiles=normal",
    // A person's uncommitted changes are not stashed and applied again on the way.
    "merge.autoStash=false",
    "log.showSignature=false",
    // We wait for locks ourselves, and not as long as git does for this one.
    "core.packedRefsTimeout=0",
];
/// The committer if the person has not configured a name.
const IDENTITY: [&str; 2] = ["user.name=troop", "user.email=troop@localhost"];

/// Further messages of git for faults of the machine: it does not always give the reason when it cannot write.
const NOT_WRITTEN: [&str; 3] = ["unable to write", "couldn't write", "write error"];

/// Why a git command failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GitError {
    /// It cannot be started.
    #[error("`git` cannot be started in `{}`", folder.display())]
    NotStarted {
        folder: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It did not end in time.
    #[error("`git {what}` in `{}` was still not done after {}s", folder.display(), PATIENCE.as_secs())]
    Hangs {
        /// Its arguments.
        what: String,
        folder: PathBuf,
    },
    /// It failed.
    #[error("`git {what}` in `{}`: {says}", folder.display())]
    Failed {
        /// Its arguments.
        what: String,
        folder: PathBuf,
        /// Its message.
        says: String,
    },
    /// Another git command holds a lock that it needs, or left it when it was killed.
    #[error("`git {what}` in `{}` needs `{}`, which another git command has, or left when it was killed", folder.display(), lock.display())]
    Locked {
        /// Its arguments.
        what: String,
        folder: PathBuf,
        lock: PathBuf,
    },
    /// It was killed.
    #[error("`git {what}` in `{}` was killed by signal {signal}", folder.display())]
    Killed {
        /// Its arguments.
        what: String,
        folder: PathBuf,
        signal: i32,
    },
    /// It printed something unexpected.
    #[error("`git {what}` in `{}` gave an answer that cannot be understood", folder.display())]
    Nonsense {
        /// Its arguments.
        what: String,
        folder: PathBuf,
    },
    /// The folder of a member is not what was made for it.
    #[error("`{}` {how}", folder.display())]
    Torn { folder: PathBuf, how: FolderFault },
    /// A branch has the name of the folder in which git keeps the branches of teams.
    #[error("the branch `{branch}` is in the way: branches of teams go below `{branch}/`")]
    InTheWay { branch: String },
    /// Some files cannot be committed, because a filter that they require does not work.
    #[error("the filter `{filter}`, which `{file}` here requires, does not work: {says}")]
    Filter {
        filter: String,
        /// A file that needs it.
        file: String,
        /// Git's message.
        says: String,
    },
    /// A file cannot be used.
    #[error("`{}` cannot be used", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

pub(crate) type GitResult<T> = Result<T, GitError>;

impl GitError {
    /// Turns an I/O error about a file into this type.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    /// Whether git is not installed.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::NotStarted { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// The lock that another git command has, or left, if that is the reason.
    pub(crate) fn lock(&self) -> Option<PathBuf> {
        match self {
            Self::Locked { lock, .. } => Some(lock.clone()),
            Self::Failed { says, folder, .. } => {
                let path = named_lock(says)?;
                // Git names the file of settings, and not its lock.
                let lock = if path.ends_with(".lock") { path } else { format!("{path}.lock") };
                Some(folder.join(lock))
            }
            Self::NotStarted { .. }
            | Self::Hangs { .. }
            | Self::Killed { .. }
            | Self::Nonsense { .. }
            | Self::Torn { .. }
            | Self::InTheWay { .. }
            | Self::Filter { .. }
            | Self::File { .. } => None,
        }
    }

    /// Whether git failed because another process is making a worktree, or removes those that seem to be no one's: git reads all
    /// worktrees of the repository before it does anything about one, has one of its own for a moment without anything in it, and
    /// removes the folder of all of them with the last one.
    fn met_half_a_worktree(&self) -> bool {
        let Self::Failed { says, .. } = self else { return false };
        let of_place = ["could not open '", "could not create directory of '"];
        let has_vanished =
            says.contains("/worktrees/") && says.contains("No such file or directory");
        says.contains("failed to read") && says.contains("/commondir")
            || has_vanished && of_place.iter().any(|it| says.contains(it))
    }

    /// Whether another git command has, or left, a lock in the same place.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self, Self::Locked { .. })
    }

    /// Whether it may pass by itself: a full disk, a folder that cannot be written to, too many processes. Faults of a folder or
    /// a repository do not pass.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NotStarted { .. }
            | Self::Hangs { .. }
            | Self::Failed { .. }
            | Self::Locked { .. }
            | Self::Killed { .. }
            | Self::File { .. } => true,
            Self::Nonsense { .. }
            | Self::Torn { .. }
            | Self::InTheWay { .. }
            | Self::Filter { .. } => false,
        }
    }

    /// Whether the machine is to blame, and not the command: the disk is full, or nothing more can be started.
    pub(crate) fn is_of_machine(&self) -> bool {
        match self {
            Self::NotStarted { .. } => !self.is_missing(),
            Self::Hangs { .. } | Self::Killed { .. } => true,
            Self::Failed { says, .. } => {
                is_said_of_machine(says) || NOT_WRITTEN.iter().any(|it| says.contains(it))
            }
            Self::File { source, .. } => is_of_machine(source),
            Self::Locked { .. }
            | Self::Nonsense { .. }
            | Self::Torn { .. }
            | Self::InTheWay { .. }
            | Self::Filter { .. } => false,
        }
    }

    /// What a person can do about it; none if nothing is known to help.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Locked { lock, .. } => {
                let remove = HintCommand::other("rm").word(lock.display());
                Some(Hint::from("if no git runs there: ").and_run(remove))
            }
            Self::NotStarted { .. }
            | Self::Hangs { .. }
            | Self::Failed { .. }
            | Self::Killed { .. }
            | Self::Nonsense { .. }
            | Self::Torn { .. }
            | Self::InTheWay { .. }
            | Self::Filter { .. }
            | Self::File { .. } => None,
        }
    }

    /// The error with its cause and its hint, on one line.
    #[must_use]
    pub fn chain(&self) -> String {
        let error = with_causes(self);
        self.hint().map_or_else(|| error.clone(), |hint| format!("{error}; {hint}"))
    }
}

/// Runs git in one folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
    has_identity: bool,
    /// Where commands that may leave locks are noted.
    notes: Option<Arc<CommandNotes>>,
}

impl Git {
    pub(crate) fn new(folder: &Path, environment: &[(OsString, OsString)]) -> Self {
        let is_gits = |name: &OsStr| name.as_encoded_bytes().starts_with(b"GIT_");
        let kept = environment.iter().filter(|(name, _)| !is_gits(name)).cloned();
        let own = [
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", "true"),
            ("GIT_OPTIONAL_LOCKS", "0"),
        ];
        let own = own.map(|(name, value)| (name.into(), value.into()));
        let environment = kept.chain(own).collect();
        Self { folder: folder.to_owned(), environment, has_identity: true, notes: None }
    }

    /// A git in this folder that notes commands which may leave locks.
    pub(crate) fn noted(self, notes: &Arc<CommandNotes>) -> Self {
        Self { notes: Some(Arc::clone(notes)), ..self }
    }

    /// This git in another folder.
    pub(crate) fn at(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// This git with another index, so that the folder's own stays as it is.
    pub(crate) fn with_index(&self, index: &Path) -> Self {
        let mut other = self.clone();
        other.environment.push(("GIT_INDEX_FILE".into(), index.into()));
        other
    }

    /// A bare view of a repository: only its git directory counts, wherever its files are.
    pub(crate) fn with_own(&self, own: &Path) -> Self {
        let mut other = self.at(own);
        let names = ["GIT_DIR", "GIT_WORK_TREE"];
        other.environment.extend(names.map(|name| (name.into(), own.into())));
        other
    }

    /// Where it runs.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks whether the person has configured a name; without one, troop commits under its own.
    pub(crate) async fn find_identity(&mut self) -> GitResult<()> {
        let asked = self.ask(&["-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"]);
        self.has_identity = asked.await?.is_some();
        Ok(())
    }

    /// The variables that give everybody who commits in our folders a name, if the person has configured none.
    pub(crate) fn identity(&self) -> Vec<(&'static str, &'static str)> {
        let name = "troop";
        let email = "troop@localhost";
        let all = [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", email),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", email),
        ];
        all.into_iter().filter(|_| !self.has_identity).collect()
    }

    /// Runs git and returns its output. Waits a while for another git command in the same place.
    pub(crate) async fn run(&self, arguments: &[&str]) -> GitResult<String> {
        self.run_until(arguments, |output| output.status.success()).await
    }

    /// Runs a command that exchanges files: on a full disk git may succeed, and only mention which files it could not
    /// write.
    pub(crate) async fn exchange(&self, arguments: &[&str]) -> GitResult<()> {
        let is_error = |line: &[u8]| line.starts_with(b"error: ");
        let is_whole = |output: &Output| {
            output.status.success() && !output.stderr.split(|it| *it == b'\n').any(is_error)
        };
        self.run_until(arguments, is_whole).await.map(drop)
    }

    /// The same for commands that have another idea of success.
    pub(crate) async fn run_until(
        &self,
        arguments: &[&str],
        is_good: impl Fn(&Output) -> bool,
    ) -> GitResult<String> {
        let mut n_tries = 0;
        loop {
            let output = self.output(arguments).await?;
            if is_good(&output) {
                return Ok(text(&output.stdout));
            }
            let error = self.no(arguments, &output);
            n_tries += 1;
            if error.met_half_a_worktree() && n_tries <= N_TRIES {
                sleep(BETWEEN).await;
                continue;
            }
            let Some(lock) = error.lock() else { return Err(error) };
            if n_tries > N_TRIES {
                let what = arguments.join(" ");
                return Err(GitError::Locked { what, folder: self.folder.clone(), lock });
            }
            if let Some(notes) = &self.notes {
                notes.clear_now();
            }
            sleep(BETWEEN).await;
        }
    }

    /// Its output; none if it failed.
    pub(crate) async fn ask(&self, arguments: &[&str]) -> GitResult<Option<String>> {
        let output = self.output(arguments).await?;
        Ok(output.status.success().then(|| text(&output.stdout)))
    }

    /// Whether the exit code is 0 (yes) or 1 (no); everything else is an error.
    pub(crate) async fn is(&self, arguments: &[&str]) -> GitResult<bool> {
        let output = self.output(arguments).await?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(self.no(arguments, &output)),
        }
    }

    /// Its whole output, with its exit status.
    pub(crate) async fn output(&self, arguments: &[&str]) -> GitResult<Output> {
        let mut git = command("git");
        for setting in SETTINGS.iter().chain(IDENTITY.iter().filter(|_| !self.has_identity)) {
            git.args(["-c", setting]);
        }
        git.args(arguments).current_dir(&self.folder).env_clear();
        git.envs(self.environment.iter().map(|(name, value)| (name, value)));
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A git that is killed leaves its locks; one that is asked to end removes them.
        git.kill_on_drop(false);
        let is_reader = arguments.first().is_some_and(|it| READERS.contains(it));
        let notes = self.notes.as_ref().filter(|_| !is_reader);
        let mut note = notes.and_then(|notes| notes.begin(&arguments.join(" ")));
        let not_started = |source| GitError::NotStarted { folder: self.folder.clone(), source };
        let child = git.spawn().map_err(not_started)?;
        if let Some(note) = &mut note {
            note.started(child.id());
        }
        let mut group = GitGroup(Some(Group::led_by(&child)));
        let Ok(output) = timeout(PATIENCE, child.wait_with_output()).await else {
            group.end().await;
            let what = arguments.join(" ");
            return Err(GitError::Hangs { what, folder: self.folder.clone() });
        };
        group.release();
        let output = output.map_err(not_started)?;
        if let Some(signal) = output.status.signal() {
            let what = arguments.join(" ");
            return Err(GitError::Killed { what, folder: self.folder.clone(), signal });
        }
        if let Some(note) = note {
            note.ended();
        }
        Ok(output)
    }

    pub(crate) fn no(&self, arguments: &[&str], output: &Output) -> GitError {
        let says = [text(&output.stderr), text(&output.stdout)];
        let says = says.into_iter().find(|says| !says.trim().is_empty()).unwrap_or_default();
        GitError::Failed {
            what: arguments.join(" "),
            folder: self.folder.clone(),
            says: says
                .trim()
                .lines()
                .filter(|it| !it.starts_with("hint:"))
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    pub(crate) fn nonsense(&self, arguments: &[&str]) -> GitError {
        GitError::Nonsense { what: arguments.join(" "), folder: self.folder.clone() }
    }
}

/// The group of a git command. If nobody waits for it, it is asked to end, and removes its locks.
struct GitGroup(Option<Group>);

impl GitGroup {
    fn release(&mut self) {
        if let Some(group) = self.0.take() {
            group.release();
        }
    }

    /// Asks it to end, and kills what is left after a while.
    async fn end(&mut self) {
        if let Some(group) = self.0.take() {
            group.terminate();
            sleep(LAST_WORDS).await;
        }
    }
}

impl Drop for GitGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.terminate();
            group.release();
        }
    }
}

/// The lock that git could not make, by its message.
fn named_lock(says: &str) -> Option<String> {
    let of_file = || {
        let (_, rest) = says.split_once("Unable to create '")?;
        rest.split_once("': File exists").map(|(path, _)| path)
    };
    let of_settings = || {
        let (_, rest) = says.split_once("could not lock config file ")?;
        rest.split_once(": File exists").map(|(path, _)| path)
    };
    of_file().or_else(of_settings).map(str::to_owned)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned()
}

/// The parts of output with `-z`.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split('\0').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests;
