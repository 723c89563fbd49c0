//! Errors for people and programs: one line, a hint, the right exit code.

mod options;

pub(crate) use options::CallerOptions;
pub(crate) use troop_app::Error;
pub(crate) use troop_model::{Hint, HintCommand, quoted_path};

use std::{
    error::Error as _,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;
use troop_app::{Diagnosis, ErrorClass, text::chain};
use troop_model::{did_you_mean, nearest, panic_text};
use troop_protocol::FailureKind;
use troop_store::StoreError;

use crate::{
    output::{ClosedOutput, Printer},
    render,
    signals::StopSignal,
};

/// Refused or failed.
const FAILED: u8 = 1;
/// Wrong use.
const WRONG_USE: u8 = 2;
/// A fault in troop.
const BUG: u8 = 70;

/// A signal ended it.
#[derive(Debug, thiserror::Error)]
#[error("stopped by {}; nothing has changed", .0.name)]
pub(crate) struct SignalExit(pub(crate) StopSignal);

/// An error as it is reported.
#[derive(Debug)]
pub(crate) struct Report {
    kind: &'static str,
    pub(crate) message: String,
    pub(crate) hint: Option<Hint>,
    code: u8,
    is_quiet: bool,
}

impl Report {
    pub(crate) fn new(error: &anyhow::Error) -> Self {
        if let Some(SignalExit(signal)) = error.downcast_ref::<SignalExit>() {
            let message = error.to_string();
            return Self {
                kind: "stopped",
                message,
                hint: None,
                code: signal.code(),
                is_quiet: false,
            };
        }
        let found = error.chain().find_map(Diagnosis::of);
        let mut report = Self::of(error.as_ref(), found);
        report.is_quiet = error.is::<ClosedOutput>();
        report
    }

    fn of(error: &(dyn std::error::Error + 'static), found: Option<Diagnosis>) -> Self {
        let found = found.unwrap_or(Diagnosis { class: ErrorClass::Failed, hint: None });
        Self {
            kind: found.class.as_str(),
            message: chain(error),
            hint: found.hint,
            code: code(found.class),
            is_quiet: false,
        }
    }

    pub(crate) fn print(&self, printer: &Printer) -> ExitCode {
        if self.is_quiet {
            return ExitCode::SUCCESS;
        }
        let hint = self.hint.as_ref().map(|hint| CallerOptions::typed().added_to(hint).to_string());
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
pub(crate) fn plain(error: &anyhow::Error) -> ExitCode {
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
    // The parser of a value knows best what is wrong with it.
    if let Some((own, found)) = error.source().and_then(|it| Some((it, Diagnosis::of(it)?))) {
        return Report::of(own, Some(found)).print(&printer);
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

/// The suggestion of clap that is most like the word that was typed.
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

fn code(class: ErrorClass) -> u8 {
    match class {
        ErrorClass::Usage | ErrorClass::Call(FailureKind::Invalid) => WRONG_USE,
        ErrorClass::Call(FailureKind::Bug) => BUG,
        ErrorClass::Refused | ErrorClass::Failed | ErrorClass::Call(_) => FAILED,
    }
}
