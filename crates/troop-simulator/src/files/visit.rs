//! A visit to the file of a task. `troop_runtime::deciding::mirror` decides what comes next and what becomes of the file; how each
//! step is taken follows `troop-runtime/src/mirror/tasks.rs` and `written.rs`. Change both together.

use serde_json::{Map, Value};
use troop_model::{Command, OperationId, Refusal, State, TaskCommand, TaskNumber};
use troop_runtime::{
    CommandEffect, CommandRequest, Layout,
    deciding::mirror::{
        ChangeFacts, DoorTarget, FileId, FileReading, FileWish, Intake, KnownFile, LiveTask, Names,
        PutEffect, Settlement, Stamp, TargetPlace, TaskCase, TaskOnBoard, VisitErrand, VisitFacts,
        VisitStep, WantedStep, WrittenNote, about, actor, announcement, candidates, change,
        change_wishes, in_leads_name, is_at_rest, is_unchanged, operation_of, put, read_file,
        refusal, task_case, visit_step,
    },
};

use super::{mirror::SimulatedMirror, task_path};
use crate::disk::{SimulatedFile, SystemLock, bytes_of};

/// How often a lock is tried that somebody else has, and how long between two tries, in microseconds.
const TRIES: usize = 8;
const TRIED: u64 = 500;

/// A visit to the file of one task.
pub(super) struct SimulatedTaskVisit<'a> {
    mirror: &'a mut SimulatedMirror,
    id: FileId,
    path: String,
}

/// A command that a visit is for, until it is given.
pub(super) struct VisitOrder {
    pub(super) request: Option<CommandRequest>,
    pub(super) target: DoorTarget,
    pub(super) number: TaskNumber,
    pub(super) answer: Option<Result<CommandEffect, Refusal>>,
}

/// A file that somebody wrote, while its lock is held.
struct LockedFile {
    file: SimulatedFile,
    raw: Map<String, Value>,
}

impl<'a> SimulatedTaskVisit<'a> {
    pub(super) fn new(mirror: &'a mut SimulatedMirror, id: FileId) -> Self {
        let path = task_path(id.as_str());
        Self { mirror, id, path }
    }

    pub(super) async fn settle(self) -> Settlement {
        self.run(None).await
    }

    /// Gives a command about the task while its file is locked and everything in it is taken in.
    pub(super) async fn settle_for(self, order: &mut VisitOrder) -> Settlement {
        self.run(Some(order)).await
    }

    async fn run(mut self, mut order: Option<&mut VisitOrder>) -> Settlement {
        let mut facts = VisitFacts::default();
        if order.is_some() {
            facts.errand = VisitErrand::Command;
        }
        let mut lock = None;
        let mut theirs = None;
        loop {
            match visit_step(&facts) {
                VisitStep::Compare => facts.is_at_rest = Some(self.is_at_rest().await),
                VisitStep::BeginReading => facts.has_begun = true,
                VisitStep::Recognise => facts.is_recognised = Some(self.recognise().await),
                VisitStep::Lock => {
                    lock = self.lock().await;
                    facts.has_lock = Some(lock.is_some());
                }
                VisitStep::CatchUp(caught_up) => {
                    self.mirror.board.catch_up().await;
                    facts.caught_up = caught_up;
                }
                VisitStep::Announce => {
                    if let (Some(order), Some(found)) = (&order, &mut theirs) {
                        self.announce(order, found).await;
                    }
                    facts.errand = VisitErrand::Announced;
                }
                VisitStep::GiveCommand => {
                    if let Some(order) = order.take() {
                        self.give_command(order).await;
                    }
                    facts.errand = VisitErrand::Given;
                }
                VisitStep::Recall => {
                    self.recall().await;
                    facts.is_recalled = true;
                }
                VisitStep::Read => {
                    self.mirror.seat.boundary().await;
                    theirs = self.read();
                    facts.reading =
                        Some(theirs.as_ref().map_or(FileReading::Gone, |_| FileReading::Whole));
                }
                // Nobody deletes files here: it was never there.
                VisitStep::SettleGone | VisitStep::SetAside(_) => {
                    facts.intake = Some(Intake::Renew);
                }
                VisitStep::TakeIn => {
                    facts.intake = Some(match &theirs {
                        Some(theirs) => self.take_in(theirs).await,
                        None => Intake::Settled(Settlement::Later),
                    });
                }
                VisitStep::Put(intake) => {
                    let kept = theirs.as_ref().filter(|_| intake == Intake::Replace);
                    facts.put = Some(self.put(kept).await);
                }
                VisitStep::NoteInStep => facts.is_noted = true,
                VisitStep::End(settled) => {
                    drop(lock);
                    return settled;
                }
            }
        }
    }

