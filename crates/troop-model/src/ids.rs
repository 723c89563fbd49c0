//! The identities that cross every boundary: teams, tasks, operations, positions in a log.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Names one team for ever, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TeamId(pub Uuid);

/// Names one attempt to change something, so that a repeated attempt has one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub Uuid);

/// A team's position in its log: how many events have happened.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

impl Version {
    /// The position of an empty log.
    pub const ZERO: Self = Self(0);

    /// The position of the event that comes next.
    #[must_use]
    pub fn next(self) -> Self {
        self.plus(1)
    }

    /// The position after `n_events` more.
    #[must_use]
    pub fn plus(self, n_events: usize) -> Self {
        Self(self.0.saturating_add(n_events as u64))
    }
}

macro_rules! shown_as_inner {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}
shown_as_inner!(TeamId, OperationId, Version);

impl FromStr for TeamId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
