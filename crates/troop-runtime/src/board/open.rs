//! Bringing a team's state back: the newest snapshot, then what happened since.

use troop_model::{
    Command, Context, Event, NewTeamCommand, State, TeamId, Version, decide, decode, encode,
};
use troop_store::{Batch, Entry, NewTeam, Store, StoreError};

use super::Signature;
use crate::{BoardError, BoardResult, Clock};

/// How many entries are read at once.
pub(super) const READ_AT_ONCE: usize = 1_000;

/// A state, and the version up to which a snapshot stands for it.
#[derive(Debug)]
pub(super) struct LoadedState {
    pub(super) state: State,
    pub(super) snapshot: Version,
}

pub(super) async fn load(store: &dyn Store, team: TeamId) -> BoardResult<LoadedState> {
    // A snapshot is a cache: one that is damaged, or that this program cannot read, is as good as none.
    let snapshot = match store.load_snapshot(team).await {
        Err(StoreError::Corrupt { .. }) => None,
        loaded => loaded?,
    };
    let mut opened = match snapshot {
        Some(snapshot) => match State::from_snapshot(snapshot.state) {
            Ok(state) => LoadedState { state, snapshot: snapshot.version },
            Err(_) => LoadedState { state: State::default(), snapshot: Version::ZERO },
        },
        None => LoadedState { state: State::default(), snapshot: Version::ZERO },
    };
    loop {
        let entries = store.read(team, opened.state.version(), READ_AT_ONCE).await?;
        let is_last = entries.len() < READ_AT_ONCE;
        replay(&mut opened.state, &entries)?;
        if is_last {
            return Ok(opened);
        }
    }
}

/// Takes entries into account and gives them back as events.
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

/// Decides and stores the beginning of a team. The same request again is one effect.
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
