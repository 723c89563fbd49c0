//! The end of a team: its work comes into the project, and folders that are no longer needed go. `rules` decides what comes next;
//! here it is done.

use std::path::{Path, PathBuf};

use troop_model::{Hint, MemberName};

use super::{
    effect::RefMove,
    elsewhere::StrayWork,
    facts::{branches_in_use, head, is_ancestor, is_dirty, is_in_another},
    ignored::{self, IgnoredFiles},
    landing_lock::{LandingLock, LandingLockHeld},
    leftovers::folders,
    put_back::{LandingNote, look_after, try_out, undo},
    record::BranchRecord,
    remnants,
    rules::{
        self, FolderHead, ForwardFacts, ForwardFailure, LandFacts, LandStep, LandingLockState,
        ProjectFacts, TidyState, UndoResult,
    },
    site::WorktreeSite,
    submodules,
    team_branch::TeamBranch,
    tie,
};
use crate::git::{Git, GitError, GitResult};

/// The outcome for a team's work at its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Landing {
    /// There was nothing to bring.
    Nothing,
    /// It is in the project.
    Merged { branch: String, n_commits: usize },
    /// It waits on the team's branch.
    Waits {
        /// The team's branch.
        branch: String,
        /// Why it was not brought into the project.
        why: String,
        /// What a person has to do first, if anything.
        first: Option<Hint>,
        /// The command that brings it there.
        hint: String,
    },
}

/// A folder that stays because only it holds something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFolder {
    pub member: MemberName,
    pub folder: PathBuf,
    /// Its branch, if it is on one.
    pub branch: Option<String>,
    /// Whether something in it is uncommitted.
    pub is_dirty: bool,
}

/// How a team ends.
#[derive(Debug, PartialEq, Eq)]
pub struct LandingReport {
    pub landed: Landing,
    /// The folders that stay.
    pub kept: Vec<KeptFolder>,
    /// Files that git ignored in the folders that went.
    pub ignored: Vec<IgnoredFiles>,
    /// Work that members put where it is merged nowhere.
    pub elsewhere: Vec<StrayWork>,
    /// The lock of another git command that keeps merged branches from being deleted.
    pub locked: Option<PathBuf>,
}

/// The end of a team. No process of a member may run at this point.
pub(super) struct TeamLanding<'a> {
    pub(super) site: &'a WorktreeSite,
    pub(super) team: &'a TeamBranch,
    pub(super) record: &'a BranchRecord,
}

impl TeamLanding<'_> {
    /// Brings the team's work into the project, and removes what is no longer needed.
    pub(super) async fn land(&self) -> GitResult<LandingReport> {
        let git = &self.site.git;
        let mut facts = LandFacts::new(self.team.name(), self.record.base.as_deref());
        let mut cleanup = CleanupReport::default();
        let mut lock = None;
        loop {
            match rules::land_step(&facts) {
                LandStep::FindTeam => facts.team = Some(self.team.commit().await?),
                LandStep::Release => {
                    self.team.release().await?;
                    facts.is_released = true;
                }
                LandStep::TakeLock => {
                    facts.lock =
                        Some(match LandingLock::take(&self.site.repository.shared).await? {
                            Ok(taken) => {
                                lock = Some(taken);
                                LandingLockState::Ours
                            }
                            Err(LandingLockHeld { why }) => LandingLockState::Taken { why },
                        });
                }
                LandStep::LookAtProject { team } => {
                    let now = head(git).await?;
                    let is_there = is_ancestor(git, &team, &now.commit).await?;
                    facts.project = Some(ProjectFacts { now, is_there });
                }
                LandStep::AskHeld { team } => {
                    facts.is_held = Some(is_in_another(git, self.team.name(), &team).await?);
                }
                LandStep::LookAhead { now, team } => {
                    facts.forward = Some(look_ahead(git, &now, &team).await?);
                }
                LandStep::Forward { now, team, n_commits, is_clear } => {
                    self.note_landing(now, &team, is_clear)?;
                    facts.forward = Some(forward(git, &team, n_commits, is_clear).await);
                }
                LandStep::LookAfter { now, team, failure } => {
                    let after = look_after(git, &now.commit, &team).await?;
                    facts.forward = Some(ForwardFacts::Seen { failure, after });
                }
                LandStep::Undo { undo: what, now, team, failure, after } => {
                    let result = match undo(git, &what, &now.commit, &team).await {
                        Ok(()) => UndoResult::Done,
                        Err(error) => UndoResult::Failed(error.chain()),
                    };
                    facts.forward = Some(ForwardFacts::Undone { failure, after, result });
                }
                LandStep::NoteStray => {
                    // The next team may land.
                    drop(lock.take().inspect(|_| self.forget_landing(&facts)));
                    // People only hear of it; the work is in the project by now.
                    cleanup.elsewhere = self.note_stray_work().await.unwrap_or_default();
                    facts.tidy = TidyState::StrayNoted;
                }
                LandStep::Tidy => {
                    self.remove_merged(&mut cleanup).await?;
                    facts.tidy = TidyState::Tidy;
                }
                LandStep::AskInUse => facts.tidy = self.ask_in_use().await?,
                LandStep::ForgetBranch(step) => {
                    // It stays if a commit came in between, or git cannot delete it: then doctor lists what is left.
                    cleanup.forget(&step, git).await;
                    facts.tidy = TidyState::BranchGone;
                }
                LandStep::End(landed) => {
                    let CleanupReport { kept, ignored, elsewhere, locked } = cleanup;
                    return Ok(LandingReport { landed, kept, ignored, elsewhere, locked });
                }
            }
        }
    }

    /// From here on, a killed landing is finished or put back by the next lead.
    fn note_landing(&self, now: FolderHead, team: &str, is_clear: bool) -> GitResult<()> {
        let FolderHead { commit, branch } = now;
        let note = LandingNote { commit, branch, team: team.to_owned(), is_clear };
        note.write(self.site.folder_of_team())
    }

    /// The landing has ended, unless something of it is still to be put back.
    fn forget_landing(&self, facts: &LandFacts) {
        let is_left = matches!(
            &facts.forward,
            Some(ForwardFacts::Undone { result: UndoResult::Failed(_), .. })
        );
        if !is_left {
            LandingNote::remove(self.site.folder_of_team());
        }
    }

    async fn ask_in_use(&self) -> GitResult<TidyState> {
        let in_use = branches_in_use(&self.site.git).await?;
        Ok(match in_use.iter().any(|it| it == self.team.name()) {
            true => TidyState::BranchInUse,
            false => TidyState::BranchFree,
        })
    }

    /// Removes the folders and branches that hold nothing which is not merged.
    async fn remove_merged(&self, cleanup: &mut CleanupReport) -> GitResult<()> {
        remnants::clear(&self.site.repository.shared, &self.site.worktrees);
        for (member, folder) in folders(&self.site.worktrees) {
            let git = self.site.git.at(&folder);
            if tie::mend(&self.site.repository.shared, &folder).is_err() {
                cleanup.kept.push(KeptFolder { member, folder, branch: None, is_dirty: true });
                continue;
            }
            match self.remove(&git, &member, &folder).await {
                Ok(FolderRemoval::All(ignored)) => cleanup.ignored.extend(ignored),
                Ok(FolderRemoval::Not) | Err(_) => {
                    let branch = head(&git).await.ok().and_then(|head| head.branch);
                    let inside = submodules::dirty(&git, &folder).await.unwrap_or_default();
                    let is_dirty = !inside.is_empty() || is_dirty(&git).await.unwrap_or(true);
                    cleanup.kept.push(KeptFolder { member, folder, branch, is_dirty });
                }
            }
        }
        let in_use = branches_in_use(&self.site.git).await?;
        let merged = self.team.merged().await?;
        let merged = merged.iter().map(|(branch, commit)| (branch.as_str(), commit.as_str()));
        for step in rules::forget_merged(merged, &in_use) {
            // As with the team's branch.
            cleanup.forget(&step, &self.site.git).await;
        }
        remnants::clear(&self.site.repository.shared, &self.site.worktrees);
        Ok(())
    }

    /// Removes a folder, if everything in it is in the team's branch. Git itself checks again whether anything else is in it.
    async fn remove(
        &self,
        git: &Git,
        member: &MemberName,
        folder: &Path,
    ) -> GitResult<FolderRemoval> {
        let own = head(git).await?.commit;
        let team = self.team.commit().await?;
        let is_merged = is_ancestor(git, &own, &team).await?;
        if !is_merged || is_dirty(git).await? || !submodules::dirty(git, folder).await?.is_empty() {
            return Ok(FolderRemoval::Not);
        }
        ignored::remove(&self.site.git, member, folder).await.map(FolderRemoval::All)
    }
}

