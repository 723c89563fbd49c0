//! What git ignores in a folder that goes: small things are kept with the team, and of large ones it is said that they are gone.
//!
//! Nobody can tell a result from what a build leaves behind. What is small may be a result and costs little; what is large is
//! nearly always made by a build, would fill the disk with every run, and can be made again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use troop_model::MemberName;

use super::{
    git::{Git, GitError, GitResult, parts},
    tie::free_path,
};

/// How many bytes of what git ignores in one folder are kept.
const MAX_KEPT: u64 = 10_000_000;

/// What git ignored in a folder that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Whose folder it was.
    pub member: MemberName,
    /// Where the files and folders are that were kept.
    pub place: PathBuf,
    /// Which those are.
    pub kept: Vec<String>,
    /// The files and folders that were too large.
    pub gone: Vec<String>,
}

/// Removes the folder of a member, unless git sees anything in it that is not committed. What git ignores there is kept as far
/// as it is small; none if there is nothing of that kind.
pub(super) async fn remove(
    project: &Git,
    member: &MemberName,
    folder: &Path,
) -> GitResult<Option<Ignored>> {
    let ignored = sort(&project.at(folder), member, folder).await?;
    let is_moved = ignored.as_ref().map_or(Ok(()), |it| move_all(&it.kept, folder, &it.place));
    let removed = match is_moved {
        Ok(()) => project.run(&["worktree", "remove", &folder.to_string_lossy()]).await.map(drop),
        Err(error) => Err(error),
    };
    if let (Err(_), Some(ignored)) = (&removed, &ignored) {
        // The folder stays, with all that is in it.
        drop(move_all(&ignored.kept, &ignored.place, folder));
    }
    removed.map(|()| ignored)
}

/// What of that which git ignores in a folder is kept, and what goes.
async fn sort(git: &Git, member: &MemberName, folder: &Path) -> GitResult<Option<Ignored>> {
    let list = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory"];
    let list: Vec<_> = list.into_iter().chain(["--no-empty-directory", "-z", "--", ":/"]).collect();
    let said = git.run(&list).await?;
    let mut sized: Vec<_> = parts(&said).map(|name| (size(&folder.join(name)), name)).collect();
    if sized.is_empty() {
        return Ok(None);
    }
    // The smallest first: a result must not go because something else is large.
    sized.sort_unstable();
    let all = folder.parent().unwrap_or(folder).with_file_name("ignored");
    let place = free_path(&all, member.as_str());
    let (mut room, mut kept, mut gone) = (MAX_KEPT, Vec::new(), Vec::new());
    for (size, name) in sized {
        let rest = room.checked_sub(size);
        (if rest.is_some() { &mut kept } else { &mut gone }).push(name.to_owned());
        room = rest.unwrap_or(room);
    }
    Ok(Some(Ignored { member: member.clone(), place, kept, gone }))
}

/// Moves files and folders from one folder to another, those that are there.
fn move_all(names: &[String], from: &Path, to: &Path) -> GitResult<()> {
    for name in names {
        let (from, to) = (from.join(name), to.join(name));
        move_to(&from, &to).map_err(GitError::file(&from))?;
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

/// How many bytes a file or folder holds. What is too large is not counted to the end.
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
