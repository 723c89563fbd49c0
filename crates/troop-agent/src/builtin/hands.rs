//! Does what a model calls for, as far as it may: what only looks at things at once, everything else one after another.

use std::{
    borrow::Cow,
    path::PathBuf,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use troop_model::{Permissions, Role};
use troop_protocol::{Category, Gate, Level, MessageIn, WireTask};

use super::{
    chat::{ToolCall, ToolResult, ToolSpec},
    permit,
    permit::{Permit, Rule, Rules, ToolAction},
    secret::Secret,
    servers::McpServers,
    team::TeamTools,
    tools::{OwnTool, Shell, ToolOutcome},
};
use crate::{
    Turn, TurnOutcome,
    files::{Spot, WorkFolder},
};

mod ask;
mod start;

pub(crate) use ask::PlanVerdict;

/// How many calls that only look at things run at once.
const AT_ONCE: usize = 8;
/// How much of a call people are shown.
const MAX_SHOWN: usize = 200;

/// What one agent can do in one turn.
#[derive(Debug)]
pub(crate) struct Hands<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) files: &'a WorkFolder,
    pub(crate) rules: &'a Rules,
    pub(crate) task: Option<&'a WireTask>,
    /// The keys, which no result may show, and the variables that hold them.
    keys: Mutex<Vec<Secret>>,
    pub(crate) hidden: &'a [String],
    /// What it can do in its team, if it has one that can be asked.
    pub(crate) team: Option<TeamTools<'a>>,
    /// What closed the tools of teams, if something did.
    pub(crate) gate: Option<&'a Gate>,
    /// The MCP servers of the project.
    pub(crate) servers: Option<&'a McpServers>,
    /// The tools that it may use, if not all, and for what.
    pub(crate) only: Option<&'a [Rule]>,
    /// Where agents are described.
    pub(crate) described: Vec<PathBuf>,
    /// Mail that came while an answer was waited for.
    later: Mutex<Vec<MessageIn>>,
    /// Held by who asks for leave.
    asking: Semaphore,
    /// Whether a plan was approved in this turn. That the mode is another may be heard later.
    has_good_plan: AtomicBool,
}

/// What came of all calls of a reply.
#[derive(Debug, Default)]
pub(crate) struct CallResults {
    /// One for each call, in their order.
    pub(crate) results: Vec<ToolResult>,
    /// What ended the work, if something did.
    pub(crate) over: Option<TurnOutcome>,
    /// A plan that was approved.
    pub(crate) plan: Option<String>,
}

impl<'a> Hands<'a> {
    pub(crate) fn new(
        (turn, files): (&'a Turn, &'a WorkFolder),
        rules: &'a Rules,
        task: Option<&'a WireTask>,
        (key, hidden): (Option<Secret>, &'a [String]),
    ) -> Self {
        let (team, gate, servers, only, described, later, has_good_plan) = Default::default();
        let (keys, asking) = (Mutex::new(key.into_iter().collect()), Semaphore::new(1));
        Self {
            turn,
            files,
            rules,
            task,
            keys,
            hidden,
            team,
            gate,
            servers,
            only,
            described,
            later,
            asking,
            has_good_plan,
        }
    }

    /// What the model is told that it may call.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let own = self.own().map(OwnTool::spec);
        let foreign = self.servers.into_iter().flat_map(McpServers::specs);
        let foreign = foreign.filter(|tool| self.may_have(&tool.name, Category::Other));
        let team = self.team.iter().flat_map(TeamTools::specs);
        let team = team.filter(|tool| !self.rules.denies_all_of(&tool.name));
        own.chain(foreign).chain(team).collect()
    }

    /// Whether the member may have a tool at all.
    fn may_have(&self, name: &str, category: Category) -> bool {
        let is_listed = self.only.is_none_or(|only| only.iter().any(|it| it.names(name)));
        let is_had = self.team.as_ref().is_none_or(|team| team.check(category).is_ok());
        let is_denied = self.rules.denies_all_of(name);
        (is_listed || category == Category::Coordination) && is_had && !is_denied
    }

    /// The agent's own tools that it has in this turn: who only coordinates has none that work.
    fn own(&self) -> impl Iterator<Item = OwnTool> {
        let is_planning = self.turn.mode() == Permissions::Plan;
        let tools = OwnTool::shown(self.task.is_some())
            .filter(move |it| is_planning || *it != OwnTool::Plan);
        tools.filter(|tool| self.may_have(tool.name(), tool.category()))
    }

    /// Whether the model has said what came of its task, so that it need not say anything more.
    pub(crate) fn has_said_all(&self) -> bool {
        self.team.as_ref().is_some_and(TeamTools::has_said_all)
    }

