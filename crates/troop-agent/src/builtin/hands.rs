//! Runs the tool calls of a model, as far as it may: read-only calls side by side, all others one after another.

mod keys;
mod start;

use std::{borrow::Cow, path::PathBuf};

use futures_util::future::join_all;
use serde_json::{Map, Value};
use troop_model::{Permissions, Role};
use troop_protocol::{Category, Gate, Level, WireTask};

use super::{
    chat::{ToolCall, ToolResult, ToolSpec},
    options::ToolRights,
    servers::McpServers,
    team::TeamTools,
    tools::{OwnTool, Shell, ToolOutcome, shared},
};
use crate::{
    Authority, NoAnswer, PermissionAnswer, PermissionRequest, PlanDecision, Turn, TurnOutcome,
    files::{RulePath, WorkFolder},
    permission_question,
    permit::{self, ToolAction},
    prompt::of_others,
};
pub(crate) use keys::Keys;

/// How many read-only calls run at once.
const AT_ONCE: usize = 8;
/// How much of a call people are shown.
const MAX_SHOWN: usize = 200;

/// Everything that one agent can do in one turn.
#[derive(Debug)]
pub(crate) struct Hands<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) files: &'a WorkFolder,
    pub(crate) task: Option<&'a WireTask>,
    pub(crate) rights: &'a ToolRights,
    pub(crate) keys: Keys<'a>,
    /// None if there is no team, or its lead does not know board calls.
    pub(crate) team: Option<TeamTools<'a>>,
    /// Whether the team's tools are switched off, and by what.
    pub(crate) gate: &'a Gate,
    pub(crate) servers: &'a McpServers,
    /// The folders in which agents are described.
    pub(crate) described: Vec<PathBuf>,
}

/// The results of all calls of a reply.
#[derive(Debug, Default)]
pub(crate) struct CallResults {
    /// One for each call, in their order.
    pub(crate) results: Vec<ToolResult>,
    /// Set if a call ended the work.
    pub(crate) over: Option<TurnOutcome>,
    /// Set if a plan was approved.
    pub(crate) plan: Option<String>,
}

