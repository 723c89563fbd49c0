//! What a mirror remembers between visits.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    awaited::Awaited,
    disk::Stamp,
    ids::{FileId, Ids},
    rules::{KnownFile, KnownInbox},
    step::InStep,
};

#[derive(Debug)]
pub(super) struct MirrorMemory {
    pub(super) ids: Arc<Ids>,
    /// The files of tasks as they were last written or taken.
    pub(super) tasks: BTreeMap<FileId, KnownFile>,
    pub(super) inboxes: BTreeMap<String, KnownInbox>,
    pub(super) config: Option<KnownFile>,
    /// The config whose newcomers were let in or refused, so that each refusal is reported once.
    pub(super) joined: Option<Stamp>,
    /// Files that need not be read.
    pub(super) in_step: InStep,
    /// New tasks that wait for others which are not taken yet.
    pub(super) awaited: Awaited,
}

impl MirrorMemory {
    pub(super) fn new(ids: Ids) -> Self {
        Self {
            ids: Arc::new(ids),
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            config: None,
            joined: None,
            in_step: InStep::default(),
            awaited: Awaited::default(),
        }
    }

    pub(super) fn ids_mut(&mut self) -> &mut Ids {
        Arc::make_mut(&mut self.ids)
    }
}
