//! Waits that say what they waited for.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// After this long, what is waited for does not come. Long, because the machine may be busy with other things.
const DEADLINE: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(2);

/// Waits until `check` answers with something, and gives it back.
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

/// Waits until a process has ended. One that nobody has waited for yet has ended as well.
///
/// # Panics
///
/// If it lives on for too long.
pub async fn wait_until_gone(process: &str) {
    let stat = format!("/proc/{}/stat", process.trim());
    wait_for(&format!("the end of process {process}"), async || {
        let state = std::fs::read_to_string(&stat);
        state.map_or(true, |state| state.contains(") Z ")).then_some(())
    })
    .await;
}