    /// Writes the file as the command would have it, if a program could take the task now and not then.
    async fn announce(&mut self, order: &VisitOrder, theirs: &mut LockedFile) {
        let Some(request) = order.request.clone() else { return };
        let command = about(request.command.clone(), order.number);
        let request = CommandRequest { command, ..request };
        let ids = &self.mirror.ids;
        let now = self.mirror.seat.now();
        let look = |state: &State| {
            let kept = Some(&theirs.raw);
            let foreseen = TaskOnBoard::new(state, Layout::Seeds, ids, order.number, kept, now);
            announcement(Layout::Seeds, &theirs.raw, foreseen)
        };
        let Some(raw) = self.mirror.board.foresee(&request, look).flatten() else { return };
        if let Some(stamp) = self.write(&raw, TargetPlace::Any).await {
            self.mirror.seat.count("a mirror announced a command");
            self.remember(stamp, raw.clone());
            theirs.file.stamp = stamp;
            theirs.raw = raw;
        }
    }

    /// Gives the command that this visit is for, unless a program took the task just before.
    async fn give_command(&mut self, order: &mut VisitOrder) {
        let is_wanted = match &order.target {
            DoorTarget::Named(_) => true,
            DoorTarget::NextFor(_) => {
                candidates(self.mirror.state(), &order.target).contains(&order.number)
            }
        };
        let Some(request) = order.request.take_if(|_| is_wanted) else { return };
        let command = about(request.command.clone(), order.number);
        let given = self.mirror.board.request(CommandRequest { command, ..request }).await;
        order.answer = Some(given);
    }

    async fn lock(&self) -> Option<SystemLock> {
        let seat = &self.mirror.seat;
        seat.boundary().await;
        for _ in 0..TRIES {
            let lock = SystemLock::take(&seat.world, &self.path);
            if lock.is_some() {
                seat.tell(|| format!("locks {}", self.path));
                return lock;
            }
            seat.count("a lock was waited for");
            seat.sleep(TRIED).await;
        }
        None
    }

    async fn is_at_rest(&self) -> bool {
        self.mirror.seat.boundary().await;
        let stamp = self.mirror.seat.world.disk.borrow().stamp(&self.path);
        match self.known().filter(|known| Some(known.stamp) == stamp) {
            Some(known) => is_at_rest(known, &self.ours(Some(&known.raw))),
            None => false,
        }
    }

    fn known(&self) -> Option<&KnownFile> {
        self.mirror.tasks.get(&self.id)
    }

    fn remember(&mut self, stamp: Stamp, raw: Map<String, Value>) {
        self.mirror.tasks.insert(self.id.clone(), KnownFile { stamp, raw });
    }

    /// The board's view of the task, if the file has `kept`.
    fn ours(&self, kept: Option<&Map<String, Value>>) -> TaskOnBoard {
        let Some(number) = self.mirror.ids.number(self.id.as_str()) else {
            return TaskOnBoard::Nothing;
        };
        let now = self.mirror.seat.now();
        TaskOnBoard::new(self.mirror.state(), Layout::Seeds, &self.mirror.ids, number, kept, now)
    }

