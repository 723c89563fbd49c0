//! Which agents may run for a team, and how they are started.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use anyhow::{Context as _, Result};
use smol_str::SmolStr;
use tokio::{io::DuplexStream, sync::watch};
use troop_agent::{
    Agent, BoxFuture, Definition, Exit, Finder, RegistryError, ScriptError, Thinking, Turn,
    TurnOutcome, Work, Workplace, builtin::BuiltinOptions,
};
use troop_model::{Dollars, EXTERNAL, NewMember, Role, State};
use troop_runtime::{InProcess, Launch, LaunchSpec, LaunchedAgent, LeadWork, Programs};
use uuid::Uuid;

use crate::{
    agents,
    config::{self, Surroundings},
    render,
    report::{Refused, quoted_path},
    thinking,
    trust::{self, AgreedAgents, Trust},
};

/// Who is to think for a team, and what it may spend.
#[derive(Debug)]
pub(crate) struct Thinkers {
    pub(crate) dollars: Option<Dollars>,
    /// Agents, and the models that were chosen for them.
    pub(crate) members: Vec<(SmolStr, Option<SmolStr>)>,
}

impl Thinkers {
    /// The members of a team, without its lead.
    pub(crate) fn teammates_of(state: &State) -> Self {
        let dollars = state.team().and_then(|team| team.settings.budget.dollars);
        let members = state.members().filter(|it| it.role == Role::Member);
        let members = members.map(|it| (it.agent.clone(), it.model.clone())).collect();
        Self { dollars, members }
    }

    /// One of them.
    pub(crate) fn one(member: &NewMember) -> (SmolStr, Option<SmolStr>) {
        (member.agent.clone(), member.model.clone())
    }
}

/// The agents that may run for a team.
#[derive(Debug)]
pub(crate) struct Runnable {
    programs: Programs,
    project: PathBuf,
    home: PathBuf,
    /// The agents that the project describes, as a person agreed to them.
    agreed: AgreedAgents,
    /// The file of MCP servers that a person agreed to.
    servers: Option<String>,
    /// What can lead here, for people who have nobody that does.
    how_to_lead: String,
    /// What the project is made of, once somebody has looked.
    profile: OnceLock<String>,
}

impl Runnable {
    pub(crate) fn new(
        surroundings: &Surroundings,
        trust: &Trust,
        store: Option<&str>,
    ) -> Result<Self> {
        let troop = std::env::current_exe().context("the path of troop itself is unknown")?;
        let home = std::path::absolute(&surroundings.home)?;
        let project = surroundings.project.clone();
        let definitions = Definition::read_all(&Definition::folders(&project, Some(&home)));
        let programs = definitions.iter().filter(|it| !it.program.is_empty() && !is_own(&it.key));
        let own: BTreeMap<SmolStr, Vec<OsString>> = programs
            .map(|it| (SmolStr::new(&it.key), it.program.iter().map(OsString::from).collect()))
            .collect();
        // What they start finds the same teams.
        let mut environment = vec![("TROOP_HOME".into(), home.clone().into_os_string())];
        environment.extend(store.map(|store| ("TROOP_STORE".into(), store.into())));
        let servers = trust::allowed_servers(surroundings, trust);
        let trusted = servers.clone().map(Into::into);
        environment.extend(trusted.map(|it| (config::TRUSTED_SERVERS.into(), it)));
        let programs = Programs { troop, own, environment };
        let agreed = AgreedAgents::new(surroundings, trust);
        let how_to_lead = thinking::how_to_lead((&home, &project));
        let profile = OnceLock::new();
        Ok(Self { programs, project, home, agreed, servers, how_to_lead, profile })
    }

    pub(crate) fn how_to_lead(&self) -> &str {
        &self.how_to_lead
    }

    /// Looks at what the project is made of, if the lead of the team is somebody who can make use of it.
    pub(super) async fn look_at_project(&self, state: &State) {
        let lead = state.lead().map(|lead| (lead.agent.clone(), lead.model.clone()));
        if lead.is_some_and(|(agent, model)| self.thinks(&agent, model.as_deref())) {
            let found = troop_runtime::profile(&self.project, &config::environment()).await;
            self.profile.get_or_init(|| render::profile_in_short(&found));
        }
    }

