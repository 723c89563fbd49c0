//! Dependencies: blocking, unblocking, failures, cycles.

use super::{
    bench::{Bench, number},
    commands::*,
};
use crate::{Condition, Dialect, NewTask, RefusalKind, Settings, Status, TaskRef, TaskUpdate};

/// Three tasks in a row, each waiting for the one before.
fn chain() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    team.lead().ok(create_after("three", &[2]));
    team
}

fn until(condition: Condition, subject: &str, blocked_by: &[u32]) -> NewTask {
    NewTask { until: Some(condition), ..create_after(subject, blocked_by) }
}

#[test]
fn a_task_with_an_open_dependency_is_blocked() {
    let team = chain();
    assert_eq!(
        [1, 2, 3].map(|n| team.status(n)),
        [Status::Pending, Status::Blocked, Status::Blocked]
    );
    assert_eq!(team.task(2).status, Status::Pending, "blocked is derived, never stored");
}

#[test]
fn a_blocked_task_is_never_available() {
    let mut team = chain();
    assert_eq!(team.state.tasks().ready(), [number(1)]);
    team.member("ann").ok(claim_next());
    assert_eq!(
        team.member("bob").refused(claim_next()),
        "nothing is available for `bob` now: 2 blocked, 1 in progress, 0 reserved, paused or not approved"
    );
    assert!(team.lead().refused(assign(2, "bob")).contains("it is blocked by task-1"));
    assert!(team.person().refused(complete(2)).contains("it is blocked by task-1"));
}

#[test]
fn completing_the_last_open_dependency_makes_a_task_available() {
    let mut team = chain();
    team.member("ann").ok(complete(1));
    assert_eq!((team.status(2), team.status(3)), (Status::Pending, Status::Blocked));
    assert_eq!(team.state.tasks().ready(), [number(2)]);
    team.member("bob").ok(claim_next());
    assert_eq!(team.owner(2), Some("bob"));
}

#[test]
fn a_task_waits_for_all_its_dependencies() {
    let mut team = Bench::new();
    for subject in ["a", "b", "c"] {
        team.lead().ok(create(subject));
    }
    team.lead().ok(create_after("last", &[1, 2, 3, 2]));
    assert_eq!(team.task(4).blocked_by.len(), 3, "each once");
    assert_eq!(
        team.member("ann").refused(claim(4)),
        "task-4 is not available: it is blocked by task-1, task-2, task-3; finish these first or claim another"
    );
    for n in [3, 1] {
        team.member("ann").ok(complete(n));
        assert_eq!(team.status(4), Status::Blocked);
    }
    team.member("ann").ok(complete(2));
    assert_eq!(team.status(4), Status::Pending);
}

#[test]
fn completing_frees_every_dependent() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    for subject in ["two", "three", "four"] {
        team.lead().ok(create_after(subject, &[1]));
    }
    team.member("ann").ok(complete(1));
    assert_eq!([2, 3, 4].map(|n| team.status(n)), [Status::Pending; 3]);
}

#[test]
fn a_finished_dependency_blocks_nothing() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.member("ann").ok(complete(1));
    team.lead().ok(create_after("two", &[1]));
    assert_eq!(team.status(2), Status::Pending);
}

#[test]
fn a_dependency_that_does_not_exist_is_refused() {
    let mut team = Bench::new();
    let refusal = team.lead().refusal(create_after("write", &[9]));
    assert_eq!(refusal.to_string(), "there is no task `task-9`");
    assert_eq!(refusal.kind(), RefusalKind::NotFound);
    assert_eq!(team.state.tasks().last(), number(0));
}

#[test]
fn a_cancelled_dependency_frees_those_that_only_wait_for_its_end() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(until(Condition::OnFinish, "two", &[1]));
    team.lead().ok(until(Condition::OnSuccess, "three", &[1]));
    team.person().ok(cancel(1));
    assert_eq!((team.status(2), team.status(3)), (Status::Pending, Status::Blocked));
    let said = "task-3 is blocked: dependency task-1 was cancelled; replace it";
    assert_eq!(team.member("ann").refused(claim(3)), said);
    assert_eq!(team.unread("lead"), [said]);
}

