//! Errors for people and programs: one line, a hint, the right exit code.

mod options;

pub(crate) use options::CallerOptions;
pub(crate) use troop_app::text::in_plain_words;
pub(crate) use troop_model::{Hint, HintCommand, quoted_path};

use std::{
    error::Error as _,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use anyhow::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;
use troop_app::hint::unknown_team;
use troop_model::{Refusal, RefusalKind, did_you_mean, nearest, panic_text, with_causes};
use troop_protocol::{Failure, FailureKind};
use troop_runtime::{BoardError, ExportError, WorkspaceError};
use troop_store::StoreError;

use crate::{
    output::{Closed, Printer},
    render,
    signals::StopSignal,
};

/// Refused or failed.
const FAILED: u8 = 1;
/// Wrong use.
const WRONG_USE: u8 = 2;
/// A fault in troop.
const BUG: u8 = 70;
const BUG_HINT: &str = "this is a bug in troop; please report it with the command you ran";

/// Something was asked for in a way that makes no sense.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Usage {
    message: String,
    hint: Hint,
}

impl Usage {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Something made sense but is not allowed here.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    kind: &'static str,
    message: String,
    hint: Hint,
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { kind: "refused", message: message.into(), hint: hint.into() }
    }

    /// Whoever asks may not.
    pub(crate) fn forbidden(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { kind: "forbidden", ..Self::new(message, hint) }
    }

    /// Somebody was first.
    pub(crate) fn conflict(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { kind: "conflict", ..Self::new(message, hint) }
    }

    /// There is nothing to do now.
    pub(crate) fn no_work(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self { kind: "no_work", ..Self::new(message, hint) }
    }
}

/// A signal ended it.
#[derive(Debug, thiserror::Error)]
#[error("stopped by {}; nothing has changed", .0.name)]
pub(crate) struct Stopped(pub(crate) StopSignal);

/// What there is to say about a failure.
#[derive(Debug)]
pub(crate) struct Report {
    kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<Hint>,
    code: u8,
    is_quiet: bool,
}

impl Report {
    pub(crate) fn new(error: &Error) -> Self {
        let (kind, code, hint) = classify(error);
        let hint = hint.map(|hint| CallerOptions::typed().added_to(&hint));
        let message = in_plain_words(&with_causes(error.as_ref()));
        Self { kind, message, hint, code, is_quiet: error.is::<Closed>() }
    }

    pub(crate) fn print(&self, printer: &Printer) -> ExitCode {
        if self.is_quiet {
            return ExitCode::SUCCESS;
        }
        let hint = self.hint.as_ref().map(|hint| CallerOptions::typed().written(hint));
        if printer.json {
            let error = json!({"kind": self.kind, "message": self.message, "hint": hint});
            printer.error_line(&json!({ "error": error }).to_string());
        } else {
            let error = render::paint(render::BAD, "error:");
            printer.error_line(&format!("{error} {}", render::clean(&self.message)));
            if let Some(hint) = &hint {
                let word = render::paint(render::BOLD, "hint:");
                printer.error_line(&format!("{word} {}", render::clean(hint)));
            }
        }
        ExitCode::from(self.code)
    }
}

/// Runs the program; a panic becomes an error that says it is a bug.
pub(crate) fn catch(run: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    std::panic::set_hook(Box::new(|_| {}));
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result,
        Err(panic) => Err(StoreError::Bug { what: panic_text(panic.as_ref()).to_owned() }.into()),
    }
}

/// Reports an error before anything is known about the output.
pub(crate) fn plain(error: &Error) -> ExitCode {
    Report::new(error).print(&Printer::plain(false))
}

/// Reports what clap did not understand, in our form. Help and version are not errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        drop(error.print());
        return ExitCode::from(if error.use_stderr() { WRONG_USE } else { 0 });
    }
    let is_json = std::env::args_os().any(|arg| arg == "--json");
    let printer = Printer::plain(is_json);
    if let Some(own) = error.source().and_then(of_value) {
        return Report::new(&own).print(&printer);
    }
    let rendered = error.render().to_string();
    let message = rendered
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    let message = message.trim_start_matches("error: ").to_owned();
    let hint = match suggested(error) {
        Some(suggested) => did_you_mean(&suggested),
        None => format!("see `{} --help`", crate::cli::typed_command()),
    };
    Report { kind: "usage", message, hint: Some(hint.into()), code: WRONG_USE, is_quiet: false }
        .print(&printer)
}

/// What an argument's own parser says is wrong with it.
fn of_value(source: &(dyn std::error::Error + 'static)) -> Option<Error> {
    let refusal = source.downcast_ref::<Refusal>().cloned().map(Error::from);
    refusal.or_else(|| source.downcast_ref::<Usage>().cloned().map(Error::from))
}

/// What was probably meant: of all that clap suggests, what is most like the word that was typed.
fn suggested(error: &clap::Error) -> Option<String> {
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(many)) => many.clone(),
        _ => Vec::new(),
    };
    let typed =
        [ContextKind::InvalidSubcommand, ContextKind::InvalidArg, ContextKind::InvalidValue];
    let typed = typed.into_iter().flat_map(texts).next()?;
    let kinds =
        [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let suggested: Vec<String> = kinds.into_iter().flat_map(texts).collect();
    nearest(&typed, suggested.iter().map(String::as_str)).map(str::to_owned)
}

