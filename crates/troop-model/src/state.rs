//! What a team is now: all that its log amounts to.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

use crate::{
    Actor, Delegation, JournaledMap, Limits, Link, Mailbox, Member, MemberName, MessageKind,
    OperationId, Origin, Party, Refusal, Role, Settings, Spending, TaskNumber, TaskRef, TaskTable,
    TeamId, TeamName, Time, Usage, Version, name, packed::PackedPart, workspace::FileIndex,
};

/// How old an operation is, in the time of its log, that a team may forget; see also [`Limits`].
const REMEMBERED_SPAN: Duration = Duration::from_secs(600);
/// What was made this recently, by the clock of who decides, is no repetition of what was forgotten. Without this, one
/// machine whose clock is far ahead would keep all others from working.
const FRESH: Duration = Duration::from_secs(2);

/// Whether a team is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamStatus {
    /// It is.
    Active,
    /// Its work is over.
    Completed,
    /// It is gone.
    Deleted,
}

/// What a team is, apart from what it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    /// Its identity.
    pub id: TeamId,
    /// Its name.
    pub name: TeamName,
    /// What it is for.
    pub description: String,
    /// Whether it is at work.
    pub status: TeamStatus,
    /// Who leads it, for ever.
    pub lead: Option<MemberName>,
    /// Its settings.
    pub settings: Settings,
    /// Who made it.
    pub created_by: Actor,
    pub created_at: Time,
    /// Who supervises it, if somebody does.
    pub lead_lease: Option<LeadLease>,
    /// How often somebody began to supervise it.
    pub n_leads: u64,
    /// What all its members, also those who left, have used so far.
    pub usage: Usage,
}

/// The right to supervise a team: to run its processes and pass its mail. One holds it at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeadLease {
    /// Which session of troop.
    pub session: Uuid,
    /// Who that is, for people.
    pub holder: String,
    /// Grows with every holder; what a former one passes on is refused by it.
    pub fence: u64,
    pub since: Time,
    /// Until when, unless it is renewed.
    pub until: Time,
    /// What must pass before a task is done, because its holder has configured that.
    #[serde(default)]
    pub checks: Vec<String>,
}

impl LeadLease {
    /// Whether it still holds. Who was killed gives none back.
    #[must_use]
    pub fn is_held(&self, now: Time) -> bool {
        self.until > now
    }
}

/// A question between members that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What kind of question.
    pub kind: MessageKind,
    /// Who asked.
    pub from: Party,
    /// Who is to answer.
    pub to: Party,
    /// When it was asked.
    pub at: Time,
}

/// Where an operation's events are in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The version before its first event.
    pub after: Version,
    /// How many events it has.
    pub n_events: u32,
}

/// All that a team's log amounts to.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// No part of what the log amounts to, and in no snapshot.
    pub(crate) limits: Limits,
    pub(crate) head: StateHead,
    pub(crate) roster: JournaledMap<MemberName, Member>,
    pub(crate) links: JournaledMap<(MemberName, MemberName), Link>,
    pub(crate) requests: JournaledMap<Uuid, Request>,
    /// The users that ever set the team to work, and from where.
    pub(crate) origins: JournaledMap<Origin, ()>,
    /// The tasks that are delegated now, and in which delegation.
    pub(crate) delegated: JournaledMap<TaskNumber, Uuid>,
    pub(crate) tasks: TaskTable,
    pub(crate) mailbox: PackedPart<Mailbox>,
    pub(crate) delegations: PackedPart<Delegations>,
    pub(crate) operations: PackedPart<Operations>,
    pub(crate) files: PackedPart<FileIndex>,
    /// What `rollback` goes back to.
    pub(crate) before: StateHead,
}

/// The part of a state that is small enough to be copied before a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateHead {
    pub(crate) version: Version,
    pub(crate) latest: Time,
    pub(crate) team: Option<Arc<Team>>,
}

