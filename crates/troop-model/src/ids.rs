//! The ids that cross every boundary: teams, tasks, operations, positions in a log.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Time;

/// The permanent id of a team, independent of its name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct TeamId(pub Uuid);

/// The id of one attempted change, so that a repeated attempt has one effect.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct OperationId(pub Uuid);

/// A team's position in its log: how many events have happened.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Version(pub u64);

/// A task's number in its team, shown as `task-7`. Numbers start at 1 and are never used again.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct TaskNumber(pub u32);

impl OperationId {
    /// The time of creation, to the millisecond, if it is a UUID v7; otherwise the earliest time.
    #[must_use]
    pub fn made_at(self) -> Time {
        let millis =
            if self.0.get_version_num() == 7 { (self.0.as_u128() >> 80) as i64 } else { 0 };
        Time::from_micros(millis.saturating_mul(1_000))
    }

    /// The `n`-th id derived from this operation. The same operation always gives the same ids, so deciding stays pure.
    #[must_use]
    pub fn nth_id(self, n: u32) -> Uuid {
        let bits = self.0.as_u128();
        // Only the random tail changes: time, version and variant of a UUID v7 stay as they are.
        let tail = (bits as u64 & TAIL).wrapping_add(u64::from(n)) & TAIL;
        Uuid::from_u128((bits & !u128::from(TAIL)) | u128::from(tail))
    }
}

/// The prefix of an id, in either case, with or without dashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdPrefix {
    digits: u128,
    /// How many bits are not given.
    n_open: u32,
}

impl IdPrefix {
    /// Parses a prefix of an id, or a whole id.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let n_open = 32_usize.checked_sub(digits.len())? as u32 * 4;
        Some(Self { digits: u128::from_str_radix(&digits, 16).ok()?, n_open })
    }

    /// Whether it is a whole id.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.n_open == 0
    }

    /// Whether an id has this prefix.
    #[must_use]
    pub fn begins(self, id: Uuid) -> bool {
        id.as_u128().checked_shr(self.n_open) == Some(self.digits)
    }
}

/// The random bits of a UUID v7 after its variant.
const TAIL: u64 = (1 << 62) - 1;

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

impl fmt::Display for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task-{}", self.0)
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
