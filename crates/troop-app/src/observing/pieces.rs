//! Reads a stream in pieces: from a pipe, or from a file, which may still grow.
//!
//! Reading blocks, so it happens in a separate thread, which ends when there is no receiver left.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

use notify::Watcher as _;
use tokio::sync::mpsc;
use troop_model::{Hint, HintCommand};

use super::SessionFolder;
use crate::{Error, FileAct, Result};

/// How much we read at once: as much as a pipe holds.
const PIECE: usize = 64 * 1024;
/// How often we look at a file of which we heard nothing: not every file system reports changes.
const LOOK: Duration = Duration::from_secs(1);
/// How many of the last bytes we compare, to see whether a file was rewritten.
const TAIL: u64 = 256;

/// How far a file was read, and the last bytes before that place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadPosition {
    offset: u64,
    tail: Vec<u8>,
}

impl ReadPosition {
    /// A position in a file; an error if the file is shorter.
    pub(super) fn at(file: &File, offset: u64) -> io::Result<Self> {
        let n_bytes = offset.min(TAIL);
        let mut tail = vec![0; n_bytes as usize];
        file.read_exact_at(&mut tail, offset - n_bytes)?;
        Ok(Self { offset, tail })
    }

    /// The bytes that follow, none of them at the end of the file. None if the file was rewritten: the bytes before this
    /// position are not those that we read. Both are read at once, so that no rewriting fits between them.
    fn read_next(&self, file: &File) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; self.tail.len() + PIECE];
        let start = self.offset - self.tail.len() as u64;
        let n_read = loop {
            match file.read_at(&mut bytes, start) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        bytes.truncate(n_read);
        Ok(bytes.strip_prefix(self.tail.as_slice()).map(<[u8]>::to_vec))
    }

    /// Moves behind the next bytes.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        self.offset += bytes.len() as u64;
        let last = bytes.get(bytes.len().saturating_sub(TAIL as usize)..).unwrap_or_default();
        self.tail.extend_from_slice(last);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL as usize));
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn tail(&self) -> &[u8] {
        &self.tail
    }
}

/// A piece of a stream.
#[derive(Debug)]
pub enum StreamPiece {
    Bytes(Vec<u8>),
    /// The file was replaced or rewritten, and is read from its beginning. The number is its inode.
    Restarted(u64),
    /// A newer session has begun, and is read from its beginning.
    Switched(PathBuf),
}

pub type PieceReceiver = mpsc::Receiver<io::Result<StreamPiece>>;
pub type PieceSender = mpsc::Sender<io::Result<StreamPiece>>;

/// Reads a stream to its end.
pub fn read_stream(mut from: impl Read + Send + 'static, pieces: PieceSender) {
    thread::spawn(move || pump(&mut from, &pieces));
}

/// Reads a file from a position to its end.
pub fn read_file(path: &Path, position: &ReadPosition, pieces: PieceSender) -> Result<()> {
    read_stream(open(path, position)?, pieces);
    Ok(())
}

/// Reads a file from a position, and goes on as it grows.
pub fn follow_file(path: &Path, position: ReadPosition, pieces: PieceSender) -> Result<()> {
    follow(path, position, None, pieces)
}

/// Reads a session from a position, and goes on as it grows. When a newer session begins in its folder, reads that.
pub fn follow_sessions(
    path: &Path,
    position: ReadPosition,
    sessions: SessionFolder,
    pieces: PieceSender,
) -> Result<()> {
    follow(path, position, Some(sessions), pieces)
}

fn follow(
    path: &Path,
    position: ReadPosition,
    sessions: Option<SessionFolder>,
    pieces: PieceSender,
) -> Result<()> {
    let file = open(path, &position)?;
    let mut follower = FileFollower::new(path, file, position)?;
    follower.sessions = sessions;
    thread::spawn(move || {
        if let Some(Err(error)) = follower.run(&pieces) {
            // There may be no receiver left.
            pieces.blocking_send(Err(error)).unwrap_or_default();
        }
    });
    Ok(())
}

fn open(path: &Path, position: &ReadPosition) -> Result<File> {
    if path.is_dir() {
        let file = path.join("SESSION.jsonl");
        let observe = HintCommand::troop("observe").word(file.display());
        let newest = HintCommand::troop("observe").word("--follow").word(path.display());
        let hint = Hint::to("name one of its files", observe).or_to("follow the newest", newest);
        return Err(Error::misuse(format!("`{}` is a folder", path.display()), hint));
    }
    let open = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(position.offset))?;
        Ok(file)
    };
    open().map_err(Error::file(path, FileAct::Read))
}

/// Passes on everything that can be read. None if there is no receiver, or after an error.
fn pump(from: &mut impl Read, pieces: &PieceSender) -> Option<()> {
    loop {
        let mut bytes = vec![0; PIECE];
        match from.read(&mut bytes) {
            Ok(0) => return Some(()),
            Ok(n_read) => {
                bytes.truncate(n_read);
                pieces.blocking_send(Ok(StreamPiece::Bytes(bytes))).ok()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                pieces.blocking_send(Err(error)).ok()?;
                return None;
            }
        }
    }
}

