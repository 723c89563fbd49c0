//! Tasks in files: what others do to them, and what the board says of them.

mod blocks;
mod gone;

use std::{path::Path, sync::Arc};

use serde_json::{Map, Value};
use troop_model::{
    Command, Fact, MemberName, Metadata, NewTask, OperationId, Origin, Refusal, State, Status,
    Task, TaskCommand, TaskNumber, Version,
};

use super::{
    Item, Mirror, MirrorError, Settled,
    awaited::Awaits,
    difference::{Reading, Step, Wanted, difference, named},
    disk::{self, DiskFile, MAX_FILE, Stamp},
    gate::Answer,
    ids::FileId,
    is_external_in,
    layout::{self, FileStatus, Layout, Names, TaskFile, Unreadable},
    lock, operation, tell, unusable,
    written::{self, Noted, Place, Written},
};
use crate::CommandRequest;

/// A task's file as it was last written or taken.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    raw: Map<String, Value>,
}

/// What the board says of a task that a file is about.
enum Ours {
    Live(Box<Live>),
    /// It is over and archived: nothing about it changes.
    Over,
    /// There is none, or none any more.
    Nothing,
}

struct Live {
    task: Arc<Task>,
    raw: Map<String, Value>,
    /// Whether some other program holds it, and its time is half over.
    wants_renewal: bool,
}

/// A file that somebody wrote, while its lock is held.
struct Theirs<'a> {
    id: &'a FileId,
    path: &'a Path,
    found: &'a DiskFile,
    raw: Map<String, Value>,
}

impl Mirror {
    pub(super) async fn settle_task(&mut self, id: &FileId) -> Result<Settled, MirrorError> {
        let path = self.places.task(id);
        let stamp = Stamp::of(&path).map_err(unusable(&path))?;
        let known = self.tasks.get(id).filter(|known| Some(known.stamp) == stamp).cloned();
        if let Some(known) = &known {
            let is_so = match self.ours(id, Some(&known.raw)).await? {
                Ours::Live(ours) => ours.raw == known.raw,
                Ours::Over => true,
                Ours::Nothing => false,
            };
            if is_so {
                return Ok(Settled::Done);
            }
        }
        self.in_step.note(id, None);
        self.begin_reading()?;
        if self.says_the_same(id, &path).await? {
            return Ok(Settled::Done);
        }
        let Some(_lock) = self.lock(&path).await? else { return Ok(Settled::Later) };
        self.recall(id, &path)?;
        let settled = match self.read_file(&path)? {
            Some(found) => self.take_in(id, &path, &found).await?,
            None => self.settle_gone(id, &path).await?,
        };
        if settled == Settled::Done {
            self.in_step.note(id, self.tasks.get(id).map(|it| it.stamp));
        }
        Ok(settled)
    }

    fn read_file(&mut self, path: &Path) -> Result<Option<DiskFile>, MirrorError> {
        self.n_read += 1;
        disk::read(path).map_err(unusable(path))
    }

    /// Whether a file that is new here says what troop wrote there, and the board still says, so that nothing is to be done
    /// about it.
    async fn says_the_same(&mut self, id: &FileId, path: &Path) -> Result<bool, MirrorError> {
        if self.tasks.contains_key(id) {
            return Ok(false);
        }
        let note = self.places.written_task(id);
        let Some(found) = self.read_file(path)? else { return Ok(false) };
        let Some(written) = written::read(&note).map_err(unusable(&note))? else {
            return Ok(false);
        };
        let is_ours = read(&found).is_ok_and(|raw| raw == written.raw);
        let is_touched = found.stamp != written.stamp;
        let is_so = match self.ours(id, Some(&written.raw)).await? {
            Ours::Live(ours) => ours.raw == written.raw && !(is_touched && ours.wants_renewal),
            Ours::Over | Ours::Nothing => false,
        };
        if is_ours && is_so {
            self.in_step.note(id, Some(found.stamp));
            self.tasks.insert(id.clone(), Known { stamp: found.stamp, raw: written.raw });
        }
        Ok(is_ours && is_so)
    }

    /// Remembers what was written into a file last, by whichever mirror.
    fn recall(&mut self, id: &FileId, path: &Path) -> Result<(), MirrorError> {
        let note = self.places.written_task(id);
        let written = Noted { path, note: &note }.under_lock().map_err(unusable(&note))?;
        if let Some(Written { stamp, raw, .. }) = written {
            self.tasks.insert(id.clone(), Known { stamp, raw });
        }
        Ok(())
    }

