//! The tools of the team, over the teammate's wire.

mod ending;

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;
use troop_model::{
    Command, Dialect, Member, MemberName, MemberState, Permissions, Role, Settings, StateCause,
    Status, TaskCommand, TaskView, TeamStatus, lock,
};
use troop_protocol::{
    Category, ContextText, Failure, Gate, Query, Seat, ToolDenial, Toolbox, WireTask,
};

use super::{
    chat::ToolSpec,
    tools::{ToolOutcome, cut},
};
use crate::{Authority, Turn};
use ending::DeferredCompletion;

/// For a model that reports its task done in the middle of its turn.
const KEPT: &str = "The task is completed when your turn ends. If you have not given its result yet, give it now: your last words become \
                    the result. After that you get your next task.";

/// How long a lead may take to describe its team.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member's seat in its team, and the tools that it has there.
#[derive(Debug)]
pub(crate) struct TeamTools<'a> {
    toolbox: Toolbox<DeferredCompletion<'a>>,
    turn: &'a Turn,
    /// As of the last look: members come and settings change during a turn.
    now: Mutex<SeatState>,
}

#[derive(Clone, Debug)]
struct SeatState {
    seat: Seat,
    /// The permissions of the lead.
    lead: Option<Permissions>,
    lead_agent: String,
    /// The members with their roles and expertise.
    members: Vec<(MemberName, Role, String)>,
    /// Whether TEAM.md may have changed since the member saw it.
    has_changed: bool,
}

/// Why a task has not ended.
#[derive(Debug)]
pub(crate) enum NotEnded {
    /// It is not done, for this reason.
    Refused(String),
    /// The member no longer holds it.
    Gone,
    /// The lead did not answer.
    Unheard,
}

#[derive(Debug, Deserialize)]
struct TeamOverview {
    status: TeamStatus,
    settings: Settings,
    members: Vec<Member>,
}

impl<'a> TeamTools<'a> {
    /// Finds the member's team. None if the lead does not know board calls, or there are no teams. If a lead that
    /// knows them does not answer, that is an error: without its team, a lead that should only coordinate would have
    /// tools for work.
    pub(crate) async fn find(turn: &'a Turn, gate: &Gate) -> Result<Option<Self>, String> {
        if matches!(gate, Gate::Closed { .. }) || !turn.has_board() {
            return Ok(None);
        }
        let why = match asked(turn).await {
            Ok(seen) => {
                let toolbox = Toolbox::new(DeferredCompletion::new(turn));
                let team = |now| Self { toolbox, turn, now: Mutex::new(now) };
                return Ok(SeatState::of(turn, seen).map(team));
            }
            Err(why) => why,
        };
        // Only a lead that knows the board sends TEAM.md.
        match turn.team_md() {
            Some(_) => Err(format!("the lead did not describe the team: {why}")),
            None => Ok(None),
        }
    }

    /// Reads the team again. Without an answer it stays as it was.
    pub(crate) async fn look(&self) {
        let Some(new) = asked(self.turn).await.ok().and_then(|seen| SeatState::of(self.turn, seen))
        else {
            return;
        };
        let mut now = self.now();
        let is_same = now.members == new.members
            && now.seat.settings == new.seat.settings
            && now.seat.status == new.seat.status;
        *now = SeatState { has_changed: now.has_changed || !is_same, ..new };
    }

    /// TEAM.md, if it may have changed since the last call of this.
    pub(crate) async fn news(&self) -> Option<String> {
        if !std::mem::take(&mut self.now().has_changed) {
            return None;
        }
        self.description().await
    }

    /// TEAM.md for a reader with these tools.
    pub(crate) async fn description(&self) -> Option<String> {
        let query = Query::Context { dialect: Some(self.dialect()), is_client: false };
        let asked = self.turn.query::<ContextText>(&query);
        Some(timeout(PATIENCE, asked).await.ok()?.ok()?.team_md)
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.now().seat.dialect
    }

    pub(crate) fn is_led_by(&self, name: &str) -> bool {
        let is_lead =
            |(it, role, _): &(MemberName, Role, String)| *role == Role::Lead && it.as_str() == name;
        self.now().members.iter().any(is_lead)
    }

    pub(crate) fn role(&self) -> Role {
        self.now().seat.role
    }

    /// The authority that decides for this member.
    pub(crate) fn authority(&self) -> Authority {
        let now = self.now();
        match now.lead {
            Some(mode) if now.seat.role == Role::Member => Authority::Lead(mode),
            Some(_) | None => Authority::User,
        }
    }

    /// The agent of new members, unless another is named.
    pub(crate) fn lead_agent(&self) -> String {
        self.now().lead_agent.clone()
    }

