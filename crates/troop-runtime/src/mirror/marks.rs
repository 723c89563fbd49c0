//! Marks files to visit: those that an event touches, that somebody wrote, and that differ from what was seen last.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::time::Instant;
use troop_model::{Actor, Command, Event, OperationId, State, Status, TaskNumber};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError,
    disk::{self, Stamp},
    ear::FolderWatch,
    ids::FileId,
    layout::Layout,
    rules, unusable,
};
use crate::Subscription;

impl Mirror {
    /// Marks what an event touches, and what later events touch that have arrived.
    pub(super) async fn follow(
        &mut self,
        event: &Event,
        news: &mut Subscription,
    ) -> Result<(), MirrorError> {
        let mut numbers = Vec::from_iter(self.mark_event(event));
        while let Some(event) = news.ready() {
            numbers.extend(self.mark_event(&event));
        }
        self.mark_tasks(numbers).await
    }

    /// Marks what an event touches, but for the files of tasks. Returns the task that it is about.
    pub(super) fn mark_event(&mut self, event: &Event) -> Option<TaskNumber> {
        let lead = self.memory.ids.lead.as_ref();
        let touched = rules::touched(&event.fact, self.places.layout, lead);
        self.work.mark_all(touched.items);
        touched.task
    }

    /// Marks tasks, and those that wait for them or that they wait for: their files name each other.
    pub(super) async fn mark_tasks(&mut self, numbers: Vec<TaskNumber>) -> Result<(), MirrorError> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.learn_ids(numbers.clone()).await?;
        let look = move |state: &State| {
            let tasks = state.tasks();
            let mut touched: BTreeSet<TaskNumber> = numbers.iter().copied().collect();
            for number in &numbers {
                touched.extend(tasks.dependents(*number));
                let task = tasks.get(*number);
                touched.extend(task.iter().flat_map(|it| &it.blocked_by).map(|it| it.task));
            }
            touched
        };
        let touched = self.board.look(look).await?;
        let ids = &self.memory.ids;
        self.work.mark_all(touched.into_iter().map(|it| Item::Task(ids.of(it))));
        Ok(())
    }

    /// Has the board take in the whole log, and learns the ids that new tasks have in the files.
    pub(super) async fn catch_up(&mut self) -> Result<(), MirrorError> {
        self.board.catch_up().await?;
        let known = self.memory.last_id;
        let last = self.board.look(|state: &State| state.tasks().last()).await?;
        if last > known {
            self.learn_ids((known.0 + 1..=last.0).map(TaskNumber).collect()).await?;
            self.memory.last_id = last;
        }
        Ok(())
    }

    /// Learns which of these tasks were taken from files with other ids, by this mirror or another.
    pub(super) async fn learn_ids(&mut self, numbers: Vec<TaskNumber>) -> Result<(), MirrorError> {
        let look = move |state: &State| -> Vec<(TaskNumber, FileId)> {
            let tasks = numbers.iter().filter_map(|it| state.tasks().get(*it));
            tasks.filter_map(|it| Some((it.number, FileId::of_task(it)?))).collect()
        };
        for (number, id) in self.board.look(look).await? {
            if self.memory.ids.number(id.as_str()) != Some(number) {
                self.memory.ids_mut().learn(&id, number);
            }
        }
        Ok(())
    }

    pub(super) async fn mark_everything(&mut self) -> Result<(), MirrorError> {
        self.make_folders()?;
        self.let_rest_end().await?;
        self.work.mark(Item::Config);
        if !self.mark_since().await? {
            let ids = Arc::clone(&self.memory.ids);
            let look = move |state: &State| -> Vec<Item> {
                state.tasks().numbers().map(|it| Item::Task(ids.of(it))).collect()
            };
            let items = self.board.look(look).await?;
            self.work.mark_all(items);
            // There may be files of tasks that the board no longer has.
            self.work.mark_all(self.memory.tasks.keys().cloned().map(Item::Task));
        }
        let look = |state: &State| state.members().map(|it| it.name.clone()).collect::<Vec<_>>();
        let members = self.board.look(look).await?;
        let layout = self.places.layout;
        let lead = self.memory.ids.lead.as_ref();
        for member in members {
            self.work.mark(rules::inbox_of(member.as_str(), layout, lead));
        }
        self.mark_changed()
    }

    /// Finds changes that the system did not report, and retries what failed.
    pub(super) async fn look_around(&mut self, watch: &mut FolderWatch) -> Result<(), MirrorError> {
        self.ages.forget_old(Instant::now());
        if self.make_folders()? {
            watch.listen(&self.places);
            self.has_failed = true;
        }
        if std::mem::take(&mut self.has_failed) {
            self.memory.in_step.doubt();
            return self.mark_everything().await;
        }
        self.let_rest_end().await?;
        self.mark_changed()
    }

    /// Releases failed tasks whose pause is over. Without a lead nobody else does, and programs look for work in the files.
    async fn let_rest_end(&self) -> Result<(), MirrorError> {
        let now = self.clock.now();
        let look = move |state: &State| {
            let tasks = state.tasks();
            let mut failed = tasks.with_status(Status::Failed).filter_map(|it| tasks.get(it));
            failed.any(|task| task.start.not_before.is_some_and(|until| until <= now))
        };
        if self.board.look(look).await? {
            let operation = OperationId(Uuid::now_v7());
            drop(self.submit_as(Actor::system(), operation, Command::Tick).await?);
        }
        Ok(())
    }

    /// Marks files that differ from what was seen last.
    pub(super) fn mark_changed(&mut self) -> Result<(), MirrorError> {
        let folder = self.places.tasks();
        let names = disk::list(&folder).map_err(unusable(&folder))?;
        let mut seen = BTreeSet::new();
        for name in names {
            let path = folder.join(&name);
            let Some(id) = FileId::of_file(&name) else {
                disk::set_aside(&path).map_err(unusable(&path))?;
                self.notice_refused(&path, "its name is too long");
                continue;
            };
            let stamp = Stamp::of(&path).map_err(unusable(&path))?;
            let known = self.memory.tasks.get(&id).map(|it| it.stamp);
            if known.or_else(|| self.memory.in_step.stamp(&id)).is_none_or(|it| Some(it) != stamp) {
                self.work.mark(Item::Task(id.clone()));
            }
            seen.insert(id);
        }
        let noted = self.noted_tasks()?;
        let known = self.memory.tasks.keys().chain(self.memory.in_step.ids()).chain(&noted);
        let gone: Vec<_> = known.filter(|id| !seen.contains(*id)).cloned().collect();
        self.work.mark_all(gone.into_iter().map(Item::Task));
        self.work.mark(Item::Config);
        self.mark_inboxes()
    }

    /// Marks the items of paths that somebody wrote.
    pub(super) fn mark_paths(&mut self, first: PathBuf, watch: &mut FolderWatch) {
        let mut next = Some(first);
        while let Some(path) = next {
            let item = self.item_at(&path);
            self.work.mark_all(item);
            next = watch.ready();
        }
    }

    pub(super) fn item_at(&self, path: &Path) -> Option<Item> {
        if path == self.places.config() {
            return Some(Item::Config);
        }
        let name = path.file_name()?.to_str().filter(|it| disk::is_meant(it));
        if path.parent()? == self.places.tasks() {
            return name.and_then(FileId::of_file).map(Item::Task);
        }
        let rest = path.strip_prefix(self.places.inboxes()).ok()?;
        let owner = rest.components().next()?.as_os_str().to_str()?;
        Some(Item::Inbox(owner.strip_suffix(".json").unwrap_or(owner).to_owned()))
    }

    /// The tasks whose files troop has written or taken.
    pub(super) fn noted_tasks(&self) -> Result<Vec<FileId>, MirrorError> {
        let folder = self.places.written_tasks();
        let names = disk::list(&folder).map_err(unusable(&folder))?;
        Ok(names.iter().filter_map(|it| FileId::of_file(it)).collect())
    }

    /// Marks inboxes that differ from what was seen last.
    fn mark_inboxes(&mut self) -> Result<(), MirrorError> {
        let folder = self.places.inboxes();
        let entries = std::fs::read_dir(&folder).map_err(unusable(&folder))?;
        for entry in entries {
            let path = entry.map_err(unusable(&folder))?.path();
            let Some(Item::Inbox(owner)) = self.item_at(&path) else { continue };
            let known = self.memory.inboxes.get(&owner);
            let is_same = match self.places.layout {
                Layout::Seeds => {
                    let there = disk::list(&path).map_err(unusable(&path))?;
                    let known = known.into_iter().flat_map(|it| it.letters.keys());
                    there.iter().eq(known)
                }
                Layout::Claude => {
                    let stamp = Stamp::of(&path).map_err(unusable(&path))?;
                    path.extension().is_none_or(|it| it != "json")
                        || known.is_some_and(|it| it.stamp == stamp)
                }
            };
            if !is_same {
                self.work.mark(Item::Inbox(owner));
            }
        }
        Ok(())
    }
}
