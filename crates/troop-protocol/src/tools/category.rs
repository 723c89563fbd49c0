//! Categories of tools, and which of them a member may use: delegate mode and plan mode as pure functions.

use std::fmt;

use troop_model::{Permissions, Role, TeamStatus};

use super::Seat;

/// The kind of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Teams, members, tasks and messages: everything that a coordinating lead needs.
    Coordination,
    /// Looks at files and searches them.
    Read,
    /// Changes files.
    Files,
    /// Runs commands.
    Shell,
    /// Anything else, such as the tools of an MCP server: troop does not know what they do.
    Other,
}

/// Coordinating tools of other programs: those that the seeds allow a delegating lead besides the team tools.
const COORDINATES: [&str; 5] =
    ["TodoWrite", "AskUserQuestion", "Config", "ExitPlanMode", "EnterPlanMode"];
const READS: [&str; 6] = ["Read", "Glob", "Grep", "LS", "NotebookRead", "ToolSearch"];
const CHANGES_FILES: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
const RUNS: [&str; 3] = ["Bash", "BashOutput", "KillShell"];

/// Why a tool may not be used now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolDenial {
    /// The lead only coordinates.
    DelegateMode,
    /// The member may only read until its plan is approved.
    PlanMode,
}

impl fmt::Display for ToolDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DelegateMode => {
                "in delegate mode the lead only coordinates; put the work on the board as a task and give it to a teammate"
            }
            Self::PlanMode => {
                "in plan mode you may only read; ask for approval of your plan first"
            }
        })
    }
}

impl Category {
    /// The category of a tool, by the names of Claude Code and troop.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let is_in = |names: &[&str]| names.contains(&name);
        match Seat::category_of(name) {
            Some(category) => category,
            None if is_in(&COORDINATES) => Self::Coordination,
            None if is_in(&READS) => Self::Read,
            None if is_in(&CHANGES_FILES) => Self::Files,
            None if is_in(&RUNS) => Self::Shell,
            None => Self::Other,
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Coordination => "coordination",
            Self::Read => "read",
            Self::Files => "files",
            Self::Shell => "shell",
            Self::Other => "other",
        }
    }
}

impl Seat {
    /// Checks whether the member may use tools of a category. Delegate mode binds the lead alone, while the team is active;
    /// its teammates keep their tools. The board decides what is allowed on the board in plan mode.
    pub fn check(&self, category: Category) -> Result<(), ToolDenial> {
        let is_delegating = self.settings.delegation.delegate_mode == Some(true)
            && self.role == Role::Lead
            && self.status == TeamStatus::Active;
        let is_planning = self.permissions == Permissions::Plan;
        let changes = matches!(category, Category::Files | Category::Shell | Category::Other);
        if category == Category::Coordination {
            Ok(())
        } else if is_delegating {
            Err(ToolDenial::DelegateMode)
        } else if is_planning && changes {
            Err(ToolDenial::PlanMode)
        } else {
            Ok(())
        }
    }
}
