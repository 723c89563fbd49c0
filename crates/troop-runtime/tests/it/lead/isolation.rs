//! Teammates in worktrees: finished work is checked and merged, and refused work comes back to them.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
};

use tempfile::TempDir;
use tokio::sync::{Notify, mpsc};
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Asker, Command, MemberState, NewTask, OperationId, Settings, State, Status, Task,
    TaskCommand, TaskNumber, TrailKind,
};
use troop_protocol::{Client, FromLead, ReportedStatus, WireTask};
use troop_runtime::{IsolationOptions, LeadEnd, Timing, Worktrees, find_lead};
use troop_testkit::{git, git_may_fail};
use uuid::Uuid;

use super::{
    is_done,
    stage::{Part, Play, Setting, Stage, play, without_restarts},
};
use crate::support::name;

/// A repository with a file of three lines.
pub(super) struct Project(pub(super) TempDir);

impl Project {
    pub(super) fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.path()).unwrap();
        git(&project.path(), &["init", "--quiet", "--initial-branch=main"]);
        fs::write(project.path().join("text"), "one\ntwo\nthree\n").unwrap();
        git(&project.path(), &["add", "--all"]);
        git(&project.path(), &["commit", "--quiet", "-m", "begin"]);
        project
    }

    pub(super) fn path(&self) -> PathBuf {
        self.0.path().join("project")
    }

    pub(super) async fn isolation(&self) -> Worktrees {
        self.isolation_in(std::env::vars_os().collect()).await
    }

    /// Like `isolation`, with another environment for git.
    async fn isolation_in(&self, environment: Vec<(OsString, OsString)>) -> Worktrees {
        let options = IsolationOptions {
            project: self.path(),
            folder: self.0.path().join("team"),
            aside: self.0.path().join("aside"),
            team: "crew".parse().unwrap(),
            environment,
        };
        Worktrees::open(options).await.unwrap().isolation.unwrap()
    }

    /// A team on this project that retries without a pause.
    pub(super) async fn stage(&self, change: impl FnOnce(&mut Settings)) -> Stage {
        self.stage_with(without_restarts(), change).await
    }

    /// Like `stage`, with other timing.
    pub(super) async fn stage_with(
        &self,
        timing: Timing,
        change: impl FnOnce(&mut Settings),
    ) -> Stage {
        let mut settings = Settings { retry_backoff_seconds: 0, ..Settings::default() };
        settings.isolation.watch_seconds = 0;
        change(&mut settings);
        let isolation = Some(self.isolation().await);
        Stage::new(Setting { settings, isolation, timing, ..Setting::default() }).await
    }

    /// A file on the team's branch.
    pub(super) fn in_team(&self, file: &str) -> String {
        git(&self.path(), &["show", &format!("troop/crew:{file}")])
    }

    /// The names of the files on the team's branch.
    pub(super) fn files_of_team(&self) -> String {
        git(&self.path(), &["ls-tree", "--name-only", "troop/crew"])
    }
}

/// Reports the contents of `a` in its folder when it gets a task.
pub(super) fn reader() -> Play {
    play(|mut part| async move {
        part.ready(true).await;
        part.idle().await;
        let Some(task) = part.task().await else { return };
        let text = fs::read_to_string(part.spec.path.join("a")).unwrap_or_default();
        part.report(&task, ReportedStatus::Completed, &format!("saw {text}")).await;
        while part.hear().await.is_some() {}
    })
}

/// Does what the subject of a task says: `write FILE TEXT`. Messages go to `told`.
pub(super) fn writer(
    told: impl Fn(&Part, &WireTask, &str) + Clone + Send + Sync + 'static,
) -> Play {
    play(move |mut part| {
        let told = told.clone();
        async move {
            part.ready(true).await;
            part.idle().await;
            let mut last: Option<WireTask> = None;
            let mut is_new = true;
            while let Some(said) = part.hear().await {
                match said {
                    FromLead::AssignTask { task } => {
                        if is_new || last.as_ref().is_some_and(|it| it.id != task.id) {
                            write(&part.spec.path, &task.subject);
                        }
                        is_new = false;
                        part.complete(&task).await;
                        last = Some(task);
                    }
                    FromLead::Message(message) => {
                        if let Some(task) = &last {
                            told(&part, task, &message.content);
                        }
                    }
                    FromLead::Shutdown { .. } => {
                        let ack = troop_protocol::ShutdownAck::agreed();
                        return part.say(troop_protocol::FromTeammate::ShutdownAck(ack)).await;
                    }
                    FromLead::UpdateContext(_) | FromLead::Interrupt { .. } => {}
                }
            }
        }
    })
}

