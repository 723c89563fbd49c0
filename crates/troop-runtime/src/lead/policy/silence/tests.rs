//! Signs of life.

use std::time::Duration;

use super::{hanging, renewals_due, was_asleep};
use crate::lead::{
    crew::lifecycle::Lifecycle,
    policy::table::{SmallTeam, name, stop_order},
};

/// A change to a team whose members were all silent since it began.
type Change = fn(&mut SmallTeam);

const SECOND: Duration = Duration::from_secs(1);

fn lease(scene: &SmallTeam) -> Duration {
    scene.state.team().unwrap().settings.lease()
}

fn names(members: &[troop_model::MemberName]) -> Vec<String> {
    members.iter().map(ToString::to_string).collect()
}

/// The members whose leases are renewed this long after the last renewal.
fn renewed(after: impl FnOnce(Duration) -> Duration, change: Change) -> Vec<String> {
    let mut scene = SmallTeam::new();
    let pause = after(lease(&scene));
    scene.waits(pause);
    change(&mut scene);
    names(&renewals_due(&scene.state, &scene.list(), |it| *it == name("bob"), scene.now))
}

#[test]
fn leases_of_members_that_were_heard_are_renewed_after_a_third() {
    let heard: Change = |it| it.facts("ann").signs.heard_at = it.now;
    assert_eq!(renewed(|lease| lease / 3, heard), ["ann", "bob"]);
    assert_eq!(renewed(|lease| lease / 3 - SECOND, heard), Vec::<String>::new(), "too early");
}

#[test]
fn leases_of_silent_members_lapse_unless_they_wait_for_the_lead() {
    assert_eq!(renewed(|lease| lease, |_| {}), ["bob"], "bob's folder is being made ready");
    let held: Change = |it| it.facts("ann").work.n_held = 1;
    assert_eq!(renewed(|lease| lease, held), ["ann", "bob"], "ann waits for hooks");
}

#[test]
fn a_sign_of_life_before_the_last_renewal_renews_nothing() {
    let old: Change = |it| {
        it.facts("ann").signs.heard_at = it.now - SECOND;
        it.facts("ann").signs.renewed_at = it.now - Duration::from_millis(500);
    };
    assert_eq!(renewed(|lease| lease, old), ["bob"]);
}

/// The members that hang after this long a silence.
fn hangs(after: impl FnOnce(Duration) -> Duration, change: Change) -> Vec<String> {
    let mut scene = SmallTeam::new();
    change(&mut scene);
    let pause = after(lease(&scene));
    scene.waits(pause);
    names(&hanging(&scene.state, &scene.list(), scene.now))
}

const BUSY: Change = |it| it.facts("ann").work.is_at_rest = false;

#[test]
fn a_busy_member_that_is_silent_for_a_lease_hangs() {
    assert_eq!(hangs(|lease| lease, BUSY), ["ann"]);
    assert_eq!(hangs(|lease| lease - SECOND, BUSY), Vec::<String>::new(), "it has time");
    let in_turn: Change = |it| it.facts("ann").work.is_in_turn = true;
    assert_eq!(hangs(|lease| lease, in_turn), ["ann"], "its turn does not end");
    let mail: Change = |it| {
        let now = it.now;
        it.facts("ann").hand(uuid::Uuid::from_u128(1), now);
    };
    assert_eq!(hangs(|lease| lease, mail), ["ann"], "it does not read its mail");
}

#[test]
fn members_that_owe_no_sign_of_life_do_not_hang() {
    let rows: [(&str, Change); 6] = [
        ("it has nothing to do", |_| {}),
        ("it never says when it has dealt with something", |it| {
            BUSY(it);
            it.facts("ann").wire.tells_end = false;
        }),
        ("it holds a task and loses that by its lease", |it| {
            it.adds(|_| {});
            it.claims("ann", 1);
            BUSY(it);
        }),
        ("it starts", |it| {
            BUSY(it);
            it.facts("ann").life = Lifecycle::Starting { is_new: true };
        }),
        ("it stops", |it| {
            BUSY(it);
            it.facts("ann").life = Lifecycle::Stopping(stop_order(false));
        }),
        ("it is the lead, which may think for as long as it likes", |it| {
            it.facts("lead").work.is_at_rest = false;
        }),
    ];
    for (title, change) in rows {
        assert_eq!(hangs(|lease| lease * 2, change), Vec::<String>::new(), "{title}");
    }
}

#[test]
fn mail_restarts_the_clock_only_of_a_member_at_rest() {
    let mut scene = SmallTeam::new();
    let lease = lease(&scene);
    scene.waits(lease);
    let now = scene.now;
    scene.facts("ann").hand(uuid::Uuid::from_u128(1), now);
    scene.waits(lease - SECOND);
    assert_eq!(names(&hanging(&scene.state, &scene.list(), scene.now)), Vec::<String>::new());
    let now = scene.now;
    scene.facts("ann").hand(uuid::Uuid::from_u128(2), now);
    scene.waits(SECOND);
    assert_eq!(names(&hanging(&scene.state, &scene.list(), scene.now)), ["ann"]);
}

#[test]
fn a_long_gap_between_ticks_counts_as_sleep() {
    let scene = SmallTeam::new();
    let limit = 2 * SECOND + lease(&scene) / 3;
    for (since_tick, expected) in [
        (SECOND, false),
        (limit, false),
        (limit + Duration::from_millis(1), true),
        (limit * 10, true),
    ] {
        assert_eq!(was_asleep(&scene.state, since_tick, SECOND), expected, "{since_tick:?}");
    }
    let slow_tick = 100 * SECOND;
    assert!(!was_asleep(&scene.state, limit + SECOND, slow_tick), "it looks less often");
}