/// Why there is nothing more to read.
enum FileEnd {
    Reached,
    Rewritten,
}

/// Reads a file as it grows.
struct FileFollower {
    path: PathBuf,
    file: File,
    position: ReadPosition,
    /// The sessions beside it, if newer ones are to be read.
    sessions: Option<SessionFolder>,
    changes: Receiver<()>,
    /// Reports changes until it is dropped.
    _watcher: notify::RecommendedWatcher,
}

impl FileFollower {
    fn new(path: &Path, file: File, position: ReadPosition) -> Result<Self> {
        let path = fs::canonicalize(path).map_err(Error::file(path, FileAct::Read))?;
        // We watch the folder: a watch on the file would stay with the old file when that is replaced.
        let folder = path.parent().unwrap_or(Path::new("/"));
        let (tell, changes) = sync_channel(1);
        let heard = move |event: notify::Result<notify::Event>| {
            // Our own reading is no change, and one report is as good as many.
            if event.is_ok_and(|event| !event.kind.is_access()) {
                tell.try_send(()).unwrap_or_default();
            }
        };
        let watch = || {
            let mut watcher = notify::recommended_watcher(heard)?;
            watcher.watch(folder, notify::RecursiveMode::NonRecursive)?;
            Ok(watcher)
        };
        let watcher = watch()
            .map_err(|error: notify::Error| io::Error::other(error))
            .map_err(Error::file(folder, FileAct::Watched))?;
        Ok(Self { path, file, position, sessions: None, changes, _watcher: watcher })
    }

    /// Reads until there is no receiver (none) or an error.
    fn run(&mut self, pieces: &PieceSender) -> Option<io::Result<()>> {
        loop {
            match self.look(pieces)? {
                Ok(true) => {}
                Ok(false) => {
                    match self.go_to_newer(pieces)? {
                        Ok(true) => continue,
                        Ok(false) => {}
                        Err(error) => return Some(Err(error)),
                    }
                    if self.changes.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                        return None;
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Passes on what is new. Returns whether the file began again, so that there may be more; none if there is no receiver.
    fn look(&mut self, pieces: &PieceSender) -> Option<io::Result<bool>> {
        let restarted = match self.read_on(pieces)? {
            Ok(FileEnd::Rewritten) => self.file.metadata().map(|it| Some(it.ino())),
            Ok(FileEnd::Reached) => match self.replacement() {
                Ok(Some((file, inode))) => {
                    // The old file may have grown after we read it and before it was replaced.
                    if let Err(error) = self.read_on(pieces)? {
                        return Some(Err(error));
                    }
                    self.file = file;
                    Ok(Some(inode))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match restarted {
            Ok(None) => Some(Ok(false)),
            Ok(Some(inode)) => {
                self.position = ReadPosition::default();
                pieces.blocking_send(Ok(StreamPiece::Restarted(inode))).ok()?;
                Some(Ok(true))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Passes on what follows the position. None if there is no receiver.
    fn read_on(&mut self, pieces: &PieceSender) -> Option<io::Result<FileEnd>> {
        loop {
            match self.position.read_next(&self.file) {
                Ok(None) => return Some(Ok(FileEnd::Rewritten)),
                Ok(Some(bytes)) if bytes.is_empty() => return Some(Ok(FileEnd::Reached)),
                Ok(Some(bytes)) => {
                    self.position.advance(&bytes);
                    pieces.blocking_send(Ok(StreamPiece::Bytes(bytes))).ok()?;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Goes to a newer session, if one has begun. Returns whether it did; none if there is no receiver.
    fn go_to_newer(&mut self, pieces: &PieceSender) -> Option<io::Result<bool>> {
        let newer = self.sessions.as_mut().and_then(SessionFolder::take_newer);
        let Some(path) = newer else { return Some(Ok(false)) };
        let opened = File::open(&path).and_then(|file| Ok((file, fs::canonicalize(&path)?)));
        let (file, full) = match opened {
            Ok(opened) => opened,
            // It is gone again.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Ok(false)),
            Err(error) => return Some(Err(error)),
        };
        // The former session may have grown since we looked.
        if let Err(error) = self.read_on(pieces)? {
            return Some(Err(error));
        }
        pieces.blocking_send(Ok(StreamPiece::Switched(path))).ok()?;
        self.file = file;
        self.path = full;
        self.position = ReadPosition::default();
        Some(Ok(true))
    }

    /// The file that has replaced ours, and its inode.
    fn replacement(&self) -> io::Result<Option<(File, u64)>> {
        let ours = self.file.metadata()?;
        // The path may be missing for a moment.
        let Ok(file) = File::open(&self.path) else { return Ok(None) };
        let there = file.metadata()?;
        if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) {
            return Ok(None);
        }
        Ok(Some((file, there.ino())))
    }
}

#[cfg(test)]
mod tests;