pub(super) fn write(folder: &Path, subject: &str) {
    let mut words = subject.splitn(3, ' ').skip(1);
    let (file, text) = (words.next().unwrap(), words.next().unwrap());
    fs::write(folder.join(file), text.replace('|', "\n")).unwrap();
}

pub(super) fn task(state: &State, number: u32) -> Option<Task> {
    state.tasks().get(TaskNumber(number)).cloned()
}

pub(super) async fn add(stage: &Stage, new: NewTask) {
    stage.lead_does(Command::Task(TaskCommand::Create(new))).await;
}

#[tokio::test]
async fn a_finished_task_is_merged_before_its_dependents_begin() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.plays.add("reader", reader());
    stage.spawn("bob", "writer").await;
    stage.spawn("cyd", "reader").await;
    stage.task_for("write a 1", "bob").await;
    let blocked_by = vec![TaskNumber(1).into()];
    let (subject, assignee) = ("read a".into(), Some(name("cyd")));
    add(&stage, NewTask { subject, assignee, blocked_by, ..NewTask::default() }).await;
    stage.until("task 2 is done", is_done(2)).await;
    let (one, two) = stage.until("both", |state| Some((task(state, 1)?, task(state, 2)?))).await;
    assert_eq!(two.result.as_deref(), Some("saw 1"));
    let merged = one.proof.merged.unwrap();
    assert_eq!(merged.into, "troop/crew");
    assert_eq!(
        git(&project.path(), &["log", "-1", "--format=%s", &merged.commit]),
        "merge task-1: write a 1"
    );
    assert!(!project.path().join("a").exists(), "the project itself is left alone");
    stage.stop().await;
}

