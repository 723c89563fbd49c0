//! Watches files for changes.

use std::path::PathBuf;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::layout::MirrorPlaces;

/// Notices which files of a team others write. Polling finds what it misses.
#[derive(Debug)]
pub(super) struct FolderWatch {
    paths: UnboundedReceiver<PathBuf>,
    /// None if the system has no watches left: then polling finds everything, only later.
    watcher: Option<RecommendedWatcher>,
}

impl FolderWatch {
    pub(super) fn new(places: &MirrorPlaces) -> Self {
        let (sender, paths) = unbounded_channel();
        let hear = move |event: notify::Result<Event>| {
            // We open these files, too.
            let event = event.ok().filter(|event| !event.kind.is_access());
            for path in event.into_iter().flat_map(|event| event.paths) {
                drop(sender.send(path));
            }
        };
        let mut ear = Self { paths, watcher: notify::recommended_watcher(hear).ok() };
        ear.listen(places);
        ear
    }

    /// Watches the folders that exist now: a watch stays with its folder, and does not follow one that takes its place.
    pub(super) fn listen(&mut self, places: &MirrorPlaces) {
        if let Some(watcher) = &mut self.watcher {
            drop(watcher.watch(&places.tasks(), RecursiveMode::NonRecursive));
            drop(watcher.watch(&places.team(), RecursiveMode::NonRecursive));
            drop(watcher.watch(&places.inboxes(), RecursiveMode::Recursive));
        }
    }

    /// The next path that changed; waits for it.
    pub(super) async fn next(&mut self) -> PathBuf {
        match self.paths.recv().await {
            Some(path) => path,
            None => std::future::pending().await,
        }
    }

    /// The next one, if there is one now.
    pub(super) fn ready(&mut self) -> Option<PathBuf> {
        self.paths.try_recv().ok()
    }
}

#[cfg(test)]
mod tests;
