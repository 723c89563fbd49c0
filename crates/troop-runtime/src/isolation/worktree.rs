//! The folder of one teammate: made, put on a branch for each task, and never emptied of what nobody kept.

use std::{
    fs,
    path::{Path, PathBuf},
};

use troop_model::MemberName;

use super::{
    TaskAttempt, Worktrees,
    listed::{IndexListing, REFERENCE, listed},
    names,
    rules::in_place_of_new,
    submodules,
    tie::{self, FolderFault, set_aside},
    unended,
};
use crate::git::{Git, GitError, GitResult, parts};

/// The folder is ready for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFolder {
    /// The branch that it is on now.
    pub branch: String,
    /// Branches with unmerged work of earlier attempts at the same task.
    pub earlier: Vec<String>,
    /// Where things are now that were in the way in the folder.
    pub aside: Vec<PathBuf>,
}

/// What a member's folder is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FolderHead {
    pub(super) commit: String,
    /// None if it is on no branch.
    pub(super) branch: Option<String>,
}

impl Worktrees {
    /// The folder in which a member works, made if it is not there. Nothing may run for the member meanwhile.
    pub async fn place(&self, member: &MemberName) -> Result<PathBuf, GitError> {
        self.make(member).await?;
        // One that was killed may have left its locks.
        let own = self.git_of(member)?.run(&["rev-parse", "--absolute-git-dir"]).await?;
        for lock in ["index.lock", "HEAD.lock"] {
            drop(fs::remove_file(Path::new(&own).join(lock)));
        }
        Ok(names::folder(&self.inner.worktrees, member).join(&self.inner.repository.prefix))
    }

    /// Makes the folder of a member, unless it is there. What is there instead is moved out of the way; where to.
    async fn make(&self, member: &MemberName) -> GitResult<Vec<PathBuf>> {
        let inner = &self.inner;
        let folder = names::folder(&inner.worktrees, member);
        let name = |what| names::aside(self.branch(), member, what);
        let aside = match tie::mend(&inner.repository.shared, &folder) {
            Err(GitError::Torn { how: FolderFault::Replaced, .. }) => {
                let aside = set_aside(&folder.join(".git"), &inner.aside, &name(".git"))?;
                tie::mend(&inner.repository.shared, &folder)?;
                Some(aside)
            }
            Err(GitError::Torn { how, .. }) => {
                let is_full = how == FolderFault::Unknown && fs::remove_dir(&folder).is_err();
                let aside = is_full.then(|| set_aside(&folder, &inner.aside, &name("")));
                let aside = aside.transpose()?;
                fs::create_dir_all(&inner.worktrees).map_err(GitError::file(&inner.worktrees))?;
                let commit = self.team_commit().await?;
                let path = folder.to_string_lossy();
                // By force, because the repository may know of one that is gone.
                let add = ["worktree", "add", "--quiet", "--force", "--detach", &path, &commit];
                inner.git.run(&add).await?;
                aside
            }
            mended => {
                mended?;
                None
            }
        };
        let place = folder.join(&inner.repository.prefix);
        fs::create_dir_all(&place).map_err(GitError::file(&place))?;
        Ok(aside.into_iter().collect())
    }

    /// Whether a folder was made for a member, whatever became of it.
    #[must_use]
    pub fn has_place(&self, member: &MemberName) -> bool {
        let folder = names::folder(&self.inner.worktrees, member);
        folder.is_dir() || tie::is_known(&self.inner.repository.shared, &folder)
    }

    /// The folder in which a member works, if it has one of its own.
    #[must_use]
    pub fn place_of(&self, member: &MemberName) -> Option<PathBuf> {
        let folder = names::folder(&self.inner.worktrees, member);
        self.has_place(member).then(|| folder.join(&self.inner.repository.prefix))
    }

    /// Puts a member's folder on a new branch for a task, from where the team is. What was left there is committed to the
    /// branch it was on. If the folder is on that branch already, nothing changes.
    pub async fn begin(&self, work: &TaskAttempt) -> Result<TaskFolder, GitError> {
        let _folder = self.hold(&work.member).await;
        let aside = self.make(&work.member).await?;
        self.begin_held(work, aside).await
    }

