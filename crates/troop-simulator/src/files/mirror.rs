//! A process that mirrors a team's files: a pass over everything, or a run that follows the log. The order of its looks is that of
//! `troop-runtime/src/mirror.rs` and `mirror/marks.rs`.

use std::collections::{BTreeMap, BTreeSet};

use troop_model::{Event, Refusal, State, Version};
use troop_runtime::{
    CommandEffect, CommandRequest, Layout,
    deciding::mirror::{
        DoorTarget, FileId, Ids, Item, KnownFile, KnownInbox, Settlement, candidates, door_target,
        inbox_of, touched,
    },
};

use super::{
    inbox::SimulatedInboxVisit,
    task_path,
    visit::{SimulatedTaskVisit, VisitOrder},
};
use crate::{board::SimulatedBoard, process::ProcessSeat};

/// How often one pass looks again at files that change each other.
const ROUNDS: usize = 4;
/// How long a process that mirrors waits before it looks again, in microseconds.
const POLL: u64 = 20_000;

/// How often a command tries again whose file is locked, and how long it waits between two tries, in microseconds.
const N_WAITS: usize = 500;
const AGAIN: u64 = 10_000;

/// The outcome of a command at the files that it may concern.
enum SimulatedTry {
    Given(Result<CommandEffect, Refusal>),
    Busy,
    /// The board needs no file to decide.
    Free,
}

/// The memory of a mirroring process between visits.
pub(crate) struct SimulatedMirror {
    pub(super) seat: ProcessSeat,
    pub(crate) board: SimulatedBoard,
    pub(super) ids: Ids,
    pub(super) tasks: BTreeMap<FileId, KnownFile>,
    pub(super) inboxes: BTreeMap<String, KnownInbox>,
    work: BTreeSet<Item>,
    later: BTreeSet<Item>,
}

impl SimulatedMirror {
    pub(crate) fn new(seat: &ProcessSeat, board: SimulatedBoard) -> Self {
        let ids = Ids::new(Layout::Seeds, board.state());
        Self {
            seat: seat.clone(),
            board,
            ids,
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            work: BTreeSet::new(),
            later: BTreeSet::new(),
        }
    }

    /// Looks once at all files, and at everything that changed on the board.
    pub(crate) async fn pass(&mut self) {
        let mut followed = self.board.catch_up().await;
        self.mark_everything().await;
        for _ in 0..ROUNDS {
            for _ in 0..ROUNDS {
                self.settle().await;
                followed = self.follow(followed).await;
                if self.work.is_empty() {
                    break;
                }
            }
            if self.later.is_empty() {
                return;
            }
            self.seat.sleep(4_000).await;
            self.work.append(&mut self.later);
        }
    }

    /// Marks what is stored after a version. Returns the version up to which it was looked at.
    async fn follow(&mut self, followed: Version) -> Version {
        let events = self.board.stored_after(followed).await;
        events.iter().for_each(|event| self.mark_event(event));
        events.last().map_or(followed, |event| event.version)
    }

    fn mark_event(&mut self, event: &Event) {
        let touched = touched(&event.fact, Layout::Seeds, self.ids.lead.as_ref());
        self.work.extend(touched.items.into_iter().filter(|it| matches!(it, Item::Inbox(_))));
        if let Some(number) = touched.task {
            self.work.insert(Item::Task(self.ids.of(number)));
        }
    }

    async fn mark_everything(&mut self) {
        self.seat.boundary().await;
        let state = self.board.state();
        self.work.extend(state.tasks().numbers().map(|it| Item::Task(self.ids.of(it))));
        let lead = self.ids.lead.as_ref();
        let inbox = |name: &str| inbox_of(name, Layout::Seeds, lead);
        self.work.extend(state.members().map(|it| inbox(it.name.as_str())));
        self.mark_changed();
    }

