//! Files that members put into the workspace by their own tools: they belong to the task that they were written for.

use troop_model::{Actor, Command};

use super::{Completions, Departure, Intent, PassageStage, Station};
use crate::{
    lead::{input::LeadInput, office::Office, transcript::TranscriptLine},
    workspace::{FileStat, Listing, MAX_FILE, MAX_FILES, WorkspaceError},
};

/// What is in a folder of the workspace, if it can be used.
pub(in super::super) type FileListing = Result<Listing, WorkspaceError>;

impl Completions {
    /// Lists the files of a task's folder beside the loop: a disk may take its time. What the member says until then waits.
    pub(super) fn list_files(
        &mut self,
        office: &mut Office,
        intent: Intent,
        departure: Departure,
        over: Option<PassageStage>,
    ) {
        if let Some(live) = intent.runner.as_ref().and_then(|it| office.crew.in_run(it)) {
            live.postponed.begin();
        }
        let folder = departure.folder.clone();
        let workspace = office.workspace.clone();
        let id = self.hold(office, intent, Station::Files(departure), over);
        office.post.background.spawn_input(async move {
            let list = move || workspace.list(&folder);
            let listed = tokio::task::spawn_blocking(list).await;
            // A listing that met a fault records nothing; the task goes on.
            let listing = listed.unwrap_or_else(|_| Ok(Listing::default()));
            Some(LeadInput::FilesListed(id, Box::new(listing)))
        });
    }
}

/// Records what a member has written for a task as the task's, before the member lets it go. What several members can have
/// written belongs to no task.
pub(super) async fn record(office: &mut Office, departure: &Departure, listing: FileListing) {
    let Departure { task, owner, folder } = departure;
    let state = &office.post.state;
    // A member that cannot use the workspace has written nothing.
    let Ok(listing) = listing else { return };
    if listing.files.len() > MAX_FILES {
        let n_files = listing.files.len();
        let what =
            format!("{n_files} files in the workspace, over {MAX_FILES}: they belong to no task");
        return office.post.note(owner, TranscriptLine::trouble(&what));
    }
    let known = state.files(folder);
    let is_new = |path: &str, stat: &FileStat| {
        !known.get(path).is_some_and(|it| stat.is_as(it))
            && state.only_task_then(folder, stat.at()) == Some(*task)
    };
    let new = listing.files.iter().filter(|(path, stat)| is_new(path.as_str(), stat));
    let (fit, too_large): (Vec<_>, Vec<_>) =
        new.map(|(path, stat)| (path.to_string(), stat.size)).partition(|it| it.1 <= MAX_FILE);
    for (path, size) in too_large {
        let what = format!("`{path}` has {size} bytes, over {MAX_FILE}: it belongs to no task");
        office.post.note(owner, TranscriptLine::trouble(&what));
    }
    for (path, size) in fit {
        let task = Some((*task).into());
        let command = Command::RecordFile { folder: folder.clone(), path, size, task };
        let request = office.crew.signed(&office.post, Actor::agent(owner), command);
        drop(office.post.enqueue(request).await);
    }
}
