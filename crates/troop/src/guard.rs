//! `troop --guard SESSION`: outlives a lead, and ends all that ran for it. However the lead went, what this process reads
//! ends with it.

use std::{ffi::OsString, io, process::ExitCode};

use troop_runtime::process::Mark;

use crate::report::{self, Usage};

/// Guards a session, if that is what the arguments ask for.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != "--guard" {
        return None;
    }
    let session = arguments.next().and_then(|it| it.to_str()?.parse().ok());
    let Some(session) = session else {
        let usage = Usage::new("`--guard` needs the id of a session", "leads use this, not people");
        return Some(report::plain(&usage.into()));
    };
    // Whatever is read, and whether it can be read: its end is what counts.
    drop(io::copy(&mut io::stdin().lock(), &mut io::sink()));
    Mark { session, run: None }.kill_all();
    Some(ExitCode::SUCCESS)
}
