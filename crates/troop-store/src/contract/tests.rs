//! What a watch promises without a store: patience that outlasts interruptions.

use tokio::{
    sync::watch,
    time::{Duration, Instant, timeout},
};

use super::Watch;

/// Waits in pieces, as a loop that is woken by other things does, until the watch tells to look.
async fn wait_in_pieces(watch: &mut Watch) -> Duration {
    let started_at = Instant::now();
    while timeout(Duration::from_millis(300), watch.changed()).await.is_err() {}
    started_at.elapsed()
}

#[tokio::test(start_paused = true)]
async fn who_is_often_interrupted_still_looks_in_time() {
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
