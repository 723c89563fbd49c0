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
    /// The team's own folder, in which that of the worktrees is.
    pub(super) fn folder_of_team(&self) -> &Path {
        self.worktrees.parent().unwrap_or(&self.worktrees)
    }

    /// The team's id, after which its folder is named.
    pub(super) fn team_id(&self) -> &str {
        self.folder_of_team().file_name().and_then(|it| it.to_str()).unwrap_or_default()
    }

    /// The folder of a member.
    pub(super) fn folder(&self, member: &MemberName) -> PathBuf {
        names::folder(&self.worktrees, member)
    }

    /// Where the project is in a worktree: it may be below the top of its repository.
    pub(super) fn project_in(&self, folder: &Path) -> PathBuf {
        folder.join(&self.repository.prefix)
    }
}