#[test]
fn a_rejected_dependency_frees_like_a_cancelled_one() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(until(Condition::OnFinish, "two", &[1]));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(review(1));
    team.person().ok(revise(1));
    assert_eq!(team.status(2), Status::Blocked, "its work goes on");
    team.member("ann").ok(review(1));
    team.person().ok(reject(1));
    assert_eq!((team.status(1), team.status(2)), (Status::Cancelled, Status::Pending));
}

#[test]
fn each_dialect_has_its_own_condition() {
    assert_eq!(Settings::for_dialect(Dialect::Board).unblock, Condition::OnFinish);
    assert_eq!(Settings::for_dialect(Dialect::Claude).unblock, Condition::OnSuccess);
    let mut team = Bench::with(|settings| *settings = Settings::for_dialect(Dialect::Board));
    team.lead().ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    team.lead().ok(cancel(1));
    assert_eq!(team.status(2), Status::Pending);
}

#[test]
fn a_dependent_of_a_failed_task_stays_blocked_and_says_so() {
    let mut team = Bench::with(|settings| settings.max_attempts = 1);
    team.lead().ok(create("one"));
    team.lead().ok(until(Condition::OnFinish, "two", &[1]));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(fail(1));
    assert_eq!(team.status(2), Status::Blocked);
    let said = "task-2 is blocked: dependency task-1 failed; retry or replace it";
    assert_eq!(team.member("ann").refused(claim(2)), said);
    assert_eq!(team.unread("lead"), ["task-1 failed after 1 attempt: it broke", said]);
    team.lead().ok(retry(1));
    team.member("ann").ok(complete(1));
    assert_eq!(team.status(2), Status::Pending);
}

#[test]
fn a_cycle_is_refused_and_named() {
    let mut team = chain();
    assert_eq!(
        team.lead().refused(wait_for(1, &[3])),
        "task-1 would wait for itself: task-1 → task-3 → task-2 → task-1"
    );
    assert_eq!(
        team.lead().refused(wait_for(1, &[1])),
        "task-1 would wait for itself: task-1 → task-1"
    );
    assert_eq!(team.status(1), Status::Pending);
}

#[test]
fn dependencies_can_be_added_and_replaced() {
    let mut team = Bench::new();
    for subject in ["one", "two", "three"] {
        team.lead().ok(create(subject));
    }
    team.lead().ok(wait_for(3, &[1]));
    assert_eq!(team.status(3), Status::Blocked);
    let add = TaskUpdate { add_blocked_by: vec![task(2)], ..TaskUpdate::default() };
    team.lead().ok(update(3, add));
    team.member("ann").ok(complete(1));
    assert_eq!(team.status(3), Status::Blocked);
    team.lead().ok(wait_for(3, &[]));
    assert_eq!(team.status(3), Status::Pending);
    team.member("ann").ok(claim(3));
    assert_eq!(
        team.lead().refused(wait_for(3, &[2])),
        "task-3 is in_progress, so it cannot be changed"
    );
}

#[test]
fn blocked_and_blocking_tasks_are_derived() {
    let team = chain();
    let blocks: Vec<_> = team.state.tasks().dependents(number(1)).collect();
    assert_eq!(blocks, [number(2)]);
    let view = crate::TaskView::brief(&team.state, team.task(2));
    assert_eq!((view.blocked_by, view.blocks), (vec![number(1)], vec![number(3)]));
    assert_eq!(view.status, Status::Blocked);
}

#[test]
fn a_task_that_others_depend_on_is_not_deleted() {
    let mut team = chain();
    team.lead().ok(cancel(1));
    assert_eq!(team.lead().refused(delete(1)), "task-1 is still needed by task-2");
    team.lead().ok(cancel(2));
    team.lead().ok(delete(1));
    assert_eq!(team.lead().refused(wait_for(3, &[1])), "task-1 was deleted");
}

#[test]
fn dependents_of_a_deleted_task_stay_unblocked() {
    let mut team = chain();
    team.member("ann").ok(complete(1));
    team.lead().ok(delete(1));
    assert_eq!(team.status(2), Status::Pending);
    team.member("ann").ok(claim(2));
}

#[test]
fn a_task_has_at_most_a_thousand_dependencies() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    let many = NewTask { blocked_by: vec![TaskRef::from(number(1)); 1_001], ..create("two") };
    assert_eq!(team.lead().refused(many), "a task takes at most 1000 dependencies, not 1001");
}
