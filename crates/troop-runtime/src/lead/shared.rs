//! The workspace folders of tasks: made before a member gets its task, beside the lead's loop.

use std::collections::{BTreeMap, BTreeSet};

use tokio::task::spawn_blocking;
use troop_model::{MemberName, State, WorkspaceFolder, WorkspaceScope};

use super::{input::LeadInput, post::Post};
use crate::workspace::Workspace;

/// The workspace folders of tasks.
#[derive(Debug)]
pub(super) struct SharedFolders {
    pub(super) workspace: Workspace,
    known: BTreeMap<WorkspaceFolder, SharedFolder>,
    /// Members that hold a task whose folder is being made.
    waiting: BTreeSet<MemberName>,
}

#[derive(Debug)]
enum SharedFolder {
    Coming,
    Ready(SharedPath),
}

/// The whole path of a workspace folder; none if the workspace is broken. That is no reason to hold a task back: a member that
/// writes there hears of it.
pub(super) type SharedPath = Option<String>;

impl SharedFolders {
    /// Before the lead begins, the folder is made that is needed without any chat.
    pub(super) async fn open(workspace: Workspace, state: &State) -> Self {
        let folder = match state.team().map(|team| team.settings.workspace.scope) {
            Some(WorkspaceScope::Shared) => WorkspaceFolder::shared(),
            Some(WorkspaceScope::Isolated) | None => WorkspaceFolder::of_chat(None),
        };
        let path = make(workspace.clone(), folder.clone()).await;
        let known = BTreeMap::from([(folder, SharedFolder::Ready(path))]);
        Self { workspace, known, waiting: BTreeSet::new() }
    }

    /// Where the folder of a member's task is. None until it is made; then the member gets its tasks.
    pub(super) fn find(
        &mut self,
        post: &Post,
        member: &MemberName,
        folder: WorkspaceFolder,
    ) -> Option<SharedPath> {
        match self.known.get(&folder) {
            Some(SharedFolder::Ready(Some(path))) => return Some(Some(path.clone())),
            Some(SharedFolder::Ready(None)) => {
                // The next task tries again.
                self.known.remove(&folder);
                return Some(None);
            }
            Some(SharedFolder::Coming) => {}
            None => {
                self.known.insert(folder.clone(), SharedFolder::Coming);
                let workspace = self.workspace.clone();
                post.background.spawn_input(async move {
                    let path = make(workspace, folder.clone()).await;
                    Some(LeadInput::Shared(folder, path))
                });
            }
        }
        self.waiting.insert(member.clone());
        None
    }

    /// A folder is made. Returns the members that waited for folders.
    pub(super) fn made(
        &mut self,
        folder: WorkspaceFolder,
        path: SharedPath,
    ) -> BTreeSet<MemberName> {
        self.known.insert(folder, SharedFolder::Ready(path));
        std::mem::take(&mut self.waiting)
    }

    /// Whether a member waits for a folder, so that it has not heard of its task yet.
    pub(super) fn is_awaited_by(&self, member: &MemberName) -> bool {
        self.waiting.contains(member)
    }
}

async fn make(workspace: Workspace, folder: WorkspaceFolder) -> SharedPath {
    let make = move || {
        let path = workspace.prepare(&folder).ok()?;
        Some(std::path::absolute(path).ok()?.display().to_string())
    };
    spawn_blocking(make).await.ok().flatten()
}
