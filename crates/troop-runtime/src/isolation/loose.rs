//! Changes that a member made in its folder outside any task, so that nobody merges them.

use std::collections::BTreeSet;

use troop_model::MemberName;

use super::{Worktrees, facts::head, names, tie};
use crate::git::{GitResult, parts};

impl Worktrees {
    /// The files that a member changed outside of any task. Commits on the branch of a task are work on that task.
    pub(crate) async fn loose_files(&self, member: &MemberName) -> GitResult<BTreeSet<String>> {
        let _folder = self.hold(member).await;
        let site = &self.inner.site;
        let folder = site.folder(member);
        tie::check(&site.repository.shared, &folder)?;
        let git = site.git.at(&folder);
        let on = head(&git).await?;
        let mut said = git.run(&["diff", "--name-only", "-z", "HEAD"]).await?;
        said += &git.run(&["ls-files", "--others", "--exclude-standard", "-z"]).await?;
        if on.branch.as_deref().and_then(names::task_of).is_none() {
            let since = format!("{}...HEAD", self.inner.team.commit().await?);
            said += &git.run(&["diff", "--name-only", "-z", &since]).await?;
        }
        Ok(parts(&said).map(str::to_owned).collect())
    }
}
