//! Reads the facts about a repository and its folders from git. `rules` decides on them.

use std::{fs, path::Path};

use super::{
    listed::{IndexListing, REFERENCE, listed},
    names,
    refusal::MergeRefusal,
    rules::{CommitFacts, FolderHead, FolderStatus, UnmergedFile},
    unfinished::{is_merging, unfinished_command},
};
use crate::git::{Git, GitResult, parts};

/// The branch or commit that a folder is on.
pub(super) async fn head(git: &Git) -> GitResult<FolderHead> {
    let commit = git.run(&["rev-parse", "--verify", "HEAD^{commit}"]).await?;
    let branch = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    Ok(FolderHead { commit, branch })
}

/// The commit of a reference, if it exists.
pub(super) async fn commit_of(git: &Git, name: &str) -> GitResult<Option<String>> {
    git.ask(&["rev-parse", "--quiet", "--verify", name]).await
}

pub(super) async fn is_ancestor(git: &Git, one: &str, other: &str) -> GitResult<bool> {
    git.is(&["merge-base", "--is-ancestor", one, other]).await
}

/// The wanted name of a branch, or one like it that is free.
pub(super) async fn free_name(git: &Git, wanted: String) -> GitResult<String> {
    let begin = names::full(&wanted);
    let list = ["for-each-ref", "--format=%(refname:lstrip=2)", &begin, &format!("{begin}+*")];
    let taken = git.run(&list).await?;
    let taken: Vec<_> = taken.lines().collect();
    let mut names =
        std::iter::once(wanted.clone()).chain((2_u32..).map(|nth| format!("{wanted}+{nth}")));
    Ok(names.find(|name| !taken.contains(&name.as_str())).unwrap_or(wanted))
}

/// Whether a folder holds something uncommitted. Files that git ignores do not count.
pub(super) async fn is_dirty(git: &Git) -> GitResult<bool> {
    // Uncommitted changes inside a submodule cannot be committed from here.
    let status = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
    let has_changes = async || Ok(parts(&git.run(&status).await?).next().is_some());
    Ok(has_changes().await? || (listed(git).await?.reveal(git).await? && has_changes().await?))
}

/// The head and the changes of a folder, in one git command.
pub(super) async fn status_of(git: &Git) -> GitResult<FolderStatus> {
    let status = ["status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty"];
    let said = git.run(&status).await?;
    FolderStatus::read(&said, is_merging(git.folder())).ok_or_else(|| git.nonsense(&status))
}

/// The unfinished operation in a folder.
pub(super) fn unfinished_in(folder: &Path, status: &FolderStatus) -> Option<MergeRefusal> {
    let contents = |it: &UnmergedFile| fs::read(folder.join(&it.file)).unwrap_or_default();
    let contents: Vec<_> = status.unmerged.iter().map(contents).collect();
    status.unfinished(unfinished_command(folder), &contents)
}

/// The facts needed to commit everything in a folder.
pub(super) async fn commit_facts(git: &Git) -> GitResult<CommitFacts> {
    let listed = listed(git).await?;
    let repositories = unknown_repositories(git, &listed).await?;
    Ok(CommitFacts { hidden: listed.hidden, repositories })
}

/// The repositories in a folder that git does not know there, and that are no submodules.
pub(super) async fn unknown_repositories(
    git: &Git,
    listed: &IndexListing,
) -> GitResult<Vec<String>> {
    // Git lists the files of every other folder.
    let unknown = listed.others.iter().filter_map(|it| it.strip_suffix('/'));
    let mut unknown: Vec<_> = unknown.map(str::to_owned).collect();
    if !unknown.is_empty() {
        let submodules = written_submodules(git, ".gitmodules").await?;
        unknown.retain(|it| !submodules.contains(it));
    }
    Ok(unknown)
}

