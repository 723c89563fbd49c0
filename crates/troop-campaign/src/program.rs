//! `troop` as a person uses it: commands with a time limit, and what must hold for every one of them.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use tokio::{
    process::{Child, Command},
    task::JoinSet,
    time::{sleep, timeout},
};
use troop_model::{Event, decode, lock};

use crate::tally::{TrialFinding, ViolationSeverity};

/// How long a command may take. Some wait for others.
const LONGEST: Duration = Duration::from_secs(90);
/// The person in a trial.
pub(crate) const PERSON: &str = "zoe";
/// The exit code of a bug.
const BUG: i32 = 70;

/// The findings of a trial so far, and the faults that happened. All its tasks write into it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrialRecord(Arc<Mutex<RecordParts>>);

#[derive(Debug, Default)]
struct RecordParts {
    findings: Vec<TrialFinding>,
    faults: Vec<&'static str>,
}

impl TrialRecord {
    pub(crate) fn find(&self, severity: ViolationSeverity, what: impl Into<String>) {
        lock(&self.0).findings.push(TrialFinding::new(severity, what));
    }

    pub(crate) fn fault(&self, name: &'static str) {
        lock(&self.0).faults.push(name);
    }

    pub(crate) fn findings(&self) -> Vec<TrialFinding> {
        lock(&self.0).findings.clone()
    }

    pub(crate) fn faults(&self) -> Vec<&'static str> {
        lock(&self.0).faults.clone()
    }
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct CallEnd {
    /// None if it was killed.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CallEnd {
    pub(crate) fn is_good(&self) -> bool {
        self.code == Some(0)
    }

    /// The kind of its error, for programs.
    pub(crate) fn kind(&self) -> String {
        let lines = self.err.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        let kind = |it: Value| Some(it.get("error")?.get("kind")?.as_str()?.to_owned());
        lines.filter_map(kind).next_back().unwrap_or_default()
    }
}

/// A fault of the process of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ClientHarm {
    None,
    Kill(Duration),
    Stop { after: Duration, pause: Duration },
}

impl ClientHarm {
    /// Returns its name if it happened.
    async fn inflict(self, process: OwnedFd) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Kill(after) => {
                sleep(after).await;
                pidfd_send_signal(process, Signal::KILL).ok().map(|()| "client killed")
            }
            Self::Stop { after, pause } => {
                sleep(after).await;
                pidfd_send_signal(&process, Signal::STOP).ok()?;
                sleep(pause).await;
                pidfd_send_signal(process, Signal::CONT)
                    .ok()
                    .map(|()| "client stopped and continued")
            }
        }
    }
}

/// The program, where it runs, and where its teams are.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) troop: PathBuf,
    /// The folder of the trial: the home of the person and of troop are in it.
    pub(crate) folder: PathBuf,
    /// Where commands run.
    pub(crate) place: PathBuf,
    pub(crate) store: String,
    pub(crate) path: OsString,
    pub(crate) record: TrialRecord,
}

impl Program {
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Any program, in the environment of the trial.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = troop_process::command(program);
        command.current_dir(&self.place).env_clear();
        command.env("PATH", &self.path).env("USER", PERSON).env("LANG", "C.UTF-8");
        command.env("HOME", self.folder.join("user")).env("TROOP_HOME", self.home());
        command.env("TMPDIR", &self.folder).env("TROOP_STORE", &self.store);
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    /// Runs `troop --json` with these words, and judges how it ended.
    pub(crate) async fn call(&self, words: &[&str]) -> Result<CallEnd> {
        self.call_under(words, ClientHarm::None).await
    }

    /// Runs `troop --json` with these words while something happens to its process.
    pub(crate) async fn call_under(&self, words: &[&str], harm: ClientHarm) -> Result<CallEnd> {
        let mut command = self.command(&self.troop);
        command.arg("--json").args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        let said = words.join(" ");
        let child = command.spawn().context("`troop` cannot be run")?;
        let mut harming = JoinSet::new();
        if let Some(process) = child.id().and_then(handle) {
            harming.spawn(harm.inflict(process));
        }
        let ended = timeout(LONGEST, child.wait_with_output()).await;
        if let Some(harmed) = harming.try_join_next() {
            harmed?.into_iter().for_each(|name| self.record.fault(name));
        }
        let Ok(output) = ended else {
            let what = format!("a command hung: `troop {said}`");
            self.record.find(ViolationSeverity::High, what);
            return Ok(CallEnd { code: None, out: String::new(), err: String::new() });
        };
        let output = output.context("`troop` cannot be waited for")?;
        let end = CallEnd {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        self.judge(&said, &end);
        Ok(end)
    }

    /// A bug is a violation, whatever happened before.
    pub(crate) fn judge(&self, said: &str, end: &CallEnd) {
        if end.code == Some(BUG) || end.kind() == "bug" || end.err.contains("panicked at") {
            let what = format!("a bug was told by the program itself: `troop {said}`: {}", end.err);
            self.record.find(ViolationSeverity::High, what);
        }
    }

    /// Runs a command that must succeed; otherwise the trial cannot go on.
    pub(crate) async fn must(&self, words: &[&str]) -> Result<String> {
        let end = self.call(words).await?;
        if !end.is_good() {
            bail!("a command that must succeed did not: `troop {}`: {end:?}", words.join(" "));
        }
        Ok(end.out)
    }

    /// The log of a team.
    pub(crate) async fn events(&self, team: &str) -> Result<Vec<Event>> {
        let log = self.must(&["--team", team, "events"]).await?;
        log.lines().map(|it| decode(it).context("an event cannot be read")).collect()
    }

    /// Starts something that runs for long, and writes to a file. The file `NAME.pid` tells its process.
    pub(crate) fn start(&self, name: &str, words: &[&str]) -> Result<LongRunning> {
        let pid = self.folder.join(format!("{name}.pid"));
        let mut command = self.command("sh");
        // The file is whole, or not there.
        let begin = "echo $$ >\"$0.new\" && mv \"$0.new\" \"$0\" && exec \"$@\"";
        command.args(["-c", begin]).arg(&pid).arg(&self.troop).args(words);
        let output = self.folder.join(format!("{name}.out"));
        let out = OpenOptions::new().create(true).append(true).open(&output)?;
        command.stdout(out.try_clone()?).stderr(out);
        Ok(LongRunning { child: command.spawn()?, output, pid })
    }
}

/// A process that runs for long. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct LongRunning {
    child: Child,
    output: PathBuf,
    pid: PathBuf,
}

impl LongRunning {
    /// None while it runs; else how it ended, and none within if it was killed.
    pub(crate) fn end(&mut self) -> Result<Option<Option<i32>>> {
        Ok(self.child.try_wait()?.map(|it| it.code()))
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.id().into_iter().for_each(|it| send(it, signal));
    }

    /// Kills it and waits for its end.
    pub(crate) async fn kill(&mut self) {
        drop(self.child.kill().await);
        drop(std::fs::remove_file(&self.pid));
    }

    /// The last lines that it printed.
    pub(crate) fn last_words(&self) -> String {
        tail(&self.output)
    }
}

/// The end of a file.
pub(crate) fn tail(file: &Path) -> String {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n    ")
}

/// A handle of a process that never refers to another one.
fn handle(id: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok())
}

/// Sends a signal to a process, if it is still there.
pub(crate) fn send(id: u32, signal: Signal) {
    if let Some(process) = handle(id) {
        // It may have ended just now.
        let (Ok(()) | Err(_)) = pidfd_send_signal(process, signal);
    }
}
