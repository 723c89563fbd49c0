//! A folder of sessions, of which the newest is followed.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{Error, FileAct, Result};

/// How the files of sessions end.
const ENDINGS: [&str; 2] = ["jsonl", "ndjson"];
/// How transcripts of subagents begin, which lie beside those of sessions.
const OF_SUBAGENT: &str = "agent-";

/// A folder, and the sessions in it that are not new.
#[derive(Debug)]
pub struct SessionFolder {
    folder: PathBuf,
    known: BTreeSet<PathBuf>,
}

impl SessionFolder {
    /// Takes every session that is there now as known; returns the one that was written last.
    pub fn open(folder: &Path) -> Result<(Self, Option<PathBuf>)> {
        let found = sessions(folder).map_err(Error::file(folder, FileAct::Read))?;
        let newest = newest(&found);
        let known = found.into_iter().map(|it| it.path).collect();
        Ok((Self { folder: folder.to_owned(), known }, newest))
    }

    /// A session that has begun since the last look. If several have, the one that was written last.
    pub(super) fn take_newer(&mut self) -> Option<PathBuf> {
        // The folder may be missing for a moment.
        let mut found = sessions(&self.folder).unwrap_or_default();
        found.retain(|it| !self.known.contains(&it.path));
        let newest = newest(&found);
        self.known.extend(found.into_iter().map(|it| it.path));
        newest
    }
}

struct SessionFile {
    path: PathBuf,
    written: SystemTime,
}

/// The sessions of a folder. An empty file is none yet.
fn sessions(folder: &Path) -> io::Result<Vec<SessionFile>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let ends_so = path.extension().is_some_and(|end| ENDINGS.iter().any(|it| end == *it));
        let is_of_subagent =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OF_SUBAGENT));
        if !ends_so || is_of_subagent {
            continue;
        }
        // It may be gone again.
        let Ok(about) = fs::metadata(&path) else { continue };
        if about.is_file() && about.len() > 0 {
            found.push(SessionFile { path, written: about.modified()? });
        }
    }
    Ok(found)
}

fn newest(found: &[SessionFile]) -> Option<PathBuf> {
    let newest = found.iter().max_by(|one, other| {
        one.written.cmp(&other.written).then_with(|| one.path.cmp(&other.path))
    });
    newest.map(|it| it.path.clone())
}

#[cfg(test)]
mod tests;
