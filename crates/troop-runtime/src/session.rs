//! One session with a store: many teams to choose from, one of them active.

use std::sync::Arc;

use troop_model::{
    Asker, Command, Event, Fact, MemberState, NewTeamCommand, OperationId, Role, State, StateCause,
    TeamId, TeamName, TeamStatus, Time, Version, encode,
};
use troop_store::{Batch, NewTeam, Store, TeamEntry};
use uuid::Uuid;

use crate::{Board, BoardError, BoardResult, Clock, CommandRequest, Following, Signature};

/// A store, and the one team of it that is active.
#[derive(Debug)]
pub struct StoreSession {
    store: Arc<dyn Store>,
    clock: Clock,
    following: Following,
    active: Option<Board>,
}

impl StoreSession {
    /// A session without a team.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Clock, following: Following) -> Self {
        Self { store, clock, following, active: None }
    }

    /// The teams of the store, oldest first.
    pub async fn teams(&self) -> BoardResult<Vec<TeamEntry>> {
        Ok(self.store.teams().await?)
    }

    /// Creates a team and makes it the active one. Refused while another is active.
    pub async fn create(
        &mut self,
        signature: &Signature,
        new: NewTeamCommand,
    ) -> BoardResult<&Board> {
        self.check_free().await?;
        let store = Arc::clone(&self.store);
        let board =
            Board::create(store, self.clock.clone(), self.following, signature, new).await?;
        Ok(self.active.insert(board))
    }

    /// Creates a team from the whole log of another, under a new name if one is given, and makes it the active one.
    pub async fn import(
        &mut self,
        events: Vec<Event>,
        name: Option<TeamName>,
    ) -> BoardResult<&Board> {
        self.check_free().await?;
        let team = import(self.store.as_ref(), events, name, self.clock.now()).await?;
        self.open_known(team).await
    }

    /// Makes an existing team the active one. A retired team can still be opened by its id.
    pub async fn open(&mut self, name: &str) -> BoardResult<&Board> {
        self.check_free().await?;
        let teams = self.teams().await?;
        let by_name = teams.iter().find(|team| team.name == name && !team.is_retired);
        let by_id = || teams.iter().find(|team| team.id.to_string() == name);
        let Some(team) = by_name.or_else(by_id) else {
            let known = teams.into_iter().filter(|team| !team.is_retired).map(|team| team.name);
            return Err(BoardError::NoSuchTeam { name: name.to_owned(), known: known.collect() });
        };
        let team = team.id;
        self.open_known(team).await
    }

    /// Makes the team with this id the active one.
    pub async fn open_known(&mut self, team: TeamId) -> BoardResult<&Board> {
        self.check_free().await?;
        let store = Arc::clone(&self.store);
        let board = Board::open(store, self.clock.clone(), self.following, team).await?;
        Ok(self.active.insert(board))
    }

    /// The active team.
    pub fn team(&self) -> BoardResult<&Board> {
        self.active.as_ref().ok_or(BoardError::NoActiveTeam)
    }

    /// Erases a team with its log.
    pub async fn purge(&self, team: TeamId) -> BoardResult<()> {
        Ok(self.store.purge(team).await?)
    }

    /// Closes the active team; the team itself goes on.
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

/// Stores a copy of a log as a new team, completely or not at all.
async fn import(
    store: &dyn Store,
    mut events: Vec<Event>,
    new_name: Option<TeamName>,
    now: Time,
) -> BoardResult<TeamId> {
    let id = TeamId(Uuid::now_v7());
    let Some(Fact::TeamCreated { team, name, .. }) =
        events.first_mut().map(|event| &mut event.fact)
    else {
        return Err(BoardError::NotALog {
            what: "it does not begin with the creation of a team".to_owned(),
        });
    };
    let old_id = std::mem::replace(team, id);
    if let Some(new_name) = new_name {
        *name = new_name;
    }
    let name = name.to_string();
    let mut state = State::default();
    for event in &mut events {
        if event.version != state.version().next() {
            let what = format!("event {} follows event {}", event.version, state.version());
            return Err(BoardError::NotALog { what });
        }
        // Links that belonged to the team belong to its copy.
        if let Fact::LinkSet { link } = &mut event.fact
            && link.team == Some(old_id)
        {
            link.team = Some(id);
        }
        state.apply(event);
    }
    if state.team().is_some_and(|team| team.status == TeamStatus::Deleted) {
        return Err(BoardError::NotALog { what: "its team was deleted".to_owned() });
    }
    events.extend(set_at_rest(&mut state, now)?);
    let bodies = events.iter().map(encode).collect();
    let first = Batch { operation: OperationId(Uuid::now_v7()), after: Version::ZERO, bodies };
    store.create(NewTeam { id, name }, first).await?;
    Ok(id)
}

/// A copy has no lead, and none of its members runs, whatever the original says. These events follow the copied log.
fn set_at_rest(state: &mut State, now: Time) -> BoardResult<Vec<Event>> {
    let running = state.members().filter(|it| it.is_running());
    let stopped = running.map(|it| {
        // The log does not hold what the lead's agent was thinking.
        let is_open = it.role == Role::Lead && it.state == MemberState::Working;
        let cause = if is_open { StateCause::LeftOpen } else { StateCause::TeamStopped };
        let open = if is_open { format!("; {}", cause.in_words()) } else { String::new() };
        let reason = Some(format!("its team stopped: this is a copy{open}"));
        let cause = Some(cause);
        Command::SetMemberState {
            member: it.name.clone(),
            state: MemberState::Stopped,
            reason,
            cause,
            pid: None,
        }
    });
    let commands: Vec<_> = stopped.chain([Command::ReleaseLead]).collect();
    let mut made = Vec::new();
    for command in commands {
        let events = CommandRequest::new(Asker::system(), command).judged(state, now)?;
        events.iter().for_each(|event| state.apply(event));
        made.extend(events);
    }
    Ok(made)
}
