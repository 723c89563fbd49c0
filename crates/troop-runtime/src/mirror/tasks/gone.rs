//! Files of tasks that are gone. Claude Code deletes a task by taking its file away; what else is gone was lost, and is written
//! again.

use std::{path::Path, time::Duration};

use super::{FileId, Layout, Live, Ours, Theirs, difference, read_task};
use crate::mirror::{
    Item, Mirror, MirrorError, Settled,
    difference::Reading,
    disk::{self, DiskFile},
    layout::{FileStatus, TaskFile},
    unusable,
    written::{self, Noted, Written},
};

/// How long a file must be gone for its task to count as deleted: whoever takes all files away begins with one of them.
const GONE: Duration = Duration::from_millis(50);

const ALL_LOST: &str = "its files were gone, and were written again";
const LOST: &str =
    r#"it was gone, and was written again; to delete a task, write `"status": "deleted"`"#;

impl Mirror {
    /// Deletes the task whose file somebody took away, or writes the file again.
    pub(super) async fn settle_gone(
        &mut self,
        id: &FileId,
        path: &Path,
    ) -> Result<Settled, MirrorError> {
        let note = self.places.written_task(id);
        let written = written::read(&note).map_err(unusable(&note))?;
        let (Some(written), Ours::Live(ours)) = (written, self.ours(id, None).await?) else {
            // It was never there, or is to be gone.
            return self.put(id, path, None).await;
        };
        let noted = self.noted_tasks()?;
        if !noted.iter().any(|it| self.places.task(it).exists()) {
            // Before the first is back, so that whoever comes next does not take the others for deleted.
            noted.iter().try_for_each(|it| self.forget_written(it))?;
            self.notice_refused(&self.places.tasks(), ALL_LOST);
        } else if !self.may_be_deleted(id)? {
            self.forget_written(id)?;
            self.notice_refused(path, LOST);
        } else if self.is_unread() || !self.ages.is_seen_for(path, written.stamp, GONE) {
            return Ok(Settled::Later);
        } else if self.delete(id, path, written, &ours).await? == Settled::Waits {
            return Ok(Settled::Waits);
        }
        self.put(id, path, None).await
    }

    /// The tasks whose files troop has written or taken.
    pub(in crate::mirror) fn noted_tasks(&self) -> Result<Vec<FileId>, MirrorError> {
        let folder = self.places.written_tasks();
        let names = disk::list(&folder).map_err(unusable(&folder))?;
        Ok(names.iter().filter_map(|it| FileId::of_file(it)).collect())
    }

    fn forget_written(&self, id: &FileId) -> Result<(), MirrorError> {
        let (path, note) = (self.places.task(id), self.places.written_task(id));
        Noted { path: &path, note: &note }.forget().map_err(unusable(&note))
    }

    /// Whether it may be the client's doing, which counts the ids that it has used.
    fn may_be_deleted(&self, id: &FileId) -> Result<bool, MirrorError> {
        let (mark, number) = (self.mark()?, id.as_str().parse::<u64>());
        let highest = mark.and_then(|it| it.parse::<u64>().ok());
        let is_used = number.is_ok_and(|number| highest.is_some_and(|it| it >= number));
        Ok(self.places.layout == Layout::Claude && is_used)
    }

    /// Whether other files are still to be read: whoever deletes a task takes it out of what those say.
    fn is_unread(&self) -> bool {
        let is_task = |it: &&Item| matches!(it, Item::Task(_));
        self.dirty.iter().filter(is_task).any(|it| !self.locked.contains(it))
    }

    async fn delete(
        &mut self,
        id: &FileId,
        path: &Path,
        written: Written,
        ours: &Live,
    ) -> Result<Settled, MirrorError> {
        let names = self.names().await?;
        let found = DiskFile { stamp: written.stamp, bytes: None };
        let theirs = Theirs { id, path, found: &found, raw: written.raw };
        let Ok(before) = read_task(self.places.layout, &theirs.raw, None, &names) else {
            return Ok(Settled::Done);
        };
        let now = TaskFile { status: FileStatus::Deleted, ..before.clone() };
        let mut wanted = difference(&before, &now, Reading::Whole);
        let settled = self.carry_out(&mut wanted, ours.task.number, &theirs, &names).await?;
        // They tell of it no more.
        let others = before.waits_for.iter().chain(&before.blocks).flatten();
        self.dirty.extend(others.filter_map(|it| FileId::new(it)).map(Item::Task));
        Ok(settled)
    }
}
