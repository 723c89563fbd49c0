//! When a teammate that crashed is started again.

use std::time::Duration;

use super::{Restarts, Timing};

#[test]
fn each_crash_waits_longer_until_there_are_too_many() {
    let timing =
        Timing { restart: Duration::from_millis(100), max_restarts: 3, ..Timing::default() };
    let ann = "ann".parse().unwrap();
    let mut restarts = Restarts::default();
    let mut next = || {
        let is_worth_it = restarts.after_crash(&ann, &timing);
        restarts.pause(&ann).filter(|_| is_worth_it).map(|it| it.as_millis())
    };
    assert_eq!(
        [next(), next(), next(), next(), next()],
        [Some(100), Some(200), Some(400), None, None]
    );
}

#[test]
fn who_gets_something_done_has_a_clean_slate() {
    let timing = Timing { max_restarts: 1, ..Timing::default() };
    let ann = "ann".parse().unwrap();
    let mut restarts = Restarts::default();
    assert!(restarts.after_crash(&ann, &timing));
    assert!(!restarts.after_crash(&ann, &timing));
    restarts.forgive(&ann);
    assert!(restarts.after_crash(&ann, &timing));
    restarts.forgive(&ann);
    assert!(restarts.is_waiting(&ann), "it may have done it right before it crashed");
    restarts.forget(&ann);
    assert!(!restarts.is_waiting(&ann));
}
