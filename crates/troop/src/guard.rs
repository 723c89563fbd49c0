//! `troop --guard SESSION`: outlives a lead and ends everything that ran for it. Its standard input ends with the lead,
//! however the lead ends. A lead that has stopped its members itself writes a line first.

use std::{ffi::OsString, io, process::ExitCode, thread, time::Duration};

use troop_process::Mark;

use crate::report::{self, Error};

/// How often we look again for processes that were being started when the lead was killed.
const N_LOOKS: usize = 20;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Guards a session, if that is what the arguments ask for.
pub(crate) fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != "--guard" {
        return None;
    }
    let session = arguments.next().and_then(|it| it.to_str()?.parse().ok());
    let Some(session) = session else {
        let usage =
            Error::misuse("`--guard` needs the id of a session", "leads use this, not people");
        return Some(report::plain(&usage.into()));
    };
    // An error counts as the end too.
    let n_read = io::copy(&mut io::stdin().lock(), &mut io::sink()).unwrap_or(0);
    let mark = Mark { session, run: None };
    if n_read == 0 {
        mark.kill_all();
        look_again(&mark);
    } else {
        // After an orderly end, hooks and their background processes live on.
        mark.kill_members();
    }
    Some(ExitCode::SUCCESS)
}

/// Kills processes that the lead was about to start when it was killed.
#[expect(clippy::disallowed_methods, reason = "nothing reports that a process is being started")]
fn look_again(mark: &Mark) {
    for _ in 0..N_LOOKS {
        thread::sleep(PAUSE);
        mark.kill_all();
    }
}
