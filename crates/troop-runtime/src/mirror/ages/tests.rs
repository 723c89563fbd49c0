//! Files from the future grow old like any other.

use std::{fs, time::Duration};

use tokio::time::Instant;
use troop_model::Time;

use super::{Ages, Stamp};

const LIMIT: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn a_file_from_the_future_grows_old_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    fs::write(&path, "{").unwrap();
    let stamp = Stamp::of(&path).unwrap().unwrap();
    let yesterday = Time::from_micros(stamp.at.as_micros() - 24 * 3_600 * 1_000_000);
    let mut ages = Ages::default();
    assert!(ages.age(&path, stamp, yesterday, Instant::now()) <= LIMIT);
    tokio::time::advance(LIMIT / 2).await;
    // Writing it again resets its age.
    fs::write(&path, "{{").unwrap();
    let again = Stamp::of(&path).unwrap().unwrap();
    assert!(ages.age(&path, again, yesterday, Instant::now()) <= LIMIT);
    tokio::time::advance(LIMIT * 3 / 4).await;
    assert!(ages.age(&path, again, yesterday, Instant::now()) <= LIMIT);
    tokio::time::advance(LIMIT).await;
    assert!(ages.age(&path, again, yesterday, Instant::now()) > LIMIT);
    tokio::time::advance(Duration::from_secs(60)).await;
    ages.forget_old(Instant::now());
    assert!(ages.seen.is_empty());
}

#[tokio::test]
async fn a_file_is_as_old_as_its_timestamp() {
    let folder = tempfile::tempdir().unwrap();
    let stamp = Stamp::of(folder.path()).unwrap().unwrap();
    let later = Time::from_micros(stamp.at.as_micros() + 3_000_000);
    assert!(Ages::default().age(folder.path(), stamp, later, Instant::now()) > LIMIT);
}