    /// Says why an agent cannot run, if it cannot.
    pub(crate) fn check(&self, key: &str, model: Option<&str>) -> Result<()> {
        self.find(key, model).map(drop)
    }

    /// Refuses a budget in dollars where the price of what somebody thinks with is not known: it would hold nobody.
    pub(crate) fn check_price(&self, thinkers: &Thinkers) -> Result<()> {
        let Some(dollars) = thinkers.dollars else { return Ok(()) };
        for (agent, model) in &thinkers.members {
            let agent = self.find(agent, model.as_deref()).ok().flatten();
            if let Some(model) = agent.as_ref().and_then(|agent| agent.thinks()?.unpriced) {
                let message = format!(
                    "the price of the model `{model}` is unknown, so a budget of {dollars} could not be kept"
                );
                return Err(
                    Refused::new(message, thinking::how_to_price(&self.home, &model)).into()
                );
            }
        }
        Ok(())
    }

    /// Whether an agent thinks, and can go on from what is on the board.
    pub(crate) fn thinks(&self, key: &str, model: Option<&str>) -> bool {
        let agent = self.find(key, model).ok().flatten();
        agent.is_some_and(|agent| agent.thinks().is_some())
    }

    /// Whether an agent runs in this process without thinking: it follows a script, and would begin it anew.
    pub(crate) fn follows(&self, key: &str, model: Option<&str>) -> bool {
        let agent = self.find(key, model).ok().flatten();
        agent.is_some_and(|agent| agent.thinks().is_none())
    }

    /// Says why a teammate cannot be what it should be, if it cannot.
    pub(crate) fn check_member(&self, member: &NewMember) -> Result<()> {
        let NewMember { name, agent: key, model, .. } = member;
        self.check(key, model.as_deref()).map_err(|error| match error.downcast::<Refused>() {
            // How to lead is no help to who works.
            Ok(refused) if refused.hint().to_string() == self.how_to_lead => {
                let thinks = thinking::at_hand((&self.home, &self.project)).map(|model| {
                    format!("`--member {name}=builtin`, which uses `{model}`, ")
                });
                let hint = format!(
                    "say {}`--member {name}=command`, which runs a task's command, `--member {name}=script:FILE`, or your own \
                     program that `.troop/agents/NAME.md` describes: `--member {name}=NAME`",
                    thinks.unwrap_or_default()
                );
                Refused::new(refused.to_string(), hint).into()
            }
            Ok(refused) => refused.into(),
            Err(error) => error,
        })
    }

    /// The agent for a key. None if a program of its own is to be started for it.
    fn find(&self, key: &str, model: Option<&str>) -> Result<Option<Box<dyn Agent>>> {
        if key == EXTERNAL {
            let message = format!("`{EXTERNAL}` is run by another program, not by troop");
            return Err(Refused::new(message, "add it: `troop member add NAME=external`").into());
        }
        // At every start, because what was agreed to may have been changed since the last one.
        self.agreed.check(key)?;
        let hint = Cell::new("");
        let thinks = |model: Option<&str>| {
            let servers = self.servers.as_deref();
            let options = thinking::options((&self.home, &self.project), model, servers);
            let profile = self.profile.get().cloned().unwrap_or_default();
            options.map(|options| BuiltinOptions { profile, ..options }).map_err(|unfit| {
                hint.set(unfit.hint);
                unfit.why
            })
        };
        let finder =
            Finder { project: &self.project, home: Some(&self.home), thinks: &thinks, model };
        match troop_agent::find_agent(key, finder) {
            Ok(agent) => Ok(Some(agent)),
            Err(RegistryError::Foreign { .. }) => Ok(None),
            Err(RegistryError::NoModel { why }) => Err(Refused::new(why, hint.get()).into()),
            Err(error @ RegistryError::Unclear { .. }) => {
                let hint =
                    "write them in one line: `tools: Read, Grep`, or each in its own: `- Read`";
                Err(Refused::new(error.to_string(), hint).into())
            }
            Err(RegistryError::CannotRun { .. }) => Err(self.not_available(key)),
            Err(RegistryError::Unknown { .. }) if agents::runs_later(key) => {
                Err(self.not_available(key))
            }
            Err(RegistryError::Script(error)) => Err(cannot_follow(&error)),
            Err(error) => {
                let hint = format!("available: {}", agents::available());
                Err(Refused::new(chain(&error), hint).into())
            }
        }
    }

