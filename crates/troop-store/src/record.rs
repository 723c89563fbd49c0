//! The stored form of an append: one checked record per batch, the same in every backend.

use std::{cmp::Ordering, fmt::Display};

use serde_json::value::RawValue;
use troop_model::{OperationId, TeamId, Version};

use crate::{
    Batch, Entry, StoreError, StoreResult,
    failure::{bug, corrupt},
};

/// How many events a record of a log's beginning holds at most.
const MAX_EVENTS: usize = 1000;

/// A batch as it is stored. One record is one write, so a batch is wholly there or wholly absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The version of its first event.
    pub(crate) first: Version,
    pub(crate) n_events: u64,
    pub(crate) operation: OperationId,
    /// Over the team and every other field, so that a record in the wrong place is noticed too.
    pub(crate) crc: u32,
    /// The bodies, joined by line feeds, which no body contains.
    pub(crate) bodies: String,
}

impl Record {
    /// Makes the stored form of a batch, if every backend can return it byte for byte.
    pub(crate) fn new(team: TeamId, batch: &Batch) -> StoreResult<Self> {
        if batch.bodies.is_empty() {
            return Err(no_events());
        }
        if let Some(body) = batch.bodies.iter().find(|body| !is_one_json_line(body)) {
            let start: String = body.chars().take(40).collect();
            return Err(bug(format!("an event is not one line of JSON: {start:?}")));
        }
        let mut record = Self {
            first: batch.after.next(),
            n_events: batch.bodies.len() as u64,
            operation: batch.operation,
            crc: 0,
            bodies: batch.bodies.join("\n"),
        };
        record.crc = record.checksum(team);
        Ok(record)
    }

    /// Makes the stored form of the first batch of a log: several records if it is long.
    ///
    /// The first batch of an imported log holds all its events. In one record, every reader of a page would have to read it all.
    pub(crate) fn beginning(team: TeamId, first: &Batch) -> StoreResult<Vec<Self>> {
        if first.after != Version::ZERO {
            return Err(bug(format!("a log cannot begin after version {}", first.after)));
        }
        let mut records: Vec<Self> = Vec::new();
        for bodies in first.bodies.chunks(MAX_EVENTS) {
            let after = records.last().map_or(Version::ZERO, Self::end);
            let part = Batch { operation: first.operation, after, bodies: bodies.to_vec() };
            records.push(Self::new(team, &part)?);
        }
        if records.is_empty() { Err(no_events()) } else { Ok(records) }
    }

    /// The version of its last event.
    pub(crate) fn end(&self) -> Version {
        Version(self.first.0.saturating_add(self.n_events).saturating_sub(1))
    }

    fn checksum(&self, team: TeamId) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(team.0.as_bytes());
        hasher.update(&self.first.0.to_le_bytes());
        hasher.update(&self.n_events.to_le_bytes());
        hasher.update(self.operation.0.as_bytes());
        hasher.update(self.bodies.as_bytes());
        hasher.finalize()
    }

    /// Whether the record is intact.
    pub(crate) fn is_whole(&self, team: TeamId) -> bool {
        self.crc == self.checksum(team)
            && self.n_events == self.bodies.split('\n').count() as u64
            && self.first > Version::ZERO
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        self.bodies
            .split('\n')
            .enumerate()
            .map(|(nth, body)| Entry { version: self.first.plus(nth), body: body.to_owned() })
    }
}

fn no_events() -> StoreError {
    bug("a batch holds no events")
}

/// A backend may only lose whitespace around a JSON value, so a value without any survives unchanged.
fn is_one_json_line(body: &str) -> bool {
    !body.contains(['\n', '\r'])
        && serde_json::from_str::<&RawValue>(body).is_ok_and(|raw| raw.get().len() == body.len())
}

/// How a batch relates to the log that it wants to extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchStanding {
    /// It comes next.
    Next,
    /// It is in the log already, up to this version: the first answer was lost.
    Repeated(Version),
    /// Others appended first.
    Behind,
}

/// Compares a batch with the log. `record_at` looks up the operation that began at a version, and where its record
/// ends.
pub(crate) fn standing(
    batch: &Batch,
    head: Version,
    record_at: impl FnOnce(Version) -> StoreResult<Option<(OperationId, Version)>>,
) -> StoreResult<BatchStanding> {
    match batch.after.cmp(&head) {
        Ordering::Equal => Ok(BatchStanding::Next),
        Ordering::Less => Ok(match record_at(batch.after.next())? {
            Some((operation, end)) if operation == batch.operation => BatchStanding::Repeated(end),
            _ => BatchStanding::Behind,
        }),
        Ordering::Greater => Err(corrupt(
            format!(
                "the log ends at version {head}, but version {} was seen before: it lost events",
                batch.after
            ),
            "restore the store from a backup; nothing was changed",
        )),
    }
}

/// Where a log's beginning ends if `operation` made it, over all the records that it was split into.
///
/// `record_at` looks up the operation that began at a version, and where its record ends.
pub(crate) fn end_of_beginning(
    operation: OperationId,
    mut record_at: impl FnMut(Version) -> StoreResult<Option<(OperationId, Version)>>,
) -> StoreResult<Option<Version>> {
    let mut end = Version::ZERO;
    while let Some((found, next_end)) = record_at(end.next())?
        && found == operation
        && next_end > end
    {
        end = next_end;
    }
    Ok((end > Version::ZERO).then_some(end))
}

/// Assembles the requested events record by record; detects damage and gaps.
#[derive(Debug)]
pub(crate) struct Assembly {
    team: TeamId,
    after: Version,
    limit: usize,
    /// Where the next record has to begin, once there was one.
    next: Option<Version>,
    entries: Vec<Entry>,
}

impl Assembly {
    pub(crate) fn new(team: TeamId, after: Version, limit: usize) -> Self {
        Self { team, after, limit, next: None, entries: Vec::new() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.limit
    }

    /// Adds the next record of the log. `place` says where it was found.
    pub(crate) fn push(&mut self, record: &Record, place: &dyn Display) -> StoreResult<()> {
        let damage = if !record.is_whole(self.team) {
            "its checksum does not match".to_owned()
        } else if let Some(next) = self.next.filter(|next| *next != record.first) {
            format!("it follows version {}", next.0.saturating_sub(1))
        } else if self.next.is_none() && record.first > self.after.next() {
            format!("version {} is missing before it", self.after.next())
        } else {
            self.next = Some(record.end().next());
            let room = self.limit.saturating_sub(self.entries.len());
            let wanted = record.entries().filter(|entry| entry.version > self.after).take(room);
            self.entries.extend(wanted);
            return Ok(());
        };
        Err(corrupt(
            format!("the record of version {} in {place} is damaged: {damage}", record.first),
            "restore the store from a backup; nothing was changed",
        ))
    }

    pub(crate) fn finish(self) -> Vec<Entry> {
        self.entries
    }
}

/// The checksum of what the store keeps besides logs: snapshots and archived tasks.
pub(crate) fn checksum(team: TeamId, number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(team.0.as_bytes());
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}
