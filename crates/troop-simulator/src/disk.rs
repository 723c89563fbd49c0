//! The simulated folder of a team: files that are put in their place in one step, their stamps, notes beside them, and the
//! system's locks.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use serde_json::{Map, Value};
use troop_model::Time;
use troop_runtime::deciding::mirror::{DiskFile, Stamp, WrittenNote};
use uuid::Uuid;

use crate::world::World;

/// A file.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedFile {
    pub(crate) stamp: Stamp,
    pub(crate) bytes: Rc<Vec<u8>>,
}

impl SimulatedFile {
    pub(crate) fn as_read(&self) -> DiskFile {
        DiskFile { stamp: self.stamp, bytes: Some(self.bytes.to_vec()) }
    }

    pub(crate) fn object(&self) -> Map<String, Value> {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }
}

/// The note about what was written last into a file, and the next one while the file is on its way to its place.
#[derive(Clone, Debug, Default)]
struct NotePair {
    note: Option<WrittenNote>,
    next: Option<WrittenNote>,
    /// Whether the file of the next note was put in its place.
    is_placed: bool,
}

/// Files by their paths below the shared folder.
#[derive(Debug, Default)]
pub(crate) struct SimulatedDisk {
    files: BTreeMap<String, SimulatedFile>,
    notes: BTreeMap<String, NotePair>,
    /// Messages that are noted to lie in an inbox.
    noted: BTreeSet<(String, Uuid)>,
    locks: BTreeSet<String>,
    n_files: u64,
}

impl SimulatedDisk {
    pub(crate) fn read(&self, path: &str) -> Option<SimulatedFile> {
        self.files.get(path).cloned()
    }

    pub(crate) fn stamp(&self, path: &str) -> Option<Stamp> {
        self.files.get(path).map(|it| it.stamp)
    }

    /// The stamp of a file that is written now, before it is in its place.
    pub(crate) fn new_stamp(&mut self, now: Time) -> Stamp {
        self.n_files += 1;
        Stamp::made(now, self.n_files)
    }

    /// Puts a file in its place, in one step.
    pub(crate) fn place(&mut self, path: &str, bytes: Vec<u8>, stamp: Stamp) {
        self.files.insert(path.to_owned(), SimulatedFile { stamp, bytes: Rc::new(bytes) });
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    /// The names of the files in a folder.
    pub(crate) fn list(&self, folder: &str) -> BTreeSet<String> {
        let all = self.files.range(folder.to_owned()..);
        let names = all.map_while(|(path, _)| path.strip_prefix(folder));
        names.map(|it| it.trim_start_matches('/').to_owned()).collect()
    }

    pub(crate) fn note(&self, path: &str) -> Option<WrittenNote> {
        self.notes.get(path)?.note.clone()
    }

    pub(crate) fn put_next_note(&mut self, path: &str, note: WrittenNote) {
        let pair = self.notes.entry(path.to_owned()).or_default();
        pair.next = Some(note);
        pair.is_placed = false;
    }

    pub(crate) fn mark_placed(&mut self, path: &str) {
        if let Some(pair) = self.notes.get_mut(path) {
            pair.is_placed = true;
        }
    }

    pub(crate) fn keep_next_note(&mut self, path: &str) {
        if let Some(pair) = self.notes.get_mut(path)
            && let Some(next) = pair.next.take()
        {
            pair.note = Some(next);
        }
    }

    /// What was written last, with the lock. A process that was killed while it wrote left a next note: whether its file was put
    /// in its place decides which note is right.
    pub(crate) fn note_under_lock(&mut self, path: &str) -> Option<WrittenNote> {
        let pair = self.notes.get_mut(path)?;
        match pair.next.take() {
            Some(next) if pair.is_placed => pair.note = Some(next),
            Some(_) | None => {}
        }
        pair.note.clone()
    }

    pub(crate) fn forget_note(&mut self, path: &str) {
        self.notes.remove(path);
    }

    pub(crate) fn note_letter(&mut self, owner: &str, id: Uuid) {
        self.noted.insert((owner.to_owned(), id));
    }

    pub(crate) fn forget_letter(&mut self, owner: &str, id: Uuid) {
        self.noted.remove(&(owner.to_owned(), id));
    }

    pub(crate) fn noted_letters(&self, owner: &str) -> Vec<Uuid> {
        self.noted.iter().filter(|(it, _)| it == owner).map(|(_, id)| *id).collect()
    }
}

/// A lock that the system releases when its holder ends.
pub(crate) struct SystemLock {
    world: Rc<World>,
    path: String,
}

impl SystemLock {
    /// None if somebody else has it.
    pub(crate) fn take(world: &Rc<World>, path: &str) -> Option<Self> {
        let is_free = world.disk.borrow_mut().locks.insert(path.to_owned());
        is_free.then(|| Self { world: Rc::clone(world), path: path.to_owned() })
    }
}

impl Drop for SystemLock {
    fn drop(&mut self) {
        let disk: &RefCell<SimulatedDisk> = &self.world.disk;
        disk.borrow_mut().locks.remove(&self.path);
    }
}

/// The bytes of an object, as troop writes them.
pub(crate) fn bytes_of(object: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(object).unwrap_or_default()
}