    /// Takes the mail that came while an answer was waited for.
    pub(crate) fn kept_mail(&self) -> Vec<MessageIn> {
        std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks again at who is in the team, for a lead: who has others to do the work does none itself, and that may have
    /// begun with the call before.
    async fn look(&self) {
        if let Some(team) = self.team.as_ref().filter(|team| team.role() == Role::Lead) {
            team.look().await;
        }
    }

    /// Does all that was called for. Every call gets a result, whatever happens.
    pub(crate) async fn use_all(&self, calls: &[ToolCall]) -> CallResults {
        let (mut done, mut rest) = (CallResults::default(), calls);
        while !rest.is_empty() {
            let n_reading =
                rest.iter().take(AT_ONCE).take_while(|call| self.is_reading(call)).count();
            let (now, later) = rest.split_at(n_reading.max(1));
            rest = later;
            self.look().await;
            let used = if self.turn.interrupted().is_cancelled() {
                vec![
                    ToolOutcome::Bad("you were interrupted before this was done".to_owned());
                    now.len()
                ]
            } else if done.over.is_some() {
                vec![
                    ToolOutcome::Bad("the task was over before this was done".to_owned());
                    now.len()
                ]
            } else {
                join_all(now.iter().map(|call| self.use_one(call))).await
            };
            for (call, used) in now.iter().zip(used) {
                done.note(call, used, self);
            }
        }
        done
    }

    /// Whether a call only looks at things, so that others may run beside it.
    fn is_reading(&self, call: &ToolCall) -> bool {
        let name = call.name.as_str();
        OwnTool::find(name).is_some_and(|tool| tool.category() == Category::Read)
            || TeamTools::reads_only(name)
            || self.servers.is_some_and(|servers| servers.reads_only(name))
    }

    async fn use_one(&self, call: &ToolCall) -> ToolOutcome {
        let input = match &call.input {
            Ok(input) => &*self.told_to_others(&call.name, input),
            Err(text) => {
                let text = troop_model::preview(text, MAX_SHOWN);
                return ToolOutcome::Bad(format!(
                    "the input is no JSON object, so nothing was done; it was: {text}"
                ));
            }
        };
        let Some(tool) = self.own().find(|tool| tool.name() == call.name) else {
            return match (&self.team, self.servers) {
                (_, Some(servers)) if servers.has(&call.name) => {
                    Box::pin(self.use_foreign(servers, &call.name, input)).await
                }
                (Some(team), _) if TeamTools::knows(&call.name) => {
                    self.use_of_team(team, &call.name, input).await
                }
                _ => ToolOutcome::Bad(self.unknown(&call.name)),
            };
        };
        let Spot { given, real } = tool.spot(input, self.files).await;
        self.show(&call.name, &given).await;
        let deed = self.deed(&call.name, tool.category(), (&given, &real));
        if let Err(why) = self.permitted(&deed, input).await {
            return ToolOutcome::Bad(why);
        }
        self.run(tool, input).await
    }

    fn deed<'d>(
        &'d self,
        tool: &'d str,
        category: Category,
        (what, real): (&'d str, &'d str),
    ) -> ToolAction<'d> {
        ToolAction { tool, category, what, real, root: self.files.root() }
    }

    /// Uses a tool of the team. Who may do what on the board is for the board to say, but rules hold here, too.
    async fn use_of_team(
        &self,
        team: &TeamTools<'_>,
        name: &str,
        input: &Map<String, Value>,
    ) -> ToolOutcome {
        self.show(name, "").await;
        // `Agent(Explore)` is a rule about what is to be started.
        let what = start::agent(input).unwrap_or_default();
        let deed = self.deed(name, Category::Coordination, (what, what));
        if let Err(why) = self.permitted(&deed, input).await {
            return ToolOutcome::Bad(why);
        }
        if let Err(why) = self.may_start(team, name, input).await {
            return ToolOutcome::Bad(why);
        }
        let run = self.turn.interrupted().run_until_cancelled(team.run(name, input)).await;
        run.unwrap_or_else(|| {
            ToolOutcome::Bad("you were interrupted while this was done".to_owned())
        })
    }

    /// Uses a tool of an MCP server. Nobody here knows what it does, so it needs leave.
    async fn use_foreign(
        &self,
        servers: &McpServers,
        name: &str,
        input: &Map<String, Value>,
    ) -> ToolOutcome {
        if !self.may_have(name, Category::Other) {
            return ToolOutcome::Bad(self.unknown(name));
        }
        self.show(name, "").await;
        let deed = self.deed(name, Category::Other, ("", ""));
        if let Err(why) = self.permitted(&deed, input).await {
            return ToolOutcome::Bad(why);
        }
        let run =
            self.turn.interrupted().run_until_cancelled(servers.run(name, input, self.turn)).await;
        run.unwrap_or_else(|| {
            ToolOutcome::Bad("you were interrupted while this was done".to_owned())
        })
    }

    /// Whether something may be done, after asking where that is needed.
    async fn permitted(
        &self,
        deed: &ToolAction<'_>,
        input: &Map<String, Value>,
    ) -> Result<(), String> {
        let is_listed = self.only.is_none_or(|only| permit::lets(only, deed));
        if !is_listed && deed.category != Category::Coordination {
            let only = self.only.unwrap_or_default().iter().map(|rule| format!("`{rule}`"));
            let only = only.collect::<Vec<_>>().join(", ");
            return Err(format!("that is not what your tools are for; they are: {only}"));
        }
        loop {
            let mode = self.turn.mode();
            match self.rules.check(mode, deed) {
                Permit::Yes => return Ok(()),
                Permit::No(why) => return Err(why),
                Permit::Ask => {
                    // One question at a time, whatever runs at once: each answer is for what was read last. It is never closed.
                    let _turn = self.asking.acquire().await;
                    if mode == self.turn.mode()
                        && let Some(answered) = self.ask(deed, input, mode).await
                    {
                        return answered;
                    }
                }
            }
        }
    }

    async fn run(&self, tool: OwnTool, input: &Map<String, Value>) -> ToolOutcome {
        if tool == OwnTool::Plan {
            return self.propose(input).await;
        }
        let shell = Shell { turn: self.turn, task: self.task, hidden: self.hidden };
        let run = tool.run(input, (self.files, self.rules), shell);
        // A command hears of it by itself, and tells what it printed so far.
        if tool.category() == Category::Shell {
            return run.await;
        }
        let done = self.turn.interrupted().run_until_cancelled(run).await;
        done.unwrap_or_else(|| {
            ToolOutcome::Bad("you were interrupted while this was done".to_owned())
        })
    }

    async fn show(&self, name: &str, what: &str) {
        let what = what.lines().next().unwrap_or_default();
        let text = troop_model::preview(format!("{name} {what}").trim_end(), MAX_SHOWN);
        self.turn.log(Level::Info, &self.without_key(&text)).await;
    }

    /// The input of a tool as it may be kept: what is said to others, on the board and in the end of a task, holds no key.
    fn told_to_others<'i>(
        &self,
        name: &str,
        input: &'i Map<String, Value>,
    ) -> Cow<'i, Map<String, Value>> {
        let own = OwnTool::find(name).map(OwnTool::category);
        let is_told = own.map_or_else(|| TeamTools::knows(name), |it| it == Category::Coordination);
        if !is_told {
            return Cow::Borrowed(input);
        }
        let hidden = |(key, value): (&String, &Value)| (key.clone(), self.hidden_in(value));
        Cow::Owned(input.iter().map(hidden).collect())
    }

    fn hidden_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.without_key(text).into(),
            Value::Array(all) => all.iter().map(|it| self.hidden_in(it)).collect(),
            Value::Object(all) => {
                let hidden =
                    |(key, it): (&String, &Value)| (self.without_key(key), self.hidden_in(it));
                Value::Object(all.iter().map(hidden).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    pub(crate) fn without_key(&self, text: &str) -> String {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().fold(text.to_owned(), |text, key| key.hidden_in(&text))
    }

    /// Shows nobody this key either.
    pub(crate) fn hide(&self, key: Secret) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).push(key);
    }

    fn unknown(&self, name: &str) -> String {
        let closed =
            self.gate.filter(|_| TeamTools::knows(name)).and_then(|gate| gate.check().err());
        if let Some(closed) = closed {
            return closed.message;
        }
        let category = OwnTool::find(name).map(OwnTool::category);
        let category =
            category.or_else(|| self.servers.filter(|it| it.has(name)).map(|_| Category::Other));
        let denied = |team: &TeamTools<'_>| category.and_then(|it| team.check(it).err());
        if let Some(denied) = self.team.as_ref().and_then(denied) {
            return denied.to_string();
        }
        let names: Vec<_> = self.specs().into_iter().map(|tool| tool.name).collect();
        let name = troop_model::preview(name, 80);
        format!("there is no tool `{}`; there is: {}", name.escape_debug(), names.join(", "))
    }
}

impl CallResults {
    fn note(&mut self, call: &ToolCall, used: ToolOutcome, hands: &Hands<'_>) {
        let (content, is_error) = match used {
            ToolOutcome::Good(content) => (content, false),
            ToolOutcome::Bad(content) => (content, true),
            ToolOutcome::Over(outcome) => {
                self.over.get_or_insert(outcome);
                ("noted".to_owned(), false)
            }
            ToolOutcome::Approved(plan) => {
                self.plan = Some(plan);
                ("your plan was approved; go on with it".to_owned(), false)
            }
        };
        let content = hands.without_key(&content);
        // APIs turn empty results away.
        let content = if content.is_empty() { "[nothing]".to_owned() } else { content };
        let (id, name) = (call.id.clone(), call.name.clone());
        self.results.push(ToolResult { id, name, content, is_error });
    }
}
