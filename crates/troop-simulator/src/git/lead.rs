//! A lead with its members. It takes the lead lease, gives out work, and takes every completion through its stages; its members work in
//! folders of their own and end with it. The order follows `troop-runtime/src/lead` and `isolation/folder.rs`.

use std::{collections::BTreeMap, rc::Rc};

use troop_model::{
    Actor, Command, LeadLease, MemberName, MemberState, MergeRecord, Proof, Refusal, Role, Status,
    TaskCommand, TaskNumber, TaskRef, TeamName,
};
use troop_runtime::{
    CommandEffect, CommandRequest, UnheardMerge,
    deciding::{
        isolation::{
            BeginFacts, BranchOwner, FileExchange, FolderEffect, FolderHead, OldValue, RefMove,
            RepositoryEffect, StartCase, begin, full, merged_attempt, start_case, task_branch,
            team_branch, trailer_begin,
        },
        lead::{MemberFacts, is_recorded, is_unheard, last_resort, offers, open_attempts},
    },
};

use super::{completion::complete, land::land_team};
use crate::{
    board::SimulatedBoard,
    process::ProcessSeat,
    promise::Promise,
    repository::{MAIN, MemberPlace, Tree},
    world::World,
};

/// The team.
pub(crate) const TEAM: &str = "crew";
/// How long the lead waits if nobody has anything to do, in microseconds.
const PAUSE: u64 = 5_000;

/// A project that the team begins in.
pub(crate) fn prepare_team(world: &Rc<World>) {
    let mut repository = world.repository.borrow_mut();
    let tree = Tree::from([("README.md".to_owned(), "hello".to_owned())]);
    let first = repository.commit(&[], tree.clone());
    repository.update(&RefMove::new(MAIN, OldValue::Absent, &first));
    repository.index.clone_from(&tree);
    repository.files = tree;
}

/// A lead and what it knows.
pub(super) struct SimulatedLead {
    pub(super) seat: ProcessSeat,
    pub(super) board: SimulatedBoard,
    pub(super) team_branch: String,
    pub(super) fence: u64,
    /// The task given to each member, with the attempt.
    told: BTreeMap<MemberName, (TaskNumber, u32)>,
}

/// Leads until everything is done, and lands.
pub(crate) async fn lead(seat: ProcessSeat) {
    let Ok(team) = TEAM.parse::<TeamName>() else { return };
    let mut lead = SimulatedLead {
        board: SimulatedBoard::open(&seat).await,
        seat,
        team_branch: team_branch(&team, 1),
        fence: 0,
        told: BTreeMap::new(),
    };
    if lead.has_ended() {
        return;
    }
    lead.record_unheard().await;
    if lead.take().await.is_err() {
        lead.seat.object(Promise::OneLead, "the lead of a dead process was not taken".to_owned());
        return;
    }
    lead.hold_branch().await;
    lead.start_members().await;
    while !lead.is_all_done() {
        lead.give_out().await;
        if !lead.let_one_work().await {
            lead.give(Actor::system(), Command::Tick).await;
            lead.seat.sleep(PAUSE).await;
        }
    }
    land_team(&lead.seat, &lead.team_branch).await;
    lead.give(Actor::system(), Command::CompleteTeam).await;
    lead.give(Actor::system(), Command::ReleaseLead).await;
}

impl SimulatedLead {
    fn has_ended(&self) -> bool {
        let status = self.board.state().team().map(|it| it.status);
        status == Some(troop_model::TeamStatus::Completed)
    }

    pub(super) async fn give(&mut self, actor: Actor, command: Command) -> Option<CommandEffect> {
        let operation = self.seat.operation();
        let fence = Some(self.fence);
        match self.board.submit_fenced(operation, actor, command, fence).await {
            Ok(done) => Some(done),
            Err(refusal) => {
                self.seat.tell(|| format!("is refused: {refusal}"));
                None
            }
        }
    }

