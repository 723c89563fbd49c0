//! How SQLite's errors become ours.

use std::path::Path;

use rusqlite::{Error, ffi::ErrorCode};
use troop_model::quoted_path;

use crate::{
    StoreError,
    failure::{bug, cannot_lock, corrupt, refused, restore_hint, space_hint, unavailable},
};

pub(super) fn is_code(error: &Error, code: ErrorCode) -> bool {
    error.sqlite_error_code() == Some(code)
}

pub(super) fn sql_failure(path: &Path, error: Error) -> StoreError {
    let shown = path.display();
    let typed = quoted_path(path);
    let Some(code) = error.sqlite_error_code() else {
        return bug(format!("a query does not fit the tables of `{shown}`: {error}"));
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "SQLite has more codes than we have answers"
    )]
    match code {
        ErrorCode::DiskFull => {
            unavailable(format!("the disk of `{shown}` is full"), space_hint(path), error)
        }
        ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied => refused(
            format!("`{shown}` cannot be written: it or its folder is read-only"),
            format!("see `ls -ld {typed}*`, or choose another place with `--store`"),
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => unavailable(
            format!("another program holds `{shown}`"),
            format!("see which: `fuser -v {typed}`"),
            error,
        ),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            corrupt(format!("`{shown}` is damaged: {error}"), restore_hint(path))
        }
        ErrorCode::FileLockingProtocolFailed => cannot_lock(path, error),
        ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::ApiMisuse => {
            bug(format!("a change does not fit the tables of `{shown}`: {error}"))
        }
        _ => unavailable(
            format!("`{shown}` cannot be used now"),
            format!("see `ls -ld {typed}*`"),
            error,
        ),
    }
}
