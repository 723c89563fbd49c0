//! Tasks that wait for this one, as its file says. Waiting is kept with the task that waits, so it is changed there.

use std::sync::Arc;

use troop_model::{State, TaskNumber};

use super::{ForeignFile, TaskVisit, WishAnswer};
use crate::mirror::{
    MirrorError, disk,
    gate::GateAnswer,
    ids::FileId,
    layout,
    rules::{self, BlockCase},
    unusable,
};

impl TaskVisit<'_> {
    /// Has another task wait for this one.
    pub(super) async fn block(
        &mut self,
        other: &str,
        number: TaskNumber,
        theirs: &ForeignFile,
    ) -> Result<WishAnswer, MirrorError> {
        if self.is_waiting(other, number).await? {
            return Ok(WishAnswer::Done);
        }
        let command = rules::blocks(&self.mirror.memory.ids, other, number);
        let operation = self.operation(theirs, other.as_bytes());
        match self.give(None, operation, command).await? {
            GateAnswer::Done(_) => {
                let what = format!("{number} comes before `{other}` now");
                self.mirror.notice_taken(&self.path, what);
                Ok(WishAnswer::Done)
            }
            GateAnswer::Refused(reason) => {
                let reason = format!("`blocks` has `{other}`: {reason}");
                self.refuse_block(theirs, other, &reason).await?;
                Ok(WishAnswer::Refused)
            }
            GateAnswer::Waits => Ok(WishAnswer::Waits),
        }
    }

    /// Refuses to have another task wait no longer, which is for its own file to say.
    pub(super) async fn refuse_unblock(
        &mut self,
        other: &str,
        theirs: &ForeignFile,
    ) -> Result<(), MirrorError> {
        if FileId::new(other).is_some_and(|it| !self.mirror.places.task(&it).exists()) {
            // A program that deletes a task removes its id from other files.
            return Ok(());
        }
        let reason = format!("`blocks` no longer has `{other}`; remove it from `blockedBy` there");
        self.refuse_block(theirs, other, &reason).await
    }

    async fn refuse_block(
        &mut self,
        theirs: &ForeignFile,
        other: &str,
        reason: &str,
    ) -> Result<(), MirrorError> {
        let operation = self.operation(theirs, &[other.as_bytes(), &[0x80]].concat());
        self.mirror.refuse(&self.path, None, operation, reason).await
    }

    /// Whether another task waits for this one on the board, or its own file says so and was not taken yet.
    async fn is_waiting(&self, other: &str, number: TaskNumber) -> Result<bool, MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let named = other.to_owned();
        let look = move |state: &State| rules::block_case(state, &ids, &named, number);
        let id = match self.mirror.board.look(look).await? {
            BlockCase::Waits => return Ok(true),
            BlockCase::Free => return Ok(false),
            BlockCase::AskFile(id) => id,
        };
        let path = self.mirror.places.task(&id);
        let found = disk::read(&path).map_err(unusable(&path))?;
        let raw = found.and_then(|it| rules::read_file(&it).ok());
        let layout = self.mirror.places.layout;
        let file = raw.and_then(|raw| layout::read_task(layout, &raw, None).ok());
        Ok(file.is_some_and(|it| it.waits_for.iter().flatten().any(|it| it == self.id.as_str())))
    }
}
