//! What a file says that waits for its task. That is so when the other task says it, so it is made there.

use std::sync::Arc;

use troop_model::{State, TaskNumber};

use super::{ForeignFile, TaskVisit};
use crate::mirror::{
    MirrorError, Settlement, disk,
    gate::GateAnswer,
    ids::FileId,
    layout::{self, TaskFile},
    rules::{self, BlockCase},
    unusable,
};

impl TaskVisit<'_> {
    /// Lets those tasks wait for this one of which its file says so, and did not before.
    pub(super) async fn let_wait(
        &mut self,
        number: TaskNumber,
        theirs: &ForeignFile,
        before: &TaskFile,
        now: &TaskFile,
    ) -> Result<Settlement, MirrorError> {
        let Some(now) = &now.blocks else { return Ok(Settlement::Done) };
        let before = before.blocks.as_deref().unwrap_or_default();
        for other in now.iter().filter(|it| !before.contains(it)) {
            if self.waits_already(other, number).await? {
                continue;
            }
            let command = rules::blocks(&self.mirror.memory.ids, other, number);
            let operation = self.operation(theirs, other.as_bytes());
            match self.give(None, operation, command).await? {
                GateAnswer::Done(_) => {
                    let what = format!("{number} comes before `{other}` now");
                    self.mirror.notice_taken(&self.path, what);
                }
                GateAnswer::Refused(reason) => {
                    let reason = format!("`blocks` has `{other}`: {reason}");
                    self.refuse_block(theirs, other, &reason).await?;
                }
                GateAnswer::Waits => return Ok(Settlement::Waits),
            }
        }
        for other in before.iter().filter(|it| !now.contains(it)) {
            if FileId::new(other).is_some_and(|it| !self.mirror.places.task(&it).exists()) {
                // A program that deletes a task takes it out of what others say.
                continue;
            }
            let reason =
                format!("`blocks` no longer has `{other}`; remove it from `blockedBy` there");
            self.refuse_block(theirs, other, &reason).await?;
        }
        Ok(Settlement::Done)
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

    /// Whether a task waits for this one on the board, or its own file says so and was not taken yet.
    async fn waits_already(&self, other: &str, number: TaskNumber) -> Result<bool, MirrorError> {
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
