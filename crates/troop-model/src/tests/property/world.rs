//! A team that tracks the invariants independently of the state.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::steps::Step;
use crate::{
    Actor, Command, Condition, DelegationStatus, Dependency, Event, Fact, MemberName, Origin,
    Party, Role, Settings, State, Status, Task, TaskCreation, TaskNumber, Time, decide, decode,
    encode,
    tests::{
        bench::{Bench, SMALL, new_team, reopened},
        commands::create,
    },
};

/// A team and the independent record that it is checked against.
#[derive(Debug)]
pub(crate) struct World {
    bench: Bench,
    n_created: u32,
    ever_members: BTreeSet<MemberName>,
    unread: BTreeMap<Party, Vec<Uuid>>,
    finished: BTreeMap<TaskNumber, (Status, Option<String>, Option<MemberName>)>,
    announced: BTreeSet<Uuid>,
    /// Whether the lead's mailbox was ever full, so that notices were dropped.
    was_full: bool,
}

impl World {
    /// A small team; each bit of the number is a setting.
    pub(crate) fn new(team: u8) -> Self {
        let is_set = |bit: u8| team & (1 << bit) != 0;
        let mut settings = Settings {
            lease_seconds: if is_set(7) { 6_000 } else { 600 },
            stale_after_minutes: 25,
            max_attempts: 2,
            retry_backoff_seconds: 60,
            require_review: is_set(0),
            approve_start: is_set(1) && is_set(6),
            ..Settings::default()
        };
        settings.followup.interval_minutes = 5;
        settings.followup.max_reminders = 1;
        settings.delegation.require_task = is_set(2);
        if is_set(3) {
            settings.task_creation = TaskCreation::Members;
        }
        if is_set(4) {
            settings.unblock = Condition::OnFinish;
        }
        if is_set(5) {
            settings.followup.escalation_mode = crate::Escalation::FailTask;
        }
        let mut world = Self {
            bench: Bench::empty(),
            n_created: 0,
            ever_members: BTreeSet::new(),
            unread: BTreeMap::new(),
            finished: BTreeMap::new(),
            announced: BTreeSet::new(),
            was_full: false,
        };
        let command = Command::CreateTeam(new_team(settings, &["ann", "bob"]));
        world.decide(Actor::human("pat"), Origin::default(), &command);
        for subject in ["one", "two"] {
            world.decide(Actor::human("pat"), Origin::default(), &create(subject).into());
        }
        world
    }

    /// Runs one step and checks the outcome against the invariants.
    pub(crate) fn take(&mut self, step: &Step) {
        // Mostly forward, sometimes back: clocks disagree.
        let minutes = i64::from(step.when % 16) - 2;
        let now = self.bench.now.as_micros() + minutes * 60_000_000;
        self.bench.now = Time::from_micros(now);
        let command = step.command(&self.bench.state);
        let actor = step.actor(&self.bench.state, &command);
        self.decide(actor, step.origin(), &command);
        if step.when.is_multiple_of(32) {
            let n_departed = self.bench.state.tasks().all_departed().len();
            self.bench.state.forget_departed(n_departed);
        }
        if step.when > 230 {
            self.bench.state = reopened(&self.bench.state);
        }
    }

    /// The log.
    pub(crate) fn log(&self) -> &[Event] {
        &self.bench.log
    }

    pub(crate) fn n_archived(&self) -> usize {
        self.bench.state.tasks().n_archived()
    }

    /// Checks that replaying the whole log gives the same state.
    pub(crate) fn end(&self) {
        let mut again = State { limits: SMALL, ..State::default() };
        for event in &self.bench.log {
            let line = encode(event);
            let read = decode(&line).unwrap();
            assert_eq!(read, *event, "an event survives the log");
            again.apply(&read);
        }
        assert_eq!(again, self.bench.state, "replaying the log gives the same state");
        let opened = reopened(&self.bench.state);
        assert_eq!(opened, again, "so does a snapshot");
    }

    fn decide(&mut self, actor: Actor, origin: Origin, command: &Command) {
        let ctx = self.bench.context(actor, origin);
        let before = self.bench.state.clone();
        let opened = reopened(&before);
        let decision = decide(&self.bench.state, command, &ctx);
        assert_eq!(decision, decide(&opened, command, &ctx), "a packed state decides the same");
        assert_eq!(self.bench.state, before, "deciding changes nothing");
        let Ok(events) = decision else { return };
        for mut state in [self.bench.state.clone(), opened] {
            state.begin();
            events.iter().for_each(|event| state.apply(event));
            state.rollback();
            assert_eq!(state, before, "a rollback restores the state");
            state.check();
        }
        self.bench.state.begin();
        self.bench.apply(&events);
        events.iter().for_each(|event| self.note(event));
        self.check();
    }

