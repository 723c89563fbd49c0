//! Leases: tasks of members that give signs of life are renewed, and members that hang are killed.

use tokio::time::Instant;
use troop_model::{Command, MemberName, TaskCommand};

use super::{office::Office, policy::silence};

/// Renews the leases of members that were heard since the last renewal.
pub(super) async fn renew(office: &mut Office) {
    let crew = office.crew.facts();
    let is_coming = |member: &MemberName| {
        office.places.is_coming(member) || office.shared.is_awaited_by(member)
    };
    let due = silence::renewals_due(&office.post.state, &crew, is_coming, Instant::now());
    renew_of(office, due).await;
}

/// Renews the leases of all running members, however long they were silent.
pub(super) async fn renew_all(office: &mut Office) {
    office.crew.all_facts_mut().for_each(|facts| facts.signs.heard_at = Instant::now());
    let all = office.crew.names();
    renew_of(office, all).await;
}

async fn renew_of(office: &mut Office, members: Vec<MemberName>) {
    for member in members {
        let held: Vec<_> = office.post.state.tasks().held_by(&member).collect();
        for task in held {
            let order = TaskCommand::Renew { task: task.into(), attempt: None };
            office.post.give(Command::Task(order)).await;
        }
        if let Some(live) = office.crew.get_mut(&member) {
            live.facts.signs.renewed_at = Instant::now();
        }
    }
}

/// Kills busy members that give no sign of life.
pub(super) fn end_silent(office: &mut Office) {
    let due = silence::hanging(&office.post.state, &office.crew.facts(), Instant::now());
    for member in due {
        office.crew.end_silent(&mut office.post, &member);
    }
}
