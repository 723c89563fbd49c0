//! Which timer fires next.

use std::time::Duration;

use super::{Due, Timers};

#[tokio::test(start_paused = true)]
async fn the_earliest_timer_fires_first_unless_it_is_forgotten() {
    let mut timers = Timers::default();
    timers.set(Duration::from_secs(3), Due::Tick);
    timers.set(Duration::from_secs(1), Due::Renew);
    timers.set(Duration::from_secs(2), Due::Restart("ann".parse().unwrap()));
    timers.forget(&Due::Renew);
    assert_eq!(timers.next().await, Due::Restart("ann".parse().unwrap()));
    assert_eq!(timers.next().await, Due::Tick);
}
