//! Isolation with real git.

mod bad_input;
mod ends;
mod inside;
mod killed;
mod landing;
mod merging;
mod moved;
mod odd;
mod overwritten;
mod place;
mod team_branch;
mod torn;
mod unfinished;
mod watching;

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;
use troop_model::{MemberName, TaskNumber};

use super::{
    Aim, Git, GitError, IsolationOptions, IsolationStart, LandingReport, Merge, MergeOutcome,
    MergeRefusal, TaskAttempt, WorkReport, Worktrees, names,
};
use crate::checks::tests::checks;

/// A repository, and a team's folder beside it.
struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A repository with one commit.
    async fn new() -> Self {
        let scene = Self::empty().await;
        scene.write("README.md", "one\ntwo\nthree\nfour\nfive\n");
        scene.write(".gitignore", "*.log\n");
        scene.git(&["add", "--all"]).await;
        scene.git(&["commit", "-m", "begin"]).await;
        scene
    }

    /// A repository without a commit.
    async fn empty() -> Self {
        let scene = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(scene.project()).unwrap();
        scene.git(&["init", "--quiet", "--initial-branch=main"]).await;
        scene
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn team(&self) -> PathBuf {
        self.folder.path().join("team")
    }

    fn aside(&self) -> PathBuf {
        self.folder.path().join("aside")
    }

    fn write(&self, file: &str, text: &str) {
        write(&self.project(), file, text);
    }

    /// The output of git in the project.
    async fn git(&self, arguments: &[&str]) -> String {
        git(&self.project(), arguments).await
    }

    fn options(&self, project: &Path) -> IsolationOptions {
        IsolationOptions {
            project: project.to_owned(),
            folder: self.team(),
            aside: self.aside(),
            team: "demo".parse().unwrap(),
            environment: environment(),
        }
    }

    async fn opened(&self) -> IsolationStart {
        Worktrees::open(self.options(&self.project())).await.unwrap()
    }

    /// The team's folders and branches for a project in another place.
    async fn opened_at(&self, project: &Path) -> Worktrees {
        Worktrees::open(self.options(project)).await.unwrap().isolation.unwrap()
    }

    async fn open(&self) -> Worktrees {
        self.opened().await.isolation.unwrap()
    }

    /// A folder for a member that begins a task.
    async fn begin(
        &self,
        isolation: &Worktrees,
        member: &str,
        task: u32,
    ) -> (TaskAttempt, PathBuf) {
        let work = work(member, task);
        let place = isolation.place(&work.member).await.unwrap();
        isolation.begin(&work).await.unwrap();
        (work, place)
    }

    /// A file as the team's branch has it.
    async fn in_team(&self, file: &str) -> String {
        self.git(&["show", &format!("troop/demo:{file}")]).await
    }
}

/// An environment without any git configuration.
fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap();
    let mut environment: Vec<(OsString, OsString)> = vec![("PATH".into(), path)];
    environment.push(("HOME".into(), "/nonexistent".into()));
    environment.push(("GIT_DIR".into(), "/nonexistent/of/somebody/else".into()));
    environment
}

async fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Git::new(folder, &environment());
    git.find_identity().await.unwrap();
    git.run(arguments).await.unwrap()
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn member(name: &str) -> MemberName {
    name.parse().unwrap()
}

fn work(name: &str, task: u32) -> TaskAttempt {
    let subject = format!("subject of {task}");
    TaskAttempt { member: member(name), task: TaskNumber(task), attempt: 1, subject, report: None }
}

async fn finish(isolation: &Worktrees, work: &TaskAttempt) -> WorkReport {
    isolation.finish(work, Aim::Merge, &checks(&[])).await.unwrap()
}

async fn merge(isolation: &Worktrees, work: &TaskAttempt) -> Merge {
    let finished = finish(isolation, work).await;
    let MergeOutcome::Merged(merge) = finished.outcome else { panic!("{finished:?}") };
    merge
}

async fn refusal(isolation: &Worktrees, work: &TaskAttempt) -> String {
    let finished = finish(isolation, work).await;
    let MergeOutcome::Not(why) = finished.outcome else { panic!("{finished:?}") };
    why.to_string()
}
