//! Team tools: what an agent can do in its team, in two dialects over the same board.
//!
//! A tool is defined once, as a typed input whose JSON Schema the model sees, and used by the built-in agent and by the MCP
//! server. It is carried out as [`Call`]s, so that it does not matter who answers them: a lead over its socket or a
//! teammate's wire, or a board that is open here. No rule lives here: what the board refuses is told to the model in the
//! board's own words.

mod board;
mod category;
mod claude;
mod desk;
mod input;
mod proof;
mod seen;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, value::RawValue};
use troop_model::{
    Dialect, Hint, HintCommand, MemberName, Permissions, Role, Settings, TeamName, TeamStatus,
};

pub use category::{Category, Denied};
pub use claude::NO_RESULT;
pub use desk::Toolbox;

use self::desk::Desk;
use crate::{
    call::Call,
    client::Client,
    code::{Failure, FailureKind},
};

/// Who answers board calls for one member. Whose calls they are is known to whoever answers, and never part of a call.
pub trait Calls: Send + Sync {
    /// Asks, and waits until what was asked for is durable.
    fn call(&self, call: Call) -> impl Future<Output = Result<Box<RawValue>, Failure>> + Send;

    /// Makes a team in place of the one that is gone, if there is a store at hand to make it in.
    fn make_team(
        &self,
        name: TeamName,
        description: String,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        drop(description);
        let message = format!("the team `{name}` cannot be created from here");
        let create = HintCommand::troop("team create").word(&name);
        let hint = Hint::to("ask the person to run", create);
        let failure = Failure::new(FailureKind::Forbidden, &message);
        async move { Err(failure.with_hint(hint)) }
    }
}

impl Calls for Client {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        Ok(self.ask_any(&call).await?)
    }
}

impl<C: Calls> Calls for &C {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        (*self).call(call).await
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        (*self).make_team(name, description).await
    }
}

impl<C: Calls> Calls for Arc<C> {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        self.as_ref().call(call).await
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        self.as_ref().make_team(name, description).await
    }
}

/// Who has the tools, and what that member may do with them.
#[derive(Clone, Debug)]
pub struct Seat {
    pub member: MemberName,
    /// Its part in the team.
    pub role: Role,
    /// The names that its tools have.
    pub dialect: Dialect,
    /// Whether the team is at work; delegate mode ends with it.
    pub status: TeamStatus,
    /// What the team lets be done.
    pub settings: Settings,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// Whether there are teams at all.
    pub gate: Gate,
}

/// Whether there are teams at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// There are.
    #[default]
    Open,
    /// There are none: no team tool is shown, and calling one is an error.
    Closed {
        /// What closed it, for people.
        by: String,
    },
}

impl Gate {
    /// Says what closed it, if it is closed.
    pub fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Open => Ok(()),
            Self::Closed { by } => {
                let message = format!("agent teams are not enabled: switched off by {by}");
                Err(Failure::new(FailureKind::Forbidden, &message))
            }
        }
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// What it is called by.
    pub name: &'static str,
    /// What kind of thing it does.
    pub category: Category,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub input: Map<String, Value>,
}

/// Who is shown a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Everybody,
    /// Teams do not nest: a teammate makes no team, and starts and stops nobody.
    Lead,
}

/// One tool: its input, and what it does.
trait TeamTool: DeserializeOwned + JsonSchema + Send {
    const NAME: &'static str;
    /// Other names that are understood and not shown.
    const ALSO: &'static [&'static str] = &[];
    const CATEGORY: Category;
    const FOR: For = For::Everybody;
    /// An input that works, shown to who gave one that does not.
    const EXAMPLE: &'static str;

    /// An input that works, like the one that was given.
    fn example(_: &Value) -> String {
        Self::EXAMPLE.to_owned()
    }

    /// Whether the team lets somebody in this seat use it. Who calls it all the same is told by the board.
    fn is_offered(_: &Seat) -> bool {
        true
    }

    /// What it does, for the model.
    fn about(seat: &Seat) -> String;

    /// The schema of its input; some inputs depend on who may do what.
    fn schema(_: &Seat) -> Value {
        input::schema::<Self>()
    }

    fn run<C: Calls>(
        self,
        desk: &Desk<'_, C>,
    ) -> impl Future<Output = Result<String, Failure>> + Send;
}

