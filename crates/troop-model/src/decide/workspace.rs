//! Rules of the workspace: recording which files were written and deleted.

use super::{Draft, supervision};
use crate::{
    Fact, FileQuestion, Refusal, TaskRef, WorkspaceFolder, WorkspaceScope,
    workspace::workspace_path,
};

/// Records that a file was written.
pub(super) fn record(
    draft: &mut Draft<'_>,
    folder: &WorkspaceFolder,
    path: &str,
    size: u64,
    task: Option<&TaskRef>,
) -> Result<(), Refusal> {
    supervision::check_may_change(draft)?;
    let path = workspace_path(path)?;
    check_folder(draft, folder)?;
    // A task that has left the board gets no file, but the write is still recorded.
    let task = task.and_then(|task| draft.live(task).ok()).map(|task| task.number);
    draft.push(Fact::FileWritten { folder: folder.clone(), path, size, task });
    Ok(())
}

/// Records that a file was deleted.
pub(super) fn forget(
    draft: &mut Draft<'_>,
    folder: &WorkspaceFolder,
    path: &str,
) -> Result<(), Refusal> {
    supervision::check_may_change(draft)?;
    let path = workspace_path(path)?;
    check_folder(draft, folder)?;
    if draft.state.file(folder, &path).is_some() {
        draft.push(Fact::FileDeleted { folder: folder.clone(), path });
    }
    Ok(())
}

/// Members write only in the folder of their work. Everybody may write in the shared folder.
fn check_folder(draft: &Draft<'_>, folder: &WorkspaceFolder) -> Result<(), Refusal> {
    if folder.scope == WorkspaceScope::Shared {
        return Ok(());
    }
    let question = FileQuestion { chat: folder.chat.clone(), task: None };
    draft.state.workspace_of(&draft.ctx.asker, &question).map(drop)
}
