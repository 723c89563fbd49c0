//! Who belongs to a team, and to whom its lead may delegate.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{MemberName, TeamId, Time, Usage};

/// What thinks for a member that troop does not run: some other program, which shares files with the team.
pub const EXTERNAL: &str = "external";

/// A member's part in the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Coordinates. A team has exactly one, for ever.
    Lead,
    /// Works.
    Member,
}

/// What the supervisor saw of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberState {
    /// Its process is starting.
    Spawning,
    /// It holds a task or runs a turn.
    Working,
    /// It waits for work.
    Idle,
    /// It may only read until its plan is approved.
    Planning,
    /// It was asked to stop.
    Stopping,
    /// It does not run.
    Stopped,
    /// It ended without being asked to.
    Crashed,
}

/// Why a member is in its state, where that decides something. People read the reason beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateCause {
    /// Somebody wanted this member alone to stop.
    Asked,
    /// It was stopped with all others.
    TeamStopped,
    /// Its lead ended without stopping it.
    LeadEnded,
    /// What it did was broken off; it goes on with the next message.
    Interrupted,
    /// A lead has not done yet what it was told.
    LeftOpen,
    /// A lead tried what it was told, and could not do it.
    CouldNot,
}

/// What a member may do without asking. From narrow to wide.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Permissions {
    /// Read only.
    Plan,
    /// Ask before every change.
    Default,
    /// Edit files without asking.
    AcceptEdits,
    /// Ask nothing.
    Bypass,
}

/// One member of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    /// Unique in the team.
    pub name: MemberName,
    /// Names this member for ever, even when the name is given to another later.
    pub id: Uuid,
    pub role: Role,
    /// What thinks for it: an agent's key.
    pub agent: SmolStr,
    /// What it is good at.
    pub expertise: String,
    /// The model it asks for, if any.
    pub model: Option<SmolStr>,
    /// What it may do without asking.
    pub permissions: Permissions,
    /// What the supervisor saw last.
    pub state: MemberState,
    pub state_since: Time,
    /// Why, for people.
    pub state_reason: Option<String>,
    /// Why, for programs.
    pub state_cause: Option<StateCause>,
    /// Its process, while a supervisor runs one.
    pub pid: Option<u32>,
    /// When it joined.
    pub joined_at: Time,
    /// What it has used so far.
    #[serde(default)]
    pub usage: Usage,
}

/// The permission to delegate from one member to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Who delegates.
    pub from: MemberName,
    pub to: MemberName,
    /// The team that made the link. None for links made by hand, and once the team is deleted.
    pub team: Option<TeamId>,
    /// Whether it may be used. Links of removed members are kept, disabled.
    pub enabled: bool,
    /// How many delegations it carries at once.
    pub max_concurrent: u32,
    /// Only these users may set this delegation off; empty means everyone.
    #[serde(default)]
    pub user_allow: Vec<SmolStr>,
    /// These users may not, even if they are allowed above.
    #[serde(default)]
    pub user_deny: Vec<SmolStr>,
}

impl Member {
    /// Whether troop does not run it.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.agent == EXTERNAL
    }

    /// Whether a supervisor runs a process for it, or is about to.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid.is_some() || self.state == MemberState::Spawning
    }
}

impl StateCause {
    /// The same in words, for people.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Asked => "it was asked to stop",
            Self::TeamStopped => "its team stopped",
            Self::LeadEnded => "its lead ended",
            Self::Interrupted => "interrupted; it goes on with the next message",
            Self::LeftOpen => "it has not done yet what it was told",
            Self::CouldNot => "it could not do what it was told",
        }
    }
}

impl MemberState {
    /// Whether the member is in the middle of something, so that its team cannot be deleted.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Spawning | Self::Working | Self::Planning | Self::Stopping)
    }
}

/// Writes an enum as the word that stands for it in every interface.
macro_rules! shown_as_word {
    ($($name:ident { $($variant:ident => $word:literal),* $(,)? })*) => {$(
        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that stands for it in every interface.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(crate::UnknownWord {
                        word: text.to_owned(),
                        known: Self::ALL.iter().map(|known| known.as_str()).collect(),
                    }),
                }
            }
        }
    )*};
}
pub(crate) use shown_as_word;

shown_as_word! {
    Role { Lead => "lead", Member => "member" }
    MemberState {
        Spawning => "spawning", Working => "working", Idle => "idle", Planning => "planning",
        Stopping => "stopping", Stopped => "stopped", Crashed => "crashed",
    }
    Permissions {
        Plan => "plan", Default => "default", AcceptEdits => "accept-edits", Bypass => "bypass",
    }
}
