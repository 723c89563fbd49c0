//! Team tools: what an agent can do in its team, in two dialects over the same board.
//!
//! A tool is defined once, as a typed input whose JSON Schema the model sees, and used by the built-in agent and by the MCP
//! server. It makes [`Call`]s, so that it does not matter who answers: a lead over its socket or a teammate's wire, or a
//! board in this process. There are no rules here: the model gets the board's refusals in the board's own words.

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

pub use category::{Category, ToolDenial};
pub use claude::NO_RESULT;
pub use desk::Toolbox;

use self::desk::ToolDesk;
use crate::{
    call::Call,
    client::Client,
    code::{Failure, FailureKind},
};

/// Answers the board calls of one member. The implementation knows whose calls they are; the calls do not say it.
pub trait Calls: Send + Sync {
    /// Makes a call, and waits until its effect is durable.
    fn call(&self, call: Call) -> impl Future<Output = Result<Box<RawValue>, Failure>> + Send;

    /// Creates a team in place of the deleted one, if there is a store to create it in.
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

impl<C: Calls> Calls for Arc<C> {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        self.as_ref().call(call).await
    }

    async fn make_team(&self, name: TeamName, description: String) -> Result<(), Failure> {
        self.as_ref().make_team(name, description).await
    }
}

/// The member that has the tools, and what it may do with them.
#[derive(Clone, Debug)]
pub struct Seat {
    pub member: MemberName,
    pub role: Role,
    pub dialect: Dialect,
    /// Whether the team is at work; delegate mode ends with it.
    pub status: TeamStatus,
    pub settings: Settings,
    /// What it may do without asking.
    pub permissions: Permissions,
    pub gate: Gate,
}

/// Whether teams are enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    #[default]
    Open,
    /// Teams are disabled: no team tool is shown, and calling one is an error.
    Closed {
        /// Which setting disabled them, for people.
        by: String,
    },
}

impl Gate {
    /// Fails with the reason if teams are disabled.
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
    pub name: &'static str,
    pub category: Category,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub input: Map<String, Value>,
}

/// The members that see a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolAudience {
    Everybody,
    /// Teams do not nest: a teammate creates no team, and starts and stops nobody.
    Lead,
}

/// One tool: its input, and what it does.
trait TeamTool: DeserializeOwned + JsonSchema + Send {
    const NAME: &'static str;
    /// Aliases, which models do not see.
    const ALSO: &'static [&'static str] = &[];
    const CATEGORY: Category;
    const FOR: ToolAudience = ToolAudience::Everybody;
    /// A valid input, shown after an invalid one.
    const EXAMPLE: &'static str;

    /// A valid input similar to the given one.
    fn example(_: &Value) -> String {
        Self::EXAMPLE.to_owned()
    }

    /// Whether the member sees it. If the member calls it anyway, the board decides.
    fn is_offered(_: &Seat) -> bool {
        true
    }

    /// What it does, for the model.
    fn about(seat: &Seat) -> String;

    /// The schema of its input, which may depend on the member's rights.
    fn schema(_: &Seat) -> Value {
        input::schema::<Self>()
    }

    fn run<C: Calls>(
        self,
        desk: &ToolDesk<'_, C>,
    ) -> impl Future<Output = Result<String, Failure>> + Send;
}

/// Defines a dialect: its tools in the order in which models see them, and the dispatch by name.
macro_rules! dialect {
    ($($tool:ty),* $(,)?) => {
        /// The tools of the dialect that the member sees.
        pub(super) fn tools(seat: &Seat) -> Vec<Tool> {
            let mut tools = Vec::new();
            $(crate::tools::show::<$tool>(seat, &mut tools);)*
            tools
        }

        /// All names of the dialect, with aliases.
        pub(super) fn names() -> Vec<&'static str> {
            let mut names = Vec::new();
            $(names.push(<$tool>::NAME); names.extend(<$tool>::ALSO);)*
            names
        }

        /// Reads the example of each tool.
        #[cfg(test)]
        pub(super) fn examples() -> Vec<(&'static str, Result<(), Failure>)> {
            vec![$((<$tool>::NAME, crate::tools::input::read_example::<$tool>())),*]
        }

        /// The category of a tool.
        pub(super) fn category(name: &str) -> Option<Category> {
            $(if name == <$tool>::NAME || <$tool>::ALSO.contains(&name) {
                return Some(<$tool>::CATEGORY);
            })*
            None
        }

        /// Runs a tool. None if the dialect has no tool of this name.
        pub(super) async fn run<C: Calls>(
            name: &str,
            input: Value,
            desk: &ToolDesk<'_, C>,
        ) -> Option<Result<String, Failure>> {
            $(if name == <$tool>::NAME || <$tool>::ALSO.contains(&name) {
                // Boxed, so that the largest future does not enlarge all others.
                return Some(Box::pin(crate::tools::run_one::<$tool, C>(input, desk)).await);
            })*
            None
        }
    };
}
use dialect;

fn show<T: TeamTool>(seat: &Seat, tools: &mut Vec<Tool>) {
    let is_for = T::FOR == ToolAudience::Everybody || seat.role == Role::Lead;
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
    desk: &ToolDesk<'_, C>,
) -> Result<String, Failure> {
    if T::FOR == ToolAudience::Lead && desk.seat.role != Role::Lead {
        let message = format!("`{}` is for the lead: a teammate has no team of its own", T::NAME);
        let failure = Failure::new(FailureKind::Forbidden, &message);
        return Err(failure.with_hint(desk.seat.how_to_ask_the_lead()));
    }
    input::read::<T>(input)?.run(desk).await
}

impl Seat {
    /// The tools that the member sees: none if teams are disabled.
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

    /// The category of a team tool of either dialect. None if there is no team tool of this name.
    #[must_use]
    pub fn category_of(name: &str) -> Option<Category> {
        claude::category(name).or_else(|| board::category(name))
    }

    /// Fails with the way to a team if there is none: only that tool can be used then.
    fn check_team(&self, tool: &str) -> Result<(), Failure> {
        if self.status != TeamStatus::Deleted || tool == claude::CREATES_TEAM {
            return Ok(());
        }
        let hint = match (self.dialect, self.role) {
            (Dialect::Claude, Role::Lead) => {
                r#"create one: TeamCreate {"team_name": "shop", "description": "…"}"#.into()
            }
            (Dialect::Claude | Dialect::Board, _) => {
                let create = HintCommand::troop("team create").text("NAME");
                Hint::to("ask the person to run", create)
            }
        };
        let message = "there is no team: it was deleted, or not created yet";
        Err(Failure::new(FailureKind::NotFound, message).with_hint(hint))
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
