//! What an agent may do without asking: its mode, and rules as people know them from Claude Code's settings.

mod line;
mod named;
mod own;
mod rule;

use std::path::Path;

use troop_model::Permissions;
use troop_protocol::{Category, Denied};

use line::ShellLine;
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
pub(crate) struct ToolAction<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    pub(crate) category: Category,
    /// A path in the working folder, a command, or nothing.
    pub(crate) what: &'a str,
    /// Where the links of the path lead; else the same.
    pub(crate) real: &'a str,
    /// The working folder.
    pub(crate) root: &'a Path,
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
    pub(crate) fn check(&self, mode: Permissions, deed: &ToolAction<'_>) -> Permit {
        if let Some(rule) = self.deny.iter().find(|rule| rule.forbids(deed)) {
            return Permit::No(format!(
                "the rule `{rule}` forbids it; do it in another way or say that you cannot"
            ));
        }
        let changes = matches!(deed.category, Category::Files | Category::Shell | Category::Other);
        let writes = deed.category == Category::Files;
        match mode {
            _ if writes && deed.is_any(own::is_of_git) => Permit::No(own::OF_GIT.to_owned()),
            Permissions::Plan if changes => Permit::No(Denied::PlanMode.to_string()),
            _ if self.ask.iter().any(|rule| rule.forbids(deed)) => Permit::Ask,
            Permissions::Bypass => Permit::Yes,
            _ if writes && deed.is_any(own::decides_what_runs) => Permit::Ask,
            _ if !changes || lets(&self.allow, deed) => Permit::Yes,
            Permissions::AcceptEdits if writes => Permit::Yes,
            Permissions::Plan | Permissions::Default | Permissions::AcceptEdits => Permit::Ask,
        }
    }

    /// Whether a tool is denied, whatever it is used for.
    pub(crate) fn denies_all_of(&self, tool: &str) -> bool {
        self.deny.iter().any(|rule| rule.is_about_all_of(tool))
    }

    /// What a tool that looks at many files must leave out: what is denied, and what must be asked for.
    pub(crate) fn veil(&self, tool: &'static str) -> Veil {
        Veil { tool, rules: self.deny.iter().chain(&self.ask).cloned().collect() }
    }

    /// What nobody may look at, also where nobody can ask.
    pub(crate) fn veil_over_denied(&self, tool: &'static str) -> Veil {
        Veil { tool, rules: self.deny.clone() }
    }
}

/// Whether rules let something be done. Of a line, each command must be allowed, and nothing may be hidden in it.
pub(crate) fn lets(rules: &[Rule], deed: &ToolAction<'_>) -> bool {
    if rules.iter().any(|rule| rule.allows(deed)) {
        return true;
    }
    if deed.category != Category::Shell {
        return false;
    }
    let line = ShellLine::read(deed.what);
    let is_allowed = |command| rules.iter().any(|rule| rule.allows_command(deed.tool, command));
    line.is_clear && !line.commands.is_empty() && line.commands.iter().all(is_allowed)
}

impl ToolAction<'_> {
    /// Whether something is true of its path, or of where its links lead.
    fn is_any(&self, is: impl Fn(&Path) -> bool) -> bool {
        is(Path::new(self.what)) || is(Path::new(self.real))
    }
}

/// Files that nobody may look at without leave.
#[derive(Clone, Debug)]
pub(crate) struct Veil {
    tool: &'static str,
    rules: Vec<Rule>,
}

impl Veil {
    /// Whether it is over a file, by its path from the working folder on, in which no link is left.
    pub(crate) fn hides(&self, root: &Path, path: &str) -> bool {
        let (tool, category) = (self.tool, Category::Read);
        let deed = ToolAction { tool, category, what: path, real: path, root };
        self.rules.iter().any(|rule| rule.forbids(&deed))
    }
}

#[cfg(test)]
mod tests;
