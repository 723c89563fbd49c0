//! Actors, conversations and the context of a command: everything a decision depends on besides the state.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{MemberName, OperationId, Time};

/// The kind of an actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A member of the team.
    Agent,
    /// A person, with a human's rights.
    Human,
    /// troop itself: timers, the supervisor, recovery.
    System,
}

/// An actor, by kind and name. A name alone never gives rights.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    pub kind: ActorKind,
    /// Its name among those of its kind.
    pub name: SmolStr,
}

impl Actor {
    /// A member of the team.
    #[must_use]
    pub fn agent(name: &MemberName) -> Self {
        Self { kind: ActorKind::Agent, name: SmolStr::new(name.as_str()) }
    }

    /// A person.
    #[must_use]
    pub fn human(name: &str) -> Self {
        Self { kind: ActorKind::Human, name: SmolStr::new(name) }
    }

    /// troop itself.
    #[must_use]
    pub fn system() -> Self {
        Self { kind: ActorKind::System, name: SmolStr::new_static(crate::name::SYSTEM) }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// The conversation that a command comes from. Empty fields mean "not from a conversation".
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct Origin {
    /// The person.
    pub user_id: Option<SmolStr>,
    /// The channel, for example `cli` or `telegram`. `system` and `teammate` are troop's own.
    pub channel: Option<SmolStr>,
    /// The chat within the channel.
    pub chat_id: Option<SmolStr>,
    /// The kind of chat, in the channel's words, for example `direct` or `group`.
    pub peer_kind: Option<SmolStr>,
    /// The channel's key of the thread or topic within the chat.
    pub local_key: Option<SmolStr>,
}

impl Origin {
    /// Whether this is troop's own traffic, which no access list stops and which sees everything.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self.channel.as_deref() {
            Some(channel) => matches!(channel, "system" | "teammate"),
            // A user without a channel is still a user.
            None => self.user_id.is_none(),
        }
    }
}

/// The actor of a command and its conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    pub actor: Actor,
    #[serde(default)]
    pub origin: Origin,
}

impl Asker {
    /// troop itself, outside any conversation.
    #[must_use]
    pub fn system() -> Self {
        Actor::system().into()
    }
}

/// An actor outside any conversation.
impl From<Actor> for Asker {
    fn from(actor: Actor) -> Self {
        Self { actor, origin: Origin::default() }
    }
}

/// Everything a decision may depend on besides the state and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub now: Time,
    pub asker: Asker,
    /// The operation that the command belongs to; also the source of new ids.
    pub operation: OperationId,
    /// The fencing number of the supervisor that passes the command on, if one does.
    pub fence: Option<u64>,
}

impl Context {
    /// The id of the `n`-th new item that this command creates.
    #[must_use]
    pub fn new_id(&self, n: u32) -> Uuid {
        self.operation.nth_id(n)
    }
}
