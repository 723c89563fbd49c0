//! Members of a team, and the links along which its lead may delegate.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{AgentKind, MemberName, TeamId, Time, Usage};

/// A member's role in the team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Coordinates. A team has exactly one, for ever.
    Lead,
    /// Works.
    Member,
}

/// The state of a member, as the supervisor saw it.
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

/// Why a member is in its state, for programs that branch on it. People read the reason beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StateCause {
    /// It was asked to stop, and no other member was.
    Asked,
    /// It was stopped with all others.
    TeamStopped,
    /// Its lead ended without stopping it.
    LeadEnded,
    /// Its turn was interrupted; it continues with the next message.
    Interrupted,
    /// A lead has not finished its instructions yet.
    LeftOpen,
    /// A lead could not carry out its instructions.
    CouldNot,
}

/// A member's permissions: what it may do without asking. From narrow to wide.
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
    /// Its permanent id. A later member may get the same name, but not the id.
    pub id: Uuid,
    pub role: Role,
    /// The key of its agent.
    pub agent: SmolStr,
    /// Its expertise, in words.
    pub expertise: String,
    /// The model that its agent should use, if any.
    pub model: Option<SmolStr>,
    pub permissions: Permissions,
    /// Its last known state.
    pub state: MemberState,
    pub state_since: Time,
    /// Why, for people.
    pub state_reason: Option<String>,
    /// Why, for programs.
    pub state_cause: Option<StateCause>,
    /// The id of its process, while a supervisor runs one.
    pub pid: Option<u32>,
    /// When it joined.
    pub joined_at: Time,
    /// Its usage so far.
    #[serde(default)]
    pub usage: Usage,
}

/// The permission to delegate from one member to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The member that delegates.
    pub from: MemberName,
    pub to: MemberName,
    /// The team that created the link. None for manual links, and once the team is deleted.
    pub team: Option<TeamId>,
    /// Whether it may be used. Links of removed members are kept, disabled.
    pub enabled: bool,
    /// How many delegations may run over it at once.
    pub max_concurrent: u32,
    /// Only these users may cause delegations over it; empty means everyone.
    #[serde(default)]
    pub user_allow: Vec<SmolStr>,
    /// These users may not, even if they are allowed above.
    #[serde(default)]
    pub user_deny: Vec<SmolStr>,
}

/// A change to a link, or a new one. What it leaves out stays as it is, so that concurrent changes of different fields both
/// apply; a new link is enabled, and as wide as the team's settings say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkChange {
    /// The member that delegates.
    pub from: MemberName,
    pub to: MemberName,
    /// Whether it may be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How many delegations may run over it at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Only these users may cause delegations over it; empty means everyone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_allow: Option<Vec<SmolStr>>,
    /// These users may not, even if they are allowed above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_deny: Option<Vec<SmolStr>>,
}

impl LinkChange {
    /// A change of nothing yet.
    #[must_use]
    pub fn new(from: MemberName, to: MemberName) -> Self {
        Self { from, to, enabled: None, max_concurrent: None, user_allow: None, user_deny: None }
    }

    /// Whether anything is to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::new(self.from.clone(), self.to.clone())
    }
}

impl Member {
    /// Whether another program runs it, not troop.
    #[must_use]
    pub fn is_external(&self) -> bool {
        AgentKind::External.is(&self.agent)
    }

    /// Whether a supervisor runs a process for it, or is about to.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.pid.is_some() || self.state == MemberState::Spawning
    }
}

impl StateCause {
    /// The cause in words, for people.
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
    /// Whether the member is busy, so that its team cannot be deleted.
    #[must_use]
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Spawning | Self::Working | Self::Planning | Self::Stopping)
    }
}

/// Gives each variant of an enum its word in every interface.
macro_rules! shown_as_word {
    ($($name:ident { $($variant:ident => $word:literal),* $(,)? })*) => {$(
        impl $name {
            /// All variants, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its word in every interface.
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
