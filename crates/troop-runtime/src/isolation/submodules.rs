//! Submodules that a member filled in its folder. Nobody else has what it did there, so troop keeps it in those of the project.
//!
//! Git keeps the submodules of a worktree apart from those of the project, and removes them with the folder. A commit that was
//! brought to the project's submodules is found there (`git submodule update`), because a reference holds it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    facts::{commit_of, is_dirty, named_submodules, repositories},
    folder::commit_all,
    tie,
};
use crate::git::{Git, GitResult};

/// Brings commits from one repository to another, and nothing else.
const FETCH: [&str; 5] =
    ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow"];

/// A submodule that was filled in a member's folder, or was once.
#[derive(Debug)]
struct Submodule {
    /// Where git keeps everything of it but its files.
    own: PathBuf,
    /// That place, relative to where git keeps submodules.
    name: PathBuf,
    /// The path of its files in the folder; none if they are not there.
    path: Option<String>,
}

/// Whether git refuses to remove a folder because of submodules, whatever is in them.
pub(super) fn are_in(folder: &Path) -> bool {
    let own = tie::place_of(folder);
    own.is_some_and(|own| own.join("modules").is_dir()) || folder.join(".gitmodules").is_file()
}

/// The submodules of a folder that hold anything, those inside of others first.
async fn filled(git: &Git, folder: &Path) -> GitResult<Vec<Submodule>> {
    let mut found = Vec::new();
    if !are_in(folder) {
        return Ok(found);
    }
    if let Some(own) = tie::place_of(folder) {
        let modules = own.join("modules");
        for name in kept_below(&modules, Path::new("")) {
            let own = modules.join(&name);
            let path = files_of(git, &own, folder).await?;
            found.push(Submodule { own, name, path });
        }
    }
    let written = named_submodules(git, ".gitmodules").await?;
    let is_written = |path: &String| written.iter().any(|(_, it)| it == path);
    for path in repositories(git, folder).await?.into_iter().filter(is_written) {
        let own = folder.join(&path).join(".git");
        found.push(Submodule { own, name: PathBuf::from(&path), path: Some(path) });
    }
    Ok(found)
}

/// The submodules that git keeps below a folder, those inside of others first. A name may have several parts.
fn kept_below(folder: &Path, name: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let here = folder.join(name);
    let mut entries: Vec<_> = fs::read_dir(&here)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|it| it.is_dir()))
        .map(|entry| name.join(entry.file_name()))
        .collect();
    entries.sort();
    for entry in entries {
        let own = folder.join(&entry);
        if is_repository(&own) {
            found.extend(kept_below(folder, &entry.join("modules")));
            found.push(entry);
        } else {
            found.extend(kept_below(folder, &entry));
        }
    }
    found
}

/// The path of a submodule's files, if they are in this folder and belong to it.
async fn files_of(git: &Git, own: &Path, folder: &Path) -> GitResult<Option<String>> {
    let config = own.join("config");
    let ask = ["config", "--file", &config.to_string_lossy(), "core.worktree"];
    let Some(files) = git.ask(&ask).await? else { return Ok(None) };
    let real = |path: &Path| path.canonicalize().ok();
    let Some(files) = real(&own.join(files)) else { return Ok(None) };
    let is_its = tie::place_of(&files).is_some_and(|it| real(&it) == real(own));
    let below = real(folder).and_then(|folder| Some(files.strip_prefix(folder).ok()?.to_owned()));
    Ok(below.filter(|_| is_its).map(|path| path.to_string_lossy().into_owned()))
}

/// The paths of the submodules in a folder.
pub(super) async fn paths(git: &Git, folder: &Path) -> GitResult<Vec<String>> {
    Ok(filled(git, folder).await?.into_iter().filter_map(|it| it.path).collect())
}

/// The submodules in a folder with uncommitted changes.
pub(super) async fn dirty(git: &Git, folder: &Path) -> GitResult<Vec<String>> {
    let mut found = Vec::new();
    for path in paths(git, folder).await? {
        if is_dirty(&git.at(&folder.join(&path))).await? {
            found.push(path);
        }
    }
    Ok(found)
}

/// Repositories inside of submodules that are no submodules themselves.
pub(super) async fn repositories_inside(git: &Git, folder: &Path) -> GitResult<Vec<String>> {
    let mut found = Vec::new();
    for path in paths(git, folder).await? {
        let files = folder.join(&path);
        let inside = repositories(&git.at(&files), &files).await?;
        found.extend(inside.iter().map(|inside| format!("{path}/{inside}")));
    }
    Ok(found)
}

/// Commits what is uncommitted in the submodules of a folder, and keeps their commits in the project.
pub(super) async fn save(git: &Git, folder: &Path, project: &Git) -> GitResult<()> {
    for submodule in filled(git, folder).await? {
        if let Some(path) = &submodule.path {
            let inside = git.at(&folder.join(path));
            if is_dirty(&inside).await? {
                commit_all(&inside, "unfinished work\n").await?;
            }
        }
        submodule.keep(project).await?;
    }
    Ok(())
}

/// Keeps in the project what was committed in the submodules of a folder.
pub(super) async fn keep(git: &Git, folder: &Path, project: &Git) -> GitResult<()> {
    for submodule in filled(git, folder).await? {
        submodule.keep(project).await?;
    }
    Ok(())
}

