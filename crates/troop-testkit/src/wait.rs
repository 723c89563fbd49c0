//! Waits that say what they waited for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a wait takes before it fails. Long, because the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(2);

/// Waits until `check` returns something, and returns it.
///
/// # Panics
///
/// If it takes too long; the message names what was waited for.
pub async fn wait_for<T>(what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {DEADLINE:?} in vain for: {what}");
        sleep(STEP).await;
    }
}

/// Waits until a process has ended. A zombie has ended, too.
///
/// # Panics
///
/// If it does not end in time.
pub async fn wait_until_gone(process: &str) {
    let stat = format!("/proc/{}/stat", process.trim());
    wait_for(&format!("the end of process {process}"), async || {
        let state = std::fs::read_to_string(&stat);
        state.map_or(true, |state| state.contains(") Z ")).then_some(())
    })
    .await;
}