    /// Updates the independent record.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the rest is held against the state itself")]
    fn note(&mut self, event: &Event) {
        match &event.fact {
            Fact::TaskCreated { task, .. } => {
                self.n_created += 1;
                assert_eq!(task.0, self.n_created, "numbers go up by one");
            }
            Fact::MemberAdded { member, .. } => drop(self.ever_members.insert(member.clone())),
            Fact::MemberRemoved { member, .. } => drop(self.unread.remove(&Party::member(member))),
            Fact::MessageSent { id, readers, supersedes, .. } => {
                for reader in readers {
                    let unread = self.unread.entry(reader.clone()).or_default();
                    unread.retain(|it| Some(*it) != *supersedes);
                    unread.push(*id);
                }
            }
            Fact::MessageRead { reader, messages } => {
                let unread = self.unread.entry(reader.clone()).or_default();
                for id in messages {
                    let at = unread.iter().position(|it| it == id).expect("read at most once");
                    unread.remove(at);
                }
            }
            Fact::DelegationsAnnounced { delegations, .. } => {
                for id in delegations {
                    assert!(self.announced.insert(*id), "{id} is announced once");
                }
            }
            _ => {}
        }
    }

    /// Checks that the member of a running delegation holds its task, and that ended delegations are announced when no sibling
    /// runs.
    fn check_delegations(&mut self) {
        let state = &self.bench.state;
        for (number, id) in state.delegated.entries() {
            let (delegation, task) = (state.delegation(*id).unwrap(), state.tasks().get(*number));
            assert_eq!(delegation.status, DelegationStatus::Running, "{number} is delegated");
            let task = task.filter(|it| matches!(it.status, Status::InProgress | Status::Stale));
            let owner = task.and_then(|it| it.owner.as_ref());
            assert_eq!(owner, Some(&delegation.to), "{number} is held by its delegate");
        }
        let lead = Party::member(&state.lead().unwrap().name);
        self.was_full |= state.mailbox().n_unread(&lead) >= SMALL.unread;
        let is_running = |it: &&crate::Delegation| it.status == DelegationStatus::Running;
        for ended in state.delegations().filter(|it| !is_running(it)) {
            let rests = |it: &&crate::Delegation| {
                let task = state.tasks().get(it.task);
                it.status == DelegationStatus::Failed
                    && !it.is_announced
                    && task.is_some_and(|task| task.start.not_before.is_some())
            };
            let goes_on = |it: &&crate::Delegation| is_running(it) || rests(it);
            let waits = state.delegations().filter(goes_on).any(|it| it.is_sibling(ended));
            assert!(ended.is_announced || waits || self.was_full, "{} is not told", ended.id);
        }
        for running in state.delegations().filter(is_running) {
            assert_eq!(state.delegation_of(running.task), Some(running), "it runs on its task");
        }
    }

    fn check(&mut self) {
        let state = &self.bench.state;
        state.check();
        assert_eq!(state.tasks().last().0, self.n_created, "no task is lost");
        for (reader, ids) in &self.unread {
            let unread: Vec<_> = state.mailbox().unread_of(reader).map(|it| it.id).collect();
            assert_eq!(unread, *ids, "{reader} skips nothing and reads in order");
        }
        for task in state.tasks().iter() {
            self.check_holder(task);
            let waits_for = |it: &Dependency| state.tasks().path_between(it.task, task.number);
            assert_eq!(
                task.blocked_by.iter().find_map(waits_for),
                None,
                "{} waits for itself",
                task.number
            );
        }
        let n_running = state.members().filter(|it| it.role == Role::Member && it.is_running());
        assert!(n_running.count() <= 5, "no more members run than the team allows");
        for member in &self.ever_members {
            assert!(state.n_running_to(member, None) <= 5, "{member} runs too many");
        }
        self.check_finished();
        self.check_delegations();
    }

    fn check_holder(&self, task: &Task) {
        let must_be_held =
            matches!(task.status, Status::InProgress | Status::InReview | Status::Stale);
        let may_have_owner = must_be_held || task.status.is_finished();
        let number = task.number;
        assert_ne!(task.status, Status::Blocked, "{number}: blocked is never stored");
        assert!(!must_be_held || task.owner.is_some(), "{number} is held by nobody");
        assert!(may_have_owner || task.owner.is_none(), "{number} is {} and held", task.status);
        let is_timed = matches!(task.status, Status::InProgress | Status::Stale);
        assert_eq!(
            task.hold.lease_until.is_some(),
            is_timed,
            "{number} has a lease while it is worked on"
        );
        if let Some(owner) = &task.owner {
            assert!(self.ever_members.contains(owner), "{number} is held by a stranger");
            let is_member = self.bench.state.member(owner).is_some();
            assert!(!is_timed || is_member, "{number} is held by a member that left");
        }
    }

    fn check_finished(&mut self) {
        let tasks = self.bench.state.tasks();
        for (number, (status, result, owner)) in &self.finished {
            match (tasks.get(*number), tasks.status(*number)) {
                (Some(task), _) => {
                    let now = (task.status, &task.result, &task.owner);
                    assert_eq!(now, (*status, result, owner), "{number} was finished");
                }
                (None, Some(archived)) => {
                    assert_eq!(archived, *status, "{number} is archived");
                    if let Some(task) = tasks.departed(*number) {
                        assert_eq!(task.result, *result, "{number} is archived as it was");
                    }
                }
                (None, None) => assert_eq!(tasks.end(*number), Some(crate::TaskEnd::Deleted)),
            }
        }
        for task in tasks.iter().filter(|task| task.status.is_finished()) {
            let end = (task.status, task.result.clone(), task.owner.clone());
            self.finished.entry(task.number).or_insert(end);
        }
    }
}
