//! Starts members, as a process or as a task of this one.

use std::{
    collections::BTreeMap, ffi::OsString, fmt, io, path::PathBuf, process::Stdio, sync::Arc,
};

use smol_str::SmolStr;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    process::Child,
};
use tokio_util::task::TaskTracker;
use troop_model::{MemberName, Role, TeamName};
use troop_process::Mark;
use troop_protocol::{FromLead, FromTeammate, Incoming, Peer, Ready};
use uuid::Uuid;

use crate::BoxFuture;

/// The buffer size of a wire inside this process.
const PIPE: usize = 64 * 1024;

/// Starts the agents of members.
pub trait Launch: Send + Sync + fmt::Debug {
    /// Starts the agent of a member. It must speak the teammate protocol.
    ///
    /// # Errors
    ///
    /// If it cannot be started; a new member then leaves the team again.
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent>;

    /// Checks before a start whether an agent can be started.
    ///
    /// # Errors
    ///
    /// If it is already known that it cannot.
    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        _ = agent;
        _ = model;
        Ok(())
    }

    /// Starts a process that kills all others of a session when the lead's process dies. It learns that from the end of its
    /// standard input; if it reads [`GUARD_WORD`](super::GUARD_WORD) before, it kills nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    fn guard(&self, session: Uuid) -> io::Result<Option<Child>>;
}

/// Describes the member to start.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    pub team: TeamName,
    pub member: MemberName,
    pub role: Role,
    /// The key of its agent.
    pub agent: SmolStr,
    /// The model it wants.
    pub model: Option<SmolStr>,
    /// The session of the lead.
    pub session: Uuid,
    /// The folder in which it works.
    pub path: PathBuf,
    /// The project: the same folder, unless it has its own.
    pub project: PathBuf,
    /// Extra environment variables of this member.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Marks the environment of all its processes, so that troop finds those it leaves behind.
    pub mark: Mark,
}

impl LaunchSpec {
    /// The environment variables of all processes of the member: its team, its name, and its mark.
    #[must_use]
    pub fn own_variables(&self) -> Vec<(String, String)> {
        let mut variables = self.mark.variables();
        variables.push(("TROOP_TEAM".to_owned(), self.team.to_string()));
        variables.push(("TROOP_AS".to_owned(), self.member.to_string()));
        variables
    }
}

/// A started agent.
pub struct LaunchedAgent {
    /// Its output.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Its input.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its process or task.
    pub life: Life,
}

/// The process or task of a member.
pub enum Life {
    /// A process.
    Process(Box<Child>),
    /// A task of this process; it ends when its wire does.
    Task(BoxFuture<'static, ()>),
}

/// Runs each member as a process.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program for agents without their own: troop itself.
    pub troop: PathBuf,
    /// The programs of agents with their own, by the agent's key, with their first arguments.
    pub own: BTreeMap<SmolStr, Vec<OsString>>,
    /// Environment variables in addition to ours.
    pub environment: Vec<(OsString, OsString)>,
}

/// A program that could not be started, and why.
#[derive(Debug, Error)]
#[error("`{program}`: {source}")]
struct NotStarted {
    program: String,
    source: io::Error,
}

impl Launch for Programs {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        let (program, first) = match self.own.get(&spec.agent).and_then(|it| it.split_first()) {
            Some((program, first)) => (program.clone(), first),
            None => (self.troop.clone().into_os_string(), [].as_slice()),
        };
        let mut command = troop_process::command(&program);
        let first = first.iter().map(|argument| found_from(spec, argument));
        command.args(first).args(arguments(spec)).current_dir(&spec.path);
        // Agents that the project defines are found there, wherever the member works.
        command.env("TROOP_PROJECT", &spec.project);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("TROOP_TEAMMATE", "1").envs(spec.variables.iter().copied());
        command.envs(spec.own_variables());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let not_started = |source: io::Error| {
            let program = program.to_string_lossy().into_owned();
            io::Error::new(source.kind(), NotStarted { program, source })
        };
        let mut child = command.spawn().map_err(not_started)?;
        let (Some(writer), Some(reader)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a started process has no pipes"));
        };
        let life = Life::Process(Box::new(child));
        Ok(LaunchedAgent { reader: Box::new(reader), writer: Box::new(writer), life })
    }

    fn guard(&self, session: Uuid) -> io::Result<Option<Child>> {
        let mut command = troop_process::command(&self.troop);
        command.arg("--guard").arg(session.to_string());
        // It must outlive us, and its output is not read.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(false).spawn().map(Some)
    }
}

/// An argument. If it names a file of the project and the member works elsewhere, it becomes a full path.
fn found_from(spec: &LaunchSpec, argument: &OsString) -> OsString {
    let file = spec.project.join(argument);
    let is_elsewhere = spec.path != spec.project && file.is_file();
    if is_elsewhere { file.into() } else { argument.clone() }
}

/// The arguments of every teammate, whatever its program.
fn arguments(spec: &LaunchSpec) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--mode".into(), "teammate".into()];
    let mut say = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
    say("--team", spec.team.as_str().into());
    say("--name", spec.member.as_str().into());
    say("--agent", spec.agent.as_str().into());
    say("--lead-session", spec.session.to_string().into());
    if let Some(model) = &spec.model {
        say("--model", model.as_str().into());
    }
    say("--path", spec.path.clone().into());
    arguments
}

/// Runs some members inside this process, and leaves the others to another launcher.
pub struct InProcess<F> {
    /// The task of a member, at the other end of its wire; none for members that do not run here.
    pub run: F,
    /// Launches the others.
    pub others: Arc<dyn Launch>,
}

impl<F> Launch for InProcess<F>
where
    F: Fn(&LaunchSpec, DuplexStream) -> Option<BoxFuture<'static, ()>> + Send + Sync,
{
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        let (here, there) = tokio::io::duplex(PIPE);
        let Some(run) = (self.run)(spec, there) else { return self.others.launch(spec) };
        let (reader, writer) = tokio::io::split(here);
        let life = Life::Task(run);
        Ok(LaunchedAgent { reader: Box::new(reader), writer: Box::new(writer), life })
    }

    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        self.others.check(agent, model)
    }

    fn guard(&self, session: Uuid) -> io::Result<Option<Child>> {
        self.others.guard(session)
    }
}

impl<F> fmt::Debug for InProcess<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcess").field("others", &self.others).finish_non_exhaustive()
    }
}

/// For [`InProcess`]: a lead that ignores everything until it is shut down, for teams whose lead has no agent.
#[must_use]
pub fn silent_lead(spec: &LaunchSpec, wire: DuplexStream) -> Option<BoxFuture<'static, ()>> {
    let name = (spec.role == Role::Lead).then(|| spec.member.to_string())?;
    Some(Box::pin(async move {
        let tracker = TaskTracker::new();
        let (reader, writer) = tokio::io::split(wire);
        let (peer, mut heard) = Peer::channel(reader, writer, &tracker);
        let ready = FromTeammate::Ready(Ready { name, acknowledges: false, version: None });
        // If the wire has ended, the loop below ends too.
        drop(peer.notify(&ready).await);
        while let Some(Incoming::Notification(said)) = heard.recv().await {
            if let Ok(FromLead::Shutdown { .. }) = FromLead::try_from(&said) {
                break;
            }
        }
    }))
}

impl fmt::Debug for LaunchedAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.life {
            Life::Process(_) => "LaunchedAgent::Process",
            Life::Task(_) => "LaunchedAgent::Task",
        })
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process(_) => "Process",
            Self::Task(_) => "Task",
        })
    }
}
