//! Watches the process or task of a member until it exits, and kills everything that it leaves behind.

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader},
    process::Child,
    sync::mpsc,
    time::timeout,
};
use troop_process::{Group, Mark};

use super::{OUTPUT_GRACE, lifecycle::MemberExit, member::MemberHost};
use crate::lead::{Runner, input::LeadInput, launch::Life, post::Background};

/// The longest line of standard error; longer ones are split.
const MAX_COMPLAINT: u64 = 4_096;

/// Watches a process or task until it exits.
pub(super) fn attend(
    background: &Background,
    runner: &Runner,
    life: Life,
    mark: Mark,
) -> MemberHost {
    let runner = runner.clone();
    match life {
        Life::Process(mut child) => {
            let pid = child.id();
            let complaints = child.stderr.take().map(|complaints| {
                let hearing =
                    hear_complaints(complaints, runner.clone(), background.inputs.clone());
                background.tracker.spawn(hearing)
            });
            background.spawn_input(async move {
                let exit = see_out(*child, mark).await;
                // Its last lines of standard error explain its exit.
                if let Some(complaints) = complaints {
                    drop(timeout(OUTPUT_GRACE, complaints).await);
                }
                Some(LeadInput::Exited(runner, exit))
            });
            MemberHost::Process(pid.unwrap_or_default())
        }
        Life::Task(task) => {
            let task = background.tracker.spawn(task);
            let abort = task.abort_handle();
            background.spawn_input(async move {
                let exit = match task.await {
                    Ok(()) => MemberExit::Task,
                    Err(error) if error.is_cancelled() => MemberExit::Task,
                    Err(error) => MemberExit::Unknown(error.into()),
                };
                // Processes that it started carry its mark.
                drop(tokio::task::spawn_blocking(move || mark.kill_all()).await);
                Some(LeadInput::Exited(runner, exit))
            });
            MemberHost::Task(abort)
        }
    }
}

/// Waits for a process to exit and kills everything that it left behind.
async fn see_out(mut child: Child, mark: Mark) -> MemberExit {
    let group = Group::led_by(&child);
    let status = child.wait().await;
    let sweep = move || {
        drop(group);
        // Processes in other groups are found by their mark.
        mark.kill_all()
    };
    drop(tokio::task::spawn_blocking(sweep).await);
    match status {
        Ok(status) => MemberExit::Process(status),
        Err(error) => MemberExit::Unknown(error),
    }
}

/// Forwards the standard error of a process, line by line.
async fn hear_complaints(
    complaints: impl AsyncRead + Unpin,
    runner: Runner,
    inputs: mpsc::Sender<LeadInput>,
) {
    let mut complaints = BufReader::new(complaints);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line without end is split, so that it cannot fill our memory.
        match (&mut complaints).take(MAX_COMPLAINT).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if inputs.send(LeadInput::Complained(runner.clone(), text)).await.is_err() {
            return;
        }
    }
}
