//! `archive.log` and `archive.idx`: tasks that left the live state, each found with one look at the index.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
};

use super::folder::{TeamFolder, sync_folder};
use crate::{StoreResult, record::checksum};

const LOG: &str = "archive.log";
const INDEX: &str = "archive.idx";

/// The index has one slot of eight bytes per task number.
const SLOT: u64 = 8;
/// How many slots are read at once when they are searched backwards.
const STRIDE: u64 = 512;

/// Tasks by number; one without a body was erased.
pub(super) type Tasks = BTreeMap<u32, Option<Vec<u8>>>;

/// A team's archive, opened for reading. One that was never written has no files.
#[derive(Debug)]
pub(super) struct ArchiveFiles<'a> {
    folder: &'a TeamFolder,
    files: Option<(File, File)>,
}

impl<'a> ArchiveFiles<'a> {
    pub(super) fn open(folder: &'a TeamFolder) -> StoreResult<Self> {
        let files = match (File::open(folder.file(LOG)), File::open(folder.file(INDEX))) {
            (Ok(log), Ok(index)) => Some((log, index)),
            (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => None,
            (Err(error), _) | (_, Err(error)) => return Err(folder.io(LOG, "read")(error)),
        };
        Ok(Self { folder, files })
    }

    pub(super) fn read(&self, number: u32) -> StoreResult<Option<Vec<u8>>> {
        let Some((log, index)) = &self.files else { return Ok(None) };
        let mut slot = [0; SLOT as usize];
        match index.read_exact_at(&mut slot, u64::from(number) * SLOT) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read.map_err(self.folder.io(INDEX, "read"))?,
        }
        if slot == [0; SLOT as usize] {
            return Ok(None);
        }
        let damaged = || {
            self.folder
                .damaged(INDEX, &format!("the slot of task {number} does not match its check"))
        };
        let offset = decode_slot(number, slot).ok_or_else(damaged)?;
        self.body(log, number, offset).map(Some)
    }

    fn body(&self, log: &File, number: u32, offset: u64) -> StoreResult<Vec<u8>> {
        let failed = self.folder.io(LOG, "read");
        let mut start = [0; 64];
        let n_read = log.read_at(&mut start, offset).map_err(&failed)?;
        let start = String::from_utf8_lossy(start.get(..n_read).unwrap_or_default()).into_owned();
        let body = decode_header(&start).and_then(|(found, n_bytes, crc, width)| {
            let mut body = vec![0; usize::try_from(n_bytes).ok()?];
            log.read_exact_at(&mut body, offset + width).ok()?;
            let is_whole =
                found == number && checksum(self.folder.team, u64::from(number), &body) == crc;
            is_whole.then_some(body)
        });
        body.ok_or_else(|| {
            self.folder.damaged(
                LOG,
                &format!("the task {number} at byte {offset} does not match its checksum"),
            )
        })
    }

    /// The numbers of the tasks in the archive, highest first.
    pub(super) fn numbers_below(&self, below: u32) -> Numbers<'_> {
        Numbers { archive: self, next: u64::from(below), chunk: Vec::new() }
    }

    /// Adds tasks, and removes those without a body. Doing it twice is harmless.
    pub(super) fn store(folder: &TeamFolder, tasks: &Tasks) -> StoreResult<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let log = options.open(folder.file(LOG)).map_err(folder.io(LOG, "written"))?;
        let index = options.open(folder.file(INDEX)).map_err(folder.io(INDEX, "written"))?;
        let mut offset = log.metadata().map_err(folder.io(LOG, "read"))?.len();
        let mut slots = Vec::new();
        for (number, body) in tasks {
            let Some(body) = body else {
                slots.push((*number, [0; SLOT as usize]));
                continue;
            };
            slots.push((*number, encode_slot(*number, offset)));
            let crc = checksum(folder.team, u64::from(*number), body);
            let mut record = format!("{number} {} {crc:08x}\n", body.len()).into_bytes();
            record.extend_from_slice(body);
            record.push(b'\n');
            log.write_all_at(&record, offset).map_err(folder.io(LOG, "written"))?;
            offset += record.len() as u64;
        }
        // The index never points to data that is not on the disk.
        log.sync_data().map_err(folder.io(LOG, "written"))?;
        for (number, slot) in slots {
            let written = index.write_all_at(&slot, u64::from(number) * SLOT);
            written.map_err(folder.io(INDEX, "written"))?;
        }
        index.sync_data().map_err(folder.io(INDEX, "written"))?;
        sync_folder(folder.path())
    }
}

/// Searches the index backwards.
#[derive(Debug)]
pub(super) struct Numbers<'a> {
    archive: &'a ArchiveFiles<'a>,
    /// The slots below this one are still to be read.
    next: u64,
    /// Numbers that were read ahead, lowest first.
    chunk: Vec<u32>,
}

impl Numbers<'_> {
    pub(super) fn next(&mut self) -> StoreResult<Option<u32>> {
        let Some((_, index)) = &self.archive.files else { return Ok(None) };
        let failed = self.archive.folder.io(INDEX, "read");
        let n_slots = index.metadata().map_err(&failed)?.len() / SLOT;
        self.next = self.next.min(n_slots);
        while self.chunk.is_empty() && self.next > 0 {
            let start = self.next.saturating_sub(STRIDE);
            let mut bytes = vec![0; usize::try_from((self.next - start) * SLOT).unwrap_or(0)];
            index.read_exact_at(&mut bytes, start * SLOT).map_err(&failed)?;
            let taken = bytes.chunks(SLOT as usize).zip(start..);
            let taken = taken.filter(|(slot, _)| slot.iter().any(|byte| *byte != 0));
            self.chunk = taken.filter_map(|(_, number)| u32::try_from(number).ok()).collect();
            self.next = start;
        }
        Ok(self.chunk.pop())
    }
}

/// A slot is an offset, shifted to make room for a check; zero is a task that is not there.
fn encode_slot(number: u32, offset: u64) -> [u8; SLOT as usize] {
    (((offset + 1) << 16) | slot_check(number, offset)).to_le_bytes()
}

fn decode_slot(number: u32, slot: [u8; SLOT as usize]) -> Option<u64> {
    let slot = u64::from_le_bytes(slot);
    let offset = (slot >> 16).checked_sub(1)?;
    (slot & 0xffff == slot_check(number, offset)).then_some(offset)
}

fn slot_check(number: u32, offset: u64) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(&offset.to_le_bytes());
    u64::from(hasher.finalize() & 0xffff)
}

/// Reads `NUMBER BYTES CRC` and tells how long that line is.
fn decode_header(start: &str) -> Option<(u32, u64, u32, u64)> {
    let (line, _) = start.split_once('\n')?;
    let mut words = line.split(' ');
    let number = words.next()?.parse().ok()?;
    let n_bytes = words.next()?.parse().ok()?;
    let crc = u32::from_str_radix(words.next()?, 16).ok()?;
    Some((number, n_bytes, crc, line.len() as u64 + 1))
}
