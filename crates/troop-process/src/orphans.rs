//! Processes that outlive their parent: a process adopts what its own children leave behind, and reaps it.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    Below,
    system::{ProcessStat, adopts_orphans, children},
};

/// How long the code that started a child has to wait for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Adopts whatever is left behind below this process from now on, so that the system can still tell which process started it,
/// and reaps those that die. Never ends.
pub async fn adopt_orphans() -> Infallible {
    // On a system that cannot do that, orphans belong to nobody, as usual.
    let heard = signal(SignalKind::child()).ok().filter(|_| adopts_orphans());
    let Some(mut heard) = heard else { return std::future::pending().await };
    while heard.recv().await.is_some() {
        let before = dead();
        if before.is_empty() {
            continue;
        }
        sleep(PATIENCE).await;
        // The code that starts a child waits for it at once, so these are orphans.
        for id in before.intersection(&dead()) {
            let Some(id) = i32::try_from(*id).ok().and_then(Pid::from_raw) else { continue };
            // Somebody may have waited for it meanwhile.
            let (Ok(_) | Err(_)) = waitpid(Some(id), WaitOptions::NOHANG);
        }
    }
    std::future::pending().await
}

/// Kills every descendant of this process, which must have begun without any.
pub fn end_orphans() {
    Below::of(std::process::id()).kill();
}

/// Children that have ended and that nobody has waited for.
fn dead() -> BTreeSet<u32> {
    let is_dead = |id: &u32| ProcessStat::read(*id).is_some_and(|stat| stat.is_dead());
    children(std::process::id()).into_iter().filter(is_dead).collect()
}