    /// Whether the member may have tools of this category at all.
    pub(crate) fn check(&self, category: Category) -> Result<(), ToolDenial> {
        Seat { permissions: Permissions::Default, ..self.seat() }.check(category)
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.seat().tools().into_iter().map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description,
            input: tool.input,
        })
    }

    /// Whether a tool only reads the board.
    pub(crate) fn reads_only(name: &str) -> bool {
        matches!(name, "TaskList" | "TaskGet")
    }

    /// Whether the team has such a tool, under any of its names.
    pub(crate) fn knows(name: &str) -> bool {
        Seat::category_of(name).is_some()
    }

    pub(crate) async fn run(&self, name: &str, input: &Map<String, Value>) -> ToolOutcome {
        let seat = Seat { permissions: self.turn.mode(), ..self.seat() };
        let was_kept = self.toolbox.calls().is_kept();
        match self.toolbox.run(&seat, name, Value::Object(input.clone())).await {
            Ok(text) if !was_kept && self.toolbox.calls().is_kept() => {
                ToolOutcome::Good(format!("{}\n{KEPT}", text.lines().next().unwrap_or_default()))
            }
            Ok(text) => ToolOutcome::Good(cut(text)),
            Err(failure) => ToolOutcome::Bad(failure.for_model()),
        }
    }

    /// Ends the turn with these words, which completes the task that the model reported done. The error says why that
    /// is refused.
    pub(crate) async fn end(&self, words: &str) -> Result<(), NotEnded> {
        let ended = self.toolbox.calls().settle(words).await;
        ended.map_err(|failure| NotEnded::Refused(failure.for_model()))
    }

    /// Completes the member's task now, with this result.
    pub(crate) async fn complete(
        &self,
        task: &WireTask,
        result: String,
        summary: Option<String>,
    ) -> Result<(), NotEnded> {
        let Ok(number) = task.id.task() else { return Err(NotEnded::Unheard) };
        let attempt = task.attempt;
        let command = TaskCommand::Complete { task: number, result, summary, attempt };
        let Err(failure) = self.turn.call(Command::Task(command)).await else { return Ok(()) };
        let failure = Failure::from(failure);
        if !failure.kind.is_refusal() {
            return Err(NotEnded::Unheard);
        }
        match self.is_open(task).await {
            true => Err(NotEnded::Refused(failure.for_model())),
            false => Err(NotEnded::Gone),
        }
    }

    /// Whether a task will be completed at the end of the turn.
    pub(crate) fn ends_something(&self) -> bool {
        self.toolbox.calls().is_kept()
    }

    /// Whether that task has its result already, so that nothing is left to say.
    pub(crate) fn has_said_all(&self) -> bool {
        self.toolbox.calls().has_result()
    }

    /// Whether the end of a task is still to be reported. The model may have told the board itself.
    pub(crate) async fn is_open(&self, task: &WireTask) -> bool {
        let attempt = task.attempt;
        let Ok(task) = task.id.task() else { return true };
        let seen = self.turn.query::<TaskView>(&Query::Task { task, offset: 0 }).await;
        let own = self.turn.place().name.as_str();
        seen.is_ok_and(|it| {
            let is_held = matches!(it.status, Status::InProgress | Status::Stale);
            let is_same = attempt.is_none_or(|attempt| attempt == it.attempts);
            is_held && is_same && it.owner.as_ref().is_some_and(|owner| owner.as_str() == own)
        })
    }

    fn seat(&self) -> Seat {
        self.now().seat.clone()
    }

    fn now(&self) -> MutexGuard<'_, SeatState> {
        lock(&self.now)
    }
}

impl SeatState {
    fn of(turn: &Turn, seen: TeamOverview) -> Option<Self> {
        let own = seen.members.iter().find(|member| member.name.as_str() == turn.place().name)?;
        let member = own.name.clone();
        let role = own.role;
        let permissions = own.permissions;
        let lead = seen.members.iter().find(|it| it.role == Role::Lead);
        let lead_agent = lead.map(|it| it.agent.to_string()).unwrap_or_default();
        let lead = lead.map(|it| it.permissions);
        let mut settings = seen.settings;
        // With teammates, a lead coordinates, unless the settings say otherwise.
        let has_teammates = seen.members.iter().any(is_teammate);
        settings.delegation.delegate_mode.get_or_insert(has_teammates);
        let seat = Seat {
            member,
            role,
            dialect: settings.dialect.unwrap_or(Dialect::Claude),
            settings,
            status: seen.status,
            permissions,
            gate: Gate::Open,
        };
        let members = seen.members.into_iter().map(|it| (it.name, it.role, it.expertise)).collect();
        Some(Self { seat, lead, lead_agent, members, has_changed: false })
    }
}

/// Whether a member works for the lead, now or when it is started. One that was asked to stop does not.
fn is_teammate(member: &Member) -> bool {
    let is_over =
        member.state == MemberState::Stopped && member.state_cause == Some(StateCause::Asked);
    member.role == Role::Member && !is_over
}

/// The team as the lead describes it, or why it does not.
async fn asked(turn: &Turn) -> Result<TeamOverview, String> {
    match timeout(PATIENCE, turn.query::<TeamOverview>(&Query::Team {})).await {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer came in {} seconds", PATIENCE.as_secs())),
    }
}
