//! Which agents may run for a team, and how they are started.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use smol_str::SmolStr;
use tokio::io::DuplexStream;
use troop_agent::{
    Agent, Definition, Finder, RegistryError, ScriptError, Workplace, builtin::BuiltinOptions,
};
use troop_model::{
    AgentKind, AgentStart, Dollars, Hint, HintCommand, HintOption, MemberName, NewMember, Role,
    State,
};
use troop_runtime::{InProcess, Launch, LaunchSpec, LaunchedAgent, Profile, Programs, Suggestion};
use uuid::Uuid;

use super::{
    available, check_leads,
    lead_watch::{LeadWatch, serve},
    runs_later,
    thinking::{self, ThinkingPlace},
};
use crate::{
    Error, FileAct, Result,
    surroundings::{Environment, Surroundings, TRUSTED_SERVERS},
    team::TeamDesk,
    text::{chain, one_line},
    trust::{self, AgreedAgents, ProjectTrust},
};

/// Why an agent cannot run for a team.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentFault {
    /// No agent of this version can be it.
    #[error("the agent `{key}` is not available in this version; available: {}", available())]
    NotAvailable { key: String },
    /// Something that it needs is missing or wrong.
    #[error("{message}")]
    Unfit { message: String, hint: Hint },
    /// It is not as a person agreed to it.
    #[error(transparent)]
    Untrusted(Error),
}

impl AgentFault {
    fn unfit(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Unfit { message: message.into(), hint: hint.into() }
    }

    /// The error for this fault. `instead` is the hint for an agent that is not available.
    #[must_use]
    pub fn into_error(self, instead: impl FnOnce() -> Hint) -> Error {
        match self {
            Self::NotAvailable { .. } => Error::refused(self.to_string(), instead()),
            Self::Unfit { message, hint } => Error::refused(message, hint),
            Self::Untrusted(error) => error,
        }
    }
}

/// The agents of a team, and how much the team may spend.
#[derive(Debug)]
pub struct Thinkers {
    pub dollars: Option<Dollars>,
    pub members: Vec<Thinker>,
}

/// An agent, and the model that was chosen for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinker {
    pub agent: SmolStr,
    pub model: Option<SmolStr>,
}

impl Thinkers {
    /// The members of a team, without its lead.
    #[must_use]
    pub fn teammates_of(state: &State) -> Self {
        let dollars = state.team().and_then(|team| team.settings.budget.dollars);
        let members = state.members().filter(|it| it.role == Role::Member);
        let thinker =
            |it: &troop_model::Member| Thinker { agent: it.agent.clone(), model: it.model.clone() };
        Self { dollars, members: members.map(thinker).collect() }
    }
}

impl Thinker {
    /// The agent on the board that leads a team.
    pub(crate) fn lead_of(state: &State) -> Self {
        let lead = state.lead().map(|lead| (lead.agent.clone(), lead.model.clone()));
        let (agent, model) = lead.unwrap_or_default();
        Self { agent, model }
    }
}

impl From<&NewMember> for Thinker {
    fn from(member: &NewMember) -> Self {
        Self { agent: member.agent.clone(), model: member.model.clone() }
    }
}

/// The agents that may run for a team.
#[derive(Debug)]
pub struct RunnableAgents {
    programs: Programs,
    project: PathBuf,
    home: PathBuf,
    environment: Environment,
    /// The agents that the project describes, as a person agreed to them.
    agreed: AgreedAgents,
    /// The MCP servers that a person agreed to.
    servers: Option<String>,
    /// The agents that can lead here, for people who have not chosen one.
    how_to_lead: Hint,
    /// The project's profile, after [`Self::look_at_project`].
    profile: OnceLock<String>,
}

