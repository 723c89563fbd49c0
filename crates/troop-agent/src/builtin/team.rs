//! The tools of the team, over the teammate's wire.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;
use troop_model::{Dialect, Member, Permissions, Role, Settings, Status, TeamStatus};
use troop_protocol::{Category, Failure, Gate, Query, Seat, Toolbox, WireTask};

use super::{
    chat::ToolSpec,
    tools::{Used, cut},
};
use crate::Turn;

/// How long a lead has to say who is in its team. One that does not know board calls never does.
const PATIENCE: Duration = Duration::from_secs(5);

/// A member's place in its team, and what it can do there.
#[derive(Debug)]
pub(crate) struct Team<'a> {
    seat: Seat,
    toolbox: Toolbox<&'a Turn>,
    turn: &'a Turn,
    /// What the lead may do without asking.
    lead: Option<Permissions>,
}

/// The team, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Seen {
    status: TeamStatus,
    settings: Settings,
    members: Vec<Member>,
}

/// A task, as far as it matters here.
#[derive(Debug, Deserialize)]
struct TaskSeen {
    status: Status,
}

impl<'a> Team<'a> {
    /// Finds out who the member is. None where its lead cannot say, or there are no teams. A lead that can and does not is no
    /// reason to work as if there were none: who should coordinate would have the tools of who works.
    pub(crate) async fn find(turn: &'a Turn, gate: &Gate) -> Result<Option<Self>, String> {
        if matches!(gate, Gate::Closed { .. }) {
            return Ok(None);
        }
        let asked = timeout(PATIENCE, turn.query::<Seen>(&Query::Team {})).await;
        let why = match asked {
            Ok(Ok(seen)) => return Ok(Self::of(turn, seen)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer came in {} seconds", PATIENCE.as_secs()),
        };
        // Only who knows the board tells TEAM.md.
        match turn.team_md() {
            Some(_) => Err(format!("its lead does not say who is in the team: {why}")),
            None => Ok(None),
        }
    }

    fn of(turn: &'a Turn, seen: Seen) -> Option<Self> {
        let own = seen.members.iter().find(|member| member.name.as_str() == turn.place().name)?;
        let (member, role, permissions) = (own.name.clone(), own.role, own.permissions);
        let lead = seen.members.iter().find(|it| it.role == Role::Lead).map(|it| it.permissions);
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
        Some(Self { seat, toolbox: Toolbox::new(turn), turn, lead })
    }

    pub(crate) fn role(&self) -> Role {
        self.seat.role
    }

    /// What the member's lead may do without asking. None for the lead itself.
    pub(crate) fn lead_mode(&self) -> Option<Permissions> {
        self.lead.filter(|_| self.seat.role == Role::Member)
    }

    /// Whether the member may have tools of this kind at all.
    pub(crate) fn has(&self, category: Category) -> bool {
        let seat = Seat { permissions: Permissions::Default, ..self.seat.clone() };
        seat.check(category).is_ok()
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.seat.tools().into_iter().map(|tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description,
            input: tool.input,
        })
    }

    /// Whether there is such a tool, also under another name.
    pub(crate) fn knows(name: &str) -> bool {
        Seat::category_of(name).is_some()
    }

    pub(crate) async fn run(&self, name: &str, input: &Map<String, Value>) -> Used {
        let seat = Seat { permissions: self.turn.mode(), ..self.seat.clone() };
        match self.toolbox.run(&seat, name, Value::Object(input.clone())).await {
            Ok(text) => Used::Good(cut(text)),
            Err(Failure { message, hint, .. }) => {
                Used::Bad(hint.map_or(message.clone(), |hint| format!("{message}\nhint: {hint}")))
            }
        }
    }

    /// Whether a task is still to be reported on. Who told the board itself needs no other word.
    pub(crate) async fn is_open(&self, task: &WireTask) -> bool {
        let Ok(task) = task.id.task() else { return true };
        let seen = self.turn.query::<TaskSeen>(&Query::Task { task }).await;
        seen.is_ok_and(|task| task.status == Status::InProgress)
    }
}
