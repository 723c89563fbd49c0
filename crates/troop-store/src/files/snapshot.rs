//! `snapshot`: the state and the tasks that left it last, so that both are replaced in one step.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Write},
};

use serde::{Deserialize, Serialize};
use troop_model::Version;

use super::{
    archive::{ArchiveFiles, Tasks},
    folder::{TeamFolder, sync_folder},
};
use crate::{ArchivedTask, Snapshot, StoreResult, draft::draft_in, failure::bug, record::checksum};

const SNAPSHOT: &str = "snapshot";

/// The first line of the file. The state follows it, then the bodies of the tasks.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: Version,
    bytes: u64,
    crc: u32,
    tasks: Vec<TaskHeader>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TaskHeader {
    number: u32,
    /// How long the body is; nothing for a task that was erased.
    bytes: Option<u64>,
    crc: u32,
}

/// A snapshot file that is being read.
struct SnapshotFile {
    header: Header,
    rest: BufReader<File>,
}

impl SnapshotFile {
    fn open(folder: &TeamFolder) -> StoreResult<Option<Self>> {
        let path = folder.file(SNAPSHOT);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(folder.io(SNAPSHOT, "read")(error)),
        };
        let mut rest = BufReader::new(file);
        let mut line = Vec::new();
        rest.read_until(b'\n', &mut line).map_err(folder.io(SNAPSHOT, "read"))?;
        let header = decode_header(&line);
        let header = header.ok_or_else(|| {
            folder.damaged(SNAPSHOT, "its first line does not match its checksum")
        })?;
        Ok(Some(Self { header, rest }))
    }

    fn take(&mut self, folder: &TeamFolder, n_bytes: u64) -> StoreResult<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.rest.by_ref().take(n_bytes).read_to_end(&mut bytes);
        read.map_err(folder.io(SNAPSHOT, "read"))?;
        Ok(bytes)
    }

    fn state(&mut self, folder: &TeamFolder) -> StoreResult<Vec<u8>> {
        let state = self.take(folder, self.header.bytes)?;
        if checksum(folder.team, self.header.version.0, &state) != self.header.crc {
            return Err(folder.damaged(SNAPSHOT, "the checksum of its state does not match"));
        }
        Ok(state)
    }

    /// The tasks that left with this snapshot.
    fn tasks(mut self, folder: &TeamFolder) -> StoreResult<Tasks> {
        let skipped = i64::try_from(self.header.bytes).unwrap_or(i64::MAX);
        self.rest.seek_relative(skipped).map_err(folder.io(SNAPSHOT, "read"))?;
        let mut tasks = Tasks::new();
        for task in std::mem::take(&mut self.header.tasks) {
            let Some(n_bytes) = task.bytes else {
                tasks.insert(task.number, None);
                continue;
            };
            let body = self.take(folder, n_bytes)?;
            if checksum(folder.team, u64::from(task.number), &body) != task.crc {
                let how = format!("the checksum of task {} does not match", task.number);
                return Err(folder.damaged(SNAPSHOT, &how));
            }
            tasks.insert(task.number, Some(body));
        }
        Ok(tasks)
    }
}

fn encode_header(header: &Header) -> StoreResult<String> {
    let json = serde_json::to_string(header).map_err(|error| bug(error.to_string()))?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

fn decode_header(line: &[u8]) -> Option<Header> {
    let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (crc, json) = line.split_once(' ')?;
    let is_whole = u32::from_str_radix(crc, 16).ok()? == crc32fast::hash(json.as_bytes());
    is_whole.then(|| serde_json::from_str(json).ok())?
}

pub(super) fn load(folder: &TeamFolder) -> StoreResult<Option<Snapshot>> {
    let Some(mut stored) = SnapshotFile::open(folder)? else { return Ok(None) };
    let state = stored.state(folder)?;
    Ok(Some(Snapshot { version: stored.header.version, state: state.into() }))
}

/// Replaces the snapshot with a newer one; the caller holds the write lock.
///
/// The tasks of the old snapshot go to the archive before it is replaced. So at any moment a task that left is in the
/// snapshot or in the archive, and repeating an interrupted save does no harm.
pub(super) fn save(
    folder: &TeamFolder,
    snapshot: &Snapshot,
    archived: &[ArchivedTask],
) -> StoreResult<()> {
    if let Some(stored) = SnapshotFile::open(folder)? {
        if stored.header.version >= snapshot.version {
            return Ok(());
        }
        if !stored.header.tasks.is_empty() {
            ArchiveFiles::store(folder, &stored.tasks(folder)?)?;
        }
    }
    let task = |task: &ArchivedTask| TaskHeader {
        number: task.number,
        bytes: task.body.as_ref().map(|body| body.len() as u64),
        crc: task
            .body
            .as_ref()
            .map_or(0, |body| checksum(folder.team, u64::from(task.number), body)),
    };
    let header = encode_header(&Header {
        version: snapshot.version,
        bytes: snapshot.state.len() as u64,
        crc: checksum(folder.team, snapshot.version.0, &snapshot.state),
        tasks: archived.iter().map(task).collect(),
    })?;
    let written = || -> io::Result<()> {
        let mut draft = draft_in(folder.path())?;
        draft.write_all(header.as_bytes())?;
        draft.write_all(&snapshot.state)?;
        for body in archived.iter().filter_map(|task| task.body.as_ref()) {
            draft.write_all(body)?;
        }
        draft.as_file().sync_all()?;
        draft.persist(folder.file(SNAPSHOT))?;
        Ok(())
    };
    written().map_err(folder.io(SNAPSHOT, "written"))?;
    sync_folder(folder.path())
}

/// The tasks in the snapshot, which override the archive.
///
/// They are read before the archive is opened: tasks that leave the snapshot meanwhile are in the archive by then.
fn recent_tasks(folder: &TeamFolder) -> StoreResult<Tasks> {
    let stored = SnapshotFile::open(folder)?;
    Ok(stored.map(|stored| stored.tasks(folder)).transpose()?.unwrap_or_default())
}

pub(super) fn read_archived(folder: &TeamFolder, number: u32) -> StoreResult<Option<Vec<u8>>> {
    let mut recent = recent_tasks(folder)?;
    match recent.remove(&number) {
        Some(body) => Ok(body),
        None => ArchiveFiles::open(folder)?.read(number),
    }
}

pub(super) fn list_archived(
    folder: &TeamFolder,
    below: u32,
    limit: usize,
) -> StoreResult<Vec<(u32, Vec<u8>)>> {
    let mut recent = recent_tasks(folder)?;
    let archive = ArchiveFiles::open(folder)?;
    let mut older = archive.numbers_below(below);
    let mut next_older = older.next()?;
    let mut found = Vec::new();
    while found.len() < limit {
        let next_recent = recent.range(..below).next_back().map(|(number, _)| *number);
        let Some(number) = next_recent.max(next_older) else { break };
        let body = match recent.remove(&number) {
            Some(body) => body,
            None => archive.read(number)?,
        };
        if next_older == Some(number) {
            next_older = older.next()?;
        }
        found.extend(body.map(|body| (number, body)));
    }
    Ok(found)
}
