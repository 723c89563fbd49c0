//! Remembers which files of tasks agree with the board, so that a new mirror need not open them all.
//!
//! A file with the same stamp as when it was read has the same content. That holds only for a file that was older than the moment
//! at which reading began, by the clock of the disk: later writes have a later time. The next mirror reads the others again, and
//! knows them from then on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use troop_model::{Fact, OperationId, Version};

use super::{
    Mirror, MirrorError,
    disk::{self, Stamp},
    ids::FileId,
    unusable,
};

/// The format of the saved note; another version of troop may write another.
const FORMAT: u32 = 1;

/// The files that need not be read.
#[derive(Debug, Default)]
pub(super) struct InStep {
    /// The version of the board with which the files agree; none if all must be read.
    version: Option<Version>,
    /// The stamps of the files when they were read.
    stamps: BTreeMap<FileId, Stamp>,
    /// When reading began, by the clock of the disk.
    began: Option<Stamp>,
    has_changed: bool,
}

impl InStep {
    pub(super) fn stamp(&self, id: &FileId) -> Option<Stamp> {
        self.stamps.get(id).copied()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &FileId> {
        self.stamps.keys()
    }

    /// Has everything read again.
    pub(super) fn doubt(&mut self) {
        *self = Self { began: self.began, has_changed: true, ..Self::default() };
    }

    /// Notes a file that was read since reading began, or was written; none if it is gone, or somebody is writing it.
    pub(super) fn note(&mut self, id: &FileId, stamp: Option<Stamp>) {
        let stamp = stamp.filter(|it| self.began.is_some_and(|began| it.is_before(began)));
        let before = match stamp {
            Some(stamp) => self.stamps.insert(id.clone(), stamp),
            None => self.stamps.remove(id),
        };
        self.has_changed |= before != stamp;
    }
}

#[derive(Serialize, Deserialize)]
struct SavedStep {
    format: u32,
    program: String,
    version: Version,
    /// The operation at that version: another log may have as many events.
    operation: OperationId,
    stamps: BTreeMap<String, Stamp>,
}

impl Mirror {
    /// Recalls which files were in step when the last mirror ended.
    pub(super) async fn recall_step(&mut self) -> Result<(), MirrorError> {
        let path = self.places.in_step();
        let found = disk::read(&path).map_err(unusable(&path))?.and_then(|it| it.bytes);
        let saved: Option<SavedStep> = found.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(saved) = saved else { return Ok(()) };
        let is_ours = (saved.format, saved.program.as_str()) == (FORMAT, env!("CARGO_PKG_VERSION"));
        if is_ours && self.operation_at(saved.version).await? == Some(saved.operation) {
            let stamps = saved.stamps.iter().filter_map(|(id, it)| Some((FileId::new(id)?, *it)));
            self.memory.in_step.stamps = stamps.collect();
            self.memory.in_step.version = Some(saved.version);
        }
        Ok(())
    }

    /// Notes when reading begins, before anything is read.
    pub(super) fn begin_reading(&mut self) -> Result<(), MirrorError> {
        if self.memory.in_step.began.is_none() {
            let path = self.places.began();
            self.memory.in_step.began = Some(disk::put(&path, b"").map_err(unusable(&path))?);
        }
        Ok(())
    }

    /// Marks what changed on the board since the files were in step. Returns whether nothing else has to be visited.
    pub(super) async fn mark_since(&mut self) -> Result<bool, MirrorError> {
        let Some(version) = self.memory.in_step.version else { return Ok(false) };
        let mut log = self.board.subscribe(version);
        let mut numbers = Vec::new();
        while let Some(event) = log.next_stored().await? {
            if changes_ids(&event.fact) {
                self.memory.in_step.doubt();
                return Ok(false);
            }
            numbers.extend(self.mark_event(&event));
        }
        self.mark_tasks(numbers).await?;
        Ok(true)
    }

    /// Saves which files are in step, if nothing is left to visit.
    pub(super) async fn keep_step(&mut self, version: Version) -> Result<(), MirrorError> {
        let is_busy = self.work.has_tasks() || !self.gate.is_empty();
        let is_same =
            !self.memory.in_step.has_changed && self.memory.in_step.version == Some(version);
        if is_busy || self.has_failed || is_same {
            return Ok(());
        }
        let Some(operation) = self.operation_at(version).await? else { return Ok(()) };
        let stamps =
            self.memory.in_step.stamps.iter().map(|(id, it)| (id.to_string(), *it)).collect();
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let saved = SavedStep { format: FORMAT, program, version, operation, stamps };
        let path = self.places.in_step();
        let bytes = serde_json::to_vec(&saved).map_err(|it| unusable(&path)(it.into()))?;
        disk::put(&path, &bytes).map_err(unusable(&path))?;
        self.memory.in_step.version = Some(version);
        self.memory.in_step.has_changed = false;
        Ok(())
    }

    async fn operation_at(&self, version: Version) -> Result<Option<OperationId>, MirrorError> {
        let Some(before) = version.0.checked_sub(1) else { return Ok(None) };
        let event = self.board.subscribe(Version(before)).next_stored().await?;
        Ok(event.filter(|it| it.version == version).map(|it| it.operation))
    }
}

/// Whether files may have other or unknown ids after this: those of a task that is gone, or whose id
/// another took.
#[expect(clippy::wildcard_enum_match_arm, reason = "other facts leave ids as they are")]
fn changes_ids(fact: &Fact) -> bool {
    match fact {
        Fact::TaskDeleted { .. } | Fact::TeamUpdated { .. } => true,
        Fact::TaskCreated { origin, .. } => FileId::of_origin(origin).is_some(),
        _ => false,
    }
}