    /// Takes what somebody wrote, and writes what the board says then.
    async fn take_in(
        &mut self,
        id: &FileId,
        path: &Path,
        found: &DiskFile,
    ) -> Result<Settled, MirrorError> {
        let raw = match read(found) {
            Ok(raw) => raw,
            Err(Unreadable::NotJson(_)) if !self.is_abandoned(path, found.stamp) => {
                return Ok(Settled::Later);
            }
            Err(reason) => {
                return self.set_aside(id, path, found, (None, &reason.to_string())).await;
            }
        };
        let theirs = Theirs { id, path, found, raw };
        match self.ours(id, None).await? {
            Ours::Live(ours) if self.is_of(&theirs, &ours) => {
                self.take_change(&theirs, &ours).await
            }
            Ours::Live(ours) => {
                // Somebody made another task under the same id at the same time.
                Arc::make_mut(&mut self.ids).displace(ours.task.number);
                self.dirty.insert(Item::Task(self.ids.of(ours.task.number)));
                self.take_new(&theirs).await
            }
            Ours::Over => {
                let (stamp, raw) = (found.stamp, theirs.raw);
                self.tasks.insert(id.clone(), Known { stamp, raw });
                Ok(Settled::Done)
            }
            Ours::Nothing => {
                if self.tasks.contains_key(id) || self.was_deleted(&theirs.raw).await? {
                    return self.put(id, path, None).await;
                }
                self.take_new(&theirs).await
            }
        }
    }

