//! The sentences and hints that the backends share, and how the system's errors become ours.

use std::{error::Error, fmt::Display, io, path::Path, time::Duration};

use troop_model::{Hint, HintCommand, TeamId};

use crate::{StoreError, error::WaitedInLine};

/// How long a caller waits in line for other writers. Several append slots fit into it.
pub(crate) const LINE_PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn refused(what: impl Into<String>, hint: impl Into<Hint>) -> StoreError {
    StoreError::Refused { what: what.into(), hint: hint.into() }
}

pub(crate) fn not_found(what: impl Into<String>, hint: impl Into<Hint>) -> StoreError {
    StoreError::NotFound { what: what.into(), hint: hint.into() }
}

pub(crate) fn conflict(what: impl Into<String>, hint: impl Into<Hint>) -> StoreError {
    StoreError::Conflict { what: what.into(), hint: hint.into() }
}

pub(crate) fn corrupt(what: impl Into<String>, hint: impl Into<Hint>) -> StoreError {
    StoreError::Corrupt { what: what.into(), hint: hint.into() }
}

pub(crate) fn bug(what: impl Into<String>) -> StoreError {
    StoreError::Bug { what: what.into() }
}

pub(crate) fn unavailable(
    what: impl Into<String>,
    hint: impl Into<Hint>,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> StoreError {
    StoreError::Unavailable { what: what.into(), hint: hint.into(), source: source.into() }
}

pub(crate) fn no_store(url: &str) -> StoreError {
    let create = HintCommand::troop("team create").word("my-team").word("--store").word(url);
    not_found(
        format!("there is no store at `{url}`"),
        Hint::to("make a team there", create).and(", or check the path"),
    )
}

pub(crate) fn written_by_newer(
    place: impl Display,
    found: impl Display,
    known: impl Display,
) -> StoreError {
    refused(
        format!("`{place}` was written by a newer troop (schema {found}, this one knows {known})"),
        Hint::from("upgrade troop: in its newest source run ")
            .and_run(HintCommand::other("cargo").words(["install", "--path", "crates/troop"])),
    )
}

pub(crate) fn unknown_team(team: TeamId) -> StoreError {
    let hint = Hint::from("see ").and_run(HintCommand::troop("team list"));
    not_found(format!("there is no team `{team}`"), hint)
}

pub(crate) fn name_taken(name: &str) -> StoreError {
    conflict(
        format!("there is already a team `{name}`"),
        Hint::from("choose another name")
            .or_to("free this one", HintCommand::troop("team delete").team(name)),
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

pub(crate) fn slot_taken_back() -> StoreError {
    unavailable(
        "the append slot was held for too long and taken back",
        "try again",
        "no append came in time",
    )
}

/// The append in a slot ignored the entries that came with the slot.
pub(crate) fn missed_ignored() -> StoreError {
    bug("a slot's batch was not decided on what it missed")
}

pub(crate) fn cannot_lock(
    path: &Path,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> StoreError {
    unavailable(
        format!("`{}` cannot be locked", path.display()),
        "put the store on a local disk, or use `postgres://`",
        source,
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

pub(crate) fn space_hint(path: &Path) -> Hint {
    let folder = path.parent().unwrap_or(path).display();
    Hint::to("free some space on this disk", HintCommand::other("df").word("-h").word(folder))
}

fn see_hint(path: &Path) -> Hint {
    let list = HintCommand::other("ls").word("-ld").word(path.display());
    Hint::from("see ").and_run(list)
}

/// The folder in which a store should be made is missing.
pub(crate) fn no_folder(folder: &Path) -> StoreError {
    not_found(
        format!("there is no folder `{}`", folder.display()),
        Hint::to("make it", HintCommand::other("mkdir").word("-p").word(folder.display())),
    )
}

/// A copy of a failure, for every caller whose change was lost with it.
pub(crate) fn repeat(error: &StoreError) -> StoreError {
    match error {
        StoreError::Refused { what, hint } => refused(what, hint.clone()),
        StoreError::NotFound { what, hint } => not_found(what, hint.clone()),
        StoreError::Conflict { what, hint } => conflict(what, hint.clone()),
        StoreError::Corrupt { what, hint } => corrupt(what, hint.clone()),
        StoreError::Bug { what } => bug(what),
        StoreError::Unavailable { source, .. } if source.is::<WaitedInLine>() => waited_too_long(),
        StoreError::Unavailable { what, hint, source } => {
            unavailable(what, hint.clone(), source.to_string())
        }
    }
}
