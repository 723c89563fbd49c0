//! A visit to the file of a task: read under its lock, what others did to it given to the board, and written again as the board
//! has it then. `rules` decides what comes next; here it is done.

mod announce;
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
    difference::WantedStep,
    disk::{self, DiskFile, Stamp},
    door::{self, VisitCommand},
    gate::GateAnswer,
    ids::FileId,
    layout::{self, Names, TaskFile, Unreadable},
    lock, operation,
    rules::{
        self, ChangeFacts, FileReading, FileWish, Intake, KnownFile, LiveTask, PutEffect, TaskCase,
        TaskOnBoard, VisitErrand, VisitFacts, VisitStep,
    },
    unusable,
    written::{self, NotedFile, TargetPlace, WrittenNote},
};
use crate::{CommandRequest, board::DoorAnswer};

/// A visit to the file of one task.
pub(super) struct TaskVisit<'a> {
    mirror: &'a mut Mirror,
    id: &'a FileId,
    path: PathBuf,
}

/// A file that somebody wrote, while its lock is held.
struct ForeignFile {
    stamp: Stamp,
    /// The whole content; empty if the file is gone.
    bytes: Vec<u8>,
    raw: Map<String, Value>,
}

/// The answer to one wish.
enum WishAnswer {
    Done,
    Refused,
    /// The lead has not answered yet.
    Waits,
}

impl<'a> TaskVisit<'a> {
    pub(super) fn new(mirror: &'a mut Mirror, id: &'a FileId) -> Self {
        let path = mirror.places.task(id);
        Self { mirror, id, path }
    }

    pub(super) async fn settle(self) -> Result<Settlement, MirrorError> {
        self.run(None).await
    }

    /// Gives a command about the task while its file is locked and everything in it is taken in.
    pub(super) async fn settle_for(
        self,
        command: &mut VisitCommand,
    ) -> Result<Settlement, MirrorError> {
        self.run(Some(command)).await
    }

    async fn run(
        mut self,
        mut command: Option<&mut VisitCommand>,
    ) -> Result<Settlement, MirrorError> {
        let mut facts = VisitFacts::default();
        if command.is_some() {
            facts.errand = VisitErrand::Command;
        }
        // Its caller gets it when the file shows its effect, or cannot be written.
        let mut answer = None;
        let visited = self.take_steps(&mut facts, &mut command, &mut answer).await;
        if let Some(answer) = answer {
            answer.deliver();
        }
        visited
    }

    async fn take_steps(
        &mut self,
        facts: &mut VisitFacts,
        command: &mut Option<&mut VisitCommand>,
        answer: &mut Option<DoorAnswer>,
    ) -> Result<Settlement, MirrorError> {
        let mut lock = None;
        let mut theirs = None;
        loop {
            match rules::visit_step(facts) {
                VisitStep::Compare => facts.is_at_rest = Some(self.is_at_rest().await?),
                VisitStep::BeginReading => {
                    self.mirror.memory.in_step.note(self.id, None);
                    self.mirror.begin_reading()?;
                    facts.has_begun = true;
                }
                VisitStep::Recognise => facts.is_recognised = Some(self.recognise().await?),
                VisitStep::Lock => {
                    lock = self.mirror.lock(&self.path).await?;
                    facts.has_lock = Some(lock.is_some());
                }
                VisitStep::CatchUp(caught_up) => {
                    self.mirror.catch_up().await?;
                    facts.caught_up = caught_up;
                }
                VisitStep::Recall => {
                    self.recall()?;
                    facts.is_recalled = true;
                }
                VisitStep::Read => {
                    let (reading, found) = self.read_under_lock()?;
                    facts.reading = Some(reading);
                    theirs = found;
                }
                VisitStep::SettleGone => facts.intake = Some(self.settle_gone().await?),
                VisitStep::SetAside(reason) => {
                    let stamp = theirs.as_ref().map(|it| it.stamp);
                    facts.intake = Some(self.set_aside(stamp, None, &reason).await?);
                }
                VisitStep::TakeIn => {
                    facts.intake = Some(match &theirs {
                        Some(theirs) => self.take_in(theirs).await?,
                        None => Intake::Settled(Settlement::Later),
                    });
                }
                VisitStep::Announce => {
                    let request = command.as_ref().and_then(|it| it.request());
                    if let (Some(request), Some(found)) = (request, &mut theirs) {
                        self.announce(request, found).await?;
                    }
                    facts.errand = VisitErrand::Announced;
                }
                VisitStep::GiveCommand => {
                    if let Some(command) = command.take() {
                        *answer = self.give_command(command).await?;
                    }
                    facts.errand = VisitErrand::Given;
                }
                VisitStep::Put(intake) => {
                    let kept = theirs.as_ref().filter(|_| intake == Intake::Replace);
                    facts.put = Some(self.put(kept).await?);
                }
                VisitStep::NoteInStep => {
                    let stamp = self.known().map(|it| it.stamp);
                    self.mirror.memory.in_step.note(self.id, stamp);
                    facts.is_noted = true;
                }
                VisitStep::End(settled) => {
                    drop(lock);
                    return Ok(settled);
                }
            }
        }
    }

