//! Wakes watches: at once within the process, by a watched file from other processes.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;
use troop_model::{TeamId, lock};

use crate::Watch;

/// One bell per watched team.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bells(Arc<Mutex<HashMap<TeamId, watch::Sender<u64>>>>);

impl Bells {
    pub(crate) fn watch(&self, team: TeamId) -> Watch {
        Watch::new(lock(&self.0).entry(team).or_default().subscribe())
    }

    pub(crate) fn ring(&self, team: TeamId) {
        if let Some(bell) = lock(&self.0).get(&team) {
            strike(bell);
        }
    }

    /// The teams that somebody watches.
    pub(crate) fn watched(&self) -> Vec<TeamId> {
        let bells = lock(&self.0);
        bells.iter().filter(|(_, bell)| bell.receiver_count() > 0).map(|(team, _)| *team).collect()
    }

    /// Rings for every team: when it is not known whose log grew, or whose notices were lost.
    pub(crate) fn ring_all(&self) {
        let mut bells = lock(&self.0);
        bells.retain(|_, bell| bell.receiver_count() > 0);
        bells.values().for_each(strike);
    }
}

fn strike(bell: &watch::Sender<u64>) {
    bell.send_modify(|count| *count = count.wrapping_add(1));
}

/// The teams that a change of a file concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Concerns {
    Team(TeamId),
    Everyone,
}

/// Hears files change, whichever process changes them. It watches their folders, because a watch on a file ends
/// when the file is replaced.
#[derive(Debug)]
pub(crate) struct Ear {
    bells: Bells,
    files: Arc<Mutex<HashMap<PathBuf, Concerns>>>,
    watcher: Mutex<Option<RecommendedWatcher>>,
}

impl Ear {
    pub(crate) fn new(bells: Bells) -> Self {
        Self { bells, files: Arc::default(), watcher: Mutex::default() }
    }

    /// Rings from now on when `name` changes in `folder`.
    ///
    /// If the system has no watch left to give, notices from other processes are lost and [`Watch::PATIENCE`] is
    /// how soon growth is seen: slower, but right.
    pub(crate) fn listen(&self, folder: &Path, name: &str, concerns: Concerns) {
        let mut watcher = lock(&self.watcher);
        if watcher.is_none() {
            *watcher = self.start().ok();
        }
        let is_new = lock(&self.files).insert(folder.join(name), concerns).is_none();
        if let Some(watcher) = watcher.as_mut().filter(|_| is_new) {
            drop(watcher.watch(folder, RecursiveMode::NonRecursive));
        }
    }

    fn start(&self) -> notify::Result<RecommendedWatcher> {
        let bells = self.bells.clone();
        let files = Arc::clone(&self.files);
        notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            // A reader opens these files too, and must not be woken by itself.
            Ok(event) if event.kind.is_access() && !event.need_rescan() => {}
            Ok(event) if !event.need_rescan() => {
                for path in &event.paths {
                    match lock(&files).get(path) {
                        Some(Concerns::Team(team)) => bells.ring(*team),
                        Some(Concerns::Everyone) => bells.ring_all(),
                        None => {}
                    }
                }
            }
            _ => bells.ring_all(),
        })
    }
}
