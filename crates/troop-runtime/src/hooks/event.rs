//! The events that hooks run on.

use std::fmt;

/// An event of a team that hooks can run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A team was created.
    TeamCreated,
    /// A teammate's process started.
    TeammateSpawned,
    /// A teammate has nothing to do; a veto keeps it working.
    TeammateIdle,
    /// A task was put on the board; a veto takes it off again.
    TaskCreated,
    /// A task was given to a teammate.
    TaskAssigned,
    /// A task is about to be completed; a veto prevents it.
    TaskCompleted,
    /// A team has ended.
    TeamShutdown,
}

impl HookEvent {
    pub const ALL: [Self; 7] = [
        Self::TeamCreated,
        Self::TeammateSpawned,
        Self::TeammateIdle,
        Self::TaskCreated,
        Self::TaskAssigned,
        Self::TaskCompleted,
        Self::TeamShutdown,
    ];

    /// Both spellings, and the names of its values: the one table.
    const fn row(self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self {
            Self::TeamCreated => ("TeamCreated", "team-created", &["teamName"]),
            Self::TeammateSpawned => (
                "TeammateSpawned",
                "teammate-spawned",
                &["teamName", "teammateName", "teammateAgentName", "teammatePid"],
            ),
            Self::TeammateIdle => ("TeammateIdle", "teammate-idle", &["teamName", "teammateName"]),
            Self::TaskCreated => ("TaskCreated", "task-created", &TASK),
            Self::TaskAssigned => ("TaskAssigned", "task-assigned", &TASK),
            Self::TaskCompleted => ("TaskCompleted", "task-completed", &FINISHED_TASK),
            Self::TeamShutdown => (
                "TeamShutdown",
                "team-shutdown",
                &["teamName", "teamMemberCount", "teamTasksCompleted", "teamTasksTotal"],
            ),
        }
    }

    /// `TaskCompleted`: the spelling in Claude style and in the JSON for a hook.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// `task-completed`: the spelling in the flat style.
    #[must_use]
    pub const fn kebab(self) -> &'static str {
        self.row().1
    }

    /// The names of its values.
    #[must_use]
    pub const fn carries(self) -> &'static [&'static str] {
        self.row().2
    }

    /// The event with this name, in either spelling.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name || event.kebab() == name)
    }

    /// Whether a hook can prevent it.
    #[must_use]
    pub const fn can_be_vetoed(self) -> bool {
        match self {
            Self::TaskCreated | Self::TaskCompleted | Self::TeammateIdle => true,
            Self::TeamCreated | Self::TeammateSpawned | Self::TaskAssigned | Self::TeamShutdown => {
                false
            }
        }
    }
}

const TASK: [&str; 6] = [
    "teamName",
    "teammateName",
    "teamTaskId",
    "teamTaskSubject",
    "teamTaskDescription",
    "teamTaskOwner",
];

const FINISHED_TASK: [&str; 7] = [
    "teamName",
    "teammateName",
    "teamTaskId",
    "teamTaskSubject",
    "teamTaskDescription",
    "teamTaskOwner",
    "teamTaskResult",
];

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kebab())
    }
}
