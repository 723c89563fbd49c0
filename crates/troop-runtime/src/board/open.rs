//! Loads a team's state: the newest snapshot, then the events since.

use troop_model::{
    Command, Context, Event, NewTeamCommand, State, TeamId, Version, decide, decode, encode,
};
use troop_store::{Batch, Entry, NewTeam, Store, StoreError};

use super::Signature;
use crate::{BoardError, BoardResult, Clock};

/// How many entries are read at once.
pub(super) const READ_AT_ONCE: usize = 1_000;

/// A state, and the version of the snapshot that it was loaded from.
#[derive(Debug, Default)]
pub(super) struct LoadedState {
    pub(super) state: State,
    pub(super) snapshot: Version,
}

pub(super) async fn load(store: &dyn Store, team: TeamId) -> BoardResult<LoadedState> {
    // A snapshot is a cache: if it is damaged, or of another format, we do without it.
    let snapshot = match store.load_snapshot(team).await {
        Err(StoreError::Corrupt { .. }) => None,
        loaded => loaded?,
    };
    let loaded = snapshot.and_then(|snapshot| {
        let state = State::from_snapshot(snapshot.state).ok()?;
        Some(LoadedState { state, snapshot: snapshot.version })
    });
    let mut opened = loaded.unwrap_or_default();
    loop {
        let entries = store.read(team, opened.state.version(), READ_AT_ONCE).await?;
        let is_last = entries.len() < READ_AT_ONCE;
        replay(&mut opened.state, &entries)?;
        if is_last {
            return Ok(opened);
        }
    }
}

/// Applies entries and returns them as events.
pub(crate) fn replay(state: &mut State, entries: &[Entry]) -> BoardResult<Vec<Event>> {
    let events = entries.iter().map(event).collect::<BoardResult<Vec<_>>>()?;
    state.begin();
    events.iter().for_each(|event| state.apply(event));
    Ok(events)
}

/// Reads one entry of a log.
pub(crate) fn event(entry: &Entry) -> BoardResult<Event> {
    let event = decode(&entry.body)
        .map_err(|error| BoardError::Log { version: entry.version, source: error.into() })?;
    if event.version != entry.version {
        return Err(BoardError::Misplaced { version: entry.version, found: event.version });
    }
    Ok(event)
}

/// Decides and stores the beginning of a team. A repeated request has one effect.
pub(super) async fn create(
    store: &dyn Store,
    clock: &Clock,
    signature: &Signature,
    new: NewTeamCommand,
) -> BoardResult<()> {
    let ctx = Context {
        now: clock.now(),
        asker: signature.asker.clone(),
        operation: signature.operation,
        fence: None,
    };
    let team = NewTeam { id: new.team, name: new.name.to_string() };
    let events = decide(&State::default(), &Command::CreateTeam(new), &ctx)?;
    let bodies = events.iter().map(encode).collect();
    let operation = signature.operation;
    store.create(team, Batch { operation, after: Version::ZERO, bodies }).await?;
    Ok(())
}