    /// Whether a file is about a task that this board had and has no more. Of one that it still has it is a copy, which people
    /// make to get a new task; of one that it never had, it is somebody else's.
    async fn was_deleted(&self, raw: &Map<String, Value>) -> Result<bool, MirrorError> {
        let Some(id) = layout::own_id(self.places.layout, raw) else { return Ok(false) };
        let look = move |state: &State| state.tasks().with_id_prefix(&id.to_string()).count() > 0;
        if self.board.look(look).await? {
            return Ok(false);
        }
        let mut log = self.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await? {
            if matches!(&event.fact, Fact::TaskCreated { id: created, .. } if *created == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_of(&self, theirs: &Theirs<'_>, ours: &Live) -> bool {
        self.tasks.contains_key(theirs.id)
            || layout::is_of(self.places.layout, &theirs.raw, &ours.task)
    }

    async fn take_change(
        &mut self,
        theirs: &Theirs<'_>,
        ours: &Live,
    ) -> Result<Settled, MirrorError> {
        let names = self.names().await?;
        let known = self.tasks.get(theirs.id).cloned();
        let is_later = theirs.found.stamp.at > ours.task.provenance.updated_at;
        let reading = if known.is_some() || is_later { Reading::Whole } else { Reading::Forward };
        let is_touched =
            known.as_ref().is_some_and(|it| it.raw == theirs.raw && it.stamp != theirs.found.stamp);
        let before = known.as_ref().map_or(&ours.raw, |it| &it.raw);
        let layout = self.places.layout;
        let read = |raw, before| read_task(layout, raw, before, &names);
        let number = ours.task.number;
        match (read(before, None), read(&theirs.raw, Some(before))) {
            (Ok(before), Ok(now)) => {
                if self.awaits(theirs.id, &now).await? == Awaits::Files {
                    return Ok(Settled::Later);
                }
                let mut wanted = difference(&before, &now, reading);
                let said = read(&ours.raw, None);
                if said.is_ok_and(|it| difference(&it, &now, Reading::Whole).is_empty()) {
                    // The board says so already: a mirror was killed after it gave that, or somebody said it in another way.
                    wanted.clear();
                }
                if wanted.is_empty() && is_touched && ours.wants_renewal {
                    let by = ours.task.owner.as_ref().map(ToString::to_string);
                    self.renew(by, theirs, number).await?;
                }
                if self.carry_out(&mut wanted, number, theirs, &names).await? == Settled::Waits {
                    return Ok(Settled::Waits);
                }
                if reading == Reading::Whole
                    && self.let_wait(number, theirs, &before, &now).await? == Settled::Waits
                {
                    return Ok(Settled::Waits);
                }
            }
            (_, Err(reason)) | (Err(reason), _) => {
                let operation = self.operation(theirs, &[0]);
                self.refuse(theirs.path, None, operation, &reason.to_string()).await?;
            }
        }
        self.put(theirs.id, theirs.path, Some(theirs)).await
    }

    async fn take_new(&mut self, theirs: &Theirs<'_>) -> Result<Settled, MirrorError> {
        if layout::is_internal(self.places.layout, &theirs.raw) {
            return Ok(Settled::Done);
        }
        let names = self.names().await?;
        let (id, path, found) = (theirs.id, theirs.path, theirs.found);
        let file = match read_task(self.places.layout, &theirs.raw, None, &names) {
            Ok(file) => file,
            Err(reason) => {
                let who = theirs.raw.get("createdBy").and_then(Value::as_str);
                return self.set_aside(id, path, found, (who, &reason.to_string())).await;
            }
        };
        let waits = self.awaits(id, &file).await?;
        if waits == Awaits::Files || waits == Awaits::More && !self.is_abandoned(path, found.stamp)
        {
            return Ok(Settled::Later);
        }
        let by = file.created_by.as_deref().filter(|it| names.find(it).is_some());
        let created = match self.new_task(&file, &names) {
            Ok(command) => self.give(theirs, by, self.operation(theirs, &[1]), command).await?,
            Err(refusal) => Answer::Refused(refusal.to_string()),
        };
        let number = match created {
            Answer::Done(done) => done.task(),
            Answer::Refused(reason) => {
                return self.set_aside(id, path, found, (by, &reason)).await;
            }
            Answer::Waits => return Ok(Settled::Waits),
        };
        let Some(number) = number else { return Ok(Settled::Done) };
        Arc::make_mut(&mut self.ids).give(id, number);
        self.look_at_those_that_await(id);
        self.notice_taken(path, format!("{number} was created"));
        let fresh = TaskFile { status: FileStatus::Pending, owner: Some(None), ..file.clone() };
        let mut wanted = difference(&fresh, &file, Reading::Forward);
        let fresh = TaskFile { blocks: None, ..fresh };
        if self.carry_out(&mut wanted, number, theirs, &names).await? == Settled::Waits
            || self.let_wait(number, theirs, &fresh, &file).await? == Settled::Waits
        {
            return Ok(Settled::Waits);
        }
        self.put(id, path, Some(theirs)).await
    }

    fn new_task(&self, file: &TaskFile, names: &Names) -> Result<Command, Refusal> {
        let assignee = file.assignee.clone().flatten();
        let assignee = assignee.map(|it| named(&it, &|it| names.find(it))).transpose()?;
        let blocked_by = file.waits_for.iter().flatten().map(|it| self.ids.meant(it));
        Ok(Command::Task(TaskCommand::Create(NewTask {
            subject: file.subject.clone().unwrap_or_default(),
            description: file.description.clone().unwrap_or_default(),
            assignee,
            blocked_by: blocked_by.collect(),
            metadata: Metadata(file.metadata.clone().unwrap_or_default()),
            ..NewTask::default()
        })))
    }

    /// Takes steps until one is refused.
    async fn carry_out(
        &mut self,
        wanted: &mut Vec<Wanted>,
        number: TaskNumber,
        theirs: &Theirs<'_>,
        names: &Names,
    ) -> Result<Settled, MirrorError> {
        for (nth, wanted) in wanted.drain(..).enumerate() {
            let Wanted { by, step } = self.of_who_left(wanted, number, names).await?;
            let nth = nth as u8 + 2;
            let what = step.to_string();
            let ids = Arc::clone(&self.ids);
            let find = |id: &str| ids.meant(id);
            let member = |text: &str| -> Option<MemberName> { names.find(text) };
            let done = match step.command(number, &find, &member) {
                Ok(command) => {
                    let operation = self.operation(theirs, &[nth]);
                    self.give(theirs, by.as_deref(), operation, command).await?
                }
                Err(refusal) => Answer::Refused(refusal.to_string()),
            };
            let who = by.as_deref();
            match done {
                Answer::Done(_) => {
                    let who = who.unwrap_or("the lead");
                    self.notice_taken(theirs.path, format!("{number} was {what} by {who}"));
                }
                Answer::Refused(reason) => {
                    let operation = self.operation(theirs, &[nth | 0x80]);
                    self.refuse(theirs.path, who, operation, &reason).await?;
                    return Ok(Settled::Done);
                }
                Answer::Waits => return Ok(Settled::Waits),
            }
        }
        Ok(Settled::Done)
    }

    /// Who is no member any more may have completed a task before it left. That counts if nobody else has begun the task
    /// since, and is said in the lead's name.
    async fn of_who_left(
        &self,
        wanted: Wanted,
        number: TaskNumber,
        names: &Names,
    ) -> Result<Wanted, MirrorError> {
        let Wanted { by: Some(who), step: Step::Complete { result } } = &wanted else {
            return Ok(wanted);
        };
        let look = move |state: &State| state.tasks().status(number);
        let is_free =
            matches!(self.board.look(look).await?, Some(Status::Pending | Status::Blocked));
        if names.find(who).is_some() || !is_free {
            return Ok(wanted);
        }
        let result = result.clone().or_else(|| Some(format!("completed by {who}")));
        Ok(Wanted { by: None, step: Step::Complete { result } })
    }

    /// Whoever touches the file of a task that it holds is alive.
    async fn renew(
        &mut self,
        by: Option<String>,
        theirs: &Theirs<'_>,
        number: TaskNumber,
    ) -> Result<(), MirrorError> {
        let renew = TaskCommand::Renew { task: number.into(), attempt: None };
        let operation = self.operation(theirs, &[0]);
        // If it lost the task meanwhile, the file says so next.
        drop(self.submit(by.as_deref(), operation, Command::Task(renew)).await?);
        Ok(())
    }

    /// Gives a command that a file stands for, in the name of whom it names.
    async fn give(
        &mut self,
        theirs: &Theirs<'_>,
        by: Option<&str>,
        operation: OperationId,
        command: Command,
    ) -> Result<Answer, MirrorError> {
        let item = Item::Task(theirs.id.clone());
        let is_new = matches!(command, Command::Task(TaskCommand::Create(_)));
        let origin = if is_new { theirs.id.origin() } else { Origin::default() };
        let actor = tell::actor(by);
        let request = CommandRequest { operation, actor, origin, command, fence: None };
        let anew = operation::anew(operation, self.clock.now());
        Ok(self.gate.give(item, request, anew).await?)
    }

    /// What is done because of a file: `which` of all that it stands for.
    fn operation(&self, theirs: &Theirs<'_>, which: &[u8]) -> OperationId {
        let bytes = theirs.found.bytes.as_deref().unwrap_or_default();
        let path = self.places.shown(theirs.path);
        operation::of(theirs.found.stamp.at, self.clock.now(), &[path.as_bytes(), bytes, which])
    }

    /// Moves away what cannot be taken, and puts back what the board says.
    async fn set_aside(
        &mut self,
        id: &FileId,
        path: &Path,
        found: &DiskFile,
        (who, reason): (Option<&str>, &str),
    ) -> Result<Settled, MirrorError> {
        disk::set_aside(path).map_err(unusable(path))?;
        let name = self.places.shown(path);
        let parts: [&[u8]; 2] = [name.as_bytes(), reason.as_bytes()];
        let operation = operation::of(found.stamp.at, self.clock.now(), &parts);
        self.refuse(path, who, operation, reason).await?;
        self.wait_no_more_for(id);
        self.put(id, path, None).await
    }

    /// Writes what the board says, if the file does not say that already.
    async fn put(
        &mut self,
        id: &FileId,
        path: &Path,
        theirs: Option<&Theirs<'_>>,
    ) -> Result<Settled, MirrorError> {
        let kept = theirs.map(|it| &it.raw);
        match self.ours(id, kept).await? {
            Ours::Live(ours) => {
                let stamp = match theirs {
                    Some(theirs) if theirs.raw == ours.raw => Some(self.agree(theirs)?),
                    Some(_) => self.write_task(id, path, &ours.raw, Place::Any)?,
                    None => self.write_new(id, path, &ours).await?,
                };
                let Some(stamp) = stamp else { return Ok(Settled::Later) };
                self.tasks.insert(id.clone(), Known { stamp, raw: ours.raw });
            }
            Ours::Over => {}
            Ours::Nothing => {
                self.tasks.remove(id);
                disk::remove(path).map_err(unusable(path))?;
                let note = self.places.written_task(id);
                Noted { path, note: &note }.forget().map_err(unusable(&note))?;
                lock::clear(self.places.layout, path);
            }
        }
        Ok(Settled::Done)
    }

    /// Writes the file of a task that had none; none if somebody made it meanwhile, or is about to. Claude Code counts ids
    /// under a lock of its own.
    async fn write_new(
        &mut self,
        id: &FileId,
        path: &Path,
        ours: &Live,
    ) -> Result<Option<Stamp>, MirrorError> {
        let _lock = match self.places.layout {
            Layout::Seeds => None,
            Layout::Claude => match self.lock(&self.places.tasks().join(".lock")).await? {
                None => return Ok(None),
                lock => lock,
            },
        };
        let stamp = self.write_task(id, path, &ours.raw, Place::Empty)?;
        if self.places.layout == Layout::Claude && stamp.is_some() {
            self.raise_mark(id)?;
        }
        Ok(stamp)
    }

    fn write_task(
        &mut self,
        id: &FileId,
        path: &Path,
        raw: &Map<String, Value>,
        place: Place,
    ) -> Result<Option<Stamp>, MirrorError> {
        let note = self.places.written_task(id);
        let stamp = Noted { path, note: &note }.write(raw, place).map_err(unusable(path))?;
        self.n_written += u64::from(stamp.is_some());
        Ok(stamp)
    }

    /// Notes what a file says that somebody wrote, and the board says, too.
    fn agree(&self, theirs: &Theirs<'_>) -> Result<Stamp, MirrorError> {
        let (stamp, note) = (theirs.found.stamp, self.places.written_task(theirs.id));
        let known = self.tasks.get(theirs.id);
        if known.is_none_or(|it| it.stamp != stamp || it.raw != theirs.raw) {
            let noted = Noted { path: theirs.path, note: &note };
            noted.take(stamp, &theirs.raw).map_err(unusable(&note))?;
        }
        Ok(stamp)
    }

    /// Notes that an id is used, for who counts from the highest. What is noted there already may be higher, or for others
    /// to understand.
    fn raise_mark(&self, id: &FileId) -> Result<(), MirrorError> {
        let Ok(number) = id.as_str().parse::<u64>() else { return Ok(()) };
        let is_lower = self
            .mark()?
            .is_none_or(|text| text.is_empty() || text.parse().is_ok_and(|it: u64| it < number));
        if is_lower {
            let mark = self.places.mark();
            disk::put(&mark, number.to_string().as_bytes()).map_err(unusable(&mark))?;
        }
        Ok(())
    }

    /// The highest id that was ever used, as it is noted.
    fn mark(&self) -> Result<Option<String>, MirrorError> {
        let mark = self.places.mark();
        let found = disk::read(&mark).map_err(unusable(&mark))?;
        let text = |found: DiskFile| found.bytes.and_then(|it| String::from_utf8(it).ok());
        Ok(found.map(|it| text(it).unwrap_or_default().trim().to_owned()))
    }

    async fn ours(
        &self,
        id: &FileId,
        kept: Option<&Map<String, Value>>,
    ) -> Result<Ours, MirrorError> {
        let Some(number) = self.ids.number(id.as_str()) else { return Ok(Ours::Nothing) };
        let (layout, ids, kept) = (self.places.layout, Arc::clone(&self.ids), kept.cloned());
        let now = self.clock.now();
        let look = move |state: &State| match state.tasks().shared(number) {
            Some(task) => {
                let raw = layout::write_task(layout, state, &task, ids.as_ref(), kept.as_ref());
                let lease = state.team().map(|team| team.settings.lease() / 2).unwrap_or_default();
                let is_low = task.hold.lease_until.is_some_and(|until| until.since(now) < lease);
                let is_theirs = task.owner.as_ref().is_some_and(|it| is_external_in(state, it));
                Ours::Live(Box::new(Live { task, raw, wants_renewal: is_low && is_theirs }))
            }
            None if state.tasks().status(number).is_some() => Ours::Over,
            None => Ours::Nothing,
        };
        Ok(self.board.look(look).await?)
    }
}

fn read(found: &DiskFile) -> Result<Map<String, Value>, Unreadable> {
    let bytes = found.bytes.as_deref().ok_or_else(|| too_large(found))?;
    layout::read_object(bytes)
}

pub(super) fn too_large(found: &DiskFile) -> Unreadable {
    let (size, limit) = (found.stamp.size, MAX_FILE >> 20);
    Unreadable::Shape(format!("it is not a file of at most {limit} MiB; it has {size} bytes"))
}

/// What a file says about a task, with members by the names that the board has for them.
fn read_task(
    layout: Layout,
    raw: &Map<String, Value>,
    before: Option<&Map<String, Value>>,
    names: &Names,
) -> Result<TaskFile, Unreadable> {
    let mut file = layout::read_task(layout, raw, before)?;
    let canonical = |name: Option<String>| name.map(|it| names.canonical(&it));
    file.owner = file.owner.map(canonical);
    file.assignee = file.assignee.map(canonical);
    file.created_by = canonical(file.created_by);
    Ok(file)
}
