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
