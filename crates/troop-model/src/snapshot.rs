//! A state as bytes, so that opening a team does not replay its log.
//!
//! Layout: format, length of the front, the front (everything small, and the lengths of the parts), then the parts that stay
//! packed: tasks, indexes, mailbox, delegations, operations, files. A snapshot is a cache: one of another format is ignored and
//! the log is replayed.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::{
    Limits, Link, Member, MemberName, Origin, State, TaskNumber, TaskTable,
    packed::SnapshotParts,
    state::{Request, StateHead},
    task::PackedTable,
};

/// The version of the layout. Changes whenever the shape of anything in a snapshot changes.
pub const SNAPSHOT_FORMAT: u32 = 15;

/// Why bytes are not a snapshot that this program can use.
#[derive(Debug, Error)]
#[error("the snapshot is not of format {SNAPSHOT_FORMAT}")]
pub struct SnapshotError;

#[derive(Serialize, Deserialize)]
struct SnapshotFront {
    head: StateHead,
    roster: BTreeMap<MemberName, Member>,
    links: BTreeMap<(MemberName, MemberName), Link>,
    requests: BTreeMap<Uuid, Request>,
    origins: BTreeMap<Origin, ()>,
    delegated: BTreeMap<TaskNumber, Uuid>,
    untold: BTreeMap<TaskNumber, MemberName>,
    tasks: PackedTable,
    n_mailbox: usize,
    n_delegations: usize,
    n_operations: usize,
    n_files: usize,
}

impl State {
    /// Packs the state.
    #[must_use]
    pub fn to_snapshot(&self) -> Vec<u8> {
        let mut parts = Vec::new();
        let tasks = self.tasks.pack(&mut parts);
        let front = SnapshotFront {
            head: self.head.clone(),
            roster: self.roster.entries().clone(),
            links: self.links.entries().clone(),
            requests: self.requests.entries().clone(),
            origins: self.origins.entries().clone(),
            delegated: self.delegated.entries().clone(),
            untold: self.untold.entries().clone(),
            tasks,
            n_mailbox: self.mailbox.pack(&mut parts),
            n_delegations: self.delegations.pack(&mut parts),
            n_operations: self.operations.pack(&mut parts),
            n_files: self.files.pack(&mut parts),
        };
        let front = postcard::to_stdvec(&front).expect("every part of a state can be packed");
        let mut bytes = Vec::with_capacity(8 + front.len() + parts.len());
        bytes.extend(SNAPSHOT_FORMAT.to_le_bytes());
        bytes.extend((front.len() as u32).to_le_bytes());
        bytes.extend(front);
        bytes.extend(parts);
        bytes
    }

    /// Opens a packed state.
    pub fn from_snapshot(bytes: impl Into<Bytes>) -> Result<Self, SnapshotError> {
        let bytes = bytes.into();
        let number = |at: usize| -> Option<u32> {
            Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        if number(0).ok_or(SnapshotError)? != SNAPSHOT_FORMAT {
            return Err(SnapshotError);
        }
        let start = 8 + number(4).ok_or(SnapshotError)? as usize;
        let front = bytes.get(8..start).ok_or(SnapshotError)?;
        let front: SnapshotFront = postcard::from_bytes(front).map_err(|_| SnapshotError)?;
        let mut parts = SnapshotParts(bytes.slice(start..));
        let state = Self {
            limits: Limits::SHIPPED,
            before: front.head.clone(),
            head: front.head,
            roster: front.roster.into(),
            links: front.links.into(),
            requests: front.requests.into(),
            origins: front.origins.into(),
            delegated: front.delegated.into(),
            untold: front.untold.into(),
            tasks: TaskTable::unpack(front.tasks, &mut parts)?,
            mailbox: parts.next(front.n_mailbox)?,
            delegations: parts.next(front.n_delegations)?,
            operations: parts.next(front.n_operations)?,
            files: parts.next(front.n_files)?,
        };
        parts.finish()?;
        Ok(state)
    }
}
