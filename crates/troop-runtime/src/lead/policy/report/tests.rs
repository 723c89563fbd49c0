//! When a member owes a report on a task.

use std::time::Duration;

use troop_model::{Command, Outgoing, TaskCommand, TaskNumber};

use super::{OwedReport, about, expected};
use crate::lead::{
    crew::lifecycle::Lifecycle,
    policy::table::{SmallTeam, name, stop_order, task, task_ref},
};

/// A change to a team in which `ann` holds task 1, knows it, and says that it is idle.
type Change = fn(&mut SmallTeam);

const GRACE: Duration = Duration::from_secs(3);

fn silent() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene.facts("ann").give(task(1), 1);
    scene.facts("ann").idle.has_said_so = true;
    scene.waits(GRACE);
    scene
}

fn word_of(change: Change) -> OwedReport {
    let mut scene = silent();
    change(&mut scene);
    let ann = name("ann");
    about(&scene.state, &ann, &scene.crew[&ann], task(1), GRACE, scene.now)
}

#[track_caller]
fn check(rows: &[(&str, Change, OwedReport)]) {
    for (title, change, expected) in rows {
        assert_eq!(word_of(*change), *expected, "{title}");
    }
}

#[test]
fn an_idle_member_that_holds_a_task_owes_a_report() {
    assert_eq!(word_of(|_| {}), OwedReport::Owed);
}

#[test]
fn a_report_of_a_busy_member_is_still_coming() {
    check(&[
        ("it has mail", |it| it.mails("ann"), OwedReport::Coming),
        ("it deals with mail", |it| it.facts("ann").work.is_at_rest = false, OwedReport::Coming),
        ("its report waits for hooks", |it| it.facts("ann").work.n_held = 1, OwedReport::Coming),
    ]);
}

#[test]
fn no_report_is_owed_on_a_task_that_is_over_waiting_or_in_progress() {
    check(&[
        ("it has completed the task", |it| drop(it.completes("ann", 1)), OwedReport::Given),
        (
            "it has given the task back",
            |it| {
                let reason = "later".to_owned();
                it.member("ann", TaskCommand::Release { task: task_ref(1), reason });
            },
            OwedReport::Given,
        ),
        (
            "it has handed it in",
            |it| {
                it.member("ann", TaskCommand::Review { task: task_ref(1), result: None });
            },
            OwedReport::Given,
        ),
        (
            "it was never told of the task",
            |it| it.facts("ann").work.told.clear(),
            OwedReport::Given,
        ),
        ("it has begun to work", |it| it.facts("ann").engage(task(1), None), OwedReport::Given),
        (
            "it asks the user about it",
            |it| {
                let question = "which?".to_owned();
                it.member("ann", TaskCommand::AskUser { task: task_ref(1), question });
            },
            OwedReport::Given,
        ),
        (
            "it waits for an answer to a plan",
            |it| {
                let kind = troop_model::MessageKind::PlanApprovalRequest;
                let plan = Outgoing::new("lead", kind, "first this, then that");
                it.give(troop_model::Actor::agent(&name("ann")), Command::Send(plan));
            },
            OwedReport::Given,
        ),
        (
            "it stops",
            |it| it.facts("ann").life = Lifecycle::Stopping(stop_order(false)),
            OwedReport::Given,
        ),
        ("its wire has ended", |it| it.facts("ann").wire.is_silent = true, OwedReport::Given),
    ]);
}

#[test]
fn a_plain_member_owes_a_report_only_after_it_was_silent_for_the_grace() {
    let plain: Change = |it| it.facts("ann").wire.tells_end = false;
    assert_eq!(word_of(plain), OwedReport::Owed, "it was silent for its grace");
    let speaks: Change = |it| {
        it.facts("ann").wire.tells_end = false;
        it.facts("ann").signs.heard_at = it.now - Duration::from_secs(1);
    };
    assert_eq!(word_of(speaks), OwedReport::Given);
    let tells: Change = |it| it.facts("ann").signs.heard_at = it.now;
    assert_eq!(word_of(tells), OwedReport::Owed, "it would have said so");
}

fn expects(member: &str, change: Change) -> Vec<TaskNumber> {
    let mut scene = silent();
    change(&mut scene);
    let member = name(member);
    expected(&scene.state, &member, &scene.crew[&member])
}

#[test]
fn a_report_is_expected_on_every_task_a_member_holds_and_was_given() {
    assert_eq!(expects("ann", |_| {}), [task(1)]);
    assert_eq!(expects("bob", |_| {}), [], "bob holds nothing");
    assert_eq!(
        expects("ann", |it| {
            it.adds(|_| {});
            it.claims("ann", 2);
        }),
        [task(1)],
        "it was not told of the second"
    );
    assert_eq!(
        expects("ann", |it| {
            it.adds(|_| {});
            it.claims("ann", 2);
            it.facts("ann").give(task(2), 1);
        }),
        [task(1), task(2)]
    );
}

#[test]
fn no_report_is_expected_before_a_member_has_said_that_it_is_idle() {
    assert_eq!(expects("ann", |it| it.facts("ann").idle.has_said_so = false), []);
}

#[test]
fn the_lead_may_hold_tasks_while_it_has_nothing_to_do() {
    let held: Change = |it| {
        it.adds(|_| {});
        it.claims("lead", 2);
        it.facts("lead").give(task(2), 1);
        it.facts("lead").idle.has_said_so = true;
    };
    assert_eq!(expects("lead", held), []);
}