    /// Marks files that differ from what was seen last.
    fn mark_changed(&mut self) {
        let disk = self.seat.world.disk.borrow();
        for name in disk.list("tasks/") {
            let Some(id) = FileId::of_file(&name) else { continue };
            let known = self.tasks.get(&id).map(|it| it.stamp);
            if known != disk.stamp(&task_path(id.as_str())) {
                self.work.insert(Item::Task(id));
            }
        }
        for (owner, inbox) in &self.inboxes {
            let there = disk.list(&format!("inbox/{owner}/"));
            if !there.iter().eq(inbox.letters.keys()) {
                self.work.insert(Item::Inbox(owner.clone()));
            }
        }
    }

    /// Has an inbox visited again.
    pub(super) fn look_again(&mut self, owner: &str) {
        self.work.insert(Item::Inbox(owner.to_owned()));
    }

    /// Visits everything that is marked.
    async fn settle(&mut self) {
        while let Some(item) = self.work.pop_first() {
            let settled = match &item {
                Item::Task(id) => SimulatedTaskVisit::new(self, id.clone()).settle().await,
                Item::Inbox(owner) => SimulatedInboxVisit::new(self, owner).settle().await,
                Item::Config | Item::Leaving => Settlement::Done,
            };
            if settled != Settlement::Done {
                self.seat.count("a file was locked, and visited again later");
                self.later.insert(item);
            }
        }
    }

    /// Keeps files and board in step until nobody has work left.
    async fn keep(&mut self) {
        let mut followed = self.board.catch_up().await;
        self.mark_everything().await;
        loop {
            self.settle().await;
            // The board of a running mirror follows the log.
            self.board.catch_up().await;
            followed = self.follow(followed).await;
            if self.work.is_empty() {
                if self.seat.world.n_workers.get() == 0 && self.later.is_empty() {
                    return;
                }
                self.seat.sleep(POLL).await;
                self.mark_changed();
                self.work.append(&mut self.later);
            }
        }
    }

    /// Gives a command under the lock of the file that it is about: `troop-runtime/src/mirror/door.rs`.
    /// `lead`: the fence of the lead that gives it, which stands for a lead here.
    pub(super) async fn give(
        &mut self,
        request: CommandRequest,
        lead: Option<u64>,
    ) -> Result<CommandEffect, Refusal> {
        let target = door_target(&CommandRequest { fence: lead, ..request.clone() });
        let Some(target) = target else { return self.board.request(request).await };
        for _ in 0..N_WAITS {
            match self.try_at_files(&request, &target).await {
                SimulatedTry::Given(answer) => return answer,
                SimulatedTry::Free => return self.board.request(request).await,
                SimulatedTry::Busy => {
                    self.seat.count("a command waited for the lock of a file");
                    self.seat.sleep(AGAIN).await;
                }
            }
        }
        self.seat.count("a command was refused because a file stayed locked");
        Err(Refusal::NoTeam)
    }

    async fn try_at_files(
        &mut self,
        request: &CommandRequest,
        target: &DoorTarget,
    ) -> SimulatedTry {
        loop {
            self.board.catch_up().await;
            let mut is_busy = false;
            let mut was_taken = false;
            for number in candidates(self.state(), target) {
                let id = self.ids.of(number);
                let request = Some(request.clone());
                let target = target.clone();
                let mut order = VisitOrder { request, target, number, answer: None };
                let visited = SimulatedTaskVisit::new(self, id).settle_for(&mut order).await;
                match (order.answer, visited) {
                    (Some(answer), _) => return SimulatedTry::Given(answer),
                    (None, Settlement::Done) => was_taken = true,
                    (None, Settlement::Later | Settlement::Waits) => is_busy = true,
                }
            }
            if is_busy {
                return SimulatedTry::Busy;
            }
            if !was_taken {
                return SimulatedTry::Free;
            }
        }
    }

    pub(super) fn state(&self) -> &State {
        self.board.state()
    }
}

/// `troop team mirror`, or the mirror of a lead.
pub(crate) async fn run_mirror(seat: ProcessSeat) {
    let board = SimulatedBoard::open(&seat).await;
    SimulatedMirror::new(&seat, board).keep().await;
}
