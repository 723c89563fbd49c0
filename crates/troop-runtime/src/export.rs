//! A team's log as one file, and a team at an earlier moment. The log is the truth, so a copy of it is the whole team.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use troop_model::{CodecError, Event, Hint, HintCommand, State, TeamId, Time, Version, decode};
use troop_store::{Entry, Store};

use crate::{BoardError, BoardResult, board::replay as take_in};

/// The format of files that this program writes.
const FORMAT: u32 = 1;
/// How many events are read at once.
const READ_AT_ONCE: usize = 1_000;

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportHeader {
    /// The format; the key marks the file as an export.
    pub troop_export: u32,
    /// The version of troop that wrote it.
    pub written_by: String,
    /// The name of the team.
    pub team: String,
    /// Its id in the store that it came from.
    pub id: TeamId,
    /// How many events follow, one on each line.
    pub events: u64,
    /// The SHA-256 of all lines that follow, including line ends.
    pub sha256: String,
}

/// Why a file is not the log of a team.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// It cannot be read.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
    /// It was not written by `troop team export`.
    #[error("its first line is not that of an exported team")]
    NotAnExport,
    /// A newer program wrote it.
    #[error("it has format {found}; this troop knows formats up to {FORMAT}")]
    Newer { found: u32 },
    /// A line is not an event.
    #[error("line {line} is not an event")]
    NoEvent {
        line: u64,
        #[source]
        source: CodecError,
    },
    /// It has too few or too many events.
    #[error("it should have {expected} events and has {found}: it is cut off or was changed")]
    Incomplete { expected: u64, found: u64 },
    /// It was changed.
    #[error("its checksum does not match: it was changed after it was written")]
    Changed,
}

impl ExportError {
    /// The hint for a person.
    #[must_use]
    pub fn hint(&self) -> Hint {
        let export = || HintCommand::troop("team export").word("--output").blank("FILE");
        match self {
            Self::Unreadable(_) | Self::NotAnExport => {
                Hint::from("import what ").and_run(export()).and(" wrote")
            }
            Self::Newer { .. } => "a newer troop wrote it; upgrade troop".into(),
            Self::NoEvent { source, .. } if source.is_newer() => {
                "a newer troop wrote it; upgrade troop".into()
            }
            Self::NoEvent { .. } | Self::Incomplete { .. } | Self::Changed => {
                Hint::from("copy the file again").or_to("export the team again", export())
            }
        }
    }
}

/// Writes a team's log, page by page: the header first, then every event as it is stored. Events that are appended meanwhile
/// are not part of it.
pub async fn export<E: From<BoardError>>(
    store: &dyn Store,
    id: TeamId,
    name: &str,
    mut write: impl FnMut(&str) -> Result<(), E>,
) -> Result<ExportHeader, E> {
    let mut digest = Sha256::new();
    let mut events = Version::ZERO;
    let read =
        async |after: Version| store.read(id, after, READ_AT_ONCE).await.map_err(BoardError::from);
    // The lines are read twice, because the header comes first and names their checksum.
    loop {
        let page = read(events).await?;
        page.iter().for_each(|entry| digest.update(line(entry)));
        events = events.plus(page.len());
        if page.len() < READ_AT_ONCE {
            break;
        }
    }
    let header = ExportHeader {
        troop_export: FORMAT,
        written_by: env!("CARGO_PKG_VERSION").to_owned(),
        team: name.to_owned(),
        id,
        events: events.0,
        sha256: hex(digest),
    };
    let first = serde_json::to_string(&header).expect("a header is JSON");
    write(&format!("{first}\n"))?;
    let mut written = Version::ZERO;
    while written < events {
        let page = read(written).await?;
        let page = page.iter().take_while(|entry| entry.version <= events);
        let lines: String = page.map(line).collect();
        if lines.is_empty() {
            let what = format!("it ended at event {written} and had {events} before");
            return Err(BoardError::NotALog { what }.into());
        }
        written = written.plus(lines.lines().count());
        write(&lines)?;
    }
    Ok(header)
}

fn line(entry: &Entry) -> String {
    format!("{}\n", entry.body)
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads an exported team, all of it or nothing.
pub fn read_export(mut input: impl BufRead) -> Result<(ExportHeader, Vec<Event>), ExportError> {
    let mut text = Vec::new();
    let mut next = |text: &mut Vec<u8>| {
        text.clear();
        input.read_until(b'\n', text).map_err(ExportError::Unreadable)
    };
    next(&mut text)?;
    let header = header(&text)?;
    let mut digest = Sha256::new();
    let mut events = Vec::new();
    while next(&mut text)? > 0 {
        digest.update(&text);
        let line = std::str::from_utf8(&text).unwrap_or_default();
        let event = decode(line).map_err(|source| {
            // A file that was cut off within a line is incomplete.
            let is_cut = !text.ends_with(b"\n");
            let line = events.len() as u64 + 2;
            let found = events.len() as u64;
            if is_cut {
                ExportError::Incomplete { expected: header.events, found }
            } else {
                ExportError::NoEvent { line, source }
            }
        })?;
        events.push(event);
    }
    let found = events.len() as u64;
    if found != header.events {
        return Err(ExportError::Incomplete { expected: header.events, found });
    }
    if hex(digest) != header.sha256 {
        return Err(ExportError::Changed);
    }
    Ok((header, events))
}

fn header(line: &[u8]) -> Result<ExportHeader, ExportError> {
    #[derive(Deserialize)]
    struct ExportForm {
        troop_export: u32,
    }
    let form: ExportForm = serde_json::from_slice(line).map_err(|_| ExportError::NotAnExport)?;
    if form.troop_export > FORMAT {
        return Err(ExportError::Newer { found: form.troop_export });
    }
    serde_json::from_slice(line).map_err(|_| ExportError::NotAnExport)
}

/// A moment in a team's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// After this event.
    Version(Version),
    /// At this time: after everything that had happened by then.
    Time(Time),
}

/// The state of a team at a moment. Changes nothing, not even a snapshot. A moment after the end of the log is its end.
pub async fn replay(store: &dyn Store, team: TeamId, until: Moment) -> BoardResult<State> {
    let mut state = State::default();
    loop {
        let mut page = store.read(team, state.version(), READ_AT_ONCE).await?;
        let is_last = page.len() < READ_AT_ONCE;
        let n_read = page.len();
        match until {
            Moment::Version(version) => page.retain(|entry| entry.version <= version),
            Moment::Time(time) => {
                let mut n_meant = 0;
                while let Some(entry) = page.get(n_meant)
                    && crate::board::event(entry)?.at <= time
                {
                    n_meant += 1;
                }
                page.truncate(n_meant);
            }
        }
        take_in(&mut state, &page)?;
        // Tasks that had left the board by then are not on it.
        let n_departed = state.tasks().all_departed().len();
        state.forget_departed(n_departed);
        if is_last || page.len() < n_read {
            return Ok(state);
        }
    }
}
