//! Missing files of tasks. Claude Code deletes a task by deleting its file; other missing files were lost, and are written
//! again.

use std::time::Duration;

use tokio::time::Instant;

use super::{ForeignFile, TaskVisit};
use crate::mirror::{
    Item, MirrorError, Settlement,
    difference::{DiffReading, difference},
    ids::FileId,
    layout::{FileStatus, TaskFile},
    rules::{self, GoneCase, GoneFacts, Intake, LiveTask, TaskOnBoard},
    unusable,
    written::{self, NotedFile, WrittenNote},
};

/// How long a file must be gone for its task to count as deleted: a program that deletes all files begins with one of them.
const GONE: Duration = Duration::from_millis(50);

const ALL_LOST: &str = "its files were missing and have been restored";
const LOST: &str =
    r#"it was missing and has been restored; to delete a task, write `"status": "deleted"`"#;

impl TaskVisit<'_> {
    /// Deletes the task whose file somebody deleted, or has the file written again.
    pub(super) async fn settle_gone(&mut self) -> Result<Intake, MirrorError> {
        let note = self.note();
        let written = written::read(&note).map_err(unusable(&note))?;
        let ours = self.ours(None).await?;
        let (Some(written), TaskOnBoard::Live(ours)) = (written, ours) else {
            // It was never there, or has to go.
            return Ok(Intake::Renew);
        };
        let noted = self.mirror.noted_tasks()?;
        let present = self.present(&noted);
        let mark = self.mark()?;
        let facts = GoneFacts {
            layout: self.mirror.places.layout,
            id: self.id,
            noted: &noted,
            present: &present,
            mark: mark.as_deref(),
        };
        match rules::gone(&facts) {
            GoneCase::AllLost => {
                // Before the first is back, so that the next mirror does not take the others for deleted.
                noted.iter().try_for_each(|it| self.forget_written(it))?;
                let folder = self.mirror.places.tasks();
                self.mirror.notice_refused(&folder, ALL_LOST);
            }
            GoneCase::Lost => {
                self.forget_written(self.id)?;
                self.mirror.notice_refused(&self.path, LOST);
            }
            GoneCase::Deleted => {
                // A program that deletes a task removes its id from other files; those are read first.
                if self.mirror.work.has_unread_tasks()
                    || self.mirror.ages.seen_for(&self.path, written.stamp, Instant::now()) <= GONE
                {
                    return Ok(Intake::Settled(Settlement::Later));
                }
                if self.delete(written, &ours).await? == Settlement::Waits {
                    return Ok(Intake::Settled(Settlement::Waits));
                }
            }
        }
        Ok(Intake::Renew)
    }

    fn forget_written(&self, id: &FileId) -> Result<(), MirrorError> {
        let path = self.mirror.places.task(id);
        let note = self.mirror.places.written_task(id);
        NotedFile { path: &path, note: &note }.forget().map_err(unusable(&note))
    }

    async fn delete(
        &mut self,
        written: WrittenNote,
        ours: &LiveTask,
    ) -> Result<Settlement, MirrorError> {
        let names = self.mirror.names().await?;
        let theirs = ForeignFile { stamp: written.stamp, bytes: Vec::new(), raw: written.raw };
        let layout = self.mirror.places.layout;
        let Ok(before) = rules::whole_task(layout, &theirs.raw, None, &names) else {
            return Ok(Settlement::Done);
        };
        let now = TaskFile { status: FileStatus::Deleted, ..before.clone() };
        let steps = difference(&before, &now, DiffReading::Whole);
        let wishes = rules::steps(steps).collect();
        let settled = self.fulfil(wishes, ours.task.number, &theirs, &names).await?;
        // Their files must no longer name it.
        let others = before.waits_for.iter().chain(&before.blocks).flatten();
        let others: Vec<_> = others.filter_map(|it| FileId::new(it)).map(Item::Task).collect();
        self.mirror.work.mark_all(others);
        Ok(settled)
    }
}
