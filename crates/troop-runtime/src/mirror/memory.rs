//! A mirror's memory between visits.

use std::{collections::BTreeMap, sync::Arc};

use troop_model::TaskNumber;

use super::{
    awaited::WaitingFiles,
    disk::Stamp,
    ids::{FileId, Ids},
    layout::MemberColors,
    rules::{KnownFile, KnownInbox},
    step::InStep,
};

#[derive(Debug)]
pub(super) struct MirrorMemory {
    pub(super) ids: Arc<Ids>,
    /// The last task whose id is known.
    pub(super) last_id: TaskNumber,
    /// The files of tasks as they were last written or taken.
    pub(super) tasks: BTreeMap<FileId, KnownFile>,
    pub(super) inboxes: BTreeMap<String, KnownInbox>,
    pub(super) config: Option<KnownFile>,
    /// The colours of members that sent messages.
    pub(super) colors: MemberColors,
    /// The config whose newcomers were let in or refused, so that each refusal is reported once.
    pub(super) joined: Option<Stamp>,
    /// Files that need not be read.
    pub(super) in_step: InStep,
    /// New tasks that wait for others which are not taken yet.
    pub(super) awaited: WaitingFiles,
}

impl MirrorMemory {
    /// `last` is the last task of which `ids` knows.
    pub(super) fn new(ids: Ids, last: TaskNumber) -> Self {
        Self {
            ids: Arc::new(ids),
            last_id: last,
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            config: None,
            colors: MemberColors::new(),
            joined: None,
            in_step: InStep::default(),
            awaited: WaitingFiles::default(),
        }
    }

    pub(super) fn ids_mut(&mut self) -> &mut Ids {
        Arc::make_mut(&mut self.ids)
    }
}
