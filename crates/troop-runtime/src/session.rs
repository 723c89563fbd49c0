//! One session with a store: many teams to choose from, one of them active.

use std::sync::Arc;

use troop_model::{Command, NewTeamCommand, TeamId};
use troop_store::{Store, TeamEntry};

use crate::{Board, BoardError, BoardResult, Clock, Following, Request};

/// A team in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamSummary {
    /// Its identity.
    pub id: TeamId,
    /// Its name.
    pub name: String,
    /// Whether it is gone: only its log is left.
    pub is_retired: bool,
}

/// A store, and the one team that this session works with.
#[derive(Debug)]
pub struct Session {
    store: Arc<dyn Store>,
    clock: Clock,
    following: Following,
    active: Option<Board>,
}

impl Session {
    /// A session without a team.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Clock, following: Following) -> Self {
        Self { store, clock, following, active: None }
    }

    /// The teams of the store, oldest first.
    pub async fn teams(&self) -> BoardResult<Vec<TeamSummary>> {
        let summary =
            |it: TeamEntry| TeamSummary { id: it.id, name: it.name, is_retired: it.is_retired };
        Ok(self.store.teams().await?.into_iter().map(summary).collect())
    }

    /// Makes a team and makes it this session's. Refused while the session has another.
    pub async fn create(&mut self, request: &Request, new: NewTeamCommand) -> BoardResult<&Board> {
        self.check_free().await?;
        let store = Arc::clone(&self.store);
        let board = Board::create(store, self.clock.clone(), self.following, request, new).await?;
        Ok(self.active.insert(board))
    }

    /// Makes an existing team this session's. A retired one can still be looked at, by its id.
    pub async fn open(&mut self, name: &str) -> BoardResult<&Board> {
        self.check_free().await?;
        let teams = self.teams().await?;
        let by_name = teams.iter().find(|team| team.name == name && !team.is_retired);
        let by_id = || teams.iter().find(|team| team.id.to_string() == name);
        let Some(team) = by_name.or_else(by_id) else {
            let known = teams.into_iter().filter(|team| !team.is_retired).map(|team| team.name);
            return Err(BoardError::NoSuchTeam { name: name.to_owned(), known: known.collect() });
        };
        let store = Arc::clone(&self.store);
        let board = Board::open(store, self.clock.clone(), self.following, team.id).await?;
        Ok(self.active.insert(board))
    }

    /// This session's team.
    pub fn team(&self) -> BoardResult<&Board> {
        self.active.as_ref().ok_or(BoardError::NoActiveTeam)
    }

    /// Deletes this session's team and frees its name. Its log stays readable by its id until it is purged.
    pub async fn delete(&mut self, request: Request) -> BoardResult<()> {
        let board = self.team()?;
        let team = board.team();
        board.submit(Request { command: Command::DeleteTeam, ..request }).await?;
        self.store.retire(team).await?;
        self.close().await;
        Ok(())
    }

    /// Erases a team with all it ever had.
    pub async fn purge(&self, team: TeamId) -> BoardResult<()> {
        Ok(self.store.purge(team).await?)
    }

    /// Lets go of this session's team; the team itself goes on.
    pub async fn close(&mut self) {
        if let Some(board) = self.active.take() {
            board.close().await;
        }
    }

    async fn check_free(&self) -> BoardResult<()> {
        let Some(board) = &self.active else { return Ok(()) };
        let name = board.look(|state| state.team().map(|team| team.name.clone())).await?;
        match name {
            Some(name) => Err(BoardError::AlreadyActive { name }),
            None => Ok(()),
        }
    }
}
