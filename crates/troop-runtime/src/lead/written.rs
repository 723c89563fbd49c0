//! Files that members put into the workspace by their own tools: they belong to the task that they were written for.

use troop_model::{Actor, ActorKind, Command, MemberName, TaskCommand, TaskNumber};

use super::{dispatcher::Dispatcher, transcript::TranscriptLine};
use crate::{
    CommandRequest,
    workspace::{MAX_FILE, MAX_FILES},
};

impl Dispatcher {
    /// Before somebody lets a task go, what it has written for it is recorded as its. What several can have written is
    /// nobody's. Nothing waits long for this: a folder with more files than it may have is not looked through.
    pub(super) async fn record_written(&mut self, request: &CommandRequest) {
        let Some((task, owner)) = self.lets_go(request) else { return };
        let Some(found) = self.post.state.tasks().get(task) else { return };
        let folder = self.post.state.folder_of(found);
        // Who cannot use the workspace has written nothing.
        let Ok(listing) = self.workspace.list(&folder) else { return };
        let known = self.post.state.files(&folder);
        let is_new = |path: &str, stat: &crate::workspace::FileStat| {
            !known.get(path).is_some_and(|it| stat.is_as(it))
                && self.post.state.only_task_then(&folder, stat.at()) == Some(task)
        };
        if listing.files.len() > MAX_FILES {
            let n_files = listing.files.len();
            let what = format!(
                "{n_files} files in the workspace, over {MAX_FILES}: they belong to no task"
            );
            return self.post.note(&owner, TranscriptLine::trouble(&what));
        }
        let new = listing.files.iter().filter(|(path, stat)| is_new(path.as_str(), stat));
        let (fit, too_large): (Vec<_>, Vec<_>) =
            new.map(|(path, stat)| (path.to_string(), stat.size)).partition(|it| it.1 <= MAX_FILE);
        for (path, size) in too_large {
            let what = format!("`{path}` has {size} bytes, over {MAX_FILE}: it belongs to no task");
            self.post.note(&owner, TranscriptLine::trouble(&what));
        }
        for (path, size) in fit {
            let (folder, task) = (folder.clone(), Some(task.into()));
            let command = Command::RecordFile { folder, path, size, task };
            let request = self.signed(Actor::agent(&owner), command);
            drop(self.post.enqueue(request).await);
        }
    }

    /// Which task its holder lets go, and who that is.
    fn lets_go(&self, request: &CommandRequest) -> Option<(TaskNumber, MemberName)> {
        let Command::Task(
            TaskCommand::Complete { task, .. }
            | TaskCommand::Fail { task, .. }
            | TaskCommand::Review { task, .. },
        ) = &request.command
        else {
            return None;
        };
        let task = self.post.state.resolve(task).ok()?;
        let owner = self.post.state.tasks().get(task)?.owner.clone()?;
        let is_its = request.actor.kind == ActorKind::Agent && request.actor.name == owner.as_str();
        is_its.then_some((task, owner))
    }
}
