//! A team's log as its one writer in this process sees it.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    sync::Arc,
};

use troop_model::{TeamId, Version};

use super::{
    folder::{HEAD, LOG, LogHead, TeamFolder},
    log,
    root::Root,
};
use crate::{
    Batch, Entry, StoreResult,
    bell::Bells,
    failure::{bug, cannot_lock},
    record::{BatchStanding, Record, standing},
    turnstile::Turnstile,
    writer::Journal,
};

/// The writer of one team.
#[derive(Debug)]
pub(crate) struct FilesJournal {
    root: Arc<Root>,
    team: TeamId,
    bells: Bells,
    /// The team's folder at the last lookup.
    open: Option<OpenLog>,
    is_inside: bool,
}

impl FilesJournal {
    pub(super) fn new(root: Arc<Root>, team: TeamId, bells: Bells) -> Self {
        Self { root, team, bells, open: None, is_inside: false }
    }

    /// The team's folder, which cannot move while this journal holds the write lock.
    pub(super) fn folder(&self) -> StoreResult<&TeamFolder> {
        self.open.as_ref().map(|open| &open.folder).ok_or_else(not_begun)
    }

    fn open(&mut self) -> StoreResult<&mut OpenLog> {
        self.open.as_mut().ok_or_else(not_begun)
    }

    /// Waits in line at the team's present folder.
    fn enter(&mut self) -> StoreResult<()> {
        loop {
            if self.open.is_none() {
                let folder = self.root.find(self.team)?;
                match OpenLog::new(folder.clone()) {
                    Ok(open) => self.open = Some(open),
                    // It was moved between being found and being opened.
                    Err(_) if !folder.is_current() => continue,
                    Err(error) => return Err(error),
                }
            }
            let open = self.open()?;
            let entered = open.turnstile.enter();
            entered.map_err(|error| cannot_lock(&open.folder.file(LOG), error))?;
            if open.is_current() {
                self.is_inside = true;
                return Ok(());
            }
            // The team was retired or purged meanwhile; closing the files leaves the queue.
            self.open = None;
        }
    }
}

fn not_begun() -> crate::StoreError {
    bug("a log was written without its lock")
}

/// A team's log and head, opened for writing.
#[derive(Debug)]
struct OpenLog {
    folder: TeamFolder,
    log: File,
    head: File,
    turnstile: Turnstile,
    committed: LogHead,
    /// Where the next line goes; beyond what is committed only within a transaction.
    end: LogHead,
}

impl OpenLog {
    fn new(folder: TeamFolder) -> StoreResult<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let log = folder.open(LOG, &options)?;
        let head = folder.open(HEAD, &options)?;
        let turnstile = folder.turnstile(&head, &log)?;
        let committed = LogHead::default();
        let end = LogHead::default();
        Ok(Self { folder, log, head, turnstile, committed, end })
    }

    /// Whether the open file is still the one that is found under its name.
    fn is_current(&self) -> bool {
        let found = fs::metadata(self.folder.file(LOG));
        let held = self.log.metadata();
        matches!((found, held), (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
    }

    /// Reads what others committed, and repairs what an interrupted append left behind.
    fn catch_up(&mut self) -> StoreResult<()> {
        let head = self.folder.head(&self.head, &self.log)?;
        self.committed = head;
        self.end = head;
        let length = self.log.metadata().map_err(self.folder.io(LOG, "read"))?.len();
        if length > head.bytes { self.settle(length) } else { Ok(()) }
    }

    /// Whole lines beyond the head were written before a crash, perhaps even acknowledged before a power cut, so
    /// they count. Anything else beyond it is an append that was interrupted and never acknowledged.
    fn settle(&mut self, length: u64) -> StoreResult<()> {
        let mut good = self.committed;
        let mut tail = vec![0; usize::try_from(length - good.bytes).unwrap_or(usize::MAX)];
        let read = self.log.read_exact_at(&mut tail, good.bytes);
        read.map_err(self.folder.io(LOG, "read"))?;
        for line in tail.split_inclusive(|byte| *byte == b'\n') {
            match log::decode(line) {
                Some(record)
                    if record.first == good.version.next() && record.is_whole(self.folder.team) =>
                {
                    good.version = record.end();
                    good.bytes += line.len() as u64;
                }
                _ => break,
            }
        }
        if good.bytes < length {
            self.log.set_len(good.bytes).map_err(self.folder.io(LOG, "written"))?;
        }
        self.commit(good)
    }

    fn append(&mut self, batch: &Batch) -> StoreResult<Option<Version>> {
        let record = Record::new(self.folder.team, batch)?;
        let record_at = |first| log::record_at(&self.folder, &self.log, self.end, first);
        match standing(batch, self.end.version, record_at)? {
            BatchStanding::Next => {}
            BatchStanding::Repeated(end) => return Ok(Some(end)),
            BatchStanding::Behind => return Ok(None),
        }
        let line = log::encode(&record);
        let written = self.log.write_all_at(line.as_bytes(), self.end.bytes);
        written.map_err(self.folder.io(LOG, "written"))?;
        self.end = LogHead { version: record.end(), bytes: self.end.bytes + line.len() as u64 };
        Ok(Some(record.end()))
    }

    /// First the log's bytes, then the head that makes them count.
    fn commit(&mut self, end: LogHead) -> StoreResult<()> {
        self.log.sync_data().map_err(self.folder.io(LOG, "written"))?;
        let text = end.encode(self.folder.team);
        let written = self.head.write_all_at(text.as_bytes(), 0);
        written.map_err(self.folder.io(HEAD, "written"))?;
        (self.committed, self.end) = (end, end);
        Ok(())
    }

    fn roll_back(&mut self) -> io::Result<()> {
        if self.end != self.committed {
            self.log.set_len(self.committed.bytes)?;
        }
        Ok(())
    }
}

impl Journal for FilesJournal {
    fn begin(&mut self) -> StoreResult<()> {
        if self.is_inside {
            return Ok(());
        }
        self.enter()?;
        self.open()?.catch_up()
    }

    fn append(&mut self, _team: TeamId, batch: &Batch) -> StoreResult<Option<Version>> {
        self.open()?.append(batch)
    }

    fn missed(&mut self, _team: TeamId, after: Version) -> StoreResult<Vec<Entry>> {
        let open = self.open()?;
        log::read(&open.folder, &open.log, open.committed, after, usize::MAX)
    }

    fn commit(&mut self) -> StoreResult<()> {
        let open = self.open()?;
        if open.end != open.committed {
            open.commit(open.end)?;
            self.bells.ring(self.team);
        }
        Ok(())
    }

    fn leave(&mut self) {
        if !std::mem::take(&mut self.is_inside) {
            // Closing the files releases the locks as well, whatever went wrong on the way in.
            self.open = None;
        } else if let Some(open) = &mut self.open {
            // If the file cannot be truncated now, the next writer repairs it.
            drop(open.roll_back());
            open.turnstile.leave();
        }
    }
}