    fn not_available(&self, key: &str) -> anyhow::Error {
        let available = agents::available();
        let message =
            format!("the agent `{key}` is not available in this version; available: {available}");
        Refused::new(message, &*self.how_to_lead).into()
    }

    /// Where a member of this process works.
    fn place(&self, spec: &LaunchSpec) -> Workplace {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let shared = self.programs.environment.iter();
        let mut environment: Vec<_> =
            shared.map(|(name, value)| (text(name), text(value))).collect();
        // With the mark: else nobody would find what it started, if this process were killed.
        environment.extend(spec.own_variables());
        Workplace {
            name: spec.member.to_string(),
            team: spec.team.to_string(),
            path: spec.path.clone(),
            environment,
            raw_write: None,
        }
    }

    /// Runs the lead's agent in this process, and all others as processes.
    pub(super) fn launch(
        self: Arc<Self>,
        watch: Watch,
        instead: Option<Instead>,
    ) -> Arc<dyn Launch> {
        let others: Arc<dyn Launch> = Arc::clone(&self) as Arc<dyn Launch>;
        let run = move |spec: &LaunchSpec, wire: DuplexStream| {
            let is_lead = spec.role == Role::Lead;
            // What is wrong with it is said by who starts processes.
            let agent = is_lead
                .then(|| self.find(&spec.agent, spec.model.as_deref()))
                .and_then(Result::ok)
                .flatten()?;
            Some(serve(agent, self.place(spec), wire, watch.clone()))
        };
        let launch: Arc<dyn Launch> = Arc::new(InProcess { run, others });
        match instead {
            Some(instead) => Arc::new(Led { instead, launch }),
            None => launch,
        }
    }
}

/// What thinks for a lead this time.
#[derive(Clone, Debug)]
pub(crate) struct Instead {
    pub(crate) agent: SmolStr,
    pub(crate) model: Option<SmolStr>,
}

/// Starts somebody else for the lead.
#[derive(Debug)]
struct Led {
    instead: Instead,
    launch: Arc<dyn Launch>,
}

impl Launch for Led {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        if spec.role != Role::Lead {
            return self.launch.launch(spec);
        }
        let Instead { agent, model } = self.instead.clone();
        self.launch.launch(&LaunchSpec { agent, model, ..spec.clone() })
    }

    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        self.launch.check(agent, model)
    }

    fn guard(&self, session: Uuid) -> io::Result<Option<tokio::process::Child>> {
        self.launch.guard(session)
    }
}

impl Launch for Runnable {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        self.check(&spec.agent, spec.model.as_deref()).map_err(io::Error::other)?;
        self.agreed.check_program(&spec.agent, &spec.path).map_err(io::Error::other)?;
        self.programs.launch(spec)
    }

    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        self.find(agent, model).map(drop).map_err(io::Error::other)
    }

    fn guard(&self, session: Uuid) -> io::Result<Option<tokio::process::Child>> {
        self.programs.guard(session)
    }
}

/// Whether troop itself is the agent of this key, whatever files describe.
fn is_own(key: &str) -> bool {
    key == "builtin" || key == "command" || key == "script" || key.starts_with("script:")
}

