//! `troop --guard SESSION`: outlives a lead that is killed, and ends everything that ran for it, hooks too. Its standard input
//! ends with the lead's process, however that ends. A lead that has ended in good order says so first.

use std::{ffi::OsString, io, process::ExitCode, thread, time::Duration};

use troop_process::Mark;
use troop_runtime::GUARD_WORD;

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
    let said = io::read_to_string(io::stdin().lock()).unwrap_or_default();
    if said != GUARD_WORD {
        let mark = Mark { session, run: None };
        mark.kill_all();
        look_again(&mark);
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
