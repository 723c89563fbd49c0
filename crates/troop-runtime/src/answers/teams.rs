//! The teams of the store, and their states.

use std::path::Path;

use troop_model::TeamId;
use troop_protocol::{TeamList, TeamListing, TeamStanding};
use troop_store::TeamEntry;

use super::{Answers, LeadPresence};
use crate::{Board, BoardResult, Following};

impl Answers {
    pub(super) async fn teams(&self, all: bool) -> BoardResult<TeamList> {
        let entries = self.board.store().teams().await?;
        let mut teams = Vec::new();
        for TeamEntry { id, name, is_retired } in entries {
            if is_retired && !all {
                continue;
            }
            let state =
                if is_retired { TeamStanding::Deleted } else { self.standing_of(id).await? };
            teams.push(TeamListing { id, name, state, deleted: is_retired });
        }
        Ok(TeamList { teams })
    }

    async fn standing_of(&self, team: TeamId) -> BoardResult<TeamStanding> {
        if team == self.board.team() {
            return standing(&self.board, &self.folder).await;
        }
        let store = std::sync::Arc::clone(self.board.store());
        let board = Board::open(store, self.board.clock().clone(), Following::WhenAsked, team);
        let board = board.await?;
        // The folders of all teams are beside each other.
        let standing = standing(&board, &self.folder.with_file_name(team.to_string())).await;
        board.close().await;
        standing
    }
}

async fn standing(board: &Board, folder: &Path) -> BoardResult<TeamStanding> {
    let presence = LeadPresence::read(folder);
    let now = board.now();
    board.look(move |state| presence.standing(state, now)).await
}