    async fn recognise(&mut self) -> bool {
        if self.known().is_some() {
            return false;
        }
        self.mirror.seat.boundary().await;
        let found = self.mirror.seat.world.disk.borrow().read(&self.path);
        let written = self.mirror.seat.world.disk.borrow().note(&self.path);
        let (Some(found), Some(written)) = (found, written) else { return false };
        let ours = self.ours(Some(&written.raw));
        let is_same = is_unchanged(&found.as_read(), &written, &ours);
        if is_same {
            self.remember(found.stamp, written.raw);
        }
        is_same
    }

    async fn recall(&mut self) {
        self.mirror.seat.boundary().await;
        let note = self.mirror.seat.world.disk.borrow_mut().note_under_lock(&self.path);
        if let Some(WrittenNote { stamp, raw, .. }) = note {
            self.remember(stamp, raw);
        }
    }

    fn read(&self) -> Option<LockedFile> {
        let file = self.mirror.seat.world.disk.borrow().read(&self.path)?;
        let raw = read_file(&file.as_read()).ok()?;
        Some(LockedFile { file, raw })
    }

    /// Gives the board the commands that a file stands for.
    async fn take_in(&mut self, theirs: &LockedFile) -> Intake {
        let ours = self.ours(None);
        let is_known = self.known().is_some();
        match task_case(self.mirror.state(), Layout::Seeds, &theirs.raw, is_known, ours) {
            TaskCase::Change(ours) => self.take_change(theirs, &ours).await,
            TaskCase::Over => {
                self.remember(theirs.file.stamp, theirs.raw.clone());
                Intake::Settled(Settlement::Done)
            }
            // All tasks are made on the board here, so that no file is of another task.
            TaskCase::Deleted
            | TaskCase::Displaces(_)
            | TaskCase::DeletedIfLogged(_)
            | TaskCase::New => Intake::Settled(Settlement::Later),
        }
    }

    async fn take_change(&mut self, theirs: &LockedFile, ours: &LiveTask) -> Intake {
        let names = Names::new(self.mirror.state());
        let known = self.known().cloned();
        let facts = ChangeFacts {
            layout: Layout::Seeds,
            names: &names,
            known: known.as_ref(),
            ours,
            stamp: theirs.file.stamp,
            raw: &theirs.raw,
        };
        if let Ok(change) = change(&facts) {
            let owner = ours.task.owner.as_ref().map(ToString::to_string);
            let wishes = change_wishes(&change, owner);
            self.fulfil(wishes, ours.task.number, theirs, &names).await;
        }
        Intake::Replace
    }

    /// Gives the board what the writer of the file wants, in order.
    async fn fulfil(
        &mut self,
        wishes: Vec<FileWish>,
        number: TaskNumber,
        theirs: &LockedFile,
        names: &Names,
    ) {
        for wish in wishes {
            match wish {
                FileWish::Renew { by } => {
                    let renew = TaskCommand::Renew { task: number.into(), attempt: None };
                    let operation = self.operation(theirs, &[0]);
                    let actor = actor(by.as_deref());
                    drop(self.mirror.board.submit(operation, actor, Command::Task(renew)).await);
                }
                FileWish::Step { nth, wanted } => {
                    if !self.take_step(nth, wanted, number, theirs, names).await {
                        return;
                    }
                }
                // Files of this layout do not say which tasks wait for theirs.
                FileWish::Block(_) | FileWish::Unblock(_) => {}
            }
        }
    }

