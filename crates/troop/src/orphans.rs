//! What was left behind by what a member started: it stays below who answers for it, and is not left dead.

use std::{collections::BTreeSet, convert::Infallible, time::Duration};

use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use troop_app::surroundings::ProcessStat;
use troop_process::{Below, children};

/// How long who started something has to ask how it ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Adopts whatever is left behind below this process from now on, so that the system can still tell who started it; and
/// buries those that die. Never ends.
pub(crate) async fn adopt() -> Infallible {
    // Where the system cannot do that, they belong to nobody, as everywhere.
    let heard =
        signal(SignalKind::child()).ok().filter(|_| set_child_subreaper(Some(getpid())).is_ok());
    let Some(mut heard) = heard else { return std::future::pending().await };
    while heard.recv().await.is_some() {
        let before = dead();
        if before.is_empty() {
            continue;
        }
        sleep(PATIENCE).await;
        // Whoever was started here is asked for at once by who started it.
        for id in before.intersection(&dead()) {
            let Some(id) = i32::try_from(*id).ok().and_then(Pid::from_raw) else { continue };
            // Who was asked for meanwhile is gone.
            let (Ok(_) | Err(_)) = waitpid(Some(id), WaitOptions::NOHANG);
        }
    }
    std::future::pending().await
}

/// Ends all that stands below this process, which must have begun without anybody there.
pub(crate) fn end() {
    Below::of(std::process::id()).kill();
}

/// Children that are over, and that nobody has asked how they ended.
fn dead() -> BTreeSet<u32> {
    let is_dead = |id: &u32| ProcessStat::read(*id).is_some_and(|stat| stat.is_dead);
    children(std::process::id()).into_iter().filter(is_dead).collect()
}
