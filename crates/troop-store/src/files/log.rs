//! `log.jsonl`: one line per batch, found by bisection because every line begins with its version.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    os::unix::fs::FileExt,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use troop_model::{OperationId, Version};

use super::folder::{LOG, LogHead, TeamFolder};
use crate::{
    Entry, StoreResult,
    record::{Assembly, Record},
};

/// A stretch this short is read through rather than bisected.
const STRETCH: u64 = 16 * 1024;

#[derive(Deserialize)]
struct BatchLine<'a> {
    v: Version,
    n: u64,
    op: OperationId,
    crc: &'a str,
    #[serde(borrow)]
    events: Vec<&'a RawValue>,
}

/// Writes a record as a line. The version comes first: bisection looks for it there.
pub(super) fn encode(record: &Record) -> String {
    format!(
        "{{\"v\":{},\"n\":{},\"op\":\"{}\",\"crc\":\"{:08x}\",\"events\":[{}]}}\n",
        record.first,
        record.n_events,
        record.operation,
        record.crc,
        record.bodies.replace('\n', ",")
    )
}

/// Reads a line; `None` if troop did not write it.
pub(super) fn decode(line: &[u8]) -> Option<Record> {
    let line: BatchLine<'_> = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    let bodies: Vec<_> = line.events.iter().map(|event| event.get()).collect();
    Some(Record {
        first: line.v,
        n_events: line.n,
        operation: line.op,
        crc: u32::from_str_radix(line.crc, 16).ok()?,
        bodies: bodies.join("\n"),
    })
}

/// Walks over the records of a log up to its committed end.
pub(super) struct Walk<'a> {
    folder: &'a TeamFolder,
    lines: io::Take<BufReader<&'a File>>,
    offset: u64,
    line: Vec<u8>,
}

impl<'a> Walk<'a> {
    /// Begins at the record that holds `version`, or at one not far before it.
    pub(super) fn new(
        folder: &'a TeamFolder,
        file: &'a File,
        head: LogHead,
        version: Version,
    ) -> StoreResult<Self> {
        let offset = locate(folder, file, head, version)?;
        let mut lines = BufReader::with_capacity(64 * 1024, file);
        lines.seek(SeekFrom::Start(offset)).map_err(folder.io(LOG, "read"))?;
        let lines = lines.take(head.bytes.saturating_sub(offset));
        Ok(Self { folder, lines, offset, line: Vec::new() })
    }

    /// The next record and where its line begins.
    pub(super) fn next(&mut self) -> StoreResult<Option<(Record, u64)>> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line);
        if read.map_err(self.folder.io(LOG, "read"))? == 0 {
            return Ok(None);
        }
        let start = self.offset;
        self.offset += self.line.len() as u64;
        match decode(&self.line) {
            Some(record) => Ok(Some((record, start))),
            None => {
                Err(self.folder.damaged(LOG, &format!("the line at byte {start} is not a batch")))
            }
        }
    }
}

pub(super) fn read(
    folder: &TeamFolder,
    file: &File,
    head: LogHead,
    after: Version,
    limit: usize,
) -> StoreResult<Vec<Entry>> {
    let mut assembly = Assembly::new(folder.team, after, limit);
    if after >= head.version {
        return Ok(assembly.finish());
    }
    let mut walk = Walk::new(folder, file, head, after.next())?;
    while !assembly.is_full()
        && let Some((record, offset)) = walk.next()?
    {
        let place = format!("`{}` at byte {offset}", folder.file(LOG).display());
        assembly.push(&record, &place)?;
    }
    Ok(assembly.finish())
}

/// The operation whose record begins at a version, and where the record ends.
pub(super) fn record_at(
    folder: &TeamFolder,
    file: &File,
    head: LogHead,
    first: Version,
) -> StoreResult<Option<(OperationId, Version)>> {
    let mut walk = Walk::new(folder, file, head, first)?;
    while let Some((record, _)) = walk.next()? {
        if record.first >= first {
            let found = (record.operation, record.end());
            return Ok((record.first == first).then_some(found));
        }
    }
    Ok(None)
}

/// Finds the beginning of the line that holds `version`, or of one not far before it.
fn locate(folder: &TeamFolder, file: &File, head: LogHead, version: Version) -> StoreResult<u64> {
    // The wanted line begins at `low` or between the two.
    let mut low = 0;
    let mut high = head.bytes;
    while high.saturating_sub(low) > STRETCH {
        let middle = low + (high - low) / 2;
        let start = next_line(file, middle, high).map_err(folder.io(LOG, "read"))?;
        match start {
            Some(start) if version_at(folder, file, start)? <= version => low = start,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Where the first line behind `from` begins, if that is below `end`.
fn next_line(file: &File, from: u64, end: u64) -> io::Result<Option<u64>> {
    let mut chunk = [0; 4096];
    let mut offset = from;
    while offset < end {
        let n_read = file.read_at(&mut chunk, offset)?;
        if n_read == 0 {
            break;
        }
        if let Some(nth) = chunk.iter().take(n_read).position(|byte| *byte == b'\n') {
            let start = offset + nth as u64 + 1;
            return Ok((start < end).then_some(start));
        }
        offset += n_read as u64;
    }
    Ok(None)
}

fn version_at(folder: &TeamFolder, file: &File, start: u64) -> StoreResult<Version> {
    let mut bytes = [0; 32];
    let n_read = file.read_at(&mut bytes, start).map_err(folder.io(LOG, "read"))?;
    let text = String::from_utf8_lossy(bytes.get(..n_read).unwrap_or_default());
    let digits = text.strip_prefix("{\"v\":").and_then(|rest| rest.split_once(','));
    digits
        .and_then(|(digits, _)| digits.parse().ok())
        .map(Version)
        .ok_or_else(|| folder.damaged(LOG, &format!("the line at byte {start} is not a batch")))
}
