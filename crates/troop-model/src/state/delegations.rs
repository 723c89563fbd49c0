//! Running delegations, and the last ones that ended.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Delegation, JournaledMap, Version};

/// Running delegations, and the last ones that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delegations {
    pub(crate) all: JournaledMap<Uuid, Delegation>,
    /// In the order in which they ended.
    ended: JournaledMap<(Version, Uuid), ()>,
}

impl Delegations {
    pub(crate) fn end(
        &mut self,
        id: Uuid,
        at: Version,
        n_kept: usize,
        change: impl FnOnce(&mut Delegation),
    ) {
        self.all.update(&id, change);
        self.ended.insert((at, id), ());
        while self.ended.entries().len() > n_kept {
            let Some(oldest) = self.ended.entries().keys().next().copied() else { return };
            self.ended.remove(&oldest);
            self.all.remove(&oldest.1);
        }
    }

    pub(super) fn begin(&mut self) {
        self.all.begin();
        self.ended.begin();
    }

    pub(super) fn rollback(&mut self) {
        self.all.rollback();
        self.ended.rollback();
    }
}
