//! Walks through a folder, by its handle and without following symlinks.

use std::{io, path::Path};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::{FilePath, FileStat, MAX_ENTRIES, WorkspaceError, is_no_folder, path::MAX_DEPTH};

/// The contents of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files, by path.
    pub files: Vec<(FilePath, FileStat)>,
    /// How many entries are no usable files.
    pub n_skipped: usize,
}

impl Listing {
    /// How many files the folder has, usable or not.
    pub(super) fn n_entries(&self) -> usize {
        self.files.len() + self.n_skipped
    }
}

/// One entry that is no folder.
struct WalkEntry {
    /// Its path; none if its name is not UTF-8.
    path: Option<String>,
    stat: Option<FileStat>,
}

pub(super) fn list(dir: &Dir, place: &Path) -> Result<Listing, WorkspaceError> {
    let mut listing = Listing::default();
    walk(dir, place, &[], |found| {
        // A name that is not in normal form cannot be asked for.
        let path =
            found.path.and_then(|it| FilePath::new(&it).ok().filter(|path| path.as_str() == it));
        match (path, found.stat) {
            (Some(path), Some(stat)) => listing.files.push((path, stat)),
            _ => listing.n_skipped += 1,
        }
    })?;
    listing.files.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(listing)
}

/// The size of all files, but for those in the named folders.
pub(super) fn size(dir: &Dir, place: &Path, except: &[&str]) -> Result<u64, WorkspaceError> {
    let mut size = 0_u64;
    walk(dir, place, except, |found| {
        size = size.saturating_add(found.stat.map_or(0, |stat| stat.size));
    })?;
    Ok(size)
}

/// Shows every entry that is no folder. Those that vanish meanwhile are skipped.
fn walk(
    dir: &Dir,
    place: &Path,
    except: &[&str],
    mut show: impl FnMut(WalkEntry),
) -> Result<(), WorkspaceError> {
    let unusable = |source| WorkspaceError::Unusable { path: place.to_owned(), source };
    let mut folders = vec![(dir.try_clone().map_err(unusable)?, Some(String::new()), 0)];
    let mut n_entries = 0;
    while let Some((dir, prefix, depth)) = folders.pop() {
        for entry in dir.entries().map_err(unusable)? {
            let name = entry.map_err(unusable)?.file_name();
            n_entries += 1;
            if n_entries > MAX_ENTRIES {
                return Err(WorkspaceError::TooMuch { path: place.to_owned() });
            }
            if depth == 0 && except.iter().any(|it| name == **it) {
                continue;
            }
            let path = prefix
                .as_deref()
                .zip(name.to_str())
                .map(|(prefix, name)| format!("{prefix}{name}"));
            let Some(found) = present(dir.symlink_metadata(&name)).map_err(unusable)? else {
                continue;
            };
            if found.is_dir() && depth < MAX_DEPTH + 2 {
                if let Some(dir) = present(dir.open_dir_nofollow(&name)).map_err(unusable)? {
                    folders.push((dir, path.map(|path| path + "/"), depth + 1));
                }
                continue;
            }
            let modified = found.modified().ok().filter(|_| found.is_file());
            let stat = modified.map(|it| FileStat { size: found.len(), modified: it.into_std() });
            show(WalkEntry { path, stat });
        }
    }
    Ok(())
}

/// The metadata of an entry; none if it has vanished, or changed its kind, since it was listed.
fn present<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) || is_no_folder(&error) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
