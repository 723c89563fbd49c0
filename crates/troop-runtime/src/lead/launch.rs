//! How a member becomes something that runs: a process, or a task of this one.

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

/// How much may be on its way inside this process.
const PIPE: usize = 64 * 1024;

/// Starts what thinks for members.
pub trait Launch: Send + Sync + fmt::Debug {
    /// Starts what thinks for a member. It is to speak the teammate wire.
    ///
    /// # Errors
    ///
    /// If it cannot be started; the member is not left behind then.
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent>;

    /// Says why an agent cannot be started, as far as that is known before.
    ///
    /// # Errors
    ///
    /// If it cannot.
    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        let (_, _) = (agent, model);
        Ok(())
    }

    /// Starts a process that ends all others of a session when the lead is gone, however it went. It learns of that by the
    /// end of what it reads; if it reads something before, the lead has ended everybody itself.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    fn guard(&self, session: Uuid) -> io::Result<Option<Child>>;
}

/// Who is to be started.
#[derive(Clone, Debug)]
pub struct LaunchSpec {
    pub team: TeamName,
    pub member: MemberName,
    pub role: Role,
    /// What thinks for it: an agent's key.
    pub agent: SmolStr,
    /// The model it asks for.
    pub model: Option<SmolStr>,
    /// In which session of the lead.
    pub session: Uuid,
    /// Where it works.
    pub path: PathBuf,
    /// The project that it works for: the same, unless it has a folder of its own.
    pub project: PathBuf,
    /// What it finds in its environment besides what others do.
    pub variables: Vec<(&'static str, &'static str)>,
    /// Told to all that runs for it, so that what it leaves behind can be found.
    pub mark: Mark,
}

impl LaunchSpec {
    /// What all that runs for the member finds in its environment: who it acts for, and the mark by which it is found.
    #[must_use]
    pub fn own_variables(&self) -> Vec<(String, String)> {
        let mut variables = self.mark.variables();
        variables.push(("TROOP_TEAM".to_owned(), self.team.to_string()));
        variables.push(("TROOP_AS".to_owned(), self.member.to_string()));
        variables
    }
}

/// Something that runs.
pub struct LaunchedAgent {
    /// What it says.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What it hears.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it is.
    pub life: Life,
}

/// What runs for a member.
pub enum Life {
    /// A process.
    Process(Box<Child>),
    /// A part of this process; it ends when its wire does.
    Task(BoxFuture<'static, ()>),
}

/// Runs members as processes of their own.
#[derive(Clone, Debug)]
pub struct Programs {
    /// The program that runs agents which have none of their own: troop itself.
    pub troop: PathBuf,
    /// The programs of agents that have one, by the agent's key, with their first arguments.
    pub own: BTreeMap<SmolStr, Vec<OsString>>,
    /// What they find in their environment besides what is in ours.
    pub environment: Vec<(OsString, OsString)>,
}

/// A program that the system does not start, with what the system says.
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
        // What is described beside the project's files, and not among them, is found there.
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
        // It must outlive us, and nobody reads what it says.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.kill_on_drop(false).spawn().map(Some)
    }
}

/// An argument that names a file of the project, so that it is found from another folder, too.
fn found_from(spec: &LaunchSpec, argument: &OsString) -> OsString {
    let file = spec.project.join(argument);
    let is_elsewhere = spec.path != spec.project && file.is_file();
    if is_elsewhere { file.into() } else { argument.clone() }
}

/// What a teammate is started with, whatever program it is.
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

/// Runs some members inside this process, and leaves the others to somebody else.
pub struct InProcess<F> {
    /// What runs for a member here, between the wire's two ends; none for who is not run here.
    pub run: F,
    /// Who runs the others.
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

/// For [`InProcess`]: a lead's own member that hears everything and says nothing, for teams whose lead has no agent.
#[must_use]
pub fn silent_lead(spec: &LaunchSpec, wire: DuplexStream) -> Option<BoxFuture<'static, ()>> {
    let name = (spec.role == Role::Lead).then(|| spec.member.to_string())?;
    Some(Box::pin(async move {
        let tracker = TaskTracker::new();
        let (reader, writer) = tokio::io::split(wire);
        let (peer, mut heard) = Peer::channel(reader, writer, &tracker);
        let ready = FromTeammate::Ready(Ready { name, acknowledges: false, version: None });
        // A wire that has ended ends this too.
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