/// The repositories in a folder that keep everything inside of it, whether or not they are committed as a reference.
pub(super) async fn repositories(git: &Git, folder: &Path) -> GitResult<Vec<String>> {
    let IndexListing { others, references, .. } = listed(git).await?;
    let others = others.iter().filter_map(|it| it.strip_suffix('/'));
    let references = references.iter().map(String::as_str);
    let is_whole = |path: &&str| folder.join(path).join(".git").is_dir();
    Ok(others.chain(references).filter(is_whole).map(str::to_owned).collect())
}

/// Repositories that `new` holds as a mere reference and `old` does not, and that are no submodules. None without `old`.
pub(super) async fn new_repositories(
    git: &Git,
    old: Option<&str>,
    new: &str,
) -> GitResult<Vec<String>> {
    let Some(old) = old else { return Ok(Vec::new()) };
    let said = git.run(&["diff-tree", "-r", "--raw", "--no-renames", "-z", old, new]).await?;
    let mut said = parts(&said);
    let mut found = Vec::new();
    while let (Some(modes), Some(path)) = (said.next(), said.next()) {
        let mut modes = modes.trim_start_matches(':').split(' ');
        let was = modes.next();
        let is = modes.next();
        if is == Some(REFERENCE) && was != Some(REFERENCE) {
            found.push(path.to_owned());
        }
    }
    if !found.is_empty() {
        let blob = format!("--blob={new}:.gitmodules");
        let submodules = written_submodules(git, &blob).await?;
        found.retain(|it| !submodules.contains(it));
    }
    Ok(found)
}

/// The paths of the submodules that a file or a blob lists.
async fn written_submodules(git: &Git, written: &str) -> GitResult<Vec<String>> {
    let named = named_submodules(git, written).await?;
    Ok(named.into_iter().map(|(_, path)| path).collect())
}

/// The names and paths of the submodules that a file or a blob lists.
pub(super) async fn named_submodules(git: &Git, written: &str) -> GitResult<Vec<(String, String)>> {
    let place: &[&str] = if written.starts_with("--") { &[written] } else { &["--file", written] };
    let mut asked = vec!["config", "-z"];
    asked.extend(place);
    asked.extend(["--get-regexp", r"^submodule\..*\.path$"]);
    let said = git.ask(&asked).await?.unwrap_or_default();
    let named = parts(&said).filter_map(|part| {
        let (key, path) = part.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some((name.to_owned(), path.to_owned()))
    });
    Ok(named.collect())
}

/// How two commits go together.
pub(super) enum Fit {
    /// As this tree.
    Tree(String),
    /// They conflict in these files.
    Conflict(Vec<String>),
}

/// Merges two commits into a tree, without touching any folder.
pub(super) async fn fit(git: &Git, one: &str, other: &str) -> GitResult<Fit> {
    let merge = ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", one, other];
    let output = git.output(&merge).await?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut said = parts(&said);
    match (output.status.code(), said.next()) {
        (Some(0), Some(tree)) => Ok(Fit::Tree(tree.to_owned())),
        (Some(1), Some(_)) => Ok(Fit::Conflict(said.map(str::to_owned).collect())),
        _ => Err(git.no(&merge, &output)),
    }
}

/// The branches that are checked out in any folder of the repository.
pub(super) async fn branches_in_use(git: &Git) -> GitResult<Vec<String>> {
    let said = git.run(&["worktree", "list", "--porcelain", "-z"]).await?;
    let branches = parts(&said).filter_map(|part| part.strip_prefix("branch refs/heads/"));
    Ok(branches.map(str::to_owned).collect())
}

/// Whether something else than the branches of a team holds one of its commits.
pub(super) async fn is_in_another(git: &Git, team_branch: &str, commit: &str) -> GitResult<bool> {
    let own = names::full(team_branch);
    let work = format!("refs/heads/{}/", names::work_branches(team_branch));
    let holding = ["for-each-ref", "--format=%(refname)", "--contains", commit];
    let kinds = ["refs/heads/", "refs/remotes/", "refs/tags/"];
    let arguments: Vec<_> = holding.into_iter().chain(kinds).collect();
    let said = git.run(&arguments).await?;
    Ok(said.lines().any(|name| name != own && !name.starts_with(&work)))
}
