//! The class of an error and what to do about it, for every type of error that reaches a surface.

use std::error::Error as StdError;

use troop_model::{Hint, HintCommand, Refusal};
use troop_protocol::{Failure, FailureKind};
use troop_runtime::{BoardError, LeadError, WorkspaceError};
use troop_store::StoreError;

use super::{Error, RefusedKind};
use crate::hint::unknown_team;

const BUG_HINT: &str = "this is a bug in troop; please report it with the command you ran";

/// The class of an error. Each surface has its own codes for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// It was asked for in a way that makes no sense.
    Usage,
    /// It cannot be done as things stand.
    Refused,
    /// One of the classes that calls over the wire have.
    Call(FailureKind),
    /// Something outside troop failed.
    Failed,
}

impl ErrorClass {
    /// The word that programs read.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::Refused => "refused",
            Self::Call(kind) => kind.as_str(),
            Self::Failed => "failed",
        }
    }
}

/// The class of an error and its hint, for surfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub class: ErrorClass,
    pub hint: Option<Hint>,
}

impl Diagnosis {
    const FAILED: Self = Self { class: ErrorClass::Failed, hint: None };

    /// The diagnosis of an error. None if the type of the error says nothing; one of its causes may.
    #[must_use]
    pub fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        if let Some(error) = error.downcast_ref::<Error>() {
            return Some(of_error(error));
        }
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            return Some(of_refusal(refusal));
        }
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return Some(of_failure(failure));
        }
        if let Some(store) = error.downcast_ref::<StoreError>() {
            return Some(of_store(store));
        }
        match error.downcast_ref::<WorkspaceError>() {
            Some(WorkspaceError::Board(error)) => return Some(of_board(error)),
            Some(error) => return Some(Self::call(error.kind(), error.hint())),
            None => {}
        }
        error.downcast_ref::<BoardError>().map(of_board)
    }

    fn refused(hint: Hint) -> Self {
        Self { class: ErrorClass::Refused, hint: Some(hint) }
    }

    fn call(kind: FailureKind, hint: Option<Hint>) -> Self {
        Self { class: ErrorClass::Call(kind), hint }
    }

    fn bug() -> Self {
        Self::call(FailureKind::Bug, Some(BUG_HINT.into()))
    }
}

pub(super) fn of_error(error: &Error) -> Diagnosis {
    match error {
        Error::Misuse { hint, .. } => {
            Diagnosis { class: ErrorClass::Usage, hint: Some(hint.clone()) }
        }
        Error::Refused { kind, hint, .. } => {
            let hint = hint.clone();
            match kind {
                RefusedKind::Refused => Diagnosis::refused(hint),
                RefusedKind::Forbidden => Diagnosis::call(FailureKind::Forbidden, Some(hint)),
                RefusedKind::Conflict => Diagnosis::call(FailureKind::Conflict, Some(hint)),
                RefusedKind::NoWork => Diagnosis::call(FailureKind::NoWork, Some(hint)),
            }
        }
        Error::Import { source, .. } => Diagnosis::call(FailureKind::Invalid, Some(source.hint())),
        Error::Board(error) => of_board(error),
        Error::Store(error) => of_store(error),
        Error::Lead(failure) => of_failure(failure),
        Error::Damaged { path, .. } => {
            let remove = HintCommand::other("rm").word(path.display());
            Diagnosis { hint: Some(Hint::to("start over", remove)), ..Diagnosis::FAILED }
        }
        Error::Git(error) | Error::Leading(LeadError::Merges(error)) => {
            Diagnosis { hint: error.hint(), ..Diagnosis::FAILED }
        }
        Error::File { .. } | Error::Leading(_) | Error::Connection(_) => Diagnosis::FAILED,
    }
}

fn of_board(error: &BoardError) -> Diagnosis {
    match error {
        BoardError::Refused(refusal) => of_refusal(refusal),
        BoardError::Store(store) => of_store(store),
        BoardError::Log { source, .. } if source.is_newer() => {
            Diagnosis::refused("a newer troop wrote this log; upgrade troop".into())
        }
        BoardError::Log { .. } | BoardError::Misplaced { .. } | BoardError::Archive { .. } => {
            let hint = Hint::from("restore the store from a backup");
            Diagnosis::call(
                FailureKind::Corrupt,
                Some(hint.then_to("", HintCommand::troop("doctor"))),
            )
        }
        BoardError::NoSuchTeam { name, known } => {
            Diagnosis::call(FailureKind::NotFound, Some(unknown_team(name, known)))
        }
        BoardError::AlreadyActive { name } => {
            let delete = HintCommand::troop("team delete").team(name);
            Diagnosis::call(FailureKind::Conflict, Some(Hint::to("delete it first", delete)))
        }
        BoardError::FileInUse { lock, .. } => {
            let hint = Hint::from("try again when that program has let go of it");
            // The lock of the system ends with its holder; a folder does not.
            let hint = match lock.is_dir() {
                true => {
                    let remove = HintCommand::other("rmdir").word(lock.display());
                    hint.or_to("if no program has it any more", remove)
                }
                false => hint,
            };
            Diagnosis::call(FailureKind::Conflict, Some(hint))
        }
        BoardError::NoActiveTeam => {
            Diagnosis::call(FailureKind::NotFound, Some(Hint::create_team()))
        }
        BoardError::Broken { .. } => Diagnosis::bug(),
        BoardError::NotALog { .. } | BoardError::Closed | _ => Diagnosis::FAILED,
    }
}

fn of_refusal(refusal: &Refusal) -> Diagnosis {
    Diagnosis::call(refusal.kind().into(), refusal.hint())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an error that this program does not know is a bug in it"
)]
fn of_store(error: &StoreError) -> Diagnosis {
    let call = |kind, hint: &Hint| Diagnosis::call(kind, Some(hint.clone()));
    match error {
        StoreError::Refused { hint, .. } => Diagnosis::refused(hint.clone()),
        StoreError::NotFound { hint, .. } => call(FailureKind::NotFound, hint),
        StoreError::Conflict { hint, .. } => call(FailureKind::Conflict, hint),
        StoreError::Unavailable { hint, .. } => call(FailureKind::Unavailable, hint),
        StoreError::Corrupt { hint, .. } => call(FailureKind::Corrupt, hint),
        _ => Diagnosis::bug(),
    }
}

/// A command that a lead did not carry out.
fn of_failure(failure: &Failure) -> Diagnosis {
    if failure.kind == FailureKind::Bug {
        return Diagnosis::bug();
    }
    Diagnosis::call(failure.kind, failure.hint.clone())
}

#[cfg(test)]
mod tests;