/// Running delegations, and the last ones that ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Delegations {
    pub(crate) all: JournaledMap<Uuid, Delegation>,
    /// In the order in which they ended.
    ended: JournaledMap<(Version, Uuid), ()>,
}

/// The last operations, by id and by age.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PackedOperations")]
pub(crate) struct Operations {
    /// By the version before its first event.
    by_age: JournaledMap<Version, OperationRecord>,
    /// The latest moment at which one was made that is no longer remembered.
    forgotten: JournaledMap<(), Time>,
    #[serde(skip_serializing)]
    by_id: JournaledMap<OperationId, Version>,
}

/// The same as a snapshot holds it.
#[derive(Deserialize)]
struct PackedOperations {
    by_age: BTreeMap<Version, OperationRecord>,
    forgotten: BTreeMap<(), Time>,
}

/// An operation that happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct OperationRecord {
    operation: OperationId,
    n_events: u32,
    at: Time,
}

impl State {
    /// The same under other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many events this state amounts to.
    #[must_use]
    pub fn version(&self) -> Version {
        self.head.version
    }

    /// The latest moment in the log. Time in a log never runs backwards, even if the clocks of its writers disagree.
    #[must_use]
    pub fn latest(&self) -> Time {
        self.head.latest
    }

    /// The team, unless the log is still empty.
    #[must_use]
    pub fn team(&self) -> Option<&Team> {
        self.head.team.as_deref()
    }

    /// The team, or the refusal that every command gets that needs one.
    pub(crate) fn existing_team(&self) -> Result<&Team, Refusal> {
        match self.team() {
            None => Err(Refusal::NoTeam),
            Some(team) if team.status == TeamStatus::Deleted => Err(Refusal::TeamDeleted),
            Some(team) => Ok(team),
        }
    }

    /// One member.
    #[must_use]
    pub fn member(&self, name: &MemberName) -> Option<&Member> {
        self.roster.entries().get(name)
    }