    async fn begin_held(
        &self,
        work: &TaskAttempt,
        mut aside: Vec<PathBuf>,
    ) -> GitResult<TaskFolder> {
        let git = self.git_of(&work.member)?;
        make_whole(&git).await?;
        let wanted = names::task_branch(self.branch(), &work.member, work.task, work.attempt);
        let before = head(&git).await?;
        let is_there = before.branch.as_deref().is_some_and(|it| is_named(it, &wanted));
        if is_there {
            let branch = before.branch.unwrap_or(wanted);
            let earlier = self.earlier(work, &branch).await?;
            return Ok(TaskFolder { branch, earlier, aside });
        }
        self.save_held(&work.member).await?;
        let before = head(&git).await?;
        let team = self.team_commit().await?;
        let branch = free_name(&git, wanted).await?;
        unended::quit(&git).await?;
        let switch = ["checkout", "--quiet", "--no-overwrite-ignore", "--no-track", "-b"];
        let switch: Vec<_> = switch.into_iter().chain([branch.as_str(), &team]).collect();
        aside.extend(self.switch_by(&work.member, &git, &switch).await?);
        aside.extend(self.follow(&work.member, &git).await?);
        aside.extend(self.clear_of_repositories(&work.member, &git).await?);
        if let Some(old) = &before.branch {
            self.forget_if_merged(old, &before.commit, &team).await?;
        }
        let earlier = self.earlier(work, &branch).await?;
        Ok(TaskFolder { branch, earlier, aside })
    }

    /// Exchanges the files of a folder in which all is committed. Where those are now that git ignored and that were in the way.
    async fn switch_by(
        &self,
        member: &MemberName,
        git: &Git,
        arguments: &[&str],
    ) -> GitResult<Vec<PathBuf>> {
        let mark = half_mark(git);
        mark.iter().try_for_each(|mark| fs::write(mark, "").map_err(GitError::file(mark)))?;
        let aside = self.clearing(member, git, arguments).await?;
        mark.iter().try_for_each(|mark| fs::remove_file(mark).map_err(GitError::file(mark)))?;
        Ok(aside)
    }

    /// Lets git exchange the files of a folder; what git ignores there and would be written over is moved aside first. Where to.
    pub(super) async fn clearing(
        &self,
        member: &MemberName,
        git: &Git,
        arguments: &[&str],
    ) -> GitResult<Vec<PathBuf>> {
        let says = match git.exchange(arguments).await {
            Err(GitError::Failed { says, .. }) if !in_place_of_new(&says).is_empty() => says,
            exchanged => return exchanged.map(|()| Vec::new()),
        };
        let set_aside = |path: &&str| {
            let name = names::aside(self.branch(), member, &format!("-{path}"));
            set_aside(&git.folder().join(path), &self.inner.aside, &name)
        };
        let aside = in_place_of_new(&says).iter().map(set_aside).collect::<GitResult<Vec<_>>>()?;
        git.exchange(arguments).await.map(|()| aside)
    }

    /// Puts the submodules in a member's folder where it is now. Where those are that cannot be put there.
    pub(super) async fn follow(&self, member: &MemberName, git: &Git) -> GitResult<Vec<PathBuf>> {
        let inner = &self.inner;
        let folder = names::folder(&inner.worktrees, member);
        let mut aside = Vec::new();
        submodules::prepare(git, &folder, &inner.git).await?;
        for path in submodules::follow(git, &folder, &inner.git).await? {
            let name = names::aside(self.branch(), member, &format!("-{path}"));
            aside.push(set_aside(&folder.join(&path), &inner.aside, &name)?);
            // As git leaves one that is not filled.
            fs::create_dir(folder.join(&path)).map_err(GitError::file(&folder))?;
        }
        Ok(aside)
    }

    /// Takes repositories that were left in a member's folder out of the way of its next work, with which they could not be
    /// merged. Where they are then.
    async fn clear_of_repositories(
        &self,
        member: &MemberName,
        git: &Git,
    ) -> GitResult<Vec<PathBuf>> {
        let left = unknown_repositories(git, &listed(git).await?).await?;
        let set_aside = |path: &String| {
            let name = names::aside(self.branch(), member, &format!("-{path}"));
            set_aside(&git.folder().join(path), &self.inner.aside, &name)
        };
        left.iter().map(set_aside).collect()
    }

    /// Puts a member's folder back on the branch of work that was handed in and is to be done better. What was left there is
    /// committed to the branch it was on.
    pub async fn go_back(&self, work: &TaskAttempt) -> Result<TaskFolder, GitError> {
        let _folder = self.hold(&work.member).await;
        self.go_back_held(work).await
    }

    pub(super) async fn go_back_held(&self, work: &TaskAttempt) -> GitResult<TaskFolder> {
        let mut aside = self.make(&work.member).await?;
        let git = self.git_of(&work.member)?;
        make_whole(&git).await?;
        let Some(branch) = self.newest_branch_of(work).await? else {
            return self.begin_held(work, aside).await;
        };
        let before = head(&git).await?;
        if before.branch.as_ref() != Some(&branch) {
            self.save_held(&work.member).await?;
            unended::quit(&git).await?;
            let switch = ["checkout", "--quiet", "--no-overwrite-ignore", &branch, "--"];
            aside.extend(self.switch_by(&work.member, &git, &switch).await?);
            aside.extend(self.follow(&work.member, &git).await?);
            aside.extend(self.clear_of_repositories(&work.member, &git).await?);
        }
        let earlier = self.earlier(work, &branch).await?;
        Ok(TaskFolder { branch, earlier, aside })
    }