/// What to do about a script that is not there, or makes no sense.
fn cannot_follow(error: &ScriptError) -> anyhow::Error {
    let hint = match error {
        ScriptError::Unreadable { file, .. } => {
            let there = file.ancestors().skip(1).find(|it| it.is_dir()).unwrap_or(file);
            format!("scripts are searched for in the project's folder: `ls {}`", quoted_path(there))
        }
        ScriptError::Senseless { file, line, .. } => {
            format!("correct that line: `${{EDITOR:-vi}} +{line} {}`", quoted_path(file))
        }
        _ => "how scripts are written: docs/script.md".to_owned(),
    };
    Refused::new(chain(error), hint).into()
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Lets an agent of this process think for a member.
fn serve(
    agent: Box<dyn Agent>,
    place: Workplace,
    wire: DuplexStream,
    watch: Watch,
) -> BoxFuture<'static, ()> {
    let options = troop_agent::TeammateOptions::new(place);
    let (reader, writer) = tokio::io::split(wire);
    Box::pin(async move {
        let agent = Box::new(Watched { agent, watch: watch.clone() });
        let exit = troop_agent::serve(agent, reader, writer, options).await;
        if let Exit::Stopped(code) = exit {
            watch.work.send_replace(LeadWork::Failed);
            watch.note(Some(format!("it exited by itself with code {code}")));
        }
    })
}

/// How the lead's agent stands with what it was told, and what went wrong with it, if anything did.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    fault: Arc<Mutex<Option<String>>>,
    work: watch::Sender<LeadWork>,
}

impl Watch {
    /// Of an agent that was left in the middle of what it was told, and does not go on with it by itself.
    pub(super) fn of_left(left: Option<(LeadWork, String)>) -> Self {
        let watch = Self::default();
        if let Some((work, fault)) = left {
            watch.work.send_replace(work);
            watch.note(Some(fault));
        }
        watch
    }

    fn note(&self, fault: Option<String>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn work(&self) -> watch::Receiver<LeadWork> {
        self.work.subscribe()
    }
}

/// An agent, and somebody who notes when it cannot go on.
struct Watched {
    agent: Box<dyn Agent>,
    watch: Watch,
}

impl Agent for Watched {
    fn turn<'a>(&'a mut self, work: Work, turn: &'a Turn) -> BoxFuture<'a, TurnOutcome> {
        match work {
            work @ (Work::Start | Work::Mail(_)) => Box::pin(self.noted(work, turn)),
            // What becomes of a task is on the board.
            work @ (Work::Task(_) | Work::Resume { .. } | Work::Shutdown { .. }) => {
                self.agent.turn(work, turn)
            }
        }
    }

    fn fresh(&self) -> Box<dyn Agent> {
        Box::new(Self { agent: self.agent.fresh(), watch: self.watch.clone() })
    }

    fn thinks(&self) -> Option<Thinking> {
        self.agent.thinks()
    }
}

impl Watched {
    /// A turn of which is noted how it stands with what the agent was told.
    async fn noted(&mut self, work: Work, turn: &Turn) -> TurnOutcome {
        let watch = self.watch.clone();
        let (stood, earlier) = (*watch.work.borrow(), watch.fault());
        // Who cannot go on from what is on the board has lost what it left undone, unless a person tells it again.
        let goes_on = self.agent.thinks().is_some();
        let forgets = || goes_on || stood == LeadWork::Done || turn.has_heard();
        // One that is killed in the middle of it leaves it so.
        watch.work.send_replace(LeadWork::Open);
        let mut ending = self.agent.turn(work, turn);
        let outcome = tokio::select! {
            biased;
            outcome = &mut ending => outcome,
            () = turn.only_waits().cancelled() => {
                watch.work.send_replace(if forgets() { LeadWork::Done } else { stood });
                ending.await
            }
        };
        let (stands, fault) = match &outcome {
            TurnOutcome::Interrupted if goes_on => (LeadWork::Interrupted, None),
            TurnOutcome::Interrupted if !turn.only_waits().is_cancelled() => (LeadWork::Open, None),
            TurnOutcome::Done | TurnOutcome::Completed { .. } | TurnOutcome::Interrupted => {
                (LeadWork::Done, None)
            }
            TurnOutcome::Failed { reason } | TurnOutcome::Hopeless { reason } => {
                (LeadWork::Failed, Some(reason.clone()))
            }
            TurnOutcome::GaveBack { .. }
            | TurnOutcome::Refused { .. }
            | TurnOutcome::Stop { .. } => (LeadWork::Open, None),
        };
        let (stands, fault) = if forgets() { (stands, fault) } else { (stood, earlier.or(fault)) };
        watch.note(fault);
        watch.work.send_replace(stands);
        outcome
    }
}
