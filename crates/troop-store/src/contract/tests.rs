//! A watch without a store: interrupted waits still end in time.

use tokio::{
    sync::watch,
    time::{Duration, Instant, timeout},
};

use super::Watch;

/// Waits in pieces, like a loop that other events wake up, until the watch reports a change.
async fn wait_in_pieces(watch: &mut Watch) -> Duration {
    let started_at = Instant::now();
    while timeout(Duration::from_millis(300), watch.changed()).await.is_err() {}
    started_at.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_often_interrupted_wait_still_ends_in_time() {
    let bell = watch::Sender::new(0);
    let mut watch = Watch::new(bell.subscribe());
    for _ in 0..3 {
        let waited = wait_in_pieces(&mut watch).await;
        assert!(waited >= Watch::PATIENCE, "{waited:?}");
        assert!(waited < Watch::PATIENCE + Duration::from_millis(10), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_notice_during_an_interruption_is_not_missed() {
    let bell = watch::Sender::new(0);
    let mut watch = Watch::new(bell.subscribe());
    timeout(Duration::from_millis(300), watch.changed()).await.unwrap_err();
    bell.send_replace(1);
    assert!(wait_in_pieces(&mut watch).await < Duration::from_millis(10));
    assert!(wait_in_pieces(&mut watch).await >= Watch::PATIENCE);
}

#[tokio::test(start_paused = true)]
async fn a_bell_that_is_gone_does_not_make_its_watch_spin() {
    let mut watch = Watch::new(watch::Sender::new(0).subscribe());
    assert!(wait_in_pieces(&mut watch).await >= Watch::PATIENCE);
    assert!(wait_in_pieces(&mut watch).await >= Watch::PATIENCE);
}
