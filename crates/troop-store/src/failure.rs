//! The sentences and hints that the backends share, and how the system's errors become ours.

use std::{
    error::Error,
    fmt::Display,
    io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use troop_model::{TeamId, quoted, quoted_path};

use crate::{StoreError, error::WaitedInLine};

/// How long a caller waits in line for other writers. Several turns fit into it.
pub(crate) const LINE_PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn refused(what: impl Into<String>, hint: impl Into<String>) -> StoreError {
    StoreError::Refused { what: what.into(), hint: hint.into() }
}

pub(crate) fn not_found(what: impl Into<String>, hint: impl Into<String>) -> StoreError {
    StoreError::NotFound { what: what.into(), hint: hint.into() }
}

pub(crate) fn conflict(what: impl Into<String>, hint: impl Into<String>) -> StoreError {
    StoreError::Conflict { what: what.into(), hint: hint.into() }
}

pub(crate) fn corrupt(what: impl Into<String>, hint: impl Into<String>) -> StoreError {
    StoreError::Corrupt { what: what.into(), hint: hint.into() }
}

pub(crate) fn bug(what: impl Into<String>) -> StoreError {
    StoreError::Bug { what: what.into() }
}

pub(crate) fn unavailable(
    what: impl Into<String>,
    hint: impl Into<String>,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> StoreError {
    StoreError::Unavailable { what: what.into(), hint: hint.into(), source: source.into() }
}

pub(crate) fn no_store(url: &str) -> StoreError {
    not_found(
        format!("there is no store at `{url}`"),
        format!(
            "make a team there: `troop team create my-team --store {}`, or check the path",
            quoted(url)
        ),
    )
}

pub(crate) fn written_by_newer(
    place: impl Display,
    found: impl Display,
    known: impl Display,
) -> StoreError {
    refused(
        format!("`{place}` was written by a newer troop (schema {found}, this one knows {known})"),
        "upgrade troop: in its newest source say `cargo install --path crates/troop`",
    )
}

pub(crate) fn unknown_team(team: TeamId) -> StoreError {
    not_found(format!("there is no team `{team}`"), "see `troop team list`")
}

pub(crate) fn name_taken(name: &str) -> StoreError {
    conflict(
        format!("there is already a team `{name}`"),
        format!("choose another name, or free this one: `troop team delete {name}`"),
    )
}

pub(crate) fn id_taken(team: TeamId) -> StoreError {
    conflict(format!("there is a team with the id `{team}` already"), "make the team again")
}

pub(crate) fn waited_too_long() -> StoreError {
    unavailable(
        "other writers did not let go of the log",
        "try again; a stopped process may hold it",
        WaitedInLine,
    )
}

pub(crate) fn turn_taken_back() -> StoreError {
    unavailable(
        "the turn to append was held for too long and taken back",
        "try again",
        "no append came in time",
    )
}

pub(crate) fn restore_hint(path: &Path) -> String {
    format!("restore `{}` from a backup; nothing was changed", path.display())
}

/// Says what could not be done to which path; `act` completes "`PATH` cannot be …".
pub(crate) fn io_failure(act: &str, path: &Path, source: io::Error) -> StoreError {
    let shown = path.display();
    let what = format!("`{shown}` cannot be {act}");
    #[expect(clippy::wildcard_enum_match_arm, reason = "the system has more kinds than answers")]
    match source.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => {
            unavailable(format!("{what}: the disk is full"), space_hint(path), source)
        }
        io::ErrorKind::PermissionDenied => {
            let there = path.ancestors().find(|it| it.exists()).unwrap_or(path);
            refused(format!("{what}: permission denied"), see_hint(there))
        }
        io::ErrorKind::ReadOnlyFilesystem => refused(
            format!("{what}: the file system is read-only"),
            "choose another place with `--store`",
        ),
        io::ErrorKind::NotFound => {
            not_found(format!("there is no `{shown}`"), see_hint(path.parent().unwrap_or(path)))
        }
        _ => unavailable(what, see_hint(path), source),
    }
}

pub(crate) fn space_hint(path: &Path) -> String {
    let folder = quoted_path(path.parent().unwrap_or(path));
    format!("free some space on this disk: `df -h {folder}`")
}

fn see_hint(path: &Path) -> String {
    format!("see `ls -ld {}`", quoted_path(path))
}

/// A folder has to be there before something is made in it.
pub(crate) fn no_folder(folder: &Path) -> StoreError {
    not_found(
        format!("there is no folder `{}`", folder.display()),
        format!("make it: `mkdir -p {}`", quoted_path(folder)),
    )
}

/// The same failure once more, for everyone whose change went down with it.
pub(crate) fn repeat(error: &StoreError) -> StoreError {
    match error {
        StoreError::Refused { what, hint } => refused(what, hint),
        StoreError::NotFound { what, hint } => not_found(what, hint),
        StoreError::Conflict { what, hint } => conflict(what, hint),
        StoreError::Corrupt { what, hint } => corrupt(what, hint),
        StoreError::Bug { what } => bug(what),
        StoreError::Unavailable { source, .. } if source.is::<WaitedInLine>() => waited_too_long(),
        StoreError::Unavailable { what, hint, source } => {
            unavailable(what, hint, source.to_string())
        }
    }
}

/// Locks even if a holder panicked: what these locks guard is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
