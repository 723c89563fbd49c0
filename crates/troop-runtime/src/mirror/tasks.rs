//! A visit to the file of a task: read under its lock, what others did to it given to the board, and written again as the board
//! has it then. What is to be done is decided in `rules`; here it is done, in this order.

mod blocks;
mod gone;

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use serde_json::{Map, Value};
use troop_model::{
    Asker, Command, Fact, MemberName, OperationId, Origin, Refusal, State, TaskCommand, TaskNumber,
    Version,
};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settlement,
    awaited::{AwaitedFiles, Awaits},
    difference::{DiffReading, WantedStep, difference},
    disk::{self, DiskFile, Stamp},
    gate::GateAnswer,
    ids::FileId,
    layout::{self, FileStatus, Layout, Names, TaskFile, Unreadable},
    lock, operation,
    rules::{self, BoardTask, ChangeFacts, FilePut, KnownFile, LiveTask, TaskCase},
    unusable,
    written::{self, NotedFile, TargetPlace, WrittenNote},
};
use crate::CommandRequest;

/// A visit to the file of one task.
pub(super) struct TaskVisit<'a> {
    mirror: &'a mut Mirror,
    id: &'a FileId,
    path: PathBuf,
}

/// What somebody wrote, while its lock is held.
struct ForeignFile {
    stamp: Stamp,
    /// All of it; empty where it is gone.
    bytes: Vec<u8>,
    raw: Map<String, Value>,
}

impl<'a> TaskVisit<'a> {
    pub(super) fn new(mirror: &'a mut Mirror, id: &'a FileId) -> Self {
        let path = mirror.places.task(id);
        Self { mirror, id, path }
    }

    pub(super) async fn settle(mut self) -> Result<Settlement, MirrorError> {
        let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
        let known = self.known().filter(|known| Some(known.stamp) == stamp).cloned();
        if let Some(known) = &known
            && rules::is_at_rest(known, &self.ours(Some(&known.raw)).await?)
        {
            return Ok(Settlement::Done);
        }
        self.mirror.memory.in_step.note(self.id, None);
        self.mirror.begin_reading()?;
        if self.recognise().await? {
            return Ok(Settlement::Done);
        }
        let Some(_lock) = self.mirror.lock(&self.path).await? else {
            return Ok(Settlement::Later);
        };
        self.recall()?;
        let settled = match self.read_file()? {
            Some(found) => self.take_in(found).await?,
            None => self.settle_gone().await?,
        };
        if settled == Settlement::Done {
            let stamp = self.known().map(|it| it.stamp);
            self.mirror.memory.in_step.note(self.id, stamp);
        }
        Ok(settled)
    }

    fn known(&self) -> Option<&KnownFile> {
        self.mirror.memory.tasks.get(self.id)
    }

    fn remember(&mut self, stamp: Stamp, raw: Map<String, Value>) {
        self.mirror.memory.tasks.insert(self.id.clone(), KnownFile { stamp, raw });
    }

    fn note(&self) -> PathBuf {
        self.mirror.places.written_task(self.id)
    }

    fn read_file(&mut self) -> Result<Option<DiskFile>, MirrorError> {
        self.mirror.counts.read += 1;
        disk::read(&self.path).map_err(unusable(&self.path))
    }