    /// All members, by name.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.roster.entries().values()
    }

    /// The lead.
    #[must_use]
    pub fn lead(&self) -> Option<&Member> {
        self.member(self.team()?.lead.as_ref()?)
    }

    /// The member that a text names: by its name, its id, or as the lead.
    pub fn find_member(&self, text: &str) -> Result<&Member, Refusal> {
        let by_name = self.roster.entries().get(text);
        let as_lead = || name::LEAD_ALIASES.contains(&text).then(|| self.lead()).flatten();
        let by_id = || {
            let id: Uuid = text.parse().ok()?;
            self.members().find(|member| member.id == id)
        };
        by_name.or_else(as_lead).or_else(by_id).ok_or_else(|| Refusal::UnknownMember {
            name: crate::text::preview(text, name::MAX_NAME),
            members: self.roster.entries().keys().cloned().collect(),
        })
    }

    /// How the team stands with its budget.
    #[must_use]
    pub fn spending(&self) -> Spending {
        let standing = |team: &Team| team.settings.budget.standing(&team.usage);
        self.team().map_or(Spending::Within, standing)
    }

    /// All links.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.entries().values()
    }

    pub(crate) fn link(&self, from: &MemberName, to: &MemberName) -> Option<&Link> {
        self.links.entries().get(&(from.clone(), to.clone()))
    }

    /// The tasks.
    #[must_use]
    pub fn tasks(&self) -> &TaskTable {
        &self.tasks
    }

    /// The messages.
    #[must_use]
    pub fn mailbox(&self) -> &Mailbox {
        self.mailbox.get()
    }

    /// The requests that wait for an answer, oldest id first.
    pub fn requests(&self) -> impl Iterator<Item = (&Uuid, &Request)> {
        self.requests.entries().iter()
    }

    /// The delegations at hand.
    pub fn delegations(&self) -> impl Iterator<Item = &Delegation> {
        self.delegations.get().all.entries().values()
    }

    /// One of the delegations at hand.
    #[must_use]
    pub fn delegation(&self, id: Uuid) -> Option<&Delegation> {
        self.delegations.get().all.entries().get(&id)
    }

    /// The delegation that a task is worked on in now.
    #[must_use]
    pub fn delegation_of(&self, task: TaskNumber) -> Option<&Delegation> {
        self.delegation(*self.delegated.entries().get(&task)?)
    }

    /// The distinct conversations that set the team to work.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.origins.entries().keys()
    }

    /// The distinct users that set the team to work.
    #[must_use]
    pub fn known_users(&self) -> Vec<SmolStr> {
        let mut users: Vec<_> =
            self.origins().filter_map(|origin| origin.user_id.clone()).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// Where the events of a recent operation are, if it happened.
    #[must_use]
    pub fn operation(&self, operation: OperationId) -> Option<Span> {
        let operations = self.operations.get();
        let after = *operations.by_id.entries().get(&operation)?;
        let n_events = operations.by_age.entries().get(&after)?.n_events;
        Some(Span { after, n_events })
    }

    /// Refuses an operation that is not remembered but may have happened: it was made before one that is forgotten.
    /// `now` is the time of who decides, not that of the log.
    pub fn check_age(&self, operation: OperationId, now: Time) -> Result<(), Refusal> {
        let made_at = operation.made_at();
        let may_be_forgotten = self.operations.get().forgotten.entries().values();
        if may_be_forgotten.copied().any(|forgotten| made_at <= forgotten) && made_at + FRESH < now
        {
            return Err(Refusal::ForgottenOperation { operation });
        }
        Ok(())
    }

    /// The number of the task that is meant. It may be archived; it is not deleted.
    pub fn resolve(&self, task: &TaskRef) -> Result<TaskNumber, Refusal> {
        let unknown =
            || Refusal::UnknownTask { task: task.to_string(), pending: self.some_pending() };
        match task {
            TaskRef::Number(number) => {
                match (self.tasks.status(*number), self.tasks.end(*number)) {
                    (Some(_), _) => Ok(*number),
                    (None, Some(_)) => Err(Refusal::TaskDeleted { task: *number }),
                    (None, None) => Err(unknown()),
                }
            }
            TaskRef::Id(prefix) => {
                let matches: Vec<_> = self.tasks.with_id_prefix(prefix).take(4).collect();
                match matches.as_slice() {
                    [] => Err(unknown()),
                    [number] => Ok(*number),
                    _ => Err(Refusal::AmbiguousTask { task: prefix.clone(), matches }),
                }
            }
        }
    }

    /// A few tasks that could be done, to help somebody who named none.
    pub(crate) fn some_pending(&self) -> Vec<TaskNumber> {
        self.tasks.some_ready(10)
    }

    /// From here on, changes can be taken back.
    pub fn begin(&mut self) {
        self.before = self.head.clone();
        self.roster.begin();
        self.links.begin();
        self.requests.begin();
        self.origins.begin();
        self.delegated.begin();
        self.tasks.begin();
        if let Some(mailbox) = self.mailbox.get_mut_if_used() {
            mailbox.begin();
        }
        if let Some(delegations) = self.delegations.get_mut_if_used() {
            delegations.all.begin();
            delegations.ended.begin();
        }
        if let Some(operations) = self.operations.get_mut_if_used() {
            operations.begin();
        }
        if let Some(files) = self.files.get_mut_if_used() {
            files.begin();
        }
    }

    /// Takes back all changes since `begin`.
    pub fn rollback(&mut self) {
        self.head = self.before.clone();
        self.roster.rollback();
        self.links.rollback();
        self.requests.rollback();
        self.origins.rollback();
        self.delegated.rollback();
        self.tasks.rollback();
        if let Some(mailbox) = self.mailbox.get_mut_if_used() {
            mailbox.rollback();
        }
        if let Some(delegations) = self.delegations.get_mut_if_used() {
            delegations.all.rollback();
            delegations.ended.rollback();
        }
        if let Some(operations) = self.operations.get_mut_if_used() {
            operations.rollback();
        }
        if let Some(files) = self.files.get_mut_if_used() {
            files.rollback();
        }
    }

    /// Forgets the first tasks that left the board: they are archived now. What was not durable then never will be.
    pub fn forget_departed(&mut self, n_departed: usize) {
        self.tasks.forget_departed(n_departed);
        // What left cannot come back, so there is nothing to go back to.
        self.begin();
    }

    pub(crate) fn n_running_to(&self, to: &MemberName, from: Option<&MemberName>) -> usize {
        self.delegations()
            .filter(|it| it.runs_on(to))
            .filter(|it| from.is_none_or(|from| it.from == *from))
            .count()
    }

    pub(crate) fn is_lead(&self, member: &MemberName) -> bool {
        self.member(member).is_some_and(|member| member.role == Role::Lead)
    }
}