impl Hands<'_> {
    /// The tools that the model may call.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let own = self.own().map(OwnTool::spec);
        let foreign = self.servers.specs();
        let foreign = foreign.filter(|tool| self.may_have(&tool.name, Category::Other));
        let team = self.team.iter().flat_map(TeamTools::specs);
        let team = team.filter(|tool| !self.rights.rules.denies_all_of(&tool.name));
        own.chain(foreign).chain(team).collect()
    }

    /// Whether the member may have a tool at all.
    fn may_have(&self, name: &str, category: Category) -> bool {
        let only = self.rights.only.as_ref();
        let is_listed = only.is_none_or(|only| only.iter().any(|it| it.names(name)));
        let is_had = self.team.as_ref().is_none_or(|team| team.check(category).is_ok());
        let is_denied = self.rights.rules.denies_all_of(name);
        (is_listed || category == Category::Coordination) && is_had && !is_denied
    }

    /// The agent's own tools in this turn. A lead that only coordinates has none that change anything.
    fn own(&self) -> impl Iterator<Item = OwnTool> {
        let is_planning = self.turn.mode() == Permissions::Plan;
        let sends_itself = self.is_on_table();
        let tools = OwnTool::shown(self.task.is_some())
            .filter(move |it| is_planning || *it != OwnTool::Plan)
            .filter(move |it| sends_itself || *it != OwnTool::Message);
        tools.filter(|tool| self.may_have(tool.name(), tool.category()))
    }

    /// Whether it works in a team whose lead knows only the protocol's notifications.
    pub(crate) fn is_on_table(&self) -> bool {
        self.team.is_none() && *self.gate == Gate::Open && !self.turn.has_board()
    }

    /// Whether the model has already given the result of its task, so that it need not say anything more.
    pub(crate) fn has_said_all(&self) -> bool {
        self.team.as_ref().is_some_and(TeamTools::has_said_all)
    }

    /// Reads the team again, for a lead: with teammates it does no work itself, and the call before may have started one.
    async fn look(&self) {
        if let Some(team) = self.team.as_ref().filter(|team| team.role() == Role::Lead) {
            team.look().await;
        }
    }

    /// Runs all calls. Every call gets a result, whatever happens.
    pub(crate) async fn use_all(&self, calls: &[ToolCall]) -> CallResults {
        let mut done = CallResults::default();
        let mut rest = calls;
        while !rest.is_empty() {
            let n_reading =
                rest.iter().take(AT_ONCE).take_while(|call| self.is_reading(call)).count();
            let (now, later) = rest.split_at(n_reading.max(1));
            rest = later;
            self.look().await;
            let outcomes = if self.turn.interrupted().is_cancelled() {
                vec![ToolOutcome::Bad("you were interrupted before this ran".to_owned()); now.len()]
            } else if done.over.is_some() {
                vec![ToolOutcome::Bad("the task had ended before this ran".to_owned()); now.len()]
            } else {
                join_all(now.iter().map(|call| self.use_one(call))).await
            };
            for (call, outcome) in now.iter().zip(outcomes) {
                done.add(call, outcome, &self.keys);
            }
        }
        done
    }

    /// Whether a call only reads, so that others may run beside it.
    fn is_reading(&self, call: &ToolCall) -> bool {
        let name = call.name.as_str();
        OwnTool::find(name).is_some_and(|tool| tool.category() == Category::Read)
            || TeamTools::reads_only(name)
            || self.servers.reads_only(name)
    }

    async fn use_one(&self, call: &ToolCall) -> ToolOutcome {
        let input = match &call.input {
            Ok(input) => &*self.without_keys_for_others(&call.name, input),
            Err(text) => {
                let text = troop_model::preview(text, MAX_SHOWN);
                return ToolOutcome::Bad(format!(
                    "the input is not a JSON object, so nothing was done; it was: {text}"
                ));
            }
        };
        let Some(tool) = self.own().find(|tool| tool.name() == call.name) else {
            return match &self.team {
                _ if self.servers.has(&call.name) => {
                    Box::pin(self.use_foreign(&call.name, input)).await
                }
                Some(team) if TeamTools::knows(&call.name) => {
                    self.use_of_team(team, &call.name, input).await
                }
                Some(_) | None => ToolOutcome::Bad(self.unknown(&call.name)),
            };
        };
        if let Some(path) = shared::path_of(tool, input, self.task).filter(|_| self.team.is_some())
        {
            return self.use_shared(tool, input, path).await;
        }
        let RulePath { given, real } = tool.rule_path(input, self.files).await;
        self.show(&call.name, &given).await;
        let action = self.action(&call.name, tool.category(), &given, &real);
        if let Err(why) = self.check_permission(&action, input).await {
            return ToolOutcome::Bad(why);
        }
        self.run(tool, input).await
    }

    /// Uses a file tool in the team's workspace, which belongs to all of the team. Rules about the tool hold there, too.
    async fn use_shared(
        &self,
        tool: OwnTool,
        input: &Map<String, Value>,
        path: String,
    ) -> ToolOutcome {
        self.show(tool.name(), &path).await;
        let action = self.action(tool.name(), Category::Coordination, &path, &path);
        if let Err(why) = self.check_permission(&action, input).await {
            return ToolOutcome::Bad(why);
        }
        self.unless_interrupted(shared::run(tool, input, path, self.task, self.turn)).await
    }

    fn action<'d>(
        &'d self,
        tool: &'d str,
        category: Category,
        what: &'d str,
        real: &'d str,
    ) -> ToolAction<'d> {
        ToolAction { tool, category, what, real, root: self.files.root() }
    }

    /// Uses a tool of the team. The board decides what a member may do on it, but rules hold here, too.
    async fn use_of_team(
        &self,
        team: &TeamTools<'_>,
        name: &str,
        input: &Map<String, Value>,
    ) -> ToolOutcome {
        self.show(name, "").await;
        // `Agent(Explore)` is a rule about what is started.
        let what = start::agent(input).unwrap_or_default();
        let action = self.action(name, Category::Coordination, what, what);
        if let Err(why) = self.check_permission(&action, input).await {
            return ToolOutcome::Bad(why);
        }
        if let Err(why) = self.check_start(team, name, input).await {
            return ToolOutcome::Bad(why);
        }
        self.unless_interrupted(team.run(name, input)).await
    }

    /// Uses a tool of an MCP server. We do not know what it does, so it needs permission.
    async fn use_foreign(&self, name: &str, input: &Map<String, Value>) -> ToolOutcome {
        if !self.may_have(name, Category::Other) {
            return ToolOutcome::Bad(self.unknown(name));
        }
        self.show(name, "").await;
        let action = self.action(name, Category::Other, "", "");
        if let Err(why) = self.check_permission(&action, input).await {
            return ToolOutcome::Bad(why);
        }
        self.unless_interrupted(Box::pin(self.servers.run(name, input, self.turn))).await
    }

    async fn unless_interrupted(&self, run: impl Future<Output = ToolOutcome>) -> ToolOutcome {
        let outcome = self.turn.interrupted().run_until_cancelled(run).await;
        let interrupted = || ToolOutcome::Bad("you were interrupted while this ran".to_owned());
        outcome.unwrap_or_else(interrupted)
    }

    /// Refuses what the member may not do, after asking where that is needed. The error is for the model.
    async fn check_permission(
        &self,
        action: &ToolAction<'_>,
        input: &Map<String, Value>,
    ) -> Result<(), String> {
        let only = self.rights.only.as_deref();
        let is_listed = only.is_none_or(|only| permit::lets(only, action));
        if !is_listed && action.category != Category::Coordination {
            let only = only.unwrap_or_default().iter().map(|rule| format!("`{rule}`"));
            let only = only.collect::<Vec<_>>().join(", ");
            return Err(format!("your tools do not allow that; you may use: {only}"));
        }
        let request = PermissionRequest {
            rules: &self.rights.rules,
            action,
            question: &|| self.keys.hidden_in(&permission_question(action, input)),
            authority: self.authority(),
        };
        match self.turn.ask_permission(&request).await {
            Ok(PermissionAnswer::Allowed) => Ok(()),
            Ok(PermissionAnswer::Forbidden { why }) => Err(why),
            Ok(PermissionAnswer::Denied { by, reason }) => {
                let reason = of_others(&reason);
                let reason = if reason.is_empty() { "without a reason" } else { &reason };
                Err(format!("`{by}` said no: {reason}"))
            }
            Err(unanswered) => Err(unanswered.to_string()),
        }
    }

    /// The authority that decides for this member.
    fn authority(&self) -> Authority {
        self.team.as_ref().map_or(Authority::Unknown, TeamTools::authority)
    }

    async fn run(&self, tool: OwnTool, input: &Map<String, Value>) -> ToolOutcome {
        if tool == OwnTool::Plan {
            return self.propose_plan_of(input).await;
        }
        let shell = Shell { turn: self.turn, task: self.task, hidden: self.keys.variables };
        let run = tool.run(input, self.files, &self.rights.rules, shell);
        // A command hears of an interruption itself, and gives what it has printed so far.
        if tool.category() == Category::Shell {
            return run.await;
        }
        self.unless_interrupted(run).await
    }

    async fn propose_plan_of(&self, input: &Map<String, Value>) -> ToolOutcome {
        let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
        if plan.trim().is_empty() {
            return ToolOutcome::Bad("`plan` is missing: say what you want to do".to_owned());
        }
        match self.propose(plan).await {
            Ok(PlanDecision::Approved) => ToolOutcome::Approved(plan.to_owned()),
            Ok(PlanDecision::Rejected { reason }) => ToolOutcome::Bad(reason),
            Err(unanswered) => ToolOutcome::Bad(unanswered.to_string()),
        }
    }

    /// Proposes a plan. The reason of a rejection is written for the model.
    pub(crate) async fn propose(&self, plan: &str) -> Result<PlanDecision, NoAnswer> {
        let answer = self.turn.propose(&self.keys.hidden_in(plan), self.authority()).await?;
        Ok(match answer {
            PlanDecision::Approved => PlanDecision::Approved,
            PlanDecision::Rejected { reason } => {
                let reason = of_others(&reason);
                let reason = format!("your plan was rejected: {reason}; change it and ask again");
                PlanDecision::Rejected { reason }
            }
        })
    }

    /// Whether the last words of the model are a plan: in plan mode it has done nothing yet. A lead without a board cannot
    /// be asked about plans.
    pub(crate) fn ends_with_plan(&self) -> bool {
        let is_teammate = self.team.as_ref().is_some_and(|team| team.role() == Role::Member);
        let is_planning = self.turn.mode() == Permissions::Plan && !self.turn.has_approved_plan();
        self.task.is_some() && is_teammate && is_planning
    }

    async fn show(&self, name: &str, what: &str) {
        let what = what.lines().next().unwrap_or_default();
        let text = troop_model::preview(format!("{name} {what}").trim_end(), MAX_SHOWN);
        self.turn.log(Level::Info, &self.keys.hidden_in(&text)).await;
    }

    /// The input of a tool, without keys if others will read it: on the board, or as the end of a task.
    fn without_keys_for_others<'i>(
        &self,
        name: &str,
        input: &'i Map<String, Value>,
    ) -> Cow<'i, Map<String, Value>> {
        let own = OwnTool::find(name).map(OwnTool::category);
        let is_read = own.map_or_else(|| TeamTools::knows(name), |it| it == Category::Coordination);
        if is_read { Cow::Owned(self.keys.hidden_in_json(input)) } else { Cow::Borrowed(input) }
    }

    fn unknown(&self, name: &str) -> String {
        if TeamTools::knows(name)
            && let Err(closed) = self.gate.check()
        {
            return closed.message;
        }
        let own = OwnTool::find(name).map(OwnTool::category);
        let category = own.or_else(|| self.servers.has(name).then_some(Category::Other));
        let denied = |team: &TeamTools<'_>| category.and_then(|it| team.check(it).err());
        if let Some(denied) = self.team.as_ref().and_then(denied) {
            return denied.to_string();
        }
        let names: Vec<_> = self.specs().into_iter().map(|tool| tool.name).collect();
        let name = troop_model::preview(name, 80);
        format!("there is no tool `{}`; the tools are: {}", name.escape_debug(), names.join(", "))
    }
}

impl CallResults {
    fn add(&mut self, call: &ToolCall, outcome: ToolOutcome, keys: &Keys<'_>) {
        let (content, is_error) = match outcome {
            ToolOutcome::Good(content) => (content, false),
            ToolOutcome::Bad(content) => (content, true),
            ToolOutcome::Over(outcome) => {
                self.over.get_or_insert(outcome);
                ("noted".to_owned(), false)
            }
            ToolOutcome::Approved(plan) => {
                self.plan = Some(plan);
                ("your plan was approved; carry it out".to_owned(), false)
            }
        };
        let content = keys.hidden_in(&content);
        // APIs refuse empty results.
        let content = if content.is_empty() { "[nothing]".to_owned() } else { content };
        let id = call.id.clone();
        let name = call.name.clone();
        self.results.push(ToolResult { id, name, content, is_error });
    }
}
