//! Restarts of crashed members, and retries of other failures.

use std::time::Duration;

use tokio::time::Instant;
use troop_model::{MemberState, StateCause};

use super::{
    FAULT_PATIENCE, MemberRetries, NextTry, Restarts, Tries, is_to_start_again, was_cut_short,
};
use crate::lead::{
    Timing,
    policy::table::{SmallTeam, name},
};

#[test]
fn restart_pauses_double_until_the_limit_of_restarts() {
    let timing =
        Timing { restart: Duration::from_millis(100), max_restarts: 3, ..Timing::default() };
    let ann = name("ann");
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
fn pauses_stop_growing_after_ten_doublings() {
    let timing =
        Timing { restart: Duration::from_millis(1), max_restarts: 100, ..Timing::default() };
    let ann = name("ann");
    let mut restarts = Restarts::default();
    for _ in 0..40 {
        restarts.after_crash(&ann, &timing);
    }
    assert_eq!(restarts.pause(&ann), Some(Duration::from_millis(1_024)));
}

#[test]
fn a_completed_task_resets_the_count_of_restarts() {
    let timing = Timing { max_restarts: 1, ..Timing::default() };
    let ann = name("ann");
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

#[test]
fn a_restart_begins_once_and_only_if_it_was_planned() {
    let ann = name("ann");
    let mut restarts = Restarts::default();
    assert!(!restarts.begin(&ann), "it is not planned");
    restarts.after_crash(&ann, &Timing::default());
    assert!(restarts.is_waiting(&ann));
    assert!(!restarts.is_waiting(&name("bob")), "each member has its own");
    assert!(restarts.begin(&ann));
    assert!(!restarts.begin(&ann), "it has begun");
    assert_eq!(restarts.pause(&ann), None);
}

#[test]
fn machine_faults_are_retried_with_growing_pauses_for_a_limited_time() {
    let start = Instant::now();
    let first = Duration::from_secs(1);
    let mut tries = Tries::new(start);
    let seconds = |tries: &mut Tries, after: u64| {
        let pause = tries.pause(first, start + Duration::from_secs(after));
        pause.map(|it| it.as_secs())
    };
    assert_eq!(seconds(&mut tries, 0), Some(1));
    assert!(tries.is_first(), "people are told");
    assert_eq!(seconds(&mut tries, 1), Some(2));
    assert!(!tries.is_first(), "people are told once");
    for expected in [4, 8, 16, 30, 30, 30] {
        assert_eq!(seconds(&mut tries, 2), Some(expected));
    }
    let limit = FAULT_PATIENCE.as_secs();
    assert_eq!(seconds(&mut tries, limit - 1), Some(30));
    assert_eq!(seconds(&mut tries, limit), None, "it was tried for too long");
}

#[test]
fn a_machine_fault_is_reported_once_for_all_members() {
    let now = Instant::now();
    let pause = Duration::from_secs(1);
    let mut failing = MemberRetries::default();
    let mut next = |member: &str| failing.next_try(&name(member), pause, now);
    let first = NextTry { pause, is_new: true, is_news: true };
    assert_eq!(next("ann"), Some(first));
    let second = NextTry { is_news: false, ..first };
    assert_eq!(next("bob"), Some(second), "it is new for bob, and no news");
    let again = NextTry { pause: pause * 2, is_new: false, is_news: false };
    assert_eq!(next("ann"), Some(again));
    assert!(failing.forget(&name("ann")));
    assert!(!failing.forget(&name("ann")), "there are no more retries for ann");
    assert_eq!(failing.take(), [name("bob")]);
    assert_eq!(failing.next_try(&name("bob"), pause, now), Some(first), "a new fault is news");
}

#[test]
fn a_member_restarts_with_its_team_unless_it_was_stopped_alone() {
    let rows = [
        ("it crashed", MemberState::Crashed, None, true, true),
        (
            "it stopped with its team",
            MemberState::Stopped,
            Some(StateCause::TeamStopped),
            true,
            false,
        ),
        ("it was asked to stop", MemberState::Stopped, Some(StateCause::Asked), false, false),
        ("it runs", MemberState::Working, None, false, false),
    ];
    for (title, state, cause, starts_again, is_cut_short) in rows {
        let mut scene = SmallTeam::new();
        scene.sets("ann", state, cause);
        let ann = scene.state.member(&name("ann")).unwrap();
        assert_eq!(is_to_start_again(ann), starts_again, "{title}");
        assert_eq!(was_cut_short(ann), is_cut_short, "{title}");
    }
}

#[test]
fn the_lead_and_external_members_are_never_restarted() {
    let mut scene = SmallTeam::new();
    scene.joins_from_elsewhere("eve");
    for member in ["lead", "eve"] {
        scene.sets(member, MemberState::Crashed, None);
        let found = scene.state.member(&name(member)).unwrap();
        assert!(!is_to_start_again(found), "{member}");
    }
    assert!(!was_cut_short(scene.state.member(&name("lead")).unwrap()));
}