    /// Tells the board what a former lead merged before it was killed: `troop-runtime/src/lead/unheard.rs`.
    async fn record_unheard(&mut self) {
        let open = open_attempts(self.board.state());
        let said = {
            let repository = self.seat.world.repository.borrow();
            let branch = repository.at(&full(&self.team_branch)).unwrap_or_default();
            repository.first_parents(&branch)
        };
        let begin = trailer_begin(TEAM);
        let key = begin.split_once(' ').map_or("", |(key, _)| key);
        for attempt in open {
            let is_its = |message: &String| {
                let trailer = message.lines().find_map(|it| it.strip_prefix(key));
                trailer.and_then(|it| merged_attempt(it, TEAM)) == Some(attempt)
            };
            let Some((commit, _)) = said.iter().find(|(_, message)| is_its(message)) else {
                continue;
            };
            let note = self.seat.world.repository.borrow().merges.get(&attempt.task).cloned();
            let note = note.filter(|it| it.attempt == attempt.attempt && it.commit == *commit);
            let merge = note.unwrap_or_else(|| UnheardMerge {
                task: attempt.task,
                attempt: attempt.attempt,
                into: self.team_branch.clone(),
                commit: commit.clone(),
                evidence: Vec::new(),
                report: None,
            });
            self.seat.count("a lead told the board of a merge that it had not heard of");
            self.record_one(merge).await;
        }
    }

    async fn record_one(&mut self, merge: UnheardMerge) {
        let system = Actor::system();
        if !is_recorded(self.board.state(), &merge) {
            let merged = MergeRecord { into: merge.into.clone(), commit: merge.commit.clone() };
            let proof = Proof::new(merge.task, Vec::new(), Some(merged));
            let command = Command::Task(TaskCommand::Prove(proof));
            drop(self.board.give(system.clone(), command).await);
        }
        let report = merge.report.clone().map(|it| CommandRequest { fence: None, ..it });
        let operation = self.seat.operation();
        let again = report.clone().map(|it| CommandRequest { operation, ..it });
        for request in report.into_iter().chain(again) {
            if is_unheard(self.board.state(), &merge) {
                drop(self.board.request(request).await);
            }
        }
        if let Some(command) = last_resort(self.board.state(), &merge) {
            drop(self.board.give(system, command).await);
        }
    }

    /// Takes the lease, also that of a process that is known to be dead.
    async fn take(&mut self) -> Result<(), Refusal> {
        let held = self.board.state().team().and_then(|it| it.lead_lease.as_ref());
        let over = held.map(|it: &LeadLease| it.fence);
        let take = Command::TakeLead {
            session: self.seat.operation().0,
            holder: self.seat.name.to_string(),
            over,
            checks: Vec::new(),
        };
        if over.is_some() {
            self.seat.count("a lead took over from a dead one");
        }
        self.board.give(Actor::system(), take).await?;
        self.fence = self.board.state().team().map_or(0, |it| it.n_leads);
        Ok(())
    }

    /// Begins the team's branch, or continues with it.
    async fn hold_branch(&self) {
        let name = full(&self.team_branch);
        self.seat.boundary().await;
        let mut repository = self.seat.world.repository.borrow_mut();
        let project = repository.at(MAIN).unwrap_or_default();
        match start_case(&name, repository.at(&name), &project, BranchOwner::IsOurs) {
            StartCase::Taken => {}
            StartCase::Make(step) => drop(repository.update(&step)),
            StartCase::MoveIfMerged { from, to_project } => {
                if repository.is_ancestor(&from, &project) {
                    repository.update(&to_project);
                }
            }
        }
    }

    async fn start_members(&mut self) {
        let members = self.board.state().members().filter(|it| it.role == Role::Member);
        let members: Vec<_> = members.map(|it| it.name.clone()).collect();
        for member in members {
            for state in [MemberState::Spawning, MemberState::Idle] {
                let member = member.clone();
                let pid = Some(1);
                let cause = None;
                let command = Command::SetMemberState { member, state, reason: None, cause, pid };
                self.give(Actor::system(), command).await;
            }
        }
    }

    fn is_all_done(&self) -> bool {
        let tasks = self.board.state().tasks();
        tasks.numbers().all(|it| tasks.status(it) == Some(Status::Completed))
    }

