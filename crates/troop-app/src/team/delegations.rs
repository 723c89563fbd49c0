//! How far the delegations of a team are.

use std::{collections::BTreeSet, path::PathBuf};

use troop_agent::Definition;
use troop_model::{Delegation, DelegationStatus, Member, State};
use troop_protocol::TeamStanding;
use troop_runtime::Board;

use super::TeamDesk;
use crate::{Result, surroundings::Surroundings};

/// A delegation, and how far it is.
#[derive(Clone, Debug)]
pub struct DelegationProgress {
    pub delegation: Delegation,
    pub stage: DelegationStage,
}

/// How far a delegation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelegationStage {
    /// Its member has not begun.
    Waiting,
    Running,
    /// The lead ended while its member was working on it.
    CutShort,
    Ended(DelegationStatus),
}

/// The delegations of a team, the oldest first.
fn oldest_first(state: &State) -> Vec<&Delegation> {
    let mut all: Vec<_> = state.delegations().collect();
    all.sort_by_key(|it| (it.started_at, it.id));
    all
}

impl TeamDesk {
    /// How far the delegations of a team are, the oldest first.
    pub async fn delegations(&self, board: &Board) -> Result<Vec<DelegationProgress>> {
        let standing = self.standing(board).await?;
        let crowd = ParallelMembers::new(self, board);
        let progress = move |state: &State| {
            let stage = |it: &Delegation| stage(state, it, standing, |member| crowd.has(member));
            let all = oldest_first(state).into_iter();
            all.map(|it| DelegationProgress { stage: stage(it), delegation: it.clone() }).collect()
        };
        Ok(board.look(progress).await?)
    }
}

/// The members that get all of their delegations at once.
struct ParallelMembers {
    /// The agents that are people's own programs.
    programs: BTreeSet<String>,
    /// The members' worktrees, which are for one task at a time.
    worktrees: PathBuf,
}

impl ParallelMembers {
    fn new(desk: &TeamDesk, board: &Board) -> Self {
        let Surroundings { project, home, .. } = &desk.surroundings;
        let described = Definition::read_all(&Definition::folders(project, Some(home)));
        let programs = described.into_iter().filter(|it| !it.program.is_empty());
        let programs = programs.map(|it| it.key).collect();
        Self { programs, worktrees: desk.folder(board.team()).join("worktrees") }
    }

    fn has(&self, member: &Member) -> bool {
        let has_worktree = || self.worktrees.join(member.name.as_str()).is_dir();
        member.is_external() || self.programs.contains(member.agent.as_str()) && !has_worktree()
    }
}

fn stage(
    state: &State,
    delegation: &Delegation,
    standing: TeamStanding,
    is_parallel: impl Fn(&Member) -> bool,
) -> DelegationStage {
    let member = state.member(&delegation.to);
    // The others work on one after the other.
    let is_before = |it: &Delegation| {
        let is_open = it.status == DelegationStatus::Running && it.to == delegation.to;
        is_open && (it.started_at, it.id) < (delegation.started_at, delegation.id)
    };
    let is_queued = || !member.is_some_and(&is_parallel) && state.delegations().any(is_before);
    match (delegation.status, standing) {
        (DelegationStatus::Running, TeamStanding::Running) if is_queued() => {
            DelegationStage::Waiting
        }
        (DelegationStatus::Running, TeamStanding::Running) => DelegationStage::Running,
        // Without a lead no member runs; one that still counts as running had begun.
        (DelegationStatus::Running, _) if member.is_some_and(Member::is_running) => {
            DelegationStage::CutShort
        }
        (DelegationStatus::Running, _) => DelegationStage::Waiting,
        (status, _) => DelegationStage::Ended(status),
    }
}

#[cfg(test)]
mod tests;