/// Writes a dialect down once: the tools in the order in which they are shown, and how each is found by its name.
macro_rules! dialect {
    ($($tool:ty),* $(,)?) => {
        /// All tools of the dialect that somebody in this seat is shown.
        pub(super) fn tools(seat: &Seat) -> Vec<Tool> {
            let mut tools = Vec::new();
            $(crate::tools::show::<$tool>(seat, &mut tools);)*
            tools
        }

        /// All names of the dialect that are understood.
        pub(super) fn names() -> Vec<&'static str> {
            let mut names = Vec::new();
            $(names.push(<$tool>::NAME); names.extend(<$tool>::ALSO);)*
            names
        }

        /// Whether each tool reads its own example.
        #[cfg(test)]
        pub(super) fn examples() -> Vec<(&'static str, Result<(), Failure>)> {
            vec![$((<$tool>::NAME, crate::tools::input::read_example::<$tool>())),*]
        }

        /// What kind of thing the tool of a name does.
        pub(super) fn category(name: &str) -> Option<Category> {
            $(if name == <$tool>::NAME || <$tool>::ALSO.contains(&name) {
                return Some(<$tool>::CATEGORY);
            })*
            None
        }

        /// Runs the tool of a name. None if there is none.
        pub(super) async fn run<C: Calls>(
            name: &str,
            input: Value,
            desk: &Desk<'_, C>,
        ) -> Option<Result<String, Failure>> {
            $(if name == <$tool>::NAME || <$tool>::ALSO.contains(&name) {
                // What one tool needs for its work is no burden to the others.
                return Some(Box::pin(crate::tools::run_one::<$tool, C>(input, desk)).await);
            })*
            None
        }
    };
}
use dialect;

fn show<T: TeamTool>(seat: &Seat, tools: &mut Vec<Tool>) {
    let is_for = T::FOR == For::Everybody || seat.role == Role::Lead;
    let is_shown = is_for && T::is_offered(seat);
    if let (true, Value::Object(input)) = (is_shown, T::schema(seat)) {
        tools.push(Tool {
            name: T::NAME,
            category: T::CATEGORY,
            description: T::about(seat),
            input,
        });
    }
}

async fn run_one<T: TeamTool, C: Calls>(
    input: Value,
    desk: &Desk<'_, C>,
) -> Result<String, Failure> {
    if T::FOR == For::Lead && desk.seat.role != Role::Lead {
        let message = format!("`{}` is for the lead: a teammate has no team of its own", T::NAME);
        let failure = Failure::new(FailureKind::Forbidden, &message);
        return Err(failure.with_hint(desk.seat.how_to_ask_the_lead()));
    }
    input::read::<T>(input)?.run(desk).await
}

impl Seat {
    /// The tools that somebody in this seat is shown: none where there are no teams.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let mut tools = match (&self.gate, self.dialect) {
            (Gate::Closed { .. }, _) => Vec::new(),
            (Gate::Open, Dialect::Claude) => claude::tools(self),
            (Gate::Open, Dialect::Board) => board::tools(self),
        };
        tools.retain(|tool| self.check(tool.category).is_ok());
        tools
    }

    /// What kind of thing the team tool of a name does, in either dialect. None if it is no team tool.
    #[must_use]
    pub fn category_of(name: &str) -> Option<Category> {
        claude::category(name).or_else(|| board::category(name))
    }

    fn how_to_ask_the_lead(&self) -> String {
        match self.dialect {
            Dialect::Claude => r#"ask the lead: SendMessage {"to": "lead", "message": "…"}"#,
            Dialect::Board => {
                r#"ask the lead: team_message {"action": "send", "to": "lead", "text": "…"}"#
            }
        }
        .to_owned()
    }
}