    /// Gives work to members that are free.
    async fn give_out(&mut self) {
        let state = self.board.state();
        let members = state.members().filter(|it| it.role == Role::Member);
        let names: Vec<_> = members.map(|it| it.name.clone()).collect();
        let facts: Vec<_> = names.iter().map(|_| MemberFacts::ready()).collect();
        let crew: Vec<_> = names.iter().zip(facts.iter()).collect();
        for offer in offers(state, &crew, false) {
            let task = Some(TaskRef::Number(offer.task));
            let assign = TaskCommand::Assign { task, to: offer.member.clone() };
            if self.give(Actor::system(), Command::Task(assign)).await.is_none() {
                continue;
            }
            let found = self.board.state().tasks().get(offer.task);
            let attempt = found.map_or(0, |it| it.attempts);
            self.begin(&offer.member, offer.task, attempt).await;
            self.told.insert(offer.member, (offer.task, attempt));
        }
    }

    /// Puts the folder of a member on a new branch for a task.
    async fn begin(&self, member: &MemberName, task: TaskNumber, attempt: u32) {
        self.save(member).await;
        let branch = task_branch(&self.team_branch, member, task, attempt);
        let team = self.team_commit();
        let before = self.place(member);
        let is_before_merged =
            self.seat.world.repository.borrow().is_ancestor(&before.commit, &team);
        let before = FolderHead { commit: before.commit, branch: before.branch };
        let facts = BeginFacts { before, is_before_merged, unfinished: None, branch, team };
        for effect in begin(&facts) {
            self.seat.boundary().await;
            self.change_folder(member, &effect);
        }
    }

    /// Commits what an ended member left in its folder, to the branch that it was on.
    async fn save(&self, member: &MemberName) {
        self.seat.boundary().await;
        let mut repository = self.seat.world.repository.borrow_mut();
        let Some(place) = repository.places.get(member.as_str()).cloned() else { return };
        let Some(branch) = place.branch.clone() else { return };
        if place.files == repository.tree(&place.commit) {
            return;
        }
        self.seat.count("unfinished work of an ended member was kept on its branch");
        let commit = repository.commit(&[&place.commit], place.files.clone());
        repository.update(&RefMove::new(&full(&branch), OldValue::Any, &commit));
        repository.places.insert(member.to_string(), MemberPlace { commit, ..place });
    }

    fn change_folder(&self, member: &MemberName, effect: &FolderEffect) {
        let mut repository = self.seat.world.repository.borrow_mut();
        #[expect(clippy::wildcard_enum_match_arm, reason = "other effects change nothing here")]
        match effect {
            FolderEffect::Exchange(FileExchange::Branch(branch)) => {
                let commit = repository.at(&full(branch)).unwrap_or_default();
                let files = repository.tree(&commit);
                let branch = Some(branch.clone());
                let place = MemberPlace { branch, commit, files };
                repository.places.insert(member.to_string(), place);
            }
            FolderEffect::Repository(RepositoryEffect::MoveRef(step)) => {
                repository.update(step);
            }
            _ => {}
        }
    }

    pub(super) fn place(&self, member: &MemberName) -> MemberPlace {
        let repository = self.seat.world.repository.borrow();
        repository.places.get(member.as_str()).cloned().unwrap_or_default()
    }

    pub(super) fn team_commit(&self) -> String {
        let repository = self.seat.world.repository.borrow();
        repository.at(&full(&self.team_branch)).unwrap_or_default()
    }

    /// Lets one member that has work do it and say so. Returns whether there was one.
    async fn let_one_work(&mut self) -> bool {
        let n_told = self.told.len();
        if n_told == 0 {
            return false;
        }
        let nth = self.seat.one_of(n_told);
        let Some(member) = self.told.keys().nth(nth).cloned() else { return false };
        let Some((task, attempt)) = self.told.remove(&member) else { return false };
        self.work(&member, task, attempt).await;
        complete(self, &member, task, attempt).await;
        true
    }

    /// A member adds its line to the file of the task.
    async fn work(&self, member: &MemberName, task: TaskNumber, attempt: u32) {
        self.seat.boundary().await;
        let mut repository = self.seat.world.repository.borrow_mut();
        if let Some(place) = repository.places.get_mut(member.as_str()) {
            let line = format!("done in attempt {attempt}\n");
            place.files.entry(format!("{task}.txt")).or_default().push_str(&line);
        }
        self.seat.tell(|| format!("{member} works on {task} in attempt {attempt}"));
    }
}
