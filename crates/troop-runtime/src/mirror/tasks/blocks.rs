//! What a file says that waits for its task. That is so when the other task says it, so it is made there.

use troop_model::{Command, Refusal, State, TaskCommand, TaskNumber, TaskUpdate};

use super::{Theirs, layout};
use crate::mirror::{
    Mirror, MirrorError, Settled, disk, gate::Answer, ids::FileId, layout::TaskFile, unusable,
};

impl Mirror {
    /// Lets those tasks wait for this one of which its file says so, and did not before.
    pub(super) async fn let_wait(
        &mut self,
        number: TaskNumber,
        theirs: &Theirs<'_>,
        before: &TaskFile,
        now: &TaskFile,
    ) -> Result<Settled, MirrorError> {
        let Some(now) = &now.blocks else { return Ok(Settled::Done) };
        let before = before.blocks.as_deref().unwrap_or_default();
        for other in now.iter().filter(|it| !before.contains(it)) {
            if self.waits_already(other, number, theirs).await? {
                continue;
            }
            let change =
                TaskUpdate { add_blocked_by: vec![number.into()], ..TaskUpdate::default() };
            let (task, change) = (self.ids.meant(other), Box::new(change));
            let command = Command::Task(TaskCommand::Update { task, change });
            let operation = self.operation(theirs, other.as_bytes());
            match self.give(theirs, None, operation, command).await? {
                Answer::Done(_) => {
                    let what = format!("{number} comes before `{other}` now");
                    self.notice_taken(theirs.path, what);
                }
                Answer::Refused(reason) => {
                    let reason = format!("`blocks` has `{other}`: {reason}");
                    self.refuse_block(theirs, other, &reason).await?;
                }
                Answer::Waits => return Ok(Settled::Waits),
            }
        }
        for other in before.iter().filter(|it| !now.contains(it)) {
            if FileId::new(other).is_some_and(|it| !self.places.task(&it).exists()) {
                // Whoever deletes a task takes it out of what others say.
                continue;
            }
            let reason =
                format!("`blocks` no longer has `{other}`; remove it from `blockedBy` there");
            self.refuse_block(theirs, other, &reason).await?;
        }
        Ok(Settled::Done)
    }

    async fn refuse_block(
        &mut self,
        theirs: &Theirs<'_>,
        other: &str,
        reason: &str,
    ) -> Result<(), MirrorError> {
        let operation = self.operation(theirs, &[other.as_bytes(), &[0x80]].concat());
        self.refuse(theirs.path, None, operation, reason).await
    }

    /// Whether a task waits for this one on the board, or its own file says so and was not taken yet.
    async fn waits_already(
        &self,
        other: &str,
        number: TaskNumber,
        theirs: &Theirs<'_>,
    ) -> Result<bool, MirrorError> {
        let meant = self.ids.meant(other);
        let look = move |state: &State| {
            let found = state.resolve(&meant).map(|it| state.tasks().shared(it));
            found
                .map(|task| task.is_some_and(|it| it.blocked_by.iter().any(|it| it.task == number)))
        };
        let waits = self.board.look(look).await?;
        let id = FileId::new(other).filter(|_| matches!(waits, Err(Refusal::UnknownTask { .. })));
        let Some(path) = id.map(|id| self.places.task(&id)) else { return Ok(waits == Ok(true)) };
        let found = disk::read(&path).map_err(unusable(&path))?;
        let raw = found.and_then(|it| super::read(&it).ok());
        let file = raw.and_then(|raw| layout::read_task(self.places.layout, &raw, None).ok());
        Ok(file.is_some_and(|it| it.waits_for.iter().flatten().any(|it| it == theirs.id.as_str())))
    }
}
