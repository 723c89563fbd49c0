//! `troop --guard SESSION`: outlives a lead and kills everything that ran for it. The guard's input ends with the lead, however
//! that happens; a lead that has stopped its members itself writes something first.

use std::{ffi::OsString, io, process::ExitCode, thread, time::Duration};

use troop_process::Mark;

use crate::report::{self, Error};

/// How often we look again for processes that were just being started when the lead died ...
const N_LOOKS: usize = 20;
/// ... and how long after one another.
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
    // Only the end of the input matters.
    let n_read = io::copy(&mut io::stdin().lock(), &mut io::sink()).unwrap_or(0);
    let mark = Mark { session, run: None };
    if n_read == 0 {
        mark.kill_all();
        look_again(&mark);
    } else {
        // Hooks and their background processes may outlive a team that ended in good order.
        mark.kill_members();
    }
    Some(ExitCode::SUCCESS)
}

/// A lead that was killed may have been about to start something.
#[expect(clippy::disallowed_methods, reason = "nothing tells that a process is being started")]
fn look_again(mark: &Mark) {
    for _ in 0..N_LOOKS {
        thread::sleep(PAUSE);
        mark.kill_all();
    }
}
