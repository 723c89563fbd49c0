//! The effects of time: leases, attempts, back-off, stale tasks, reminders, escalation.

use super::{
    bench::{Bench, kinds},
    commands::*,
};
use crate::{Command, Escalation, MemberState, Status, TaskCommand};

/// A team whose leases are ten minutes long, with a task that `ann` holds since ten o'clock.
fn held() -> Bench {
    held_with(|_| {})
}

fn held_with(change: impl FnOnce(&mut crate::Settings)) -> Bench {
    let mut team = Bench::with(|settings| {
        settings.lease_seconds = 600;
        change(settings);
    });
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team
}

#[test]
fn a_lease_holds_until_it_expires() {
    let mut team = held();
    assert!(team.at(9).tick().is_empty());
    assert_eq!(team.owner(1), Some("ann"));
    let events = team.at(10).tick();
    assert_eq!(kinds(&events), ["task.released"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
}

#[test]
fn a_heartbeat_keeps_the_lease() {
    let mut team = held();
    team.at(9).member("ann").ok(renew(1));
    assert!(team.at(18).tick().is_empty());
    team.member("ann").ok(progress(1, 50));
    assert!(team.at(27).tick().is_empty());
    assert_eq!(team.owner(1), Some("ann"));
}

#[test]
fn an_expired_lease_is_claimable_without_a_tick() {
    let mut team = held();
    let events = team.at(10).member("bob").ok(claim(1));
    assert_eq!(kinds(&events), ["task.released", "task.claimed"]);
    assert_eq!((team.owner(1), team.task(1).attempts), (Some("bob"), 2));
    assert_eq!(team.member("ann").refused(complete(1)), "task-1 is not held by `ann` but by `bob`");
}

#[test]
fn the_next_task_may_be_one_whose_lease_expired() {
    let mut team = held();
    team.at(11).member("bob").ok(claim_next());
    assert_eq!(team.owner(1), Some("bob"));
}

#[test]
fn a_holder_that_claims_its_own_expired_task_keeps_it() {
    let mut team = held();
    let events = team.at(11).member("ann").ok(claim(1));
    assert_eq!(kinds(&events), ["task.renewed"]);
    assert!(team.tick().is_empty());
    assert_eq!((team.owner(1), team.task(1).attempts), (Some("ann"), 1));
}

#[test]
fn a_late_holder_is_refused_by_its_attempt() {
    let mut team = held();
    team.at(10).tick();
    team.at(11).member("ann").ok(claim(1));
    assert_eq!(
        team.member("ann").refused(complete_attempt(1, 1)),
        "task-1 has moved on: it is in attempt 2 and you hold attempt 1; stop working on it"
    );
    let renew = TaskCommand::Renew { task: task(1), attempt: Some(1) };
    assert!(team.member("ann").refused(renew).contains("moved on"));
    team.member("ann").ok(complete_attempt(1, 2));
}

#[test]
fn a_late_holder_does_not_claim_by_completing() {
    let mut team = held();
    team.at(10).tick();
    assert_eq!(
        team.member("ann").refused(complete_attempt(1, 1)),
        "task-1 is pending, so nobody holds it"
    );
    assert_eq!(team.status(1), Status::Pending);
}

#[test]
fn a_task_without_attempts_left_fails() {
    let mut team = held();
    for minutes in [10, 20] {
        team.at(minutes).tick();
        assert_eq!(team.status(1), Status::Pending);
        team.member("ann").ok(claim(1));
    }
    assert_eq!(
        team.at(30).member("bob").refused(claim(1)),
        "task-1 is not available: ann has held it since 10:20; claim another or ask ann",
        "one that kills its holders goes to nobody else"
    );
    assert!(team.member("bob").refused(claim_next()).starts_with("nothing is available"));
    team.tick();
    assert_eq!(team.status(1), Status::Failed);
    assert_eq!(team.unread("lead"), ["task-1 failed after 3 attempts: the lease of ann expired"]);
    assert!(team.at(600).tick().is_empty(), "it is not retried");
}

#[test]
fn a_failed_task_rests_longer_after_each_attempt() {
    let mut team = held_with(|settings| settings.retry_backoff_seconds = 60);
    team.member("ann").ok(fail(1));
    assert_eq!(
        (team.status(1), team.task(1).result.as_deref()),
        (Status::Failed, Some("it broke"))
    );
    assert_eq!(
        team.member("bob").refused(claim(1)),
        "task-1 is not available: it is paused for 60 s after a failed attempt; claim another"
    );
    assert_eq!(kinds(&team.at(1).tick()), ["task.retried"]);
    team.member("ann").ok(claim(1));
    team.member("ann").ok(fail(1));
    assert!(team.at(2).tick().is_empty());
    team.at(3).tick();
    assert_eq!((team.status(1), team.task(1).attempts), (Status::Pending, 2));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(fail(1));
    assert!(team.at(1_000).tick().is_empty());
    assert_eq!(team.unread("lead"), ["task-1 failed after 3 attempts: it broke"]);
}

#[test]
fn a_rested_task_is_claimable_without_a_tick() {
    let mut team = held_with(|settings| settings.retry_backoff_seconds = 60);
    team.member("ann").ok(fail(1));
    let events = team.at(1).member("bob").ok(claim_next());
    assert_eq!(kinds(&events), ["task.retried", "task.claimed"]);
    assert_eq!(team.task(1).attempts, 2);
}

#[test]
fn a_manual_retry_restores_all_attempts_without_resetting_their_number() {
    let mut team = held_with(|settings| settings.max_attempts = 2);
    for _ in 0..2 {
        team.member("ann").ok(claim(1));
        team.member("ann").ok(fail(1));
        team.at(60).tick();
    }
    assert_eq!(team.status(1), Status::Failed);
    team.lead().ok(retry(1));
    assert_eq!((team.status(1), team.task(1).attempts_used()), (Status::Pending, 0));
    assert_eq!(team.task(1).result, None);
    team.member("bob").ok(claim(1));
    assert_eq!((team.task(1).attempts, team.task(1).attempts_used()), (3, 1));
    team.member("bob").ok(fail(1));
    assert!(team.task(1).start.not_before.is_some(), "it is retried");
}

#[test]
fn a_task_that_does_not_move_is_stale_and_the_lead_is_notified() {
    let mut team = held_with(|settings| settings.stale_after_minutes = 30);
    for minutes in [9, 18, 27] {
        team.at(minutes).member("ann").ok(renew(1));
        assert!(team.tick().is_empty());
    }
    let events = team.at(30).tick();
    assert_eq!(kinds(&events), ["task.stale", "task.escalated", "message.sent"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::Stale, Some("ann")));
    assert_eq!(team.unread("lead"), ["task-1 has not moved for 30 minutes"]);
    assert!(team.tick().is_empty(), "once is enough");
}

#[test]
fn a_stale_task_recovers_when_its_holder_moves() {
    for command in [progress(1, 10), complete(1), review(1), claim(1)] {
        let mut team = held_with(|settings| settings.stale_after_minutes = 5);
        team.at(5).tick();
        let events = team.member("ann").ok(command);
        assert_eq!(kinds(&events)[0], "task.recovered");
        assert_ne!(team.status(1), Status::Stale);
    }
}

#[test]
fn a_stale_task_of_a_dead_holder_comes_back() {
    let mut team = held_with(|settings| settings.stale_after_minutes = 5);
    team.at(5).tick();
    assert_eq!(team.status(1), Status::Stale);
    team.at(10).tick();
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
}

#[test]
fn a_stale_task_is_brought_back_by_retry() {
    let mut team = held_with(|settings| settings.stale_after_minutes = 5);
    team.at(5).tick();
    assert_eq!(
        team.member("ann").refused(retry(1)),
        "`ann` may not retry tasks; the lead or a person may"
    );
    team.lead().ok(retry(1));
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
}

#[test]
fn never_stale_means_never() {
    let mut team = held_with(|settings| {
        settings.stale_after_minutes = 0;
        settings.lease_seconds = 600_000;
    });
    assert!(team.at(9_999).tick().is_empty());
}

#[test]
fn a_stale_task_fails_if_the_settings_say_so() {
    let mut team = held_with(|settings| {
        settings.stale_after_minutes = 5;
        settings.followup.escalation_mode = Escalation::FailTask;
    });
    team.lead().ok(create_after("then", &[1]));
    team.at(5).tick();
    assert_eq!((team.status(1), team.status(2)), (Status::Failed, Status::Blocked));
    assert_eq!(
        team.unread("lead"),
        [
            "task-1 has not moved for 5 minutes; it failed",
            "task-2 is blocked: dependency task-1 failed; retry or replace it"
        ]
    );
}

#[test]
fn escalation_actions_replace_the_mode() {
    let mut team = held_with(|settings| {
        settings.stale_after_minutes = 5;
        settings.followup.escalation_actions = vec![Escalation::NotifyLead, Escalation::FailTask];
    });
    let events = team.at(5).tick();
    assert_eq!(kinds(&events), ["task.stale", "task.escalated", "message.sent", "task.failed"]);
    assert_eq!(team.unread("lead").len(), 1, "the lead is told once");
}

#[test]
fn a_question_is_repeated_to_the_user_alone_and_then_escalated() {
    let mut team = held_with(|settings| {
        settings.lease_seconds = 600_000;
        settings.followup.interval_minutes = 10;
        settings.followup.max_reminders = 2;
    });
    team.member("ann").ok(ask_user(1));
    assert!(team.at(9).tick().is_empty());
    for minutes in [10, 20] {
        assert_eq!(kinds(&team.at(minutes).tick()), ["task.reminded", "message.sent"]);
        assert!(team.tick().is_empty());
    }
    assert_eq!(
        team.unread("user"),
        [
            "ann asks about task-1 (write): red or blue?",
            "ann still asks about task-1: red or blue?",
            "ann still asks about task-1: red or blue?"
        ]
    );
    assert!(team.unread("lead").is_empty() && team.unread("bob").is_empty());
    assert_eq!(kinds(&team.at(30).tick()), ["task.escalated", "message.sent"]);
    assert_eq!(team.unread("lead"), ["task-1 got no answer from the user after 2 reminders"]);
    assert!(team.at(40).tick().is_empty());
}

#[test]
fn an_unanswered_question_is_escalated_with_the_usual_settings() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(ask_user(1));
    let mut seen = Vec::new();
    for minutes in 1..=600 {
        team.at(minutes).member("ann").ok(renew(1));
        for event in team.tick() {
            if event.fact.task().is_some() && event.fact.kind() != "message.sent" {
                seen.push((minutes, event.fact.kind()));
            }
        }
    }
    // A reminder counts as movement: a task that waits for the user is not stale before the last reminder.
    assert_eq!(
        seen,
        [
            (30, "task.reminded"),
            (60, "task.reminded"),
            (90, "task.reminded"),
            (120, "task.escalated"),
            (240, "task.stale"),
            (240, "task.escalated"),
        ]
    );
    assert_eq!(
        team.unread("lead"),
        [
            "task-1 got no answer from the user after 3 reminders",
            "task-1 has not moved for 120 minutes"
        ]
    );
}

#[test]
fn an_unanswered_question_is_escalated_however_stale_its_task_is() {
    let mut team = held_with(|settings| {
        settings.lease_seconds = 600_000;
        settings.stale_after_minutes = 10;
        settings.followup.interval_minutes = 10;
        settings.followup.max_reminders = 1;
    });
    team.member("ann").ok(ask_user(1));
    assert_eq!(kinds(&team.at(10).tick()), ["task.stale", "task.escalated", "message.sent"]);
    assert_eq!(kinds(&team.tick()), ["task.reminded", "message.sent"]);
    assert_eq!(kinds(&team.at(20).tick()), ["task.escalated", "message.sent"]);
    assert_eq!(
        team.unread("lead"),
        [
            "task-1 has not moved for 10 minutes",
            "task-1 got no answer from the user after a reminder"
        ]
    );
    assert!(team.at(600).tick().is_empty(), "once is enough");
}

#[test]
fn an_unanswered_question_fails_the_task_if_the_settings_say_so() {
    let mut team = held_with(|settings| {
        settings.lease_seconds = 600_000;
        settings.followup.interval_minutes = 10;
        settings.followup.max_reminders = 1;
        settings.followup.escalation_mode = Escalation::FailTask;
    });
    team.member("ann").ok(ask_user(1));
    team.at(10).tick();
    team.at(20).tick();
    assert_eq!((team.status(1), &team.task(1).talk.question), (Status::Failed, &None));
}

#[test]
fn without_a_limit_a_question_is_repeated_for_ever() {
    let mut team = held_with(|settings| {
        settings.lease_seconds = 600_000;
        settings.followup.interval_minutes = 1;
        settings.followup.max_reminders = 0;
    });
    team.member("ann").ok(ask_user(1));
    for minutes in 1..=20 {
        assert_eq!(kinds(&team.at(minutes).tick()), ["task.reminded", "message.sent"]);
    }
}

#[test]
fn a_released_task_loses_its_question() {
    let mut team = held();
    team.member("ann").ok(ask_user(1));
    team.member("ann").ok(release(1));
    team.member("bob").ok(claim(1));
    assert_eq!(team.task(1).talk.question, None);
}

#[test]
fn the_holder_or_the_lead_clears_a_question() {
    for who in ["ann", "lead"] {
        let mut team = held();
        team.member("ann").ok(ask_user(1));
        assert!(team.member("bob").refused(clear_ask_user(1)).contains("not held by `bob`"));
        team.member(who).ok(clear_ask_user(1));
        assert_eq!(
            team.member(who).refused(clear_ask_user(1)),
            "task-1 has no open question to the user"
        );
        assert!(team.at(9).tick().is_empty());
    }
}

#[test]
fn members_cannot_tick() {
    let mut team = held();
    let refused = team.member("ann").refused(Command::Tick);
    assert_eq!(refused, "`ann` may not let time pass; troop itself may");
}

#[test]
fn a_clock_that_jumps_back_expires_nothing() {
    let mut team = held();
    team.at(500).member("ann").ok(renew(1));
    assert!(team.at(0).tick().is_empty());
    assert_eq!(team.owner(1), Some("ann"));
}

#[test]
fn an_attempt_that_ended_because_its_holder_was_stopped_does_not_count() {
    let mut team = held_with(|settings| settings.max_attempts = 1);
    team.system().ok(set_state("ann", MemberState::Stopped));
    assert_eq!((team.status(1), team.task(1).attempts_used()), (Status::Pending, 0));
    team.member("ann").ok(claim(1));
    // A member that was asked to stop must release the tasks that it has not begun.
    team.system().ok(set_state("ann", MemberState::Stopping));
    team.member("ann").ok(release(1));
    assert_eq!((team.status(1), team.task(1).attempts_used()), (Status::Pending, 0));
    team.member("ann").ok(claim(1));
    team.system().ok(set_state("ann", MemberState::Working));
    team.system().ok(set_state("ann", MemberState::Crashed));
    assert_eq!(team.status(1), Status::Failed, "that counts");
}

#[test]
fn releases_by_the_holder_count_as_attempts_but_not_those_by_the_lead() {
    let mut team = held_with(|settings| settings.max_attempts = 1);
    team.lead().ok(release(1));
    assert_eq!(team.status(1), Status::Pending);
    team.member("ann").ok(claim(1));
    team.member("ann").ok(release(1));
    assert_eq!(team.status(1), Status::Failed);
}