impl RunnableAgents {
    /// Finds the agents. `troop` is the program to start for teammates; `store` is where they find the team, unless that is the
    /// default.
    pub fn new(
        surroundings: &Surroundings,
        trust: &ProjectTrust,
        troop: PathBuf,
        store: Option<&str>,
    ) -> Result<Self> {
        let home = std::path::absolute(&surroundings.home).map_err(|source| Error::File {
            path: surroundings.home.clone(),
            act: FileAct::Read,
            source,
        })?;
        let project = surroundings.project.clone();
        let definitions = Definition::read_all(&Definition::folders(&project, Some(&home)));
        let programs = definitions.iter().filter(|it| !it.program.is_empty() && !is_own(&it.key));
        let own: BTreeMap<SmolStr, Vec<OsString>> = programs
            .map(|it| (SmolStr::new(&it.key), it.program.iter().map(OsString::from).collect()))
            .collect();
        // Programs that teammates start find the same teams.
        let mut variables = vec![("TROOP_HOME".into(), home.clone().into_os_string())];
        variables.extend(store.map(|store| ("TROOP_STORE".into(), store.into())));
        let servers = trust::allowed_servers(surroundings, trust);
        let trusted = servers.clone().map(Into::into);
        variables.extend(trusted.map(|it| (TRUSTED_SERVERS.into(), it)));
        let environment = surroundings.environment.clone();
        let place = ThinkingPlace { home: &home, project: &project, environment: &environment };
        Ok(Self {
            programs: Programs { troop, own, environment: variables },
            how_to_lead: place.how_to_lead(),
            agreed: AgreedAgents::new(surroundings, trust),
            servers,
            profile: OnceLock::new(),
            project,
            home,
            environment,
        })
    }

    /// The agents for a team in this desk's store.
    pub fn of_desk(desk: &TeamDesk, trust: &ProjectTrust, troop: PathBuf) -> Result<Self> {
        Self::new(&desk.surroundings, trust, troop, desk.other_store().as_deref())
    }

    #[must_use]
    pub fn how_to_lead(&self) -> &Hint {
        &self.how_to_lead
    }

    /// Makes the project's profile, if the team's lead is an agent that can use it.
    pub async fn look_at_project(&self, state: &State) {
        let Some(lead) = state.lead() else { return };
        if self.thinks(&lead.agent, lead.model.as_deref()) {
            let found = troop_runtime::profile(&self.project, &self.environment.variables()).await;
            self.profile.get_or_init(|| profile_in_short(&found));
        }
    }

    /// Checks whether an agent can run.
    pub fn check(&self, key: &str, model: Option<&str>) -> Result<(), AgentFault> {
        self.find(key, model).map(drop)
    }

    /// Refuses a budget in dollars if the price of a model is unknown: such a budget would stop nobody.
    pub fn check_price(&self, thinkers: &Thinkers) -> Result<()> {
        let Some(dollars) = thinkers.dollars else { return Ok(()) };
        for Thinker { agent, model } in &thinkers.members {
            let agent = self.find(agent, model.as_deref()).ok().flatten();
            if let Some(model) = agent.as_ref().and_then(|agent| agent.thinks()?.unpriced) {
                let message = format!(
                    "the price of the model `{model}` is unknown, so a budget of {dollars} could not be kept"
                );
                return Err(Error::refused(message, thinking::how_to_price(&self.home, &model)));
            }
        }
        Ok(())
    }

    /// Whether a model thinks for an agent, so that it can continue from what is on the board.
    #[must_use]
    pub fn thinks(&self, key: &str, model: Option<&str>) -> bool {
        let agent = self.find(key, model).ok().flatten();
        agent.is_some_and(|agent| agent.thinks().is_some())
    }

    /// Whether an agent runs in this process and follows a script, which it would start from the beginning again.
    #[must_use]
    pub fn follows(&self, key: &str, model: Option<&str>) -> bool {
        let agent = self.find(key, model).ok().flatten();
        agent.is_some_and(|agent| agent.thinks().is_none())
    }

