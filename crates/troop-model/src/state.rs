//! The current state of a team: the sum of its log.

mod delegations;
mod links;
mod operations;
mod requests;
mod roster;
mod untold;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use uuid::Uuid;

pub use operations::Span;
pub use requests::Request;

pub(crate) use delegations::Delegations;
pub(crate) use links::Links;
pub(crate) use operations::Operations;
pub(crate) use requests::Requests;
pub(crate) use roster::Roster;
pub(crate) use untold::{UntoldResults, note_result};

use crate::{
    Actor, Delegation, JournaledMap, Limits, Link, Mailbox, Member, MemberName, OperationId,
    Origin, Party, Refusal, Role, Settings, Spending, TaskNumber, TaskRef, TaskTable, TeamId,
    TeamName, Time, Usage, Version, name, packed::PackedPart, workspace::FileIndex,
};

/// The status of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TeamStatus {
    /// It works.
    Active,
    /// Its work is done.
    Completed,
    /// It was deleted.
    Deleted,
}

/// The team itself, without its members, tasks and messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Team {
    pub id: TeamId,
    pub name: TeamName,
    /// Its purpose.
    pub description: String,
    /// What a person told the lead to do. Other members do not see it.
    pub goal: String,
    pub status: TeamStatus,
    /// Its lead, which never changes.
    pub lead: Option<MemberName>,
    pub settings: Settings,
    /// Its creator.
    pub created_by: Actor,
    pub created_at: Time,
    /// The lease of the session that supervises it, if any.
    pub lead_lease: Option<LeadLease>,
    /// How many leads it has had.
    pub n_leads: u64,
    /// The usage of all members so far, including former ones.
    pub usage: Usage,
}

/// The right to supervise a team: to run its processes and deliver its mail. One session holds it at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeadLease {
    /// The troop session that supervises.
    pub session: Uuid,
    /// The session in words, for people.
    pub holder: String,
    /// Grows with every holder, so that commands of a former one can be refused.
    pub fence: u64,
    pub since: Time,
    /// When it ends unless it is renewed.
    pub until: Time,
    /// The checks that its holder's configuration adds.
    #[serde(default)]
    pub checks: Vec<String>,
}

impl LeadLease {
    /// Whether it still holds. A killed lead leaves its lease behind.
    #[must_use]
    pub fn is_held(&self, now: Time) -> bool {
        self.until > now
    }
}

/// The sum of a team's log.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Passed in: not part of the log or of snapshots.
    pub limits: Limits,
    pub(crate) head: StateHead,
    pub(crate) roster: Roster,
    pub(crate) links: Links,
    pub(crate) requests: Requests,
    /// The conversations that ever gave the team work.
    pub(crate) origins: JournaledMap<Origin, ()>,
    /// The tasks that are delegated now, with their delegations.
    pub(crate) delegated: JournaledMap<TaskNumber, Uuid>,
    pub(crate) untold: UntoldResults,
    pub(crate) tasks: TaskTable,
    pub(crate) mailbox: PackedPart<Mailbox>,
    pub(crate) delegations: PackedPart<Delegations>,
    pub(crate) operations: PackedPart<Operations>,
    pub(crate) files: PackedPart<FileIndex>,
    /// The value that `rollback` restores.
    pub(crate) before: StateHead,
}

/// The part of a state that is small enough to be copied before a change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StateHead {
    pub(crate) version: Version,
    pub(crate) latest: Time,
    pub(crate) team: Option<Arc<Team>>,
}

impl State {
    /// The number of events in this state.
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

    /// The team, or a refusal if there is none or it is deleted.
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

    /// Whether a person has told the lead something that it has not read yet.
    #[must_use]
    pub fn lead_has_request(&self) -> bool {
        let lead = self.lead().map(|lead| Party::member(&lead.name));
        lead.is_some_and(|lead| self.mailbox().unread_of(&lead).any(|it| it.from == Party::user()))
    }

    /// The member that a text names: by its name, its id, or an alias of the lead.
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

    /// How much of its budget the team has spent.
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
        self.links.get(from, to)
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

    /// The delegations in memory.
    pub fn delegations(&self) -> impl Iterator<Item = &Delegation> {
        self.delegations.get().all.entries().values()
    }

    /// One of the delegations in memory.
    #[must_use]
    pub fn delegation(&self, id: Uuid) -> Option<&Delegation> {
        self.delegations.get().all.entries().get(&id)
    }

    /// The running delegation of a task.
    #[must_use]
    pub fn delegation_of(&self, task: TaskNumber) -> Option<&Delegation> {
        self.delegation(*self.delegated.entries().get(&task)?)
    }

    /// The distinct conversations that gave the team work.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.origins.entries().keys()
    }

    /// The distinct users that gave the team work.
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
        self.operations.get().span(operation)
    }

    /// Refuses an operation that may have happened and been forgotten. `now` is the clock of the process that decides, not the
    /// time of the log.
    pub fn check_age(&self, operation: OperationId, now: Time) -> Result<(), Refusal> {
        self.operations.get().check_age(operation, now)
    }

    /// The number of the task with this name. It may be archived, but not deleted.
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

    /// A few available tasks, for refusals that suggest some.
    pub(crate) fn some_pending(&self) -> Vec<TaskNumber> {
        self.tasks.some_ready(10)
    }

    /// From here on, changes can be undone.
    pub fn begin(&mut self) {
        self.before = self.head.clone();
        self.roster.begin();
        self.links.begin();
        self.requests.begin();
        self.origins.begin();
        self.delegated.begin();
        self.untold.begin();
        self.tasks.begin();
        if let Some(mailbox) = self.mailbox.get_mut_if_used() {
            mailbox.begin();
        }
        if let Some(delegations) = self.delegations.get_mut_if_used() {
            delegations.begin();
        }
        if let Some(operations) = self.operations.get_mut_if_used() {
            operations.begin();
        }
        if let Some(files) = self.files.get_mut_if_used() {
            files.begin();
        }
    }

    /// Undoes all changes since `begin`.
    pub fn rollback(&mut self) {
        self.head = self.before.clone();
        self.roster.rollback();
        self.links.rollback();
        self.requests.rollback();
        self.origins.rollback();
        self.delegated.rollback();
        self.untold.rollback();
        self.tasks.rollback();
        if let Some(mailbox) = self.mailbox.get_mut_if_used() {
            mailbox.rollback();
        }
        if let Some(delegations) = self.delegations.get_mut_if_used() {
            delegations.rollback();
        }
        if let Some(operations) = self.operations.get_mut_if_used() {
            operations.rollback();
        }
        if let Some(files) = self.files.get_mut_if_used() {
            files.rollback();
        }
    }

    /// Forgets the first tasks that left the board, because they are archived now.
    pub fn forget_departed(&mut self, n_departed: usize) {
        self.tasks.forget_departed(n_departed);
        // Archived tasks cannot come back, so there is nothing to roll back to.
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
    /// Compares what the states mean, not their undo journals.
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head
            && self.roster == other.roster
            && self.links == other.links
            && self.requests == other.requests
            && self.origins == other.origins
            && self.delegated == other.delegated
            && self.untold == other.untold
            && self.tasks == other.tasks
            && self.mailbox == other.mailbox
            && self.delegations == other.delegations
            && self.operations == other.operations
            && self.files == other.files
    }
}

#[cfg(test)]
impl State {
    /// Checks the derived indexes against the tasks and messages.
    pub(crate) fn check(&self) {
        self.tasks.check();
        self.mailbox().check(self.limits.settled);
    }
}
