//! Where the worktrees of a team are, and in which repository.

use std::path::{Path, PathBuf};

use troop_model::MemberName;

use super::{names, repository::Repository};
use crate::git::Git;

/// Where the worktrees of a team are.
#[derive(Debug)]
pub(super) struct WorktreeSite {
    /// Git at the top of the project.
    pub(super) git: Git,
    pub(super) repository: Repository,
    /// The folder that holds the folders of members.
    pub(super) worktrees: PathBuf,
    /// Where things are moved that are in the way and that git cannot keep.
    pub(super) aside: PathBuf,
}

impl WorktreeSite {
    /// The folder of a member.
    pub(super) fn folder(&self, member: &MemberName) -> PathBuf {
        names::folder(&self.worktrees, member)
    }

    /// Where the project is in a worktree: it may be below the top of its repository.
    pub(super) fn project_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.repository.prefix)
    }
}