/// The result of removing the folders of members.
#[derive(Default)]
struct CleanupReport {
    kept: Vec<KeptFolder>,
    ignored: Vec<IgnoredFiles>,
    elsewhere: Vec<StrayWork>,
    locked: Option<PathBuf>,
}

impl CleanupReport {
    /// Deletes a branch, unless a lock kept another from being deleted: stopping a team does not wait for it again.
    async fn forget(&mut self, step: &RefMove, git: &Git) {
        if self.locked.is_none()
            && let Err(GitError::Locked { lock, .. }) = step.run(git).await
        {
            self.locked = Some(lock);
        }
    }
}

/// Whether a folder was removed.
enum FolderRemoval {
    All(Option<IgnoredFiles>),
    Not,
}

/// Looks whether the project's branch can move to the team's commit.
async fn look_ahead(git: &Git, now: &str, team: &str) -> GitResult<ForwardFacts> {
    if !is_ancestor(git, now, team).await? {
        return Ok(ForwardFacts::Behind);
    }
    let n_commits = ["rev-list", "--count", &format!("{now}..{team}")];
    let n_commits = git.run(&n_commits).await?.parse().unwrap_or(0);
    let Err(error) = try_out(git, now, team).await else {
        return Ok(ForwardFacts::Ahead { n_commits, is_clear: true });
    };
    let GitFailure { says, lock, is_full } = failure(error);
    Ok(match rules::is_in_the_way(&says) {
        true => ForwardFacts::Ahead { n_commits, is_clear: false },
        false => ForwardFacts::Unclear { says, lock, is_full },
    })
}

/// Moves the project's branch and files.
async fn forward(git: &Git, team: &str, n_commits: usize, is_clear: bool) -> ForwardFacts {
    // Files that git ignores belong to somebody, too.
    let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", team];
    let Err(error) = git.run(&merge).await else { return ForwardFacts::Moved { n_commits } };
    // Whatever it is, the project may not be as it was.
    let GitFailure { says, lock, is_full } = failure(error);
    ForwardFacts::Failed(ForwardFailure { says, lock, n_commits, is_clear, is_full })
}

/// Why git did not do it.
struct GitFailure {
    says: String,
    /// The lock of another git command, if that is the reason.
    lock: Option<String>,
    /// Whether the machine is to blame.
    is_full: bool,
}

fn failure(error: GitError) -> GitFailure {
    let lock = error.lock().map(|it| it.display().to_string());
    let is_failed = matches!(error, GitError::Failed { .. });
    let is_full = is_failed && error.is_of_machine();
    // Whatever the error, the project may have changed.
    let says = if let GitError::Failed { says, .. } = error { says } else { error.chain() };
    GitFailure { says, lock, is_full }
}