    /// Checks whether the agent of a new teammate can run.
    pub fn check_member(&self, member: &NewMember) -> Result<()> {
        let NewMember { name, agent: key, model, .. } = member;
        self.check(key, model.as_deref()).map_err(|fault| {
            fault.into_error(|| ways_to_work(name, self.thinking().default_model().as_deref()))
        })
    }

    /// Checks whether an agent can lead.
    pub fn check_lead(&self, key: &str, model: Option<&str>) -> Result<()> {
        check_leads(key, &self.how_to_lead)?;
        self.check(key, model).map_err(|fault| fault.into_error(|| self.how_to_lead.clone()))
    }

    fn thinking(&self) -> ThinkingPlace<'_> {
        let Self { home, project, environment, .. } = self;
        ThinkingPlace { home, project, environment }
    }

    /// The agent for a key. None if it is a separate program.
    fn find(&self, key: &str, model: Option<&str>) -> Result<Option<Box<dyn Agent>>, AgentFault> {
        if AgentKind::External.is(key) {
            let message = format!("`{key}` is run by another program, not by troop");
            let add = HintCommand::troop("member add").blank(format!("NAME={key}"));
            return Err(AgentFault::unfit(message, Hint::to("add it", add)));
        }
        // At every start, because the project's files may have changed since the last one.
        self.agreed.check(key).map_err(AgentFault::Untrusted)?;
        let hint = Cell::new(Hint::default());
        let thinks = |model: Option<&str>| {
            let options = self.thinking().options(model, self.servers.as_deref());
            let profile = self.profile.get().cloned().unwrap_or_default();
            options.map(|options| BuiltinOptions { profile, ..options }).map_err(|fault| {
                hint.set(fault.hint);
                fault.why
            })
        };
        let finder =
            Finder { project: &self.project, home: Some(&self.home), thinks: &thinks, model };
        match troop_agent::find_agent(key, finder) {
            Ok(agent) => Ok(Some(agent)),
            Err(RegistryError::Foreign { .. }) => Ok(None),
            Err(RegistryError::NoModel { why }) => Err(AgentFault::unfit(why, hint.take())),
            Err(error @ RegistryError::Unclear { .. }) => {
                let hint =
                    "write them in one line: `tools: Read, Grep`, or each in its own: `- Read`";
                Err(AgentFault::unfit(error.to_string(), hint))
            }
            Err(RegistryError::CannotRun { .. }) => {
                Err(AgentFault::NotAvailable { key: key.to_owned() })
            }
            Err(RegistryError::Unknown { .. }) if runs_later(key) => {
                Err(AgentFault::NotAvailable { key: key.to_owned() })
            }
            Err(RegistryError::Script(error)) => Err(script_fault(&error)),
            Err(error) => {
                Err(AgentFault::unfit(chain(&error), format!("available: {}", available())))
            }
        }
    }

    /// The working place of a member that runs in this process.
    fn place(&self, spec: &LaunchSpec) -> Workplace {
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        let shared = self.programs.environment.iter();
        let mut environment: Vec<_> =
            shared.map(|(name, value)| (text(name), text(value))).collect();
        // The mark lets us find what it started if this process is killed.
        environment.extend(spec.own_variables());
        Workplace {
            name: spec.member.to_string(),
            team: spec.team.to_string(),
            path: spec.path.clone(),
            environment,
        }
    }

    /// Runs the lead's agent in this process, and all others as processes.
    pub fn launch(
        self: Arc<Self>,
        watch: LeadWatch,
        substitute: Option<Thinker>,
    ) -> Arc<dyn Launch> {
        let others: Arc<dyn Launch> = Arc::clone(&self) as Arc<dyn Launch>;
        let run = move |spec: &LaunchSpec, wire: DuplexStream| {
            let is_lead = spec.role == Role::Lead;
            // If there is a fault, starting a process for it reports that.
            let agent = is_lead
                .then(|| self.find(&spec.agent, spec.model.as_deref()))
                .and_then(Result::ok)
                .flatten()?;
            Some(serve(agent, self.place(spec), wire, watch.clone()))
        };
        let launch: Arc<dyn Launch> = Arc::new(InProcess { run, others });
        match substitute {
            Some(substitute) => Arc::new(LeadSubstitute { substitute, launch }),
            None => launch,
        }
    }
}