    /// What the board says of the task, where the file has `kept`.
    async fn ours(&self, kept: Option<&Map<String, Value>>) -> Result<BoardTask, MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let Some(number) = ids.number(self.id.as_str()) else { return Ok(BoardTask::Nothing) };
        let layout = self.mirror.places.layout;
        let kept = kept.cloned();
        let now = self.mirror.clock.now();
        let look =
            move |state: &State| BoardTask::new(state, layout, &ids, number, kept.as_ref(), now);
        Ok(self.mirror.board.look(look).await?)
    }

    /// Recognises a file that is new here and says what troop wrote there, and what the board still says: nothing is to be done
    /// about it.
    async fn recognise(&mut self) -> Result<bool, MirrorError> {
        if self.known().is_some() {
            return Ok(false);
        }
        let Some(found) = self.read_file()? else { return Ok(false) };
        let note = self.note();
        let Some(written) = written::read(&note).map_err(unusable(&note))? else {
            return Ok(false);
        };
        let ours = self.ours(Some(&written.raw)).await?;
        let is_unchanged = rules::is_unchanged(&found, &written, &ours);
        if is_unchanged {
            self.mirror.memory.in_step.note(self.id, Some(found.stamp));
            self.remember(found.stamp, written.raw);
        }
        Ok(is_unchanged)
    }

    /// Remembers what was written into the file last, by whichever mirror.
    fn recall(&mut self) -> Result<(), MirrorError> {
        let note = self.note();
        let noted = NotedFile { path: &self.path, note: &note };
        if let Some(WrittenNote { stamp, raw, .. }) = noted.under_lock().map_err(unusable(&note))? {
            self.remember(stamp, raw);
        }
        Ok(())
    }

    /// Takes what somebody wrote, and writes what the board says then.
    async fn take_in(&mut self, found: DiskFile) -> Result<Settlement, MirrorError> {
        let raw = match rules::read_file(&found) {
            Ok(raw) => raw,
            Err(Unreadable::NotJson(_)) if !self.mirror.outlasts(&self.path, found.stamp) => {
                return Ok(Settlement::Later);
            }
            Err(reason) => return self.set_aside(found.stamp, None, &reason.to_string()).await,
        };
        let DiskFile { stamp, bytes } = found;
        let theirs = ForeignFile { stamp, bytes: bytes.unwrap_or_default(), raw };
        match self.case(&theirs.raw).await? {
            TaskCase::Change(ours) => self.take_change(&theirs, &ours).await,
            TaskCase::Displaces(number) => {
                self.mirror.memory.ids_mut().displace(number);
                let displaced = self.mirror.memory.ids.of(number);
                self.mirror.work.mark(Item::Task(displaced));
                self.take_new(&theirs).await
            }
            TaskCase::Over => {
                self.remember(stamp, theirs.raw);
                Ok(Settlement::Done)
            }
            TaskCase::Deleted => self.put(None).await,
            TaskCase::DeletedIfLogged(id) if self.was_created(id).await? => self.put(None).await,
            TaskCase::DeletedIfLogged(_) | TaskCase::New => self.take_new(&theirs).await,
        }
    }

    async fn case(&self, raw: &Map<String, Value>) -> Result<TaskCase, MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let number = ids.number(self.id.as_str());
        let layout = self.mirror.places.layout;
        let now = self.mirror.clock.now();
        let is_known = self.known().is_some();
        let raw = raw.clone();
        let look = move |state: &State| {
            let ours = number.map_or(BoardTask::Nothing, |number| {
                BoardTask::new(state, layout, &ids, number, None, now)
            });
            rules::task_case(state, layout, &raw, is_known, ours)
        };
        Ok(self.mirror.board.look(look).await?)
    }

    /// Whether this board ever had a task.
    async fn was_created(&self, id: Uuid) -> Result<bool, MirrorError> {
        let mut log = self.mirror.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if matches!(&event.fact, Fact::TaskCreated { id: created, .. } if *created == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn take_change(
        &mut self,
        theirs: &ForeignFile,
        ours: &LiveTask,
    ) -> Result<Settlement, MirrorError> {
        let names = self.mirror.names().await?;
        let known = self.known().cloned();
        let change = rules::change(&ChangeFacts {
            layout: self.mirror.places.layout,
            names: &names,
            known: known.as_ref(),
            ours,
            stamp: theirs.stamp,
            raw: &theirs.raw,
        });
        let number = ours.task.number;
        match change {
            Ok(change) => {
                if self.awaits(&change.now).await? == Awaits::Files {
                    return Ok(Settlement::Later);
                }
                if change.renews {
                    let by = ours.task.owner.as_ref().map(ToString::to_string);
                    self.renew(by, theirs, number).await?;
                }
                if self.carry_out(change.steps, number, theirs, &names).await? == Settlement::Waits
                {
                    return Ok(Settlement::Waits);
                }
                if change.reading == DiffReading::Whole
                    && self.let_wait(number, theirs, &change.before, &change.now).await?
                        == Settlement::Waits
                {
                    return Ok(Settlement::Waits);
                }
            }
            Err(reason) => {
                let operation = self.operation(theirs, &[0]);
                self.mirror.refuse(&self.path, None, operation, &reason.to_string()).await?;
            }
        }
        self.put(Some(theirs)).await
    }

    async fn take_new(&mut self, theirs: &ForeignFile) -> Result<Settlement, MirrorError> {
        let layout = self.mirror.places.layout;
        if layout::is_internal(layout, &theirs.raw) {
            return Ok(Settlement::Done);
        }
        let names = self.mirror.names().await?;
        let file = match rules::whole_task(layout, &theirs.raw, None, &names) {
            Ok(file) => file,
            Err(reason) => {
                let who = theirs.raw.get("createdBy").and_then(Value::as_str);
                return self.set_aside(theirs.stamp, who, &reason.to_string()).await;
            }
        };
        let waits = self.awaits(&file).await?;
        if waits == Awaits::Files
            || waits == Awaits::More && !self.mirror.outlasts(&self.path, theirs.stamp)
        {
            return Ok(Settlement::Later);
        }
        let by = file.created_by.as_deref().filter(|it| names.find(it).is_some());
        let created = match rules::new_task(&file, &names, &self.mirror.memory.ids) {
            Ok(command) => self.give(by, self.operation(theirs, &[1]), command).await?,
            Err(refusal) => GateAnswer::Refused(refusal.to_string()),
        };
        let number = match created {
            GateAnswer::Done(done) => done.task(),
            GateAnswer::Refused(reason) => return self.set_aside(theirs.stamp, by, &reason).await,
            GateAnswer::Waits => return Ok(Settlement::Waits),
        };
        let Some(number) = number else { return Ok(Settlement::Done) };
        self.mirror.memory.ids_mut().give(self.id, number);
        let waiting = self.mirror.memory.awaited.take(self.id);
        self.mirror.work.mark_all(waiting.into_iter().map(Item::Task));
        self.mirror.notice_taken(&self.path, format!("{number} was created"));
        let fresh = TaskFile { status: FileStatus::Pending, owner: Some(None), ..file.clone() };
        let steps = difference(&fresh, &file, DiffReading::Forward);
        let fresh = TaskFile { blocks: None, ..fresh };
        if self.carry_out(steps, number, theirs, &names).await? == Settlement::Waits
            || self.let_wait(number, theirs, &fresh, &file).await? == Settlement::Waits
        {
            return Ok(Settlement::Waits);
        }
        self.put(Some(theirs)).await
    }

    /// What a file waits for that is still to come.
    async fn awaits(&mut self, file: &TaskFile) -> Result<Awaits, MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let waits_for = file.waits_for.clone().unwrap_or_default();
        if waits_for.is_empty() {
            return Ok(Awaits::Nothing);
        }
        let look = move |state: &State| -> Vec<FileId> {
            let is_unknown = |id: &&String| {
                matches!(state.resolve(&ids.meant(id)), Err(Refusal::UnknownTask { .. }))
            };
            waits_for.iter().filter(is_unknown).filter_map(|id| FileId::new(id)).collect()
        };
        let unknown = self.mirror.board.look(look).await?;
        let present = self.present(&unknown);
        let AwaitedFiles { awaits, first } =
            self.mirror.memory.awaited.add(self.id, &unknown, &present);
        self.mirror.work.mark_all(first.into_iter().map(Item::Task));
        Ok(awaits)
    }

    /// Those of some files that are there.
    fn present(&self, ids: &[FileId]) -> BTreeSet<FileId> {
        let is_there = |id: &&FileId| self.mirror.places.task(id).exists();
        ids.iter().filter(is_there).cloned().collect()
    }

    /// Takes steps until one is refused.
    async fn carry_out(
        &mut self,
        steps: Vec<WantedStep>,
        number: TaskNumber,
        theirs: &ForeignFile,
        names: &Names,
    ) -> Result<Settlement, MirrorError> {
        for (nth, wanted) in steps.into_iter().enumerate() {
            let status =
                self.mirror.board.look(move |it: &State| it.tasks().status(number)).await?;
            let WantedStep { by, step } = rules::in_leads_name(wanted, status, names);
            let nth = nth as u8 + 2;
            let what = step.to_string();
            let ids = Arc::clone(&self.mirror.memory.ids);
            let find = |id: &str| ids.meant(id);
            let member = |text: &str| -> Option<MemberName> { names.find(text) };
            let done = match step.command(number, &find, &member) {
                Ok(command) => {
                    let operation = self.operation(theirs, &[nth]);
                    self.give(by.as_deref(), operation, command).await?
                }
                Err(refusal) => GateAnswer::Refused(refusal.to_string()),
            };
            let who = by.as_deref();
            match done {
                GateAnswer::Done(_) => {
                    let who = who.unwrap_or("the lead");
                    self.mirror.notice_taken(&self.path, format!("{number} was {what} by {who}"));
                }
                GateAnswer::Refused(reason) => {
                    let operation = self.operation(theirs, &[nth | 0x80]);
                    self.mirror.refuse(&self.path, who, operation, &reason).await?;
                    return Ok(Settlement::Done);
                }
                GateAnswer::Waits => return Ok(Settlement::Waits),
            }
        }
        Ok(Settlement::Done)
    }

    /// A member that touches the file of a task that it holds is alive.
    async fn renew(
        &mut self,
        by: Option<String>,
        theirs: &ForeignFile,
        number: TaskNumber,
    ) -> Result<(), MirrorError> {
        let renew = TaskCommand::Renew { task: number.into(), attempt: None };
        let operation = self.operation(theirs, &[0]);
        // If it lost the task meanwhile, the file says so next.
        drop(self.mirror.submit(by.as_deref(), operation, Command::Task(renew)).await?);
        Ok(())
    }

    /// Gives a command that the file stands for, in the name of the member that it names.
    async fn give(
        &mut self,
        by: Option<&str>,
        operation: OperationId,
        command: Command,
    ) -> Result<GateAnswer, MirrorError> {
        let item = Item::Task(self.id.clone());
        let is_new = matches!(command, Command::Task(TaskCommand::Create(_)));
        let origin = if is_new { self.id.origin() } else { Origin::default() };
        let actor = rules::actor(by);
        let request =
            CommandRequest { operation, asker: Asker { actor, origin }, command, fence: None };
        let anew = operation::anew(operation, self.mirror.clock.now());
        Ok(self.mirror.gate.give(item, request, anew).await?)
    }

    /// What is done because of the file: `which` of all that it stands for.
    fn operation(&self, theirs: &ForeignFile, which: &[u8]) -> OperationId {
        let path = self.mirror.places.shown(&self.path);
        let parts = [path.as_bytes(), &theirs.bytes, which];
        operation::of(theirs.stamp.at, self.mirror.clock.now(), &parts)
    }

    /// Moves away what cannot be taken, and puts back what the board says.
    async fn set_aside(
        &mut self,
        stamp: Stamp,
        who: Option<&str>,
        reason: &str,
    ) -> Result<Settlement, MirrorError> {
        disk::set_aside(&self.path).map_err(unusable(&self.path))?;
        let name = self.mirror.places.shown(&self.path);
        let parts: [&[u8]; 2] = [name.as_bytes(), reason.as_bytes()];
        let operation = operation::of(stamp.at, self.mirror.clock.now(), &parts);
        self.mirror.refuse(&self.path, who, operation, reason).await?;
        let waiting = self.mirror.memory.awaited.refuse(self.id);
        self.mirror.work.mark_all(waiting.into_iter().map(Item::Task));
        self.put(None).await
    }

    /// Writes what the board says, if the file does not say that already.
    async fn put(&mut self, theirs: Option<&ForeignFile>) -> Result<Settlement, MirrorError> {
        let kept = theirs.map(|it| &it.raw);
        let ours = self.ours(kept).await?;
        let (stamp, raw) = match (rules::put(ours, kept), theirs) {
            (FilePut::Agree(raw), Some(theirs)) => (Some(self.agree(theirs)?), raw),
            (FilePut::Agree(raw) | FilePut::Write(raw), _) => {
                (self.write(&raw, TargetPlace::Any)?, raw)
            }
            (FilePut::Make(raw), _) => (self.make(&raw).await?, raw),
            (FilePut::Leave, _) => return Ok(Settlement::Done),
            (FilePut::Remove, _) => {
                self.remove()?;
                return Ok(Settlement::Done);
            }
        };
        let Some(stamp) = stamp else { return Ok(Settlement::Later) };
        self.remember(stamp, raw);
        Ok(Settlement::Done)
    }

    fn remove(&mut self) -> Result<(), MirrorError> {
        self.mirror.memory.tasks.remove(self.id);
        disk::remove(&self.path).map_err(unusable(&self.path))?;
        let note = self.note();
        NotedFile { path: &self.path, note: &note }.forget().map_err(unusable(&note))?;
        lock::clear(self.mirror.places.layout, &self.path);
        Ok(())
    }

    /// Writes the file of a task that had none; none if somebody made it meanwhile, or is about to. Claude Code counts ids
    /// under a lock of its own.
    async fn make(&mut self, raw: &Map<String, Value>) -> Result<Option<Stamp>, MirrorError> {
        let layout = self.mirror.places.layout;
        let _lock = match layout {
            Layout::Seeds => None,
            Layout::Claude => {
                let path = self.mirror.places.tasks().join(".lock");
                match self.mirror.lock(&path).await? {
                    None => return Ok(None),
                    lock => lock,
                }
            }
        };
        let stamp = self.write(raw, TargetPlace::Empty)?;
        if layout == Layout::Claude && stamp.is_some() {
            self.raise_mark()?;
        }
        Ok(stamp)
    }

    fn write(
        &mut self,
        raw: &Map<String, Value>,
        place: TargetPlace,
    ) -> Result<Option<Stamp>, MirrorError> {
        let note = self.note();
        let noted = NotedFile { path: &self.path, note: &note };
        let stamp = noted.write(raw, place).map_err(unusable(&self.path))?;
        self.mirror.counts.written += u64::from(stamp.is_some());
        Ok(stamp)
    }

    /// Notes what a file says that somebody wrote, and the board says, too.
    fn agree(&self, theirs: &ForeignFile) -> Result<Stamp, MirrorError> {
        let stamp = theirs.stamp;
        if self.known().is_none_or(|it| it.stamp != stamp || it.raw != theirs.raw) {
            let note = self.note();
            let noted = NotedFile { path: &self.path, note: &note };
            noted.take(stamp, &theirs.raw).map_err(unusable(&note))?;
        }
        Ok(stamp)
    }

    /// Notes that an id is used, for programs that count from the highest.
    fn raise_mark(&self) -> Result<(), MirrorError> {
        let Ok(number) = self.id.as_str().parse::<u64>() else { return Ok(()) };
        if rules::is_higher(number, self.mark()?.as_deref()) {
            let mark = self.mirror.places.mark();
            disk::put(&mark, number.to_string().as_bytes()).map_err(unusable(&mark))?;
        }
        Ok(())
    }

    /// The highest id that was ever used, as it is noted.
    fn mark(&self) -> Result<Option<String>, MirrorError> {
        let mark = self.mirror.places.mark();
        let found = disk::read(&mark).map_err(unusable(&mark))?;
        let text = |found: DiskFile| found.bytes.and_then(|it| String::from_utf8(it).ok());
        Ok(found.map(|it| text(it).unwrap_or_default().trim().to_owned()))
    }
}
