//! What an agent may do without asking: its mode, and rules as people know them from Claude Code's settings.

mod rule;

use troop_model::Permissions;
use troop_protocol::{Category, Denied};

pub use rule::{BadRule, Rule};

/// What may be done, what may not, and what must be asked for, whatever the mode is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Done without asking.
    pub allow: Vec<Rule>,
    /// Never done.
    pub deny: Vec<Rule>,
    /// Always asked for.
    pub ask: Vec<Rule>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deed<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    pub(crate) category: Category,
    /// A path in the working folder, a command, or nothing.
    pub(crate) what: &'a str,
}

/// Whether something may be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    Yes,
    Ask,
    /// No, and why.
    No(String),
}

impl Rules {
    /// Whether something may be done in this mode. What is denied is denied in every mode.
    pub(crate) fn check(&self, mode: Permissions, deed: &Deed<'_>) -> Permit {
        if let Some(rule) = self.deny.iter().find(|rule| rule.forbids(deed)) {
            return Permit::No(format!(
                "the rule `{rule}` forbids it; do it in another way or say that you cannot"
            ));
        }
        let changes = matches!(deed.category, Category::Files | Category::Shell | Category::Other);
        match mode {
            Permissions::Plan if changes => Permit::No(Denied::PlanMode.to_string()),
            Permissions::Bypass => Permit::Yes,
            _ if deed.category == Category::Coordination => Permit::Yes,
            _ if self.ask.iter().any(|rule| rule.forbids(deed)) => Permit::Ask,
            _ if !changes || self.allow.iter().any(|rule| rule.allows(deed)) => Permit::Yes,
            Permissions::AcceptEdits if deed.category == Category::Files => Permit::Yes,
            Permissions::Plan | Permissions::Default | Permissions::AcceptEdits => Permit::Ask,
        }
    }
}

#[cfg(test)]
mod tests;
