//! Which files are to be looked at: those that an event touches, that somebody wrote, and that differ from what was seen last.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use troop_model::{Actor, Command, Event, Fact, OperationId, State, Status, TaskNumber};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError,
    disk::{self, Stamp},
    ear::Ear,
    ids::FileId,
    layout::Layout,
    unusable,
};
use crate::Subscription;

impl Mirror {
    /// Marks what an event touches, and what those do which are there already.
    pub(super) async fn follow(
        &mut self,
        event: &Event,
        news: &mut Subscription,
    ) -> Result<(), MirrorError> {
        let mut numbers = self.mark_event(event);
        while let Some(event) = news.ready() {
            numbers.extend(self.mark_event(&event));
        }
        self.mark_tasks(numbers).await
    }

    pub(super) fn mark_event(&mut self, event: &Event) -> Vec<TaskNumber> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "what is not here stands in no file")]
        match &event.fact {
            Fact::MemberAdded { member, .. } | Fact::MemberRemoved { member, .. } => {
                self.dirty.insert(Item::Config);
                self.dirty.insert(self.inbox_of(member.as_str()));
            }
            Fact::MemberStateChanged { member, .. } => {
                self.dirty.insert(self.inbox_of(member.as_str()));
            }
            Fact::MessageSent { readers, .. } => {
                for reader in readers {
                    self.dirty.insert(self.inbox_of(reader.as_str()));
                }
            }
            Fact::MessageRead { reader, .. } => {
                self.dirty.insert(self.inbox_of(reader.as_str()));
            }
            Fact::TeamUpdated { .. } => {
                self.dirty.insert(Item::Config);
            }
            _ => return event.fact.task().into_iter().collect(),
        }
        Vec::new()
    }

    /// Marks tasks, and those that wait for them or that they wait for: their files tell of each other.
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
        self.dirty.extend(touched.into_iter().map(|it| Item::Task(self.ids.of(it))));
        Ok(())
    }

    /// Learns which of these tasks were taken from files that have ids of their own, by this mirror or another.
    pub(super) async fn learn_ids(&mut self, numbers: Vec<TaskNumber>) -> Result<(), MirrorError> {
        let look = move |state: &State| -> Vec<(TaskNumber, FileId)> {
            let tasks = numbers.iter().filter_map(|it| state.tasks().get(*it));
            tasks.filter_map(|it| Some((it.number, FileId::of_task(it)?))).collect()
        };
        for (number, id) in self.board.look(look).await? {
            if self.ids.number(id.as_str()) != Some(number) {
                Arc::make_mut(&mut self.ids).learn(&id, number);
            }
        }
        Ok(())
    }

    pub(super) async fn mark_everything(&mut self) -> Result<(), MirrorError> {
        self.make_folders()?;
        self.let_rest_end().await?;
        self.dirty.insert(Item::Config);
        if !self.mark_since().await? {
            let ids = Arc::clone(&self.ids);
            let look = move |state: &State| -> Vec<Item> {
                state.tasks().numbers().map(|it| Item::Task(ids.of(it))).collect()
            };
            self.dirty.extend(self.board.look(look).await?);
            // Of those that the board has no more, there may be files.
            self.dirty.extend(self.tasks.keys().cloned().map(Item::Task));
        }
        let look = |state: &State| state.members().map(|it| it.name.clone()).collect::<Vec<_>>();
        for member in self.board.look(look).await? {
            self.dirty.insert(self.inbox_of(member.as_str()));
        }
        self.mark_changed()
    }

    /// Finds what nobody was told of, and tries again what did not work.
    pub(super) async fn look_around(&mut self, ear: &mut Ear) -> Result<(), MirrorError> {
        self.ages.forget_old();
        if self.make_folders()? {
            ear.listen(&self.places);
            self.has_failed = true;
        }
        if std::mem::take(&mut self.has_failed) {
            self.in_step.doubt();
            return self.mark_everything().await;
        }
        self.let_rest_end().await?;
        self.mark_changed()
    }

    /// Where nobody supervises a team, whoever looks for work sees to it that what failed can be tried again when its time
    /// has come: programs look at files.
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

    /// Marks what differs on the disk from what was seen there last.
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
            let known = self.tasks.get(&id).map(|it| it.stamp);
            if known.or_else(|| self.in_step.stamp(&id)).is_none_or(|it| Some(it) != stamp) {
                self.dirty.insert(Item::Task(id.clone()));
            }
            seen.insert(id);
        }
        let noted = self.noted_tasks()?;
        let known = self.tasks.keys().chain(self.in_step.ids()).chain(&noted);
        let gone = known.filter(|id| !seen.contains(*id));
        self.dirty.extend(gone.cloned().map(Item::Task));
        self.dirty.insert(Item::Config);
        self.mark_inboxes()
    }

    /// Marks what paths are about that somebody wrote.
    pub(super) fn mark_paths(&mut self, first: PathBuf, ear: &mut Ear) {
        let mut next = Some(first);
        while let Some(path) = next {
            self.dirty.extend(self.item_at(&path));
            next = ear.ready();
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

    /// The inbox of a member, as the files call it.
    fn inbox_of(&self, member: &str) -> Item {
        let is_lead = self.ids.lead.as_ref().is_some_and(|lead| lead.as_str() == member);
        Item::Inbox(match self.places.layout {
            Layout::Claude if is_lead => "team-lead".to_owned(),
            Layout::Claude | Layout::Seeds => member.to_owned(),
        })
    }
}
