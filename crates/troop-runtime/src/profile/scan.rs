//! Reads files: only the beginning of long ones, and no links.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_json::Value;

use super::{Location, MAX_LOCATIONS, recognise::FRAMEWORKS};

/// How much of one file is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// A file with a zero byte in its beginning is binary.
const BEGINNING: usize = 8 * 1024;
const WORDS: [&[u8]; 4] = [b"TODO", b"FIXME", b"HACK", b"XXX"];

/// Words that mark unfinished work.
#[derive(Clone, Debug, Default)]
pub(super) struct Todos {
    pub(super) count: usize,
    /// How many files were read, and how many of them have such a word.
    pub(super) n_files: usize,
    pub(super) n_with: usize,
    pub(super) locations: Vec<Location>,
}

pub(super) fn todos<'a>(root: &Path, paths: impl Iterator<Item = &'a PathBuf>) -> Todos {
    let mut todos = Todos::default();
    for path in paths {
        // A listed file may be gone, or a link.
        let Ok(bytes) = read(&root.join(path)) else { continue };
        todos.n_files += 1;
        let n_before = todos.count;
        if bytes.iter().take(BEGINNING).any(|byte| *byte == 0) {
            continue;
        }
        for (nth, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let n_words = n_words(line);
            todos.count += n_words;
            if n_words > 0 && todos.locations.len() < MAX_LOCATIONS {
                let file = path.display().to_string();
                todos.locations.push(Location { file, line: nth + 1 });
            }
        }
        todos.n_with += usize::from(todos.count > n_before);
    }
    todos
}

/// How many of the words a line has. `TODOS` does not count.
pub(super) fn n_words(line: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    line.split(|byte| !is_part(byte)).filter(|word| WORDS.contains(word)).count()
}

/// The frameworks that packages depend on, and notes about packages that cannot be read.
pub(super) fn frameworks(root: &Path, manifests: &[PathBuf]) -> (Vec<String>, Vec<String>) {
    let mut found = BTreeSet::new();
    let mut notes = Vec::new();
    for path in manifests {
        let read = read(&root.join(path)).map_err(|error| error.to_string());
        let package = read.and_then(|bytes| {
            serde_json::from_slice::<Value>(&bytes).map_err(|error| error.to_string())
        });
        match package {
            Ok(package) => found.extend(dependencies(&package)),
            Err(error) => notes.push(format!("`{}` cannot be read: {error}", path.display())),
        }
    }
    let mut names: Vec<String> = Vec::new();
    for (package, name) in FRAMEWORKS {
        if found.contains(package) && !names.iter().any(|it| it == name) {
            names.push(name.to_owned());
        }
    }
    (names, notes)
}

fn dependencies(package: &Value) -> impl Iterator<Item = String> {
    let groups = ["dependencies", "devDependencies"].map(|group| package.get(group));
    let groups = groups.into_iter().flatten().filter_map(Value::as_object);
    groups.flat_map(|group| group.keys().cloned())
}

/// The beginning of a file. Links are refused, and pipes do not block.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, path, flags, Mode::empty())?);
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(MAX_BYTES)).unwrap_or(0));
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