    /// The branch of some work that was last committed to, if there is one.
    pub(super) async fn newest_branch_of(&self, work: &TaskAttempt) -> GitResult<Option<String>> {
        let wanted = names::task_branch(self.branch(), &work.member, work.task, work.attempt);
        let name = format!("refs/heads/{wanted}");
        let newest =
            ["for-each-ref", "--sort=-committerdate", "--count=1", "--format=%(refname:lstrip=2)"];
        let other = format!("{name}+*");
        let arguments: Vec<_> = newest.into_iter().chain([name.as_str(), &other]).collect();
        let found = self.inner.git.run(&arguments).await?;
        Ok((!found.is_empty()).then_some(found))
    }

    /// Commits what is in a member's folder and not committed, to the branch that it is on. Which branch, if there was
    /// something.
    pub async fn save(&self, member: &MemberName) -> Result<Option<String>, GitError> {
        let _folder = self.hold(member).await;
        self.save_held(member).await
    }

    async fn save_held(&self, member: &MemberName) -> GitResult<Option<String>> {
        let git = self.git_of(member)?;
        make_whole(&git).await?;
        submodules::save(&git, git.folder(), &self.inner.git).await?;
        if !is_dirty(&git).await? {
            return Ok(None);
        }
        // The team's branch is no place for it.
        let branch = match head(&git).await?.branch.filter(|it| it != self.branch()) {
            Some(branch) => branch,
            None => {
                let wanted = names::loose_branch(self.branch(), member);
                let branch = free_name(&git, wanted).await?;
                stay_on(&git, &branch).await?;
                branch
            }
        };
        let what = names::task_of(&branch).map_or_else(
            || "work without a task".to_owned(),
            |task| format!("unfinished work on {task}"),
        );
        commit_all(&git, &format!("{what}\n\nMember: {member}\n")).await?;
        Ok(Some(branch))
    }

    /// Git in the folder of a member, once that is tied to the repository.
    pub(super) fn git_of(&self, member: &MemberName) -> GitResult<Git> {
        let folder = names::folder(&self.inner.worktrees, member);
        tie::mend(&self.inner.repository.shared, &folder)?;
        Ok(self.inner.git.at(&folder))
    }

    /// Branches with unmerged work on the same task.
    async fn earlier(&self, work: &TaskAttempt, own: &str) -> GitResult<Vec<String>> {
        let is_of_task =
            |branch: &String| names::task_of(branch) == Some(work.task) && branch != own;
        let mut earlier: Vec<_> = self.unmerged().await?.into_iter().filter(is_of_task).collect();
        // Git knows the second of a commit; several may be made in one.
        earlier.sort_by_key(|branch| names::attempt_of(branch));
        Ok(earlier)
    }

    /// The branches of members that hold something which is not in the team's branch.
    pub(super) async fn unmerged(&self) -> GitResult<Vec<String>> {
        let team = format!("refs/heads/{}", self.branch());
        let all = format!("refs/heads/{}/", names::work_branches(self.branch()));
        let list = ["for-each-ref", "--format=%(refname:lstrip=2)"];
        let unmerged: Vec<_> = list.into_iter().chain(["--no-merged", &team, &all]).collect();
        Ok(self.inner.git.run(&unmerged).await?.lines().map(str::to_owned).collect())
    }

    /// Takes a branch away that holds nothing which the team's branch does not.
    async fn forget_if_merged(&self, branch: &str, commit: &str, team: &str) -> GitResult<()> {
        let is_ours = branch.starts_with(&format!("{}/", names::work_branches(self.branch())));
        let git = &self.inner.git;
        if is_ours && git.is(&["merge-base", "--is-ancestor", commit, team]).await? {
            git.run(&["update-ref", "-d", &format!("refs/heads/{branch}"), commit]).await?;
        }
        Ok(())
    }
}

