//! Files that git ignores in a folder that goes: small ones are kept with the team, and large ones are reported as gone.
//!
//! Nobody can tell a result from what a build leaves behind. A small file may be a result and costs little; large ones nearly
//! always come from a build, would fill the disk with every run, and can be made again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use troop_model::MemberName;

use super::{facts::is_dirty, refusal::MAX_NAMED, submodules, tie::free_path};
use crate::git::{Git, GitError, GitResult, parts};

/// How many bytes of ignored files are kept of one folder.
const MAX_KEPT: u64 = 10_000_000;

/// How many files are kept of folders that are too large to be kept whole.
const MAX_FILES: usize = 1_000;

/// The ignored files of a folder that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredFiles {
    pub member: MemberName,
    /// Where the kept files and folders are.
    pub place: PathBuf,
    pub kept: Vec<String>,
    /// The files and folders that were too large, but for what was kept of them.
    pub gone: Vec<String>,
}

/// Removes the folder of a member, unless git sees anything uncommitted in it. Small ignored files are kept. Returns the ignored
/// files; none if there are none.
pub(super) async fn remove(
    project: &Git,
    member: &MemberName,
    folder: &Path,
) -> GitResult<Option<IgnoredFiles>> {
    let ignored = sort(&project.at(folder), member, folder).await?;
    let is_moved = ignored.as_ref().map_or(Ok(()), |it| move_all(&it.kept, folder, &it.place));
    let removed = match is_moved {
        Ok(()) => take_away(project, folder).await,
        Err(error) => Err(error),
    };
    if let (Err(_), Some(ignored)) = (&removed, &ignored) {
        // The folder stays, with everything in it.
        drop(move_all(&ignored.kept, &ignored.place, folder));
    }
    removed.map(|()| ignored)
}

/// Removes a folder, if git sees nothing uncommitted in it.
async fn take_away(project: &Git, folder: &Path) -> GitResult<()> {
    let git = project.at(folder);
    let path = folder.to_string_lossy();
    let mut remove = vec!["worktree", "remove", &path];
    if submodules::are_in(folder) {
        // Git itself does not look into them, and refuses.
        submodules::keep(&git, folder, project).await?;
        let is_clean = !is_dirty(&git).await? && submodules::dirty(&git, folder).await?.is_empty();
        remove.extend(is_clean.then_some("--force"));
    }
    project.run(&remove).await.map(drop)
}

/// Sorts the ignored files of a folder into those that are kept and those that go.
async fn sort(git: &Git, member: &MemberName, folder: &Path) -> GitResult<Option<IgnoredFiles>> {
    let mut names = ignored_in(git).await?;
    for path in submodules::paths(git, folder).await? {
        let inside = ignored_in(&git.at(&folder.join(&path))).await?;
        names.extend(inside.iter().map(|name| format!("{path}/{name}")));
    }
    if names.is_empty() {
        return Ok(None);
    }
    let all = folder.parent().unwrap_or(folder).with_file_name("ignored");
    let place = free_path(&all, member.as_str());
    let mut room = MAX_KEPT;
    let sized = names.into_iter().map(|name| (size(&folder.join(&name)), name));
    let (mut kept, mut gone) = fit(sized.collect(), &mut room);
    // A small file in a large folder may be a result, too. It comes after everything else: builds leave many small files.
    let (large, files): (Vec<_>, Vec<_>) = gone.into_iter().partition(|it| it.ends_with('/'));
    gone = files;
    for large in large {
        let (small, rest) = fit(files_below(folder, &large), &mut room);
        let n_free = MAX_FILES.saturating_sub(kept.len());
        let is_few = small.len() <= n_free && rest.len() <= MAX_NAMED;
        kept.extend(small.into_iter().take(n_free));
        gone.extend(if is_few { rest } else { vec![large] });
    }
    Ok(Some(IgnoredFiles { member: member.clone(), place, kept, gone }))
}

/// The files and folders that git ignores.
async fn ignored_in(git: &Git) -> GitResult<Vec<String>> {
    let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory"];
    let list: Vec<_> = list.into_iter().chain(["--no-empty-directory", "-z", "--", ":/"]).collect();
    Ok(parts(&git.run(&list).await?).map(str::to_owned).collect())
}

/// Splits files by whether they fit into the room, smallest first: a result must not go because something else is large.
fn fit(mut sized: Vec<(u64, String)>, room: &mut u64) -> (Vec<String>, Vec<String>) {
    sized.sort_unstable();
    let mut kept = Vec::new();
    let mut gone = Vec::new();
    for (size, name) in sized {
        let rest = room.checked_sub(size);
        (if rest.is_some() { &mut kept } else { &mut gone }).push(name);
        *room = rest.unwrap_or(*room);
    }
    (kept, gone)
}

/// The files in a folder below another, with their sizes.
fn files_below(folder: &Path, name: &str) -> Vec<(u64, String)> {
    let mut files = Vec::new();
    let mut open = vec![folder.join(name)];
    while let Some(path) = open.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else if let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str) {
            files.push((found.len(), name.to_owned()));
        }
    }
    files
}

/// Moves files and folders from one folder to another, as far as they exist.
fn move_all(names: &[String], from: &Path, to: &Path) -> GitResult<()> {
    for name in names {
        let from = from.join(name);
        move_to(&from, &to.join(name)).map_err(GitError::file(&from))?;
    }
    Ok(())
}

fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// How many bytes a file or folder holds. Counting stops when it is too large.
fn size(path: &Path) -> u64 {
    let mut total = 0_u64;
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop().filter(|_| total <= MAX_KEPT) {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        } else {
            total = total.saturating_add(found.len());
        }
    }
    total
}