impl PartialEq for State {
    /// Compares what the states stand for, not what they could go back to.
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
            && self.roster == other.roster
            && self.links == other.links
            && self.requests == other.requests
            && self.origins == other.origins
            && self.delegated == other.delegated
            && self.tasks == other.tasks
            && self.mailbox == other.mailbox
            && self.delegations == other.delegations
            && self.operations == other.operations
            && self.files == other.files
    }
}

impl Delegations {
    pub(crate) fn end(
        &mut self,
        id: Uuid,
        at: Version,
        n_kept: usize,
        change: impl FnOnce(&mut Delegation),
    ) {
        self.all.update(&id, change);
        self.ended.insert((at, id), ());
        while self.ended.entries().len() > n_kept {
            let Some(oldest) = self.ended.entries().keys().next().copied() else { return };
            self.ended.remove(&oldest);
            self.all.remove(&oldest.1);
        }
    }
}

impl Operations {
    /// Remembers that an event of this operation is at `version`.
    pub(crate) fn note(
        &mut self,
        operation: OperationId,
        version: Version,
        at: Time,
        limits: &Limits,
    ) {
        if let Some(after) = self.by_id.entries().get(&operation) {
            self.by_age.update(after, |it| it.n_events += 1);
            return;
        }
        let after = Version(version.0.saturating_sub(1));
        self.by_id.insert(operation, after);
        self.by_age.insert(after, OperationRecord { operation, n_events: 1, at });
        while let Some((oldest, it)) = self.by_age.entries().first_key_value()
            && is_forgettable(self.by_age.entries().len(), at.since(it.at), limits)
        {
            let oldest = *oldest;
            let operation = it.operation;
            let before = self.forgotten.entries().get(&()).copied().unwrap_or_default();
            self.forgotten.insert((), before.max(operation.made_at()));
            self.by_age.remove(&oldest);
            self.by_id.remove(&operation);
        }
    }

    fn begin(&mut self) {
        self.by_age.begin();
        self.forgotten.begin();
        self.by_id.begin();
    }

    fn rollback(&mut self) {
        self.by_age.rollback();
        self.forgotten.rollback();
        self.by_id.rollback();
    }
}

/// Whether the oldest of so many operations, which is so old, need not be remembered.
fn is_forgettable(n_operations: usize, age: Duration, limits: &Limits) -> bool {
    n_operations > limits.max_operations
        || (n_operations > limits.min_operations && age > REMEMBERED_SPAN)
}

impl From<PackedOperations> for Operations {
    fn from(packed: PackedOperations) -> Self {
        let by_id = packed.by_age.iter().map(|(after, it)| (it.operation, *after));
        Self {
            by_id: by_id.collect::<BTreeMap<_, _>>().into(),
            by_age: packed.by_age.into(),
            forgotten: packed.forgotten.into(),
        }
    }
}

#[cfg(test)]
impl State {
    /// Holds what is kept about tasks and messages against what these themselves say.
    pub(crate) fn check(&self) {
        self.tasks.check();
        self.mailbox().check(self.limits.settled);
    }
}