#[tokio::test]
async fn conflicting_work_goes_back_to_its_owner_for_repair() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let (held, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (at, on) = (Arc::clone(&held), Arc::clone(&go));
    stage.plays.add(
        "careful",
        play(move |mut part| {
            let (at, on) = (Arc::clone(&at), Arc::clone(&on));
            async move {
                part.ready(true).await;
                part.idle().await;
                let Some(task) = part.task().await else { return };
                write(&part.spec.path, &task.subject);
                at.notify_one();
                on.notified().await;
                part.complete(&task).await;
                while let Some(said) = part.hear().await {
                    let FromLead::Message(message) = said else { continue };
                    let says = "your work conflicts with what is in `troop/crew` now: `text`, changed by task-2 (cyd)";
                    assert!(message.content.starts_with(says), "{}", message.content);
                    git_may_fail(&part.spec.path, &["merge", "troop/crew"]);
                    write(&part.spec.path, "write text one|both|three|");
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("bob", "careful").await;
    stage.spawn("cyd", "writer").await;
    stage.task_for("write text one|bob|three|", "bob").await;
    held.notified().await;
    stage.task_for("write text one|cyd|three|", "cyd").await;
    stage.until("task 2 is done", is_done(2)).await;
    go.notify_one();
    stage.until("task 1 is done", is_done(1)).await;
    let done = stage.until("the task", |state| task(state, 1)).await;
    assert_eq!(done.attempts, 1);
    let refused =
        done.trail.iter().find(|it| it.what == TrailKind::Refused).and_then(|it| it.note.clone());
    let note = "bob: it conflicts with what is in `troop/crew` now: `text`";
    assert_eq!(refused.as_deref(), Some(note));
    assert_eq!(project.in_team("text"), "one\nboth\nthree");
    stage.stop().await;
}

#[tokio::test]
async fn a_deleted_worktree_is_restored_before_anything_is_merged() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let repository = project.path();
    stage.plays.add(
        "careless",
        play(move |mut part| {
            let repository = repository.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                let Some(task) = part.task().await else { return };
                let folder = part.spec.path.to_string_lossy().into_owned();
                git(&repository, &["worktree", "remove", "--force", &folder]);
                part.complete(&task).await;
                while let Some(said) = part.hear().await {
                    let FromLead::Message(message) = said else { continue };
                    assert!(message.content.starts_with("your folder was deleted"), "{message:?}");
                    write(&part.spec.path, &task.subject);
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.spawn("bob", "careless").await;
    stage.task_for("write a 1", "bob").await;
    stage.until("task 1 is done", is_done(1)).await;
    assert_eq!(project.in_team("a"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn a_failed_check_sends_the_task_back_with_its_output() {
    let project = Project::new();
    let stage =
        project.stage(|settings| settings.checks = vec!["cat a; grep -q good a".into()]).await;
    let repair = |part: &Part, _: &WireTask, said: &str| {
        let says = "the check `cat a; grep -q good a` ended with exit code 1:\nbad";
        assert_eq!(said, says);
        write(&part.spec.path, "write a good");
    };
    stage.plays.add("writer", writer(repair));
    stage.spawn("bob", "writer").await;
    stage.task("write a bad").await;
    stage.until("task 1 is done", is_done(1)).await;
    let done = stage.until("the task", |state| task(state, 1)).await;
    assert_eq!((done.proof.evidence.len(), done.proof.n_failed, done.attempts), (1, 1, 1));
    assert_eq!(done.proof.evidence[0].tail, "good");
    assert_eq!(done.proof.evidence[0].commit, done.proof.merged.map(|it| it.commit));
    assert_eq!(project.in_team("a"), "good");
    stage.stop().await;
}

#[tokio::test]
async fn an_agent_that_cannot_repair_fails_and_the_next_attempt_begins_on_the_team_branch() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let (held, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (at, on) = (Arc::clone(&held), Arc::clone(&go));
    let n_runs = Arc::new(AtomicU32::new(0));
    stage.plays.add(
        "command",
        play(move |mut part| {
            let (at, on, n_runs) = (Arc::clone(&at), Arc::clone(&on), Arc::clone(&n_runs));
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(task) = part.task().await {
                    let text = fs::read_to_string(part.spec.path.join("text")).unwrap();
                    fs::write(part.spec.path.join("text"), text.replace("two", "TWO")).unwrap();
                    if n_runs.fetch_add(1, SeqCst) == 0 {
                        at.notify_one();
                        on.notified().await;
                    }
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("bob", "command").await;
    stage.spawn("cyd", "writer").await;
    stage.task_for("replace two", "bob").await;
    held.notified().await;
    stage.task_for("write text one|2|three|", "cyd").await;
    stage.until("task 2 is done", is_done(2)).await;
    go.notify_one();
    stage.until("task 1 is done", is_done(1)).await;
    let done = stage.until("the task", |state| task(state, 1)).await;
    assert_eq!(done.attempts, 2);
    let trail: Vec<_> = done.trail.iter().map(|it| it.what).collect();
    assert!(trail.contains(&TrailKind::Failed), "{trail:?}");
    let branches = git(&project.path(), &["branch", "--list", "troop-work/crew/bob/*"]);
    assert!(branches.contains("troop-work/crew/bob/task-1"), "its branch stays: {branches}");
    assert_eq!(project.in_team("text"), "one\n2\nthree");
    stage.stop().await;
}

#[tokio::test]
async fn work_of_a_crashed_member_is_kept_and_the_next_holder_learns_the_branch() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    stage.plays.add(
        "crashing",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            part.task().await;
            write(&part.spec.path, "write half x");
        }),
    );
    stage.spawn("bob", "crashing").await;
    stage.task("write half x").await;
    stage.until_state("bob", MemberState::Crashed).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("cyd", "writer").await;
    stage.until("task 1 is done", is_done(1)).await;
    let told = stage
        .until("cyd is told", |state| {
            let cyd = troop_model::Party::member(&name("cyd"));
            let mut all = state.mailbox().iter();
            all.find(|it| it.to == cyd).map(|it| it.content.clone())
        })
        .await;
    assert_eq!(
        told,
        "an earlier attempt at task-1 left its work on `troop-work/crew/bob/task-1`; see it with `git show troop-work/crew/bob/task-1`, take it over with `git merge troop-work/crew/bob/task-1`"
    );
    assert_eq!(git(&project.path(), &["show", "troop-work/crew/bob/task-1:half"]), "x");
    stage.stop().await;
}

#[tokio::test]
async fn submitted_work_is_merged_on_approval() {
    let project = Project::new();
    let stage = project.stage(|settings| {
        settings.require_review = true;
        settings.checks = vec!["test -e a".into()];
    });
    let stage = stage.await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("bob", "writer").await;
    stage.task("write a 1").await;
    let in_review = |state: &State| {
        (state.tasks().status(TaskNumber(1)) == Some(Status::InReview)).then_some(())
    };
    stage.until("it is in review", in_review).await;
    assert_eq!(git(&project.path(), &["diff", "--stat", "main", "troop/crew"]), "");
    let socket = find_lead(stage.folder.path()).unwrap().socket.unwrap();
    let client = Client::connect(&socket, &TaskTracker::new()).await.unwrap();
    let session = Asker::from(Actor::human("zoe"));
    client.open(&session).await.unwrap();
    let approve = TaskCommand::Approve { task: TaskNumber(1).into(), comment: None };
    client.call(Command::Task(approve), OperationId(Uuid::now_v7())).await.unwrap();
    stage.until("task 1 is done", is_done(1)).await;
    assert_eq!(project.in_team("a"), "1");
    stage.stop().await;
}

#[tokio::test]
async fn members_that_edit_the_same_lines_are_warned_while_they_work() {
    let project = Project::new();
    let stage = project.stage(|settings| settings.isolation.watch_seconds = 1).await;
    stage.plays.add(
        "slow",
        play(|mut part| async move {
            part.ready(true).await;
            part.idle().await;
            let Some(task) = part.task().await else { return };
            write(&part.spec.path, &task.subject);
            while part.hear().await.is_some() {}
        }),
    );
    stage.spawn("bob", "slow").await;
    stage.spawn("cyd", "slow").await;
    stage.task_for("write text one|bob|three|", "bob").await;
    stage.task_for("write text one|cyd|three|", "cyd").await;
    for (member, other) in [("bob", "cyd"), ("cyd", "bob")] {
        let told = stage.until("it is told", move |state| {
            let member = troop_model::Party::member(&name(member));
            state.mailbox().iter().find(|it| it.to == member).map(|it| it.content.clone())
        });
        let told = told.await;
        let says = format!("your changes and {other}'s conflict in `text`");
        assert!(told.starts_with(&says), "{told}");
    }
    stage.stop().await;
}

#[tokio::test]
async fn a_hanging_check_does_not_keep_the_team_from_stopping() {
    let project = Project::new();
    let stage =
        project.stage(|settings| settings.checks = vec!["touch begun; sleep 600".into()]).await;
    stage.plays.add("writer", writer(|_, _, _| {}));
    stage.spawn("bob", "writer").await;
    stage.task("write a 1").await;
    let begun = project.0.path().join("team/worktrees/bob/begun");
    troop_testkit::wait_for("the check runs", async || begun.exists().then_some(())).await;
    assert!(matches!(stage.stop().await, LeadEnd::Stopped { .. }));
}

#[tokio::test]
async fn without_isolation_checks_run_in_the_project() {
    let settings =
        Settings { retry_backoff_seconds: 0, checks: vec!["pwd".into()], ..Settings::default() };
    let stage = Stage::new(Setting { settings, ..Setting::default() }).await;
    stage.spawn("bob", "worker").await;
    stage.task("write").await;
    stage.until("task 1 is done", is_done(1)).await;
    let done = stage.until("the task", |state| task(state, 1)).await;
    assert_eq!(
        Path::new(&done.proof.evidence[0].tail),
        stage.folder.path().canonicalize().unwrap()
    );
    stage.stop().await;
}

/// The next warning to people.
pub(super) async fn told(warned: &mut mpsc::Receiver<String>) -> String {
    troop_testkit::wait_for("people are told", async || warned.try_recv().ok()).await
}

/// A git that cannot write files over 4 KiB while a file `full` exists beside it: a real fault without a small disk.
fn cramped_git(folder: &Path) -> Vec<(OsString, OsString)> {
    let own = std::env::var_os("PATH").unwrap();
    let paths: Vec<_> = std::env::split_paths(&own).collect();
    let real = paths.iter().map(|it| it.join("git")).find(|it| it.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\nif test -e '{0}/full'; then ulimit -f 8; trap '' XFSZ; fi\nexec '{1}' \"$@\"\n",
        folder.display(),
        real.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let others = std::env::vars_os().filter(|(name, _)| name != "PATH");
    let path = std::env::join_paths(std::iter::once(folder.to_owned()).chain(paths)).unwrap();
    others.chain([("PATH".into(), path)]).collect()
}

#[tokio::test]
async fn a_worktree_that_cannot_be_prepared_is_retried_and_costs_no_attempt() {
    let (project, own) = (Project::new(), tempfile::tempdir().unwrap());
    let big: String = (1..=5_000).map(|nth| format!("{nth}\n")).collect();
    let isolation = Some(project.isolation_in(cramped_git(own.path())).await);
    let (warnings, mut warned) = mpsc::channel(8);
    let settings = Settings { max_attempts: 1, ..Settings::default() };
    let setting = Setting { isolation, settings, warnings: Some(warnings), ..Setting::default() };
    let stage = Stage::new(setting).await;
    let text = big.clone();
    stage.plays.add(
        "maker",
        play(move |mut part: Part| {
            let text = text.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(task) = part.task().await {
                    fs::write(part.spec.path.join("a"), &text).unwrap();
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.plays.add("reader", reader());
    stage.spawn("bob", "reader").await;
    stage.until_state("bob", MemberState::Idle).await;
    stage.spawn("cyd", "maker").await;
    stage.task_for("make", "cyd").await;
    stage.until("it is made", is_done(1)).await;
    fs::write(own.path().join("full"), "").unwrap();
    stage.task_for("read", "bob").await;
    let warning = told(&mut warned).await;
    let begin = "the worktree of bob cannot be prepared for task-2; retrying: `git ";
    assert!(warning.starts_with(begin) && warning.contains("unable to write"), "{warning}");
    fs::remove_file(own.path().join("full")).unwrap();
    stage.until("it is done", is_done(2)).await;
    let task = stage.until("how", |state| state.tasks().get(TaskNumber(2)).cloned()).await;
    assert!(task.result == Some(format!("saw {big}")), "all of the file was there");
    assert_eq!(task.attempts, 1);
    assert!(warned.try_recv().is_err(), "people are told once");
    assert_eq!(project.in_team("a"), big.trim_end(), "it is unchanged");
}

#[tokio::test]
async fn a_merge_that_fails_on_a_full_disk_is_retried_and_costs_no_attempt() {
    let (project, own) = (Project::new(), tempfile::tempdir().unwrap());
    let big: String = (1..=5_000).map(|nth| format!("{nth}\n")).collect();
    let isolation = Some(project.isolation_in(cramped_git(own.path())).await);
    let (warnings, mut warned) = mpsc::channel(8);
    let settings = Settings { max_attempts: 1, ..Settings::default() };
    let setting = Setting { isolation, settings, warnings: Some(warnings), ..Setting::default() };
    let stage = Stage::new(setting).await;
    let (text, full) = (big.clone(), own.path().join("full"));
    // An agent that cannot repair: a refusal would cost it the attempt.
    stage.plays.add(
        "command",
        play(move |mut part: Part| {
            let (text, full) = (text.clone(), full.clone());
            async move {
                part.ready(true).await;
                part.idle().await;
                while let Some(task) = part.task().await {
                    fs::write(part.spec.path.join("a"), &text).unwrap();
                    fs::write(&full, "").unwrap();
                    part.complete(&task).await;
                }
            }
        }),
    );
    stage.spawn("cyd", "command").await;
    stage.task_for("make", "cyd").await;
    let warning = told(&mut warned).await;
    let begin = "cyd's work on task-1 cannot be merged now; retrying: `git ";
    assert!(warning.starts_with(begin) && warning.contains("File too large"), "{warning}");
    fs::remove_file(own.path().join("full")).unwrap();
    stage.until("it is done", is_done(1)).await;
    let task = stage.until("how", |state| task(state, 1)).await;
    assert_eq!((task.attempts, task.proof.merged.is_some()), (1, true));
    assert!(warned.try_recv().is_err(), "people are told once");
    assert!(!stage.trace().await.contains(&"task.refused".to_owned()), "the work is not refused");
    assert_eq!(project.in_team("a"), big.trim_end());
}

#[tokio::test]
async fn a_member_without_disk_space_for_its_worktree_starts_when_there_is_space() {
    let (project, own) = (Project::new(), tempfile::tempdir().unwrap());
    let big: String = (1..=5_000).map(|nth| format!("{nth}\n")).collect();
    fs::write(project.path().join("big"), &big).unwrap();
    git(&project.path(), &["add", "--all"]);
    git(&project.path(), &["commit", "--quiet", "-m", "big"]);
    let isolation = Some(project.isolation_in(cramped_git(own.path())).await);
    let (warnings, mut warned) = mpsc::channel(8);
    let setting = Setting { isolation, warnings: Some(warnings), ..Setting::default() };
    let stage = Stage::new(setting).await;
    fs::write(own.path().join("full"), "").unwrap();
    stage.spawn("bob", "worker").await;
    let warning = told(&mut warned).await;
    let begin = "bob cannot be started now; retrying: its folder could not be made: ";
    assert!(warning.starts_with(begin), "{warning}");
    fs::remove_file(own.path().join("full")).unwrap();
    stage.until_state("bob", MemberState::Idle).await;
    let folder = project.0.path().join("team/worktrees/bob/big");
    assert!(fs::read_to_string(folder).unwrap() == big, "the folder is whole");
    stage.stop().await;
}