/// Puts a folder on a new branch from where it is. Nothing in it changes, not even a merge that is not at its end.
pub(super) async fn stay_on(git: &Git, branch: &str) -> GitResult<()> {
    git.run(&["branch", "--no-track", branch, "HEAD"]).await?;
    git.run(&["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]).await.map(drop)
}

/// Puts the files back of a folder in which they were exchanged, and not to the end: some are cut short, or missing, which
/// would count as changes of whoever works there.
async fn make_whole(git: &Git) -> GitResult<()> {
    let Some(mark) = half_mark(git).filter(|mark| mark.exists()) else { return Ok(()) };
    git.exchange(&["reset", "--quiet", "--hard"]).await?;
    fs::remove_file(&mark).map_err(GitError::file(&mark))
}

/// What says that the files of a folder are being exchanged, in the place that the repository has for it.
fn half_mark(git: &Git) -> Option<PathBuf> {
    tie::place_of(git.folder()).map(|place| place.join("troop-half"))
}

/// The name that is wanted, or one like it that is free.
pub(super) async fn free_name(git: &Git, wanted: String) -> GitResult<String> {
    let begin = format!("refs/heads/{wanted}");
    let list = ["for-each-ref", "--format=%(refname:lstrip=2)", &begin, &format!("{begin}+*")];
    let taken = git.run(&list).await?;
    let taken: Vec<_> = taken.lines().collect();
    let mut names =
        std::iter::once(wanted.clone()).chain((2_u32..).map(|nth| format!("{wanted}+{nth}")));
    Ok(names.find(|name| !taken.contains(&name.as_str())).unwrap_or(wanted))
}

/// Whether a branch has a name, or one that was taken because that was not free.
pub(super) fn is_named(branch: &str, wanted: &str) -> bool {
    branch.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

/// Where a folder is.
pub(super) async fn head(git: &Git) -> GitResult<FolderHead> {
    let commit = git.run(&["rev-parse", "--verify", "HEAD^{commit}"]).await?;
    let branch = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
    Ok(FolderHead { commit, branch })
}

/// Whether a folder holds something that is not committed. What git ignores does not count.
pub(super) async fn is_dirty(git: &Git) -> GitResult<bool> {
    // What is not committed inside a submodule cannot be committed from here.
    let status = ["status", "--porcelain", "-z", "--ignore-submodules=dirty"];
    let has_changes = async || Ok(parts(&git.run(&status).await?).next().is_some());
    Ok(has_changes().await? || (listed(git).await?.reveal(git).await? && has_changes().await?))
}

/// Commits all that is in a folder, but for repositories in it: git would keep none of what they hold. Which those are.
pub(super) async fn commit_all(git: &Git, message: &str) -> GitResult<Vec<String>> {
    let inside = stage_all(git).await?;
    if !inside.is_empty() && git.is(&["diff", "--cached", "--quiet"]).await? {
        return Ok(inside);
    }
    let commit = [
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "--cleanup=whitespace",
        "-m",
        message,
    ];
    git.run(&commit).await?;
    Ok(inside)
}

/// Puts all that is in a folder into its index, but for repositories in it that are no submodules. Which those are.
pub(super) async fn stage_all(git: &Git) -> GitResult<Vec<String>> {
    let listed = listed(git).await?;
    listed.reveal(git).await?;
    let inside = unknown_repositories(git, &listed).await?;
    let left_out: Vec<_> =
        inside.iter().map(|path| format!(":(top,literal,exclude){path}")).collect();
    // Also what is outside of a sparse checkout.
    let mut add = vec!["add", "--all", "--sparse", "--", ":/"];
    add.extend(left_out.iter().map(String::as_str));
    git.run(&add).await?;
    Ok(inside)
}

/// The repositories in a folder that git does not know there, and that are no submodules.
async fn unknown_repositories(git: &Git, listed: &IndexListing) -> GitResult<Vec<String>> {
    // Git looks into every folder but those.
    let unknown = listed.others.iter().filter_map(|it| it.strip_suffix('/'));
    let mut unknown: Vec<_> = unknown.map(str::to_owned).collect();
    if !unknown.is_empty() {
        let submodules = written_submodules(git, ".gitmodules").await?;
        unknown.retain(|it| !submodules.contains(it));
    }
    Ok(unknown)
}

/// The repositories in a folder that have all that is theirs inside of it, be they committed as a reference or not.
pub(super) async fn repositories(git: &Git, folder: &Path) -> GitResult<Vec<String>> {
    let IndexListing { others, references, .. } = listed(git).await?;
    let others = others.iter().filter_map(|it| it.strip_suffix('/'));
    let references = references.iter().map(String::as_str);
    let is_whole = |path: &&str| folder.join(path).join(".git").is_dir();
    Ok(others.chain(references).filter(is_whole).map(str::to_owned).collect())
}

/// Repositories that one commit holds as a mere reference and the other does not, and that are no submodules.
pub(super) async fn new_repositories(git: &Git, old: &str, new: &str) -> GitResult<Vec<String>> {
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

/// Where the submodules are that are written down in a file or a blob.
async fn written_submodules(git: &Git, written: &str) -> GitResult<Vec<String>> {
    let named = named_submodules(git, written).await?;
    Ok(named.into_iter().map(|(_, path)| path).collect())
}

/// What the submodules are called that are written down in a file or a blob, and where they are.
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
