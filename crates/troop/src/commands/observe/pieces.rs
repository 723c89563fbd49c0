//! A stream in pieces: from standard input, or from a file, also as it grows.
//!
//! Reading happens in a thread of its own, because reading a pipe or a file waits. It ends with the program, or when nobody
//! takes what it reads.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::Duration,
};

use anyhow::{Context as _, Result};
use notify::Watcher as _;
use tokio::sync::mpsc;

use crate::report::{Error, Hint, HintCommand};

/// How much is read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;
/// How long nothing is heard of a file before it is looked at all the same: not every disk tells.
const LOOK: Duration = Duration::from_secs(1);

/// How many of the last bytes are looked at again, to see whether the file is still the same.
const TAIL: u64 = 256;

/// How that ends which was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReadTail(Vec<u8>);

impl ReadTail {
    /// What stands in a file before this place; an error if it is shorter.
    pub(super) fn before(file: &File, at: u64) -> io::Result<Self> {
        let n_bytes = at.min(TAIL);
        let mut bytes = vec![0; n_bytes as usize];
        file.read_exact_at(&mut bytes, at - n_bytes)?;
        Ok(Self(bytes))
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        let last = bytes.get(bytes.len().saturating_sub(TAIL as usize)..).unwrap_or_default();
        self.0.extend_from_slice(last);
        self.0.drain(..self.0.len().saturating_sub(TAIL as usize));
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Something that comes from a stream.
#[derive(Debug)]
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// The file is another one now, which is read from its beginning.
    Restarted(u64),
}

pub(super) type Pieces = mpsc::Receiver<Result<Piece>>;
pub(super) type Tell = mpsc::Sender<Result<Piece>>;

pub(super) fn of_stdin(tell: Tell) {
    std::thread::spawn(move || {
        pump(&mut io::stdin().lock(), &tell, &mut ReadTail::default()).map(drop)
    });
}

/// Reads a file from where it was read to; where it is followed, for ever.
pub(super) fn of_file(path: &Path, read: (u64, ReadTail), follow: bool, tell: Tell) -> Result<()> {
    let (offset, mut tail) = read;
    let shown = path.display();
    let open = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok::<_, io::Error>(file)
    };
    if path.is_dir() {
        let file = path.join("SESSION.jsonl");
        let observe = HintCommand::troop("observe").word(file.display());
        let hint = Hint::to("name one of its files", observe);
        return Err(Error::misuse(format!("`{shown}` is a folder"), hint).into());
    }
    let mut file = open().with_context(|| format!("`{shown}` cannot be read"))?;
    if !follow {
        std::thread::spawn(move || pump(&mut file, &tell, &mut tail).map(drop));
        return Ok(());
    }
    let mut follower = FileFollower::new(path, file, offset, tail)?;
    std::thread::spawn(move || {
        if let Some(Err(error)) = follower.run(&tell) {
            // If nobody listens any more, nobody needs to know.
            tell.blocking_send(Err(error.into())).unwrap_or_default();
        }
    });
    Ok(())
}

/// Passes on all that can be read now, and keeps how it ends; gives how much it was, or nothing if nobody takes it.
fn pump(from: &mut impl Read, tell: &Tell, tail: &mut ReadTail) -> Option<u64> {
    let mut n_read = 0;
    loop {
        let mut bytes = vec![0; PIECE];
        match from.read(&mut bytes) {
            Ok(0) => return Some(n_read),
            Ok(n) => {
                n_read += n as u64;
                bytes.truncate(n);
                tail.add(&bytes);
                tell.blocking_send(Ok(Piece::Bytes(bytes))).ok()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let error = anyhow::Error::from(error).context("the stream cannot be read");
                tell.blocking_send(Err(error)).ok()?;
                return None;
            }
        }
    }
}

/// Reads a file as it grows.
struct FileFollower {
    path: PathBuf,
    file: File,
    at: u64,
    tail: ReadTail,
    news: Receiver<()>,
    /// Tells as long as it is there.
    _watcher: notify::RecommendedWatcher,
}

impl FileFollower {
    fn new(path: &Path, file: File, at: u64, tail: ReadTail) -> Result<Self> {
        // The folder, because a file that is replaced is no longer the one that was watched.
        let path = fs::canonicalize(path)?;
        let folder = path.parent().unwrap_or(Path::new("/"));
        let (tell, news) = sync_channel(1);
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // Our own reading is no news, and one word is as good as many.
                if event.is_ok_and(|event| !event.kind.is_access()) {
                    tell.try_send(()).unwrap_or_default();
                }
            })?;
        watcher
            .watch(folder, notify::RecursiveMode::NonRecursive)
            .with_context(|| format!("`{}` cannot be watched", folder.display()))?;
        Ok(Self { path, file, at, tail, news, _watcher: watcher })
    }

    /// Goes on until nobody takes what is read.
    fn run(&mut self, tell: &Tell) -> Option<io::Result<()>> {
        loop {
            match self.look(tell)? {
                Ok(true) => {}
                Ok(false)
                    if self.news.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) =>
                {
                    return None;
                }
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Passes on what is new; tells whether the file is another one now, so that there may be more. Nothing if nobody takes it.
    fn look(&mut self, tell: &Tell) -> Option<io::Result<bool>> {
        // Before anything is read of a file that was written anew; but what was added to one that is replaced is read.
        let mut is_new = self.rewind_if_rewritten().transpose();
        if is_new.is_none() {
            self.at += pump(&mut self.file, tell, &mut self.tail)?;
            is_new = match self.replacement().transpose() {
                None => None,
                Some(Err(error)) => Some(Err(error)),
                Some(Ok((file, inode))) => {
                    // What was added between the last look and the moment at which the other took its place.
                    pump(&mut self.file, tell, &mut self.tail)?;
                    self.file = file;
                    self.begin();
                    Some(Ok(inode))
                }
            };
        }
        let Some(is_new) = is_new else { return Some(Ok(false)) };
        match is_new {
            Ok(inode) => tell.blocking_send(Ok(Piece::Restarted(inode))).ok()?,
            Err(error) => return Some(Err(error)),
        }
        Some(Ok(true))
    }

    /// If what was read is no longer there, goes back to the beginning; gives which file it is.
    fn rewind_if_rewritten(&mut self) -> io::Result<Option<u64>> {
        if ReadTail::before(&self.file, self.at).is_ok_and(|tail| tail == self.tail) {
            return Ok(None);
        }
        self.file.rewind()?;
        self.begin();
        Ok(Some(self.file.metadata()?.ino()))
    }

    /// The other file that is there now, if one is, and which one that is.
    fn replacement(&self) -> io::Result<Option<(File, u64)>> {
        let ours = self.file.metadata()?;
        // It may be gone for a moment.
        let Ok(file) = File::open(&self.path) else { return Ok(None) };
        let there = file.metadata()?;
        if (there.dev(), there.ino()) == (ours.dev(), ours.ino()) {
            return Ok(None);
        }
        Ok(Some((file, there.ino())))
    }

    fn begin(&mut self) {
        self.at = 0;
        self.tail = ReadTail::default();
    }
}

#[cfg(test)]
mod tests;
