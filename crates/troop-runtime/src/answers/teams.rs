//! The teams of a store, and their states.

use std::{path::Path, sync::Arc};

use troop_model::TeamId;
use troop_protocol::{TeamList, TeamListing, TeamStanding};
use troop_store::{Store, TeamEntry};

use super::{Answers, LeadPresence};
use crate::{Board, BoardResult, Clock, Following};

impl Answers {
    pub(super) async fn teams(&self, all: bool) -> BoardResult<TeamList> {
        // The folders of all teams are beside each other.
        let folders = self.folder.parent().unwrap_or(&self.folder);
        list_teams(self.board.store(), self.board.clock(), folders, all).await
    }

    /// The status of the team, in one word.
    pub async fn standing(&self) -> BoardResult<TeamStanding> {
        let presence = LeadPresence::read(&self.folder);
        let now = self.board.now();
        self.board.look(move |state| presence.standing(state, now)).await
    }
}

/// The teams of a store, oldest first. Deleted ones only if all are wanted.
pub async fn list_teams(
    store: &Arc<dyn Store>,
    clock: &Clock,
    folders: &Path,
    all: bool,
) -> BoardResult<TeamList> {
    let mut teams = Vec::new();
    for TeamEntry { id, name, is_retired } in store.teams().await? {
        if is_retired && !all {
            continue;
        }
        let state = match is_retired {
            true => TeamStanding::Deleted,
            false => standing_of(store, clock, folders, id).await?,
        };
        teams.push(TeamListing { id, name, state, deleted: is_retired });
    }
    Ok(TeamList { teams })
}

async fn standing_of(
    store: &Arc<dyn Store>,
    clock: &Clock,
    folders: &Path,
    team: TeamId,
) -> BoardResult<TeamStanding> {
    let board = Board::open(Arc::clone(store), clock.clone(), Following::WhenAsked, team).await?;
    let standing = Answers::new(board.clone(), &folders.join(team.to_string())).standing().await;
    board.close().await;
    standing
}