    /// Gives the command that this visit is for, unless a program took the task just before.
    async fn give_command(
        &self,
        command: &mut VisitCommand,
    ) -> Result<Option<DoorAnswer>, MirrorError> {
        if !door::still_wants(&self.mirror.board, &command.target, command.number).await? {
            return Ok(None);
        }
        let request = command.request();
        let (Some(mut job), Some(request)) = (command.job.take(), request) else {
            return Ok(None);
        };
        *job.request = request;
        Ok(self.mirror.board.give_from_door(job).await)
    }

    /// Whether the file is as it was seen last, and the board still says the same.
    async fn is_at_rest(&self) -> Result<bool, MirrorError> {
        let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
        match self.known().filter(|known| Some(known.stamp) == stamp) {
            Some(known) => Ok(rules::is_at_rest(known, &self.ours(Some(&known.raw)).await?)),
            None => Ok(false),
        }
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

    /// The board's view of the task, if the file has `kept`.
    async fn ours(&self, kept: Option<&Map<String, Value>>) -> Result<TaskOnBoard, MirrorError> {
        let ids = Arc::clone(&self.mirror.memory.ids);
        let Some(number) = ids.number(self.id.as_str()) else { return Ok(TaskOnBoard::Nothing) };
        let layout = self.mirror.places.layout;
        let kept = kept.cloned();
        let now = self.mirror.clock.now();
        let look =
            move |state: &State| TaskOnBoard::new(state, layout, &ids, number, kept.as_ref(), now);
        Ok(self.mirror.board.look(look).await?)
    }

    /// Recognises a file that is new to this mirror and has the content that troop wrote, with which the board still agrees.
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

    fn read_under_lock(&mut self) -> Result<(FileReading, Option<ForeignFile>), MirrorError> {
        let Some(found) = self.read_file()? else { return Ok((FileReading::Gone, None)) };
        let (reading, raw) = match rules::read_file(&found) {
            Ok(raw) => (FileReading::Whole, raw),
            Err(Unreadable::NotJson(_)) if !self.mirror.outlasts(&self.path, found.stamp) => {
                (FileReading::Half, Map::new())
            }
            Err(reason) => (FileReading::Unreadable(reason.to_string()), Map::new()),
        };
        let DiskFile { stamp, bytes } = found;
        let theirs = ForeignFile { stamp, bytes: bytes.unwrap_or_default(), raw };
        Ok((reading, Some(theirs)))
    }

    /// Gives the board the commands that a file stands for.
    async fn take_in(&mut self, theirs: &ForeignFile) -> Result<Intake, MirrorError> {
        match self.case(&theirs.raw).await? {
            TaskCase::Change(ours) => self.take_change(theirs, &ours).await,
            TaskCase::Displaces(number) => {
                self.mirror.memory.ids_mut().displace(number);
                let displaced = self.mirror.memory.ids.of(number);
                self.mirror.work.mark(Item::Task(displaced));
                self.take_new(theirs).await
            }
            TaskCase::Over => {
                self.remember(theirs.stamp, theirs.raw.clone());
                Ok(Intake::Settled(Settlement::Done))
            }
            TaskCase::Deleted => Ok(Intake::Renew),
            TaskCase::DeletedIfLogged(id) if self.was_created(id).await? => Ok(Intake::Renew),
            TaskCase::DeletedIfLogged(_) | TaskCase::New => self.take_new(theirs).await,
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
            let ours = number.map_or(TaskOnBoard::Nothing, |number| {
                TaskOnBoard::new(state, layout, &ids, number, None, now)
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
    ) -> Result<Intake, MirrorError> {
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
        match change {
            Ok(change) => {
                if self.awaits(&change.now).await? == Awaits::Files {
                    return Ok(Intake::Settled(Settlement::Later));
                }
                let owner = ours.task.owner.as_ref().map(ToString::to_string);
                let wishes = rules::change_wishes(&change, owner);
                if self.fulfil(wishes, ours.task.number, theirs, &names).await? == Settlement::Waits
                {
                    return Ok(Intake::Settled(Settlement::Waits));
                }
            }
            Err(reason) => {
                let operation = self.operation(theirs, &[0]);
                self.mirror.refuse(&self.path, None, operation, &reason.to_string()).await?;
            }
        }
        Ok(Intake::Replace)
    }

    async fn take_new(&mut self, theirs: &ForeignFile) -> Result<Intake, MirrorError> {
        let layout = self.mirror.places.layout;
        if layout::is_internal(layout, &theirs.raw) {
            return Ok(Intake::Settled(Settlement::Done));
        }
        let stamp = Some(theirs.stamp);
        let names = self.mirror.names().await?;
        let file = match rules::whole_task(layout, &theirs.raw, None, &names) {
            Ok(file) => file,
            Err(reason) => {
                let who = theirs.raw.get("createdBy").and_then(Value::as_str);
                return self.set_aside(stamp, who, &reason.to_string()).await;
            }
        };
        let waits = self.awaits(&file).await?;
        if waits == Awaits::Files
            || waits == Awaits::More && !self.mirror.outlasts(&self.path, theirs.stamp)
        {
            return Ok(Intake::Settled(Settlement::Later));
        }
        let by = file.created_by.as_deref().filter(|it| names.find(it).is_some());
        let created = match rules::new_task(&file, &names, &self.mirror.memory.ids) {
            Ok(command) => self.give(by, self.operation(theirs, &[1]), command).await?,
            Err(refusal) => GateAnswer::Refused(refusal.to_string()),
        };
        let number = match created {
            GateAnswer::Done(done) => done.task(),
            GateAnswer::Refused(reason) => return self.set_aside(stamp, by, &reason).await,
            GateAnswer::Waits => return Ok(Intake::Settled(Settlement::Waits)),
        };
        let Some(number) = number else { return Ok(Intake::Settled(Settlement::Done)) };
        self.mirror.memory.ids_mut().give(self.id, number);
        let waiting = self.mirror.memory.awaited.take(self.id);
        self.mirror.work.mark_all(waiting.into_iter().map(Item::Task));
        self.mirror.notice_taken(&self.path, format!("{number} was created"));
        match self.fulfil(rules::new_wishes(&file), number, theirs, &names).await? {
            Settlement::Waits => Ok(Intake::Settled(Settlement::Waits)),
            Settlement::Done | Settlement::Later => Ok(Intake::Replace),
        }
    }

    /// The missing tasks that a file waits for.
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

    /// Those of some files that exist.
    fn present(&self, ids: &[FileId]) -> BTreeSet<FileId> {
        let is_there = |id: &&FileId| self.mirror.places.task(id).exists();
        ids.iter().filter(is_there).cloned().collect()
    }

    /// Gives the board what the writer of the file wants, in order.
    async fn fulfil(
        &mut self,
        wishes: Vec<FileWish>,
        number: TaskNumber,
        theirs: &ForeignFile,
        names: &Names,
    ) -> Result<Settlement, MirrorError> {
        let mut is_refused = false;
        for wish in wishes {
            let answer = match wish {
                FileWish::Renew { by } => {
                    self.renew(by, theirs, number).await?;
                    continue;
                }
                FileWish::Step { .. } if is_refused => continue,
                FileWish::Step { nth, wanted } => {
                    self.take_step(nth, wanted, number, theirs, names).await?
                }
                FileWish::Block(other) => self.block(&other, number, theirs).await?,
                FileWish::Unblock(other) => {
                    self.refuse_unblock(&other, theirs).await?;
                    continue;
                }
            };
            match answer {
                WishAnswer::Done => {}
                WishAnswer::Refused => is_refused = true,
                WishAnswer::Waits => return Ok(Settlement::Waits),
            }
        }
        Ok(Settlement::Done)
    }

    async fn take_step(
        &mut self,
        nth: u8,
        wanted: WantedStep,
        number: TaskNumber,
        theirs: &ForeignFile,
        names: &Names,
    ) -> Result<WishAnswer, MirrorError> {
        let status = self.mirror.board.look(move |it: &State| it.tasks().status(number)).await?;
        let WantedStep { by, step } = rules::in_leads_name(wanted, status, names);
        let what = step.to_string();
        let ids = Arc::clone(&self.mirror.memory.ids);
        let find = |id: &str| ids.meant(id);
        let member = |text: &str| -> Option<MemberName> { names.find(text) };
        let who = by.as_deref();
        let answer = match step.command(number, &find, &member) {
            Ok(command) => self.give(who, self.operation(theirs, &[nth]), command).await?,
            Err(refusal) => GateAnswer::Refused(refusal.to_string()),
        };
        match answer {
            GateAnswer::Done(_) => {
                let who = who.unwrap_or("the lead");
                self.mirror.notice_taken(&self.path, format!("{number} was {what} by {who}"));
                Ok(WishAnswer::Done)
            }
            GateAnswer::Refused(reason) => {
                let operation = self.operation(theirs, &[nth | 0x80]);
                self.mirror.refuse(&self.path, who, operation, &reason).await?;
                Ok(WishAnswer::Refused)
            }
            GateAnswer::Waits => Ok(WishAnswer::Waits),
        }
    }

    async fn renew(
        &mut self,
        by: Option<String>,
        theirs: &ForeignFile,
        number: TaskNumber,
    ) -> Result<(), MirrorError> {
        let renew = TaskCommand::Renew { task: number.into(), attempt: None };
        let operation = self.operation(theirs, &[0]);
        // If it lost the task meanwhile, the file will say so.
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

    /// The operation for `which` of the things that a file stands for.
    fn operation(&self, theirs: &ForeignFile, which: &[u8]) -> OperationId {
        let path = self.mirror.places.shown(&self.path);
        let parts = [path.as_bytes(), &theirs.bytes, which];
        operation::of_task(theirs.stamp.at, self.mirror.clock.now(), &parts)
    }

    /// Moves a file aside that cannot be taken.
    async fn set_aside(
        &mut self,
        stamp: Option<Stamp>,
        who: Option<&str>,
        reason: &str,
    ) -> Result<Intake, MirrorError> {
        disk::set_aside(&self.path).map_err(unusable(&self.path))?;
        let name = self.mirror.places.shown(&self.path);
        let parts: [&[u8]; 2] = [name.as_bytes(), reason.as_bytes()];
        let now = self.mirror.clock.now();
        let operation = operation::of(stamp.map_or(now, |it| it.at), now, &parts);
        self.mirror.refuse(&self.path, who, operation, reason).await?;
        let waiting = self.mirror.memory.awaited.refuse(self.id);
        self.mirror.work.mark_all(waiting.into_iter().map(Item::Task));
        Ok(Intake::Renew)
    }

    /// Writes what the board says, if the file does not say that already. `theirs` lies in its place.
    async fn put(&mut self, theirs: Option<&ForeignFile>) -> Result<Settlement, MirrorError> {
        let kept = theirs.map(|it| &it.raw);
        let ours = self.ours(kept).await?;
        let mut stamp = theirs.map(|it| it.stamp);
        let is_noted =
            self.known().is_some_and(|it| Some(it.stamp) == stamp && Some(&it.raw) == kept);
        let layout = self.mirror.places.layout;
        let mut ids_lock = None;
        for effect in rules::put(ours, kept).effects(layout, is_noted) {
            match effect {
                PutEffect::LockIds => {
                    let path = self.mirror.places.tasks().join(".lock");
                    ids_lock = self.mirror.lock(&path).await?;
                    if ids_lock.is_none() {
                        return Ok(Settlement::Later);
                    }
                }
                PutEffect::Write(raw, place) => {
                    stamp = self.write(&raw, place)?;
                    if stamp.is_none() {
                        // Somebody made the file meanwhile.
                        return Ok(Settlement::Later);
                    }
                }
                PutEffect::RaiseMark => {
                    self.raise_mark()?;
                    ids_lock = None;
                }
                PutEffect::NoteTheirs(raw) => {
                    let note = self.note();
                    let noted = NotedFile { path: &self.path, note: &note };
                    stamp.map_or(Ok(()), |it| noted.take(it, &raw)).map_err(unusable(&note))?;
                }
                PutEffect::Remember(raw) => {
                    stamp.into_iter().for_each(|it| self.remember(it, raw.clone()));
                }
                PutEffect::ForgetKnown => drop(self.mirror.memory.tasks.remove(self.id)),
                PutEffect::RemoveFile => disk::remove(&self.path).map_err(unusable(&self.path))?,
                PutEffect::RemoveNote => {
                    let note = self.note();
                    let noted = NotedFile { path: &self.path, note: &note };
                    noted.forget().map_err(unusable(&note))?;
                }
                PutEffect::RemoveLocks => lock::clear(layout, &self.path),
            }
        }
        drop(ids_lock);
        Ok(Settlement::Done)
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

    /// Notes that an id is used, for programs that count from the highest.
    fn raise_mark(&self) -> Result<(), MirrorError> {
        let Ok(number) = self.id.as_str().parse::<u64>() else { return Ok(()) };
        if rules::is_higher(number, self.mark()?.as_deref()) {
            let mark = self.mirror.places.mark();
            disk::put(&mark, number.to_string().as_bytes()).map_err(unusable(&mark))?;
        }
        Ok(())
    }

    /// The noted highest id that was ever used.
    fn mark(&self) -> Result<Option<String>, MirrorError> {
        let mark = self.mirror.places.mark();
        let found = disk::read(&mark).map_err(unusable(&mark))?;
        let text = |found: DiskFile| found.bytes.and_then(|it| String::from_utf8(it).ok());
        Ok(found.map(|it| text(it).unwrap_or_default().trim().to_owned()))
    }
}
