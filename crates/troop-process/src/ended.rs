//! Whether a process is over.

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

use crate::ProcessStat;

/// Whether there is no such process, or it has ended and nobody has waited for it.
#[must_use]
pub fn has_ended(id: u32) -> bool {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else { return true };
    test_kill_process(pid) == Err(Errno::SRCH)
        || ProcessStat::read(id).is_some_and(|stat| stat.is_dead())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio, id};

    use troop_testkit::wait_for;

    use super::*;

    #[tokio::test]
    #[cfg(target_os = "linux")]
    async fn a_process_that_nobody_has_waited_for_has_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!has_ended(child.id()), "it reads");
        drop(child.stdin.take());
        let id_of_child = child.id();
        wait_for("it has ended", async || has_ended(id_of_child).then_some(())).await;
        child.wait().unwrap();
        assert!(has_ended(child.id()));
        assert!(!has_ended(id()));
    }
}