/// Has submodules that are not filled in a folder filled from the project, where only that has their commits: until somebody
/// pushes, the origin of a submodule does not have what members made.
pub(super) async fn prepare(git: &Git, folder: &Path, project: &Git) -> GitResult<()> {
    let Some(modules) = tie::place_of(folder).map(|own| own.join("modules")) else { return Ok(()) };
    if !folder.join(".gitmodules").is_file() {
        return Ok(());
    }
    for (name, path) in named_submodules(git, ".gitmodules").await? {
        let own = modules.join(&name);
        let entry = format!(":{path}");
        let named = commit_of(git, &entry).await?;
        let Some(named) = named.filter(|_| !is_repository(&own)) else { continue };
        let submodule = Submodule { own: own.clone(), name: name.into(), path: Some(path) };
        let theirs = submodule.in_project(project).await?;
        let held = format!("refs/troop/{named}");
        if is_repository(&theirs) && commit_of(&project.with_own(&theirs), &held).await?.is_some() {
            make(&own, &theirs, project).await?;
            let from = theirs.to_string_lossy();
            let held = format!("{held}:{held}");
            let wanted = [&*from, "+refs/remotes/*:refs/remotes/*", &held];
            let fetch: Vec<_> = FETCH.into_iter().chain(wanted).collect();
            project.with_own(&own).run(&fetch).await?;
        }
    }
    Ok(())
}

/// Puts the submodules of a folder on the commits that it names, after everything in them was kept: what was done in them for one
/// task must not come in with another. Returns those that cannot follow and have to be emptied.
pub(super) async fn follow(git: &Git, folder: &Path, project: &Git) -> GitResult<Vec<String>> {
    let mut left = Vec::new();
    for submodule in filled(git, folder).await? {
        let Some(path) = &submodule.path else { continue };
        // A submodule inside of another follows with that one.
        let Some(named) = commit_of(git, &format!(":{path}")).await? else { continue };
        let inside = git.at(&folder.join(path));
        if inside.run(&["rev-parse", "HEAD"]).await? == named {
            continue;
        }
        if commit_of(&inside, &format!("{named}^{{commit}}")).await?.is_none() {
            // Another member may have made it.
            let theirs = submodule.in_project(project).await?.to_string_lossy().into_owned();
            let fetch: Vec<_> = FETCH.into_iter().chain([theirs.as_str(), &named]).collect();
            inside.ask(&fetch).await?;
        }
        let is_there = inside.ask(&["checkout", "--quiet", "--detach", &named]).await?.is_some();
        if !is_there || is_dirty(&inside).await? {
            left.push(path.clone());
        }
    }
    Ok(left)
}

impl Submodule {
    /// Keeps in the project what is committed here and did not come from elsewhere.
    async fn keep(&self, project: &Git) -> GitResult<()> {
        let local = ["rev-list", "--parents", "--all", "--not", "--remotes"];
        let said = project.with_own(&self.own).run(&local).await?;
        let parents: BTreeSet<_> = said.lines().flat_map(|it| it.split(' ').skip(1)).collect();
        let commits = said.lines().filter_map(|it| it.split(' ').next());
        let last = commits.filter(|commit| !parents.contains(commit));
        let held: Vec<_> = last.map(|commit| format!("{commit}:refs/troop/{commit}")).collect();
        if held.is_empty() {
            return Ok(());
        }
        let theirs = self.in_project(project).await?;
        if !is_repository(&theirs) {
            make(&theirs, &self.own, project).await?;
        }
        let own = self.own.to_string_lossy();
        let wanted = std::iter::once(&*own).chain(held.iter().map(String::as_str));
        let fetch: Vec<_> = FETCH.into_iter().chain(wanted).collect();
        project.with_own(&theirs).run(&fetch).await.map(drop)
    }

    /// Where the project keeps the same submodule, or would.
    async fn in_project(&self, project: &Git) -> GitResult<PathBuf> {
        let asked = ["rev-parse", "--absolute-git-dir"];
        let all = project.run(&asked).await?;
        if let Some(files) = self.path.as_ref().map(|path| project.folder().join(path))
            && fs::exists(files.join(".git")).unwrap_or(false)
            && let Some(own) = project.at(&files).ask(&asked).await?.filter(|own| *own != all)
        {
            return Ok(own.into());
        }
        Ok(Path::new(&all).join("modules").join(&self.name))
    }
}

/// Whether this is the git directory of a submodule.
fn is_repository(own: &Path) -> bool {
    own.join("HEAD").is_file() && own.join("objects").is_dir()
}

/// Makes a place for a submodule where it was never filled, as git would, with the origin of another place.
async fn make(own: &Path, like: &Path, project: &Git) -> GitResult<()> {
    project.run(&["init", "--quiet", "--bare", &own.to_string_lossy()]).await?;
    let git = project.with_own(own);
    git.run(&["config", "core.bare", "false"]).await?;
    let from = ["config", "remote.origin.url"];
    if let Some(from) = project.with_own(like).ask(&from).await? {
        git.run(&["remote", "add", "origin", &from]).await?;
    }
    Ok(())
}
