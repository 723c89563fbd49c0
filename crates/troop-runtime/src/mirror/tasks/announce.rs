//! The file of a task shows what a command does before the board has the command.
//!
//! A program that knows only the files claims what they call free. So a mirror that is killed once the board has the command must
//! leave no file behind that calls the task free. If it is killed before, the next mirror writes the file as the board has it.

use std::sync::Arc;

use troop_model::State;

use super::{ForeignFile, TaskVisit};
use crate::{
    CommandRequest,
    mirror::{
        MirrorError,
        rules::{self, TaskOnBoard},
        written::TargetPlace,
    },
};

impl TaskVisit<'_> {
    /// Writes the file as the command would have it, if a program could take the task now and not then.
    pub(super) async fn announce(
        &mut self,
        request: CommandRequest,
        theirs: &mut ForeignFile,
    ) -> Result<(), MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let Some(number) = ids.number(self.id.as_str()) else { return Ok(()) };
        let layout = self.mirror.places.layout;
        let now = self.mirror.clock.now();
        let raw = theirs.raw.clone();
        let look = move |state: &State| {
            let foreseen = TaskOnBoard::new(state, layout, &ids, number, Some(&raw), now);
            rules::announcement(layout, &raw, foreseen)
        };
        let announced = self.mirror.board.foresee(request, look).await?;
        let Some(raw) = announced.flatten() else { return Ok(()) };
        if let Some(stamp) = self.write(&raw, TargetPlace::Any)? {
            self.remember(stamp, raw.clone());
            theirs.stamp = stamp;
            theirs.raw = raw;
        }
        Ok(())
    }
}