/// The class, the exit code and the hint of an error.
fn classify(error: &Error) -> (&'static str, u8, Option<Hint>) {
    if let Some(usage) = error.downcast_ref::<Usage>() {
        return ("usage", WRONG_USE, Some(usage.hint.clone()));
    }
    if let Some(error) = error.downcast_ref::<troop_app::Error>() {
        return of_library(error);
    }
    if let Some(refused) = error.downcast_ref::<Refused>() {
        return (refused.kind, FAILED, Some(refused.hint.clone()));
    }
    if let Some(Stopped(signal)) = error.downcast_ref::<Stopped>() {
        return ("stopped", signal.code(), None);
    }
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        return refused(refusal);
    }
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return told(failure);
    }
    if let Some(store) = error.downcast_ref::<StoreError>() {
        return stored(store);
    }
    match error.downcast_ref::<WorkspaceError>() {
        Some(WorkspaceError::Board(error)) => return on_board(Some(error)),
        Some(error) => {
            let code = if error.kind() == FailureKind::Invalid { WRONG_USE } else { FAILED };
            return (error.kind().as_str(), code, error.hint());
        }
        None => {}
    }
    if let Some(error) = error.downcast_ref::<ExportError>() {
        return ("invalid", WRONG_USE, Some(error.hint()));
    }
    on_board(error.downcast_ref::<BoardError>())
}

/// The same of an error of the library.
fn of_library(error: &troop_app::Error) -> (&'static str, u8, Option<Hint>) {
    match error {
        troop_app::Error::Misuse { hint, .. } => ("usage", WRONG_USE, Some(hint.clone())),
        troop_app::Error::Refused { kind, hint, .. } => (kind.as_str(), FAILED, Some(hint.clone())),
        troop_app::Error::Board(error) => on_board(Some(error)),
        troop_app::Error::Store(error) => stored(error),
        troop_app::Error::Lead(failure) => told(failure),
        troop_app::Error::File { .. } | troop_app::Error::Damaged { .. } | _ => {
            ("failed", FAILED, None)
        }
    }
}

fn on_board(error: Option<&BoardError>) -> (&'static str, u8, Option<Hint>) {
    match error {
        Some(BoardError::Refused(refusal)) => refused(refusal),
        Some(BoardError::Store(store)) => stored(store),
        Some(BoardError::Log { source, .. }) if source.is_newer() => {
            ("refused", FAILED, Some("a newer troop wrote this log; upgrade troop".into()))
        }
        Some(
            BoardError::Log { .. } | BoardError::Misplaced { .. } | BoardError::Archive { .. },
        ) => (
            "corrupt",
            FAILED,
            Some(
                Hint::from("restore the store from a backup")
                    .then_to("", HintCommand::troop("doctor")),
            ),
        ),
        Some(BoardError::NoSuchTeam { name, known }) => {
            ("not_found", FAILED, Some(unknown_team(name, known)))
        }
        Some(BoardError::AlreadyActive { name }) => {
            let delete = HintCommand::troop("team delete").team(name);
            ("conflict", FAILED, Some(Hint::to("delete it first", delete)))
        }
        Some(BoardError::NoActiveTeam) => ("not_found", FAILED, Some(Hint::create_team())),
        Some(BoardError::Broken { .. }) => ("bug", BUG, Some(BUG_HINT.into())),
        _ => ("failed", FAILED, None),
    }
}

fn refused(refusal: &Refusal) -> (&'static str, u8, Option<Hint>) {
    let (kind, code) = match refusal.kind() {
        RefusalKind::NotFound => ("not_found", FAILED),
        RefusalKind::Conflict => ("conflict", FAILED),
        RefusalKind::Forbidden => ("forbidden", FAILED),
        RefusalKind::Invalid => ("invalid", WRONG_USE),
        RefusalKind::Limit => ("limit", FAILED),
        RefusalKind::NoWork => ("no_work", FAILED),
    };
    (kind, code, refusal.hint())
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "what this program does not know is a bug of it"
)]
fn stored(error: &StoreError) -> (&'static str, u8, Option<Hint>) {
    match error {
        StoreError::Refused { hint, .. } => ("refused", FAILED, Some(hint.clone())),
        StoreError::NotFound { hint, .. } => ("not_found", FAILED, Some(hint.clone())),
        StoreError::Conflict { hint, .. } => ("conflict", FAILED, Some(hint.clone())),
        StoreError::Unavailable { hint, .. } => ("unavailable", FAILED, Some(hint.clone())),
        StoreError::Corrupt { hint, .. } => ("corrupt", FAILED, Some(hint.clone())),
        _ => ("bug", BUG, Some(BUG_HINT.into())),
    }
}

/// What a lead says about a command that it did not carry out.
fn told(failure: &Failure) -> (&'static str, u8, Option<Hint>) {
    let kind = failure.kind;
    if kind == FailureKind::Bug {
        return ("bug", BUG, Some(BUG_HINT.into()));
    }
    let code = if kind == FailureKind::Invalid { WRONG_USE } else { FAILED };
    (kind.as_str(), code, failure.hint.clone())
}