/// Starts another agent for the lead than the one on the board.
#[derive(Debug)]
struct LeadSubstitute {
    substitute: Thinker,
    launch: Arc<dyn Launch>,
}

impl Launch for LeadSubstitute {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        if spec.role != Role::Lead {
            return self.launch.launch(spec);
        }
        let Thinker { agent, model } = self.substitute.clone();
        self.launch.launch(&LaunchSpec { agent, model, ..spec.clone() })
    }

    fn check(&self, agent: &str, model: Option<&str>) -> io::Result<()> {
        self.launch.check(agent, model)
    }

    fn guard(&self, session: Uuid) -> io::Result<Option<tokio::process::Child>> {
        self.launch.guard(session)
    }
}

impl Launch for RunnableAgents {
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
    AgentKind::of(key).is_some_and(|kind| kind.traits().start == AgentStart::Now)
}

/// The hint for a script that is missing or invalid.
fn script_fault(error: &ScriptError) -> AgentFault {
    let hint = match error {
        ScriptError::Unreadable { file, .. } => {
            let there = file.ancestors().skip(1).find(|it| it.is_dir()).unwrap_or(file);
            let list = HintCommand::other("ls").word(there.display());
            Hint::to("scripts are searched for in the project's folder", list)
        }
        ScriptError::Senseless { file, line, .. } => {
            let edit = HintCommand::other("${EDITOR:-vi}").word(format!("+{line}"));
            Hint::to("correct that line", edit.word(file.display()))
        }
        _ => "how scripts are written: docs/script.md".into(),
    };
    AgentFault::unfit(chain(error), hint)
}

/// A project in a few lines, for an agent that is to lead a team there.
fn profile_in_short(profile: &Profile) -> String {
    let listed = |words: &[String]| {
        if words.is_empty() { "none found".to_owned() } else { words.join(", ") }
    };
    let languages: Vec<_> =
        profile.languages.iter().map(|it| format!("{} ({})", it.name, it.manifest)).collect();
    let has = |is_there: bool| if is_there { "yes" } else { "no" };
    let structure = &profile.structure;
    let mut text = format!(
        "- files: {}\n- languages: {}\n- frameworks: {}\n- docs: {}, tests: {}, ci: {}\n",
        profile.files,
        listed(&languages),
        listed(&profile.frameworks),
        has(structure.docs),
        has(structure.tests),
        has(structure.ci),
    );
    for signal in &profile.signals {
        text.push_str(&format!("- {}: {}\n", signal.kind, one_line(&signal.message)));
    }
    text.push_str("\nSuggested teammates, if you start any:\n\n");
    for Suggestion { name, expertise, reason } in &profile.team {
        text.push_str(&format!("- `{name}`: {expertise} ({})\n", one_line(reason)));
    }
    text
}

/// The agents that can work here for a member of this name, and what each needs. `model`: what the built-in agent would use.
fn ways_to_work(name: &MemberName, model: Option<&str>) -> Hint {
    let member = |agent: &str| HintOption::new("member", format!("{name}={agent}"));
    let chosen = |agent: &str| HintOption::blank("member", format!("{name}={agent}"));
    let say = Hint::from("say ");
    let say = match model {
        Some(model) => say.and_option(member("builtin")).and(format!(", which uses `{model}`, ")),
        None => say,
    };
    say.and_option(member("command"))
        .and(", which runs a task's command, ")
        .and_option(chosen("script:FILE"))
        .and(", or your own program that `.troop/agents/NAME.md` describes: ")
        .and_option(chosen("NAME"))
}
