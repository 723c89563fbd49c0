//! Attaches files that members write into the workspace with their own tools to their task.

use tokio::task::spawn_blocking;
use troop_model::{Actor, Command};

use super::{Completions, Departure, Intent, PassageFinding, PassageStage};
use crate::{
    lead::{
        office::Office,
        policy::files::{FileOwner, LastEnd, owner_of},
        transcript::TranscriptLine,
    },
    workspace::{FileStat, Listing, MAX_FILE, MAX_FILES, WorkspaceError},
};

/// The files in a folder of the workspace, or why it cannot be used.
pub(super) type FileListing = Result<Listing, WorkspaceError>;

impl Completions {
    /// Lists the files of a task's folder.
    pub(super) fn list_files(
        &mut self,
        office: &mut Office,
        intent: Intent,
        departure: Departure,
        over: Option<PassageStage>,
    ) {
        let folder = departure.folder.clone();
        let workspace = office.shared.workspace.clone();
        self.find_out(office, intent, over, async move {
            let listed = spawn_blocking(move || workspace.list(&folder)).await;
            // If the listing panicked, nothing is attached, and the passage continues.
            PassageFinding::Files(departure, listed.unwrap_or_else(|_| Ok(Listing::default())))
        });
    }

    /// The files of a task's folder are listed.
    pub(super) async fn record_files(
        &mut self,
        office: &mut Office,
        departure: Departure,
        listing: FileListing,
    ) {
        let last = self.last_ends.remove(&departure.owner);
        let last = record(office, &departure, listing, last).await;
        self.last_ends.extend(last.map(|it| (departure.owner, it)));
    }
}

/// Attaches the files that a member wrote for a task, before it lets the task go. A file that several members may have written
/// belongs to no task. `last`: what is known from the member's earlier tasks; returns what is known now.
async fn record(
    office: &mut Office,
    departure: &Departure,
    listing: FileListing,
    last: Option<LastEnd>,
) -> Option<LastEnd> {
    let Departure { task, owner, folder } = departure;
    let state = &office.post.state;
    // A workspace that cannot be used has no new files.
    let Ok(listing) = listing else { return None };
    if listing.files.len() > MAX_FILES {
        let n_files = listing.files.len();
        let what =
            format!("{n_files} files in the workspace, over {MAX_FILES}: they belong to no task");
        office.post.note(owner, TranscriptLine::trouble(&what));
        return None;
    }
    let known = state.files(folder);
    let is_new = |path: &str, stat: &FileStat| !known.get(path).is_some_and(|it| stat.is_as(it));
    let mut new = Vec::new();
    let mut unclear = Vec::new();
    for (path, stat) in listing.files.iter().filter(|(path, stat)| is_new(path.as_str(), stat)) {
        let then = state.tasks_then(folder, stat.at());
        match owner_of(departure, last.as_ref(), path.as_str(), stat, then) {
            FileOwner::ThisTask => new.push((path.to_string(), stat.size)),
            FileOwner::Unclear(tasks) => {
                let tasks: Vec<_> = tasks.iter().map(ToString::to_string).collect();
                let tasks = tasks.join(" or ");
                unclear.push(format!("`{path}` may be of {tasks}: it belongs to no task"));
            }
            FileOwner::Others => {}
        }
    }
    for what in unclear {
        office.post.note(owner, TranscriptLine::trouble(&what));
    }
    let (fit, too_large): (Vec<_>, Vec<_>) = new.into_iter().partition(|it| it.1 <= MAX_FILE);
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
    let files = listing.files.into_iter().map(|(path, stat)| (path.to_string(), stat));
    Some(LastEnd::after(departure, last, files.collect()))
}
