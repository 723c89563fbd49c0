//! News of a team for a member that is connected to it.

use std::sync::Arc;

use tokio::sync::watch;
use troop_model::{Actor, Event, Fact, MemberName, Party, State};
use troop_runtime::Subscription;

use super::{MemberCaller, TeamHandle};

/// Every event of a member's team from now on, and of the team that takes its place.
#[derive(Debug)]
pub struct TeamNews {
    teams: watch::Receiver<Option<Arc<TeamHandle>>>,
    log: Option<Subscription>,
}

impl TeamNews {
    #[must_use]
    pub fn new(caller: &MemberCaller) -> Self {
        Self { teams: caller.teams(), log: None }
    }

    /// Waits for the next event. None when the member is no longer served.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            let log = match &mut self.log {
                Some(log) => log,
                None => {
                    let team = self.teams.borrow_and_update().clone();
                    let Some(team) = team else {
                        self.teams.changed().await.ok()?;
                        continue;
                    };
                    let version = team.look(State::version).await.ok()?;
                    self.log.insert(team.subscribe(version))
                }
            };
            tokio::select! {
                event = log.next() => return event.ok()?,
                changed = self.teams.changed() => {
                    changed.ok()?;
                    self.log = None;
                }
            }
        }
    }
}

/// The news in an event for a member, if another caused it and it concerns the member.
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "other facts concern the board, not a member")]
pub fn concerning(event: &Event, member: &MemberName) -> Option<String> {
    let own = Party::member(member);
    if event.actor == Actor::agent(member) {
        return None;
    }
    match &event.fact {
        Fact::MessageSent { from, readers, summary, .. } if readers.contains(&own) => {
            let about = summary.as_deref().map(|it| format!(": {it}")).unwrap_or_default();
            Some(format!("mail from {from}{about}"))
        }
        Fact::TaskAssigned { task, owner, .. } if owner == member => {
            Some(format!("{task} is yours"))
        }
        Fact::TaskReleased { task, owner, reason, .. } if owner == member => {
            Some(format!("{task} is no longer yours: {reason}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    //! Which events concern a member.

    use troop_model::{Actor, Event, Fact, MemberName, OperationId, TaskNumber, Time, Version};
    use uuid::Uuid;

    use super::concerning;

    #[test]
    fn a_member_hears_of_its_own_tasks_if_others_move_them() {
        let ann: MemberName = "ann".parse().unwrap();
        let now = Time::from_micros(0);
        let agent = |name: &str| Actor::agent(&name.parse::<MemberName>().unwrap());
        let told = |actor: Actor, owner: &str| {
            let owner: MemberName = owner.parse().unwrap();
            let task = TaskNumber(1);
            let facts = [
                Fact::TaskAssigned { task, owner: owner.clone(), attempt: 1, lease_until: now },
                Fact::TaskReleased { task, owner, reason: "lunch".to_owned(), forgiven: false },
            ];
            facts.map(|fact| {
                let actor = actor.clone();
                let operation = OperationId(Uuid::nil());
                concerning(&Event { version: Version(1), at: now, actor, operation, fact }, &ann)
            })
        };
        let own = ["task-1 is yours", "task-1 is no longer yours: lunch"].map(str::to_owned);
        assert_eq!(told(agent("lead"), "ann"), own.clone().map(Some));
        assert_eq!(told(agent("lead"), "bob"), [None, None]);
        assert_eq!(told(agent("ann"), "ann"), [None, None], "it knows what it did itself");
        assert_eq!(told(Actor::human("ann"), "ann"), own.map(Some), "a person has its name");
    }
}
