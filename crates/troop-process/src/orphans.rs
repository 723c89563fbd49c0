//! Orphans: processes whose parent has ended. This process adopts those of its descendants and reaps them.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{Below, ProcessStat, children};

/// How long the code that started a child has to wait for it before the child counts as an orphan.
const PATIENCE: Duration = Duration::from_secs(1);

/// From now on adopts the orphans below this process, so that the system can still tell who started them, and reaps those
/// that end. Never returns.
pub async fn adopt_orphans() -> Infallible {
    // If the system cannot do that, `init` adopts them as usual.
    let ended =
        signal(SignalKind::child()).ok().filter(|_| set_child_subreaper(Some(getpid())).is_ok());
    let Some(mut ended) = ended else { return std::future::pending().await };
    while ended.recv().await.is_some() {
        let before = zombies();
        if before.is_empty() {
            continue;
        }
        sleep(PATIENCE).await;
        // Children that we started ourselves have been waited for by now.
        for id in before.intersection(&zombies()) {
            let Some(id) = i32::try_from(*id).ok().and_then(Pid::from_raw) else { continue };
            // Somebody may have waited for it meanwhile.
            let (Ok(_) | Err(_)) = waitpid(Some(id), WaitOptions::NOHANG);
        }
    }
    std::future::pending().await
}

/// Kills everything below this process, which must have started without children.
pub fn end_descendants() {
    Below::of(std::process::id()).kill();
}

/// Children that have ended and that nobody has waited for.
fn zombies() -> BTreeSet<u32> {
    let is_dead = |id: &u32| ProcessStat::read(*id).is_some_and(|stat| stat.is_dead);
    children(std::process::id()).into_iter().filter(is_dead).collect()
}
