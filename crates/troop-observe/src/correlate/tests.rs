//! Uses and results find each other, and collections stay bounded.

use super::*;

fn at(seconds: i64) -> Time {
    Time::from_micros(seconds * 1_000_000)
}

fn pending(id: &str, received_at: Time) -> PendingUse {
    PendingUse {
        id: id.to_owned(),
        tool: "TaskList".to_owned(),
        operation: Operation::ListTasks,
        actor: None,
        received_at,
        stamped_at: None,
        is_announced: false,
    }
}

#[test]
fn a_use_waits_until_its_result_arrives() {
    let mut it = Correlator::default();
    it.add(pending("a", at(0)));
    assert_eq!(it.n_waiting(), 1);
    assert_eq!(it.take("a").unwrap().id, "a");
    assert_eq!(it.n_waiting(), 0);
    assert!(it.take("a").is_none());
    assert!(it.is_settled("a"));
}

#[test]
fn interleaved_pairs_find_each_other() {
    let mut it = Correlator::default();
    for id in ["a", "b", "c"] {
        it.add(pending(id, at(0)));
    }
    for id in ["b", "a", "c"] {
        assert_eq!(it.take(id).unwrap().id, id);
    }
    assert_eq!(it.n_waiting(), 0);
}

#[test]
fn a_result_without_a_use_is_ignored() {
    let mut it = Correlator::default();
    it.add(pending("a", at(0)));
    assert!(it.take("never").is_none());
    assert_eq!(it.n_waiting(), 1);
    assert!(!it.is_settled("never"));
}

#[test]
fn a_use_with_the_same_id_replaces_the_former() {
    let mut it = Correlator::default();
    it.add(pending("a", at(0)));
    it.add(PendingUse { operation: Operation::DeleteTeam, ..pending("a", at(1)) });
    assert_eq!(it.n_waiting(), 1);
    assert_eq!(it.take("a").unwrap().operation, Operation::DeleteTeam);
}

#[test]
fn only_uses_that_waited_too_long_expire() {
    let mut it = Correlator::default();
    it.add(pending("old", at(0)));
    it.add(pending("just", at(10)));
    it.add(pending("new", at(11)));
    assert_eq!(it.flush(at(30), None, MAX_AGE), 0);
    assert_eq!(it.flush(at(40), None, MAX_AGE), 1);
    assert_eq!(it.n_waiting(), 2);
    assert_eq!(it.flush(at(42), None, MAX_AGE), 2);
    assert_eq!((it.n_waiting(), it.waiting().count()), (0, 0));
}

#[test]
fn uses_in_a_recorded_stream_expire_by_its_own_clock() {
    // Everything is read within one second of ours.
    let mut it = Correlator::default();
    it.add(pending("old", at(0)));
    assert_eq!(
        it.flush(at(1), Some(at(500)), MAX_AGE),
        0,
        "the first time after it counts as its own"
    );
    it.add(pending("new", at(1)));
    assert_eq!(it.flush(at(1), None, MAX_AGE), 0);
    assert_eq!(it.flush(at(1), Some(at(530)), MAX_AGE), 0);
    assert_eq!(it.flush(at(1), Some(at(531)), MAX_AGE), 1);
    assert_eq!(it.waiting().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["new"]);
    // A clock that was set back expires nothing.
    assert_eq!(it.flush(at(1), Some(at(3)), MAX_AGE), 0);
}

#[test]
fn a_late_result_still_counts() {
    let mut it = Correlator::default();
    it.add(pending("slow", at(0)));
    assert_eq!(it.flush(at(600), None, MAX_AGE), 1);
    assert!(it.take("slow").is_some());
}

#[test]
fn collections_stay_bounded_whatever_arrives() {
    let mut it = Correlator::default();
    for nth in 0..10_000 {
        it.add(pending(&format!("use {nth}"), at(0)));
        it.keep_early(vec![hash(&format!("result {nth}"))], &[b'x'; 1000]);
        it.settle(&format!("message {nth}"));
    }
    it.keep_early(vec![hash("long")], &vec![b'x'; MAX_EARLY_LINE + 1]);
    assert_eq!((it.waiting.len(), it.late.len()), (MAX_WAITING, MAX_WAITING));
    assert_eq!((it.early.len(), it.settled.order.len()), (MAX_EARLY, MAX_SETTLED));
    assert_eq!(it.settled.known.len(), MAX_SETTLED);
    assert!(it.take_early("long").is_none() && it.take_early("result 9999").is_some());
}

#[test]
fn waiting_uses_hold_a_bounded_number_of_bytes() {
    let letter = |id: &str, n_bytes| {
        let content = "x".repeat(n_bytes);
        let letter = crate::vocabulary::SentLetter { content, ..Default::default() };
        PendingUse { operation: Operation::Send(letter), ..pending(id, at(0)) }
    };
    let mut it = Correlator::default();
    it.add(pending("first", at(0)));
    for nth in 0..600 {
        it.add(letter(&format!("long {nth}"), 1 << 20));
    }
    let held: usize = it.waiting.iter().chain(&it.late).map(PendingUse::n_bytes).sum();
    assert!(held <= MAX_BYTES, "{held}");
    assert!(!it.is_awaited("first") && !it.is_awaited("long 590"));
    assert!(it.is_awaited("long 597") && it.is_awaited("long 599"), "the last ones are known");
    it.add(letter("huge", 2 * MAX_BYTES));
    assert!(it.take("huge").is_some() && it.n_waiting() == 0, "one alone may be longer");
    assert!(serde_json::to_vec(&it).unwrap().len() < 2 * MAX_BYTES);
}

#[test]
fn a_saved_correlator_is_restored_whole() {
    let mut it = Correlator::default();
    it.add(pending("a", at(0)));
    it.settle("b");
    let saved = serde_json::to_string(&it).unwrap();
    let it: Correlator = serde_json::from_str(&saved).unwrap();
    assert!(it.is_awaited("a") && it.is_settled("b") && !it.is_settled("c"));
}
