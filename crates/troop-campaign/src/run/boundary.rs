//! The boundaries of a completion at which a lead is killed, by name.

/// A place between two steps of a completion, from the work in a member's folder to a tidy project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KillBoundary {
    InHook,
    BeforeStage,
    AfterStage,
    AfterCommit,
    BeforeMerge,
    AfterMerge,
    AfterForward,
    InCheck,
    BeforeMove,
    AfterMove,
    AfterBoard,
    BeforeLanding,
    AfterLanding,
    BeforeTidy,
    AfterTidy,
    BeforeForget,
    AfterForget,
}

/// How the lead is killed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// Instead of a git command with these words.
    BeforeGit(&'static str),
    /// When a git command with these words has ended, and before the lead knows it.
    AfterGit(&'static str),
    /// By a hook that the lead waits for.
    InHook,
    /// By a check that the lead waits for.
    InCheck,
    /// When the log has a completion.
    AtCompletion,
}

impl KillBoundary {
    /// All of them, in the order of a completion.
    pub const ALL: [Self; 17] = [
        Self::InHook,
        Self::BeforeStage,
        Self::AfterStage,
        Self::AfterCommit,
        Self::BeforeMerge,
        Self::AfterMerge,
        Self::AfterForward,
        Self::InCheck,
        Self::BeforeMove,
        Self::AfterMove,
        Self::AfterBoard,
        Self::BeforeLanding,
        Self::AfterLanding,
        Self::BeforeTidy,
        Self::AfterTidy,
        Self::BeforeForget,
        Self::AfterForget,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InHook => "killed-in-hook",
            Self::BeforeStage => "killed-before-stage",
            Self::AfterStage => "killed-after-stage",
            Self::AfterCommit => "killed-after-commit",
            Self::BeforeMerge => "killed-before-merge",
            Self::AfterMerge => "killed-after-merge",
            Self::AfterForward => "killed-after-forward",
            Self::InCheck => "killed-in-check",
            Self::BeforeMove => "killed-before-move",
            Self::AfterMove => "killed-after-move",
            Self::AfterBoard => "killed-after-board",
            Self::BeforeLanding => "killed-before-landing",
            Self::AfterLanding => "killed-after-landing",
            Self::BeforeTidy => "killed-before-tidy",
            Self::AfterTidy => "killed-after-tidy",
            Self::BeforeForget => "killed-before-forget",
            Self::AfterForget => "killed-after-forget",
        }
    }

    pub(crate) fn strike(self) -> Strike {
        match self {
            Self::InHook => Strike::InHook,
            Self::BeforeStage => Strike::BeforeGit(STAGE),
            Self::AfterStage => Strike::AfterGit(STAGE),
            Self::AfterCommit => Strike::AfterGit(COMMIT),
            Self::BeforeMerge => Strike::BeforeGit(MERGE),
            Self::AfterMerge => Strike::AfterGit(MERGE),
            Self::AfterForward => Strike::AfterGit(FORWARD),
            Self::InCheck => Strike::InCheck,
            Self::BeforeMove => Strike::BeforeGit(MOVE),
            Self::AfterMove => Strike::AfterGit(MOVE),
            Self::AfterBoard => Strike::AtCompletion,
            Self::BeforeLanding => Strike::BeforeGit(LANDING),
            Self::AfterLanding => Strike::AfterGit(LANDING),
            Self::BeforeTidy => Strike::BeforeGit(TIDY),
            Self::AfterTidy => Strike::AfterGit(TIDY),
            Self::BeforeForget => Strike::BeforeGit(FORGET),
            Self::AfterForget => Strike::AfterGit(FORGET),
        }
    }

    /// Whether it comes once for each task, and not once for a team.
    pub(crate) fn is_of_task(self) -> bool {
        self <= Self::AfterBoard
    }
}

/// Puts what a member made into its index.
pub(crate) const STAGE: &str = "add --all --sparse";
/// Commits it.
pub(crate) const COMMIT: &str = "commit --quiet --no-verify";
/// Makes the commit that joins it with the team's.
pub(crate) const MERGE: &str = "-m merge task-";
/// Puts the member's folder on that commit, for the checks.
pub(crate) const FORWARD: &str = "--ff-only --no-verify-signatures";
/// Moves the team's branch there.
pub(crate) const MOVE: &str = "update-ref -m troop: task-";
/// Makes a member's branch for a task the current one in its folder.
pub(crate) const CHECKOUT: &str = "checkout --quiet --no-overwrite-ignore";
/// Makes a folder.
pub(crate) const FOLDER: &str = "worktree add --quiet";
/// Moves the project's branch and its files.
pub(crate) const LANDING: &str = "merge --quiet --ff-only --no-overwrite-ignore";
/// Removes a member's folder.
pub(crate) const TIDY: &str = "worktree remove /";
/// Deletes a branch of the team.
pub(crate) const FORGET: &str = "update-ref -d refs/heads/troop";
