//! Permission without asking: the agent's mode, and rules in the syntax of Claude Code's settings. Every agent
//! checks these before it asks anybody.

mod line;
mod named;
mod own;
mod rule;

use std::path::Path;

use troop_model::Permissions;
use troop_protocol::{Category, ToolDenial};

use line::ShellLine;
pub use rule::{BadRule, Rule};

/// Rules that allow, deny or ask, in every mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    pub ask: Vec<Rule>,
}

/// A tool call, as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolAction<'a> {
    pub tool: &'a str,
    pub category: Category,
    /// A path relative to the working folder, a command, or nothing.
    pub what: &'a str,
    /// The path with its links resolved; otherwise the same as `what`.
    pub real: &'a str,
    /// The working folder.
    pub root: &'a Path,
}

/// The decision of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    Yes,
    Ask,
    /// Denied, with the reason for the model.
    No(String),
}

impl Rules {
    /// Whether an action is allowed in this mode. Deny rules hold in every mode.
    #[must_use]
    pub fn check(&self, mode: Permissions, action: &ToolAction<'_>) -> Permit {
        if let Some(rule) = self.deny.iter().find(|rule| rule.forbids(action)) {
            return Permit::No(format!(
                "the rule `{rule}` forbids it; do it in another way, or say that you cannot"
            ));
        }
        let changes =
            matches!(action.category, Category::Files | Category::Shell | Category::Other);
        let writes = action.category == Category::Files;
        match mode {
            _ if writes && action.is_any(own::is_of_git) => Permit::No(own::OF_GIT.to_owned()),
            Permissions::Plan if changes => Permit::No(ToolDenial::PlanMode.to_string()),
            _ if self.ask.iter().any(|rule| rule.forbids(action)) => Permit::Ask,
            Permissions::Bypass => Permit::Yes,
            _ if writes && action.is_any(own::decides_what_runs) => Permit::Ask,
            _ if !changes || lets(&self.allow, action) => Permit::Yes,
            Permissions::AcceptEdits if writes => Permit::Yes,
            Permissions::Plan | Permissions::Default | Permissions::AcceptEdits => Permit::Ask,
        }
    }

    /// Whether a tool is denied for every use.
    pub(crate) fn denies_all_of(&self, tool: &str) -> bool {
        self.deny.iter().any(|rule| rule.is_about_all_of(tool))
    }

    /// Hides files from a tool that reads many: those that are denied, and those that need permission.
    pub(crate) fn veil(&self, tool: &'static str) -> Veil {
        Veil { tool, rules: self.deny.iter().chain(&self.ask).cloned().collect() }
    }

    /// Hides files that are denied, where nobody can be asked.
    pub(crate) fn veil_over_denied(&self, tool: &'static str) -> Veil {
        Veil { tool, rules: self.deny.clone() }
    }
}

/// Whether rules allow an action. Each command of a line must be allowed, and nothing may be hidden in it.
pub(crate) fn lets(rules: &[Rule], action: &ToolAction<'_>) -> bool {
    if rules.iter().any(|rule| rule.allows(action)) {
        return true;
    }
    if action.category != Category::Shell {
        return false;
    }
    let line = ShellLine::read(action.what);
    let is_allowed = |command| rules.iter().any(|rule| rule.allows_command(action.tool, command));
    line.is_clear && !line.commands.is_empty() && line.commands.iter().all(is_allowed)
}

impl ToolAction<'_> {
    /// Whether a condition holds for the path or for what its links lead to.
    fn is_any(&self, is: impl Fn(&Path) -> bool) -> bool {
        is(Path::new(self.what)) || is(Path::new(self.real))
    }
}

/// Hides files that may not be read without permission.
#[derive(Clone, Debug)]
pub(crate) struct Veil {
    tool: &'static str,
    rules: Vec<Rule>,
}

impl Veil {
    /// Whether it hides a file. The path is relative to the working folder and has no links.
    pub(crate) fn hides(&self, root: &Path, path: &str) -> bool {
        let tool = self.tool;
        let category = Category::Read;
        let action = ToolAction { tool, category, what: path, real: path, root };
        self.rules.iter().any(|rule| rule.forbids(&action))
    }
}

#[cfg(test)]
mod tests;