    /// Returns whether the board took the step.
    async fn take_step(
        &mut self,
        nth: u8,
        wanted: WantedStep,
        number: TaskNumber,
        theirs: &LockedFile,
        names: &Names,
    ) -> bool {
        let status = self.mirror.state().tasks().status(number);
        let WantedStep { by, step } = in_leads_name(wanted, status, names);
        let what = step.to_string();
        let find = |id: &str| self.mirror.ids.meant(id);
        let member = |text: &str| names.find(text);
        let Ok(command) = step.command(number, &find, &member) else { return false };
        let operation = self.operation(theirs, &[nth]);
        let given = self.mirror.board.submit(operation, actor(by.as_deref()), command).await;
        let Err(reason) = given else {
            self.mirror.seat.count("a mirror took in what a program wrote");
            return true;
        };
        self.mirror.seat.count("a mirror refused what a program wrote");
        self.mirror.seat.tell(|| format!("the board refuses: {what} by {by:?}: {reason}"));
        let told = refusal(names, by.as_deref(), &self.path, &reason.to_string());
        if let Some(told) = told {
            let operation = self.operation(theirs, &[nth | 0x80]);
            let system = troop_model::Actor::system();
            drop(self.mirror.board.submit(operation, system, told).await);
        }
        false
    }

    /// The operation for `which` of the things that a file stands for.
    fn operation(&self, theirs: &LockedFile, which: &[u8]) -> OperationId {
        let parts = [self.path.as_bytes(), &theirs.file.bytes, which];
        operation_of(theirs.file.stamp.at, self.mirror.seat.now(), &parts)
    }

    /// Writes what the board says, if the file does not say that already.
    async fn put(&mut self, theirs: Option<&LockedFile>) -> Settlement {
        self.mirror.seat.boundary().await;
        let kept = theirs.map(|it| &it.raw);
        let ours = self.ours(kept);
        let mut stamp = theirs.map(|it| it.file.stamp);
        let is_noted =
            self.known().is_some_and(|it| Some(it.stamp) == stamp && Some(&it.raw) == kept);
        for effect in put(ours, kept).effects(Layout::Seeds, is_noted) {
            match effect {
                PutEffect::Write(raw, place) => {
                    stamp = self.write(&raw, place).await;
                    if stamp.is_none() {
                        return Settlement::Later;
                    }
                }
                PutEffect::NoteTheirs(raw) => {
                    let Some(stamp) = stamp else { continue };
                    self.mirror.seat.boundary().await;
                    let mut disk = self.mirror.seat.world.disk.borrow_mut();
                    disk.put_next_note(&self.path, WrittenNote::made(stamp, raw));
                    disk.keep_next_note(&self.path);
                }
                PutEffect::Remember(raw) => {
                    if let Some(stamp) = stamp {
                        self.remember(stamp, raw);
                    }
                }
                PutEffect::ForgetKnown => drop(self.mirror.tasks.remove(&self.id)),
                PutEffect::RemoveFile => {
                    self.mirror.seat.world.disk.borrow_mut().remove(&self.path);
                }
                PutEffect::RemoveNote => {
                    self.mirror.seat.world.disk.borrow_mut().forget_note(&self.path);
                }
                // Only the other layout counts ids.
                PutEffect::LockIds | PutEffect::RaiseMark | PutEffect::RemoveLocks => {}
            }
        }
        Settlement::Done
    }

    /// Writes the file and its note, in four steps between any of which the process can be killed.
    async fn write(&mut self, raw: &Map<String, Value>, place: TargetPlace) -> Option<Stamp> {
        let seat = self.mirror.seat.clone();
        let disk = &seat.world.disk;
        let stamp = disk.borrow_mut().new_stamp(seat.now());
        seat.boundary().await;
        disk.borrow_mut().put_next_note(&self.path, WrittenNote::made(stamp, raw.clone()));
        seat.boundary().await;
        if place == TargetPlace::Empty && disk.borrow().stamp(&self.path).is_some() {
            return None;
        }
        disk.borrow_mut().place(&self.path, bytes_of(raw), stamp);
        disk.borrow_mut().mark_placed(&self.path);
        seat.count("a mirror wrote the file of a task");
        seat.tell(|| {
            let said = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default();
            let version = self.mirror.state().version().0;
            let status = said("status");
            let owner = said("claimed_by");
            format!("writes {}: {status} `{owner}` (its board is at version {version})", self.path)
        });
        seat.boundary().await;
        disk.borrow_mut().keep_next_note(&self.path);
        Some(stamp)
    }
}
