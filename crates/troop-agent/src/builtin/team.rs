//! The tools of the team, over the teammate's wire.

mod ending;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;
use troop_model::{
    Dialect, Member, MemberName, Permissions, Role, Settings, Status, TaskView, TeamStatus,
};
use troop_protocol::{Category, ContextText, Denied, Gate, Query, Seat, Toolbox, WireTask};

use super::{
    chat::ToolSpec,
    tools::{ToolOutcome, cut},
};
use crate::Turn;
use ending::DeferredCompletion;

/// What a model hears that says in the middle of its turn that its task is done.
const KEPT: &str = "It counts as done when your turn ends. If you have not said yet what came of it, say so now: your last words are \
                    its result. Then you are given your next task.";

/// How long a lead has to say who is in its team. One that does not know board calls never does.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member's place in its team, and what it can do there.
#[derive(Debug)]
pub(crate) struct TeamTools<'a> {
    toolbox: Toolbox<DeferredCompletion<'a>>,
    turn: &'a Turn,
    /// As it was when it was looked at last: members come and settings change while a turn lasts.
    now: Mutex<SeatState>,
}

#[derive(Clone, Debug)]
struct SeatState {
    seat: Seat,
    /// What the lead may do without asking.
    lead: Option<Permissions>,
    /// The agent of the lead, as the board has it.
    lead_agent: String,
    /// Who is in the team, and what is said of them.
    members: Vec<(MemberName, Role, String)>,
    /// Whether TEAM.md may say something else than the member was told.
    has_changed: bool,
}

/// The team, as far as it matters here.
#[derive(Debug, Deserialize)]
struct TeamOverview {
    status: TeamStatus,
    settings: Settings,
    members: Vec<Member>,
}

impl<'a> TeamTools<'a> {
    /// Finds out who the member is. None where its lead cannot say, or there are no teams. A lead that can and does not is no
    /// reason to work as if there were none: who should coordinate would have the tools of who works.
    pub(crate) async fn find(turn: &'a Turn, gate: &Gate) -> Result<Option<Self>, String> {
        if matches!(gate, Gate::Closed { .. }) {
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
        // Only who knows the board tells TEAM.md.
        match turn.team_md() {
            Some(_) => Err(format!("its lead does not say who is in the team: {why}")),
            None => Ok(None),
        }
    }

    /// Looks again. Who cannot be asked any more says by that nothing about the team.
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

    /// TEAM.md, if it may have changed since it was asked for last.
    pub(crate) async fn news(&self) -> Option<String> {
        if !std::mem::take(&mut self.now().has_changed) {
            return None;
        }
        let asked = self.turn.query::<ContextText>(&Query::Context {});
        Some(timeout(PATIENCE, asked).await.ok()?.ok()?.team_md)
    }

    pub(crate) fn is_led_by(&self, name: &str) -> bool {
        let is_lead =
            |(it, role, _): &(MemberName, Role, String)| *role == Role::Lead && it.as_str() == name;
        self.now().members.iter().any(is_lead)
    }

    pub(crate) fn role(&self) -> Role {
        self.now().seat.role
    }

    /// What the member's lead may do without asking. None for the lead itself.
    pub(crate) fn lead_mode(&self) -> Option<Permissions> {
        let now = self.now();
        now.lead.filter(|_| now.seat.role == Role::Member)
    }

    /// Which agent somebody gets for whom none is named.
    pub(crate) fn lead_agent(&self) -> String {
        self.now().lead_agent.clone()
    }

    /// Whether the member may have tools of this kind at all.
    pub(crate) fn check(&self, category: Category) -> Result<(), Denied> {
        Seat { permissions: Permissions::Default, ..self.seat() }.check(category)
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.seat().tools().into_iter().map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description,
            input: tool.input,
        })
    }

    /// Whether a tool only looks at the board.
    pub(crate) fn reads_only(name: &str) -> bool {
        matches!(name, "TaskList" | "TaskGet")
    }

    /// Whether there is such a tool, also under another name.
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

    /// The turn ends with these words: so does what was said to be done. Why not, if that is refused.
    pub(crate) async fn end(&self, words: &str) -> Result<(), String> {
        self.toolbox.calls().settle(words).await.map_err(|failure| failure.for_model())
    }

    /// Whether something is done when the turn ends.
    pub(crate) fn ends_something(&self) -> bool {
        self.toolbox.calls().is_kept()
    }

    /// Whether that includes what came of it, so that nothing is left to say.
    pub(crate) fn has_said_all(&self) -> bool {
        self.toolbox.calls().has_result()
    }

    /// Whether a task is still to be reported on. Who told the board itself needs no other word.
    pub(crate) async fn is_open(&self, task: &WireTask) -> bool {
        let Ok(task) = task.id.task() else { return true };
        let seen = self.turn.query::<TaskView>(&Query::Task { task }).await;
        seen.is_ok_and(|task| task.status == Status::InProgress)
    }

    fn seat(&self) -> Seat {
        self.now().seat.clone()
    }

    fn now(&self) -> MutexGuard<'_, SeatState> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeatState {
    fn of(turn: &Turn, seen: TeamOverview) -> Option<Self> {
        let own = seen.members.iter().find(|member| member.name.as_str() == turn.place().name)?;
        let (member, role, permissions) = (own.name.clone(), own.role, own.permissions);
        let lead = seen.members.iter().find(|it| it.role == Role::Lead);
        let lead_agent = lead.map(|it| it.agent.to_string()).unwrap_or_default();
        let lead = lead.map(|it| it.permissions);
        let mut settings = seen.settings;
        // Who has others to do the work coordinates it, unless people want it otherwise.
        settings.delegation.delegate_mode.get_or_insert(seen.members.len() > 1);
        let seat = Seat {
            member,
            role,
            dialect: Dialect::Claude,
            settings,
            status: seen.status,
            permissions,
            gate: Gate::Open,
        };
        let members = seen.members.into_iter().map(|it| (it.name, it.role, it.expertise)).collect();
        Some(Self { seat, lead, lead_agent, members, has_changed: false })
    }
}

/// Who is in the team, if its lead says so; else why it does not.
async fn asked(turn: &Turn) -> Result<TeamOverview, String> {
    match timeout(PATIENCE, turn.query::<TeamOverview>(&Query::Team {})).await {
        Ok(Ok(seen)) => Ok(seen),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer came in {} seconds", PATIENCE.as_secs())),
    }
}
