//! Cases in which a process is killed or stopped.

use troop_model::Version;
use troop_testkit::TestStore;

use crate::{
    processes::{Other, Role},
    support::{append, bodies, create},
};

pub(crate) async fn appends_that_a_killed_writer_acknowledged_survive(store: TestStore) {
    let team = create(&*store, "crew").await;
    for (round, n_heard) in [1, 2, 7, 30].into_iter().enumerate() {
        let mut writer = Other::start(Role::Write, round as u32, &store, team);
        for _ in 0..n_heard {
            writer.hear().unwrap();
        }
        writer.kill();
        // Lines that it printed before it died were acknowledged too.
        let mut n_acknowledged = n_heard;
        while writer.hear().is_some() {
            n_acknowledged += 1;
        }
        let reopened = store.reopen().await;
        let mut seen = Version(1);
        append(&*reopened, team, &mut seen, vec!["null".to_owned()]).await.unwrap();
        let written: Vec<_> = bodies(&*reopened, team).await;
        let start = format!("[{round},");
        let written: Vec<_> = written.iter().filter(|body| body.starts_with(&start)).collect();
        assert_eq!(written.len() % 3, 0, "a batch is whole or absent");
        // The batch in which it died may be in the log as well.
        let n_batches = written.len() / 3;
        assert!((n_acknowledged..=n_acknowledged + 1).contains(&n_batches), "{n_batches}");
        for (nth, body) in written.iter().enumerate() {
            assert!(body.starts_with(&format!("[{round},{},{},", nth / 3, nth % 3)));
        }
    }
}

pub(crate) async fn a_killed_holder_of_a_slot_lets_others_in(store: TestStore) {
    let team = create(&*store, "crew").await;
    let mut holder = Other::start(Role::Hold, 0, &store, team);
    assert_eq!(holder.hear().unwrap(), "holding");
    let mut seen = Version(1);
    let waiting = append(&*store, team, &mut seen, vec!["2".to_owned()]);
    let (end, ()) = tokio::join!(waiting, async { holder.kill() });
    assert_eq!(end.unwrap(), Version(2));
}

pub(crate) async fn a_stopped_holder_of_a_slot_lets_others_in(store: TestStore) {
    let team = create(&*store, "crew").await;
    let mut holder = Other::start(Role::Hold, 0, &store, team);
    assert_eq!(holder.hear().unwrap(), "holding");
    holder.stop();
    let mut seen = Version(1);
    assert_eq!(append(&*store, team, &mut seen, vec!["2".to_owned()]).await.unwrap(), Version(2));
    holder.kill();
}
