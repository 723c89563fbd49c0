//! Taking, keeping and ending work: claims, assignment, completion.

use super::{
    bench::{Bench, kinds, number},
    commands::*,
};
use crate::{
    Actor, Assignment, Command, Fact, MemberState, NewTask, Refusal, RefusalKind, Status,
    TaskCommand, decide,
};

#[test]
fn a_new_task_is_pending_without_an_owner() {
    let mut team = Bench::new();
    team.lead().ok(NewTask { description: "all of it".into(), ..create("write") });
    assert_eq!(team.status(1), Status::Pending);
    let task = team.task(1);
    assert_eq!((task.subject.as_str(), task.description.as_str()), ("write", "all of it"));
    assert_eq!((task.owner.as_ref(), task.result.as_ref()), (None, None));
    assert!(task.blocked_by.is_empty());
    assert_eq!((task.provenance.created_at, task.provenance.updated_at), (team.now, team.now));
}

#[test]
fn a_member_claims_a_pending_task() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.at(5).member("ann").ok(claim(1));
    assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
    assert_eq!(
        (team.task(1).provenance.updated_at, team.task(1).hold.since),
        (team.now, Some(team.now))
    );
    assert_eq!(team.task(1).attempts, 1);
}

#[test]
fn one_of_many_claims_wins() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.at(42).member("ann").ok(claim(1));
    for late in ["bob", "lead"] {
        assert_eq!(
            team.member(late).refused(claim(1)),
            "task-1 is not available: ann has held it since 10:42; claim another or ask ann"
        );
    }
    assert_eq!(team.owner(1), Some("ann"));
}

#[test]
fn two_decisions_on_one_state_conflict_when_the_second_is_decided_again() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let (ann, bob) = (Actor::agent(&"ann".parse().unwrap()), Actor::agent(&"bob".parse().unwrap()));
    let command = Command::from(claim(1));
    let (first, second) =
        (team.context(ann, Default::default()), team.context(bob, Default::default()));
    let won = decide(&team.state, &command, &first).unwrap();
    decide(&team.state, &command, &second).unwrap();
    team.apply(&won);
    let refusal = decide(&team.state, &command, &second).unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::Conflict);
}

#[test]
fn claiming_twice_is_harmless() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    assert!(team.member("ann").ok(claim(1)).is_empty());
    assert_eq!(team.task(1).attempts, 1);
}

#[test]
fn a_refused_claim_states_its_reason() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    team.lead().ok(create_for("three", "bob"));
    team.lead().ok(NewTask { approve_start: Some(true), ..create("four") });
    team.lead().ok(create("five"));
    team.lead().ok(cancel(5));
    let mut refused = |n| team.member("ann").refused(claim(n));
    assert_eq!(
        refused(2),
        "task-2 is not available: it is blocked by task-1; finish it first or claim another"
    );
    assert_eq!(
        refused(3),
        "task-3 is not available: it is reserved for bob; claim another or ask the lead to reassign it"
    );
    assert_eq!(refused(4), "task-4 is not available: its start needs approval");
    assert_eq!(refused(5), "task-5 is cancelled, so it cannot be claimed");
    assert_eq!(refused(6), "there is no task `task-6`; pending tasks: task-1, task-3");
}

#[test]
fn people_and_strangers_cannot_hold_tasks() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    assert_eq!(team.person().refused(claim(1)), "only a member can hold a task");
    assert_eq!(
        team.member("eve").refused(claim(1)),
        "`eve` is not a member of this team, so it cannot act in it"
    );
}

#[test]
fn the_next_task_is_the_most_important_then_the_oldest() {
    let mut team = Bench::new();
    for (subject, priority) in [("a", 0), ("b", 5), ("c", 5), ("d", -1)] {
        team.lead().ok(NewTask { priority, ..create(subject) });
    }
    let mut taken = Vec::new();
    for _ in 0..4 {
        let events = team.member("ann").ok(claim_next());
        taken.extend(events.iter().filter_map(|event| event.fact.task()));
    }
    assert_eq!(taken, [2, 3, 1, 4].map(number));
    assert_eq!(
        team.member("ann").refused(claim_next()),
        "nothing is available for `ann` now: 0 blocked, 4 in progress, 0 reserved, paused or not approved"
    );
}

#[test]
fn the_oldest_of_equal_tasks_is_chosen() {
    let mut team = Bench::new();
    for subject in ["a", "b", "c"] {
        team.lead().ok(create(subject));
    }
    team.member("ann").ok(claim_next());
    assert_eq!((team.owner(1), team.owner(2), team.owner(3)), (Some("ann"), None, None));
}

#[test]
fn a_reserved_task_goes_only_to_its_assignee() {
    let mut team = Bench::new();
    team.lead().ok(NewTask { priority: 9, ..create_for("for bob", "bob") });
    team.lead().ok(create("for all"));
    team.member("ann").ok(claim_next());
    team.member("bob").ok(claim_next());
    assert_eq!((team.owner(1), team.owner(2)), (Some("bob"), Some("ann")));
    assert_eq!(team.task(2).assignee, None, "holding is not reserving");
}

#[test]
fn the_lead_assigns_a_task_and_the_member_is_notified() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let events = team.lead().ok(assign(1, "ann"));
    assert_eq!(kinds(&events), ["task.assigned", "message.sent"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
    assert_eq!(team.unread("ann"), ["task-1 is yours: write"]);
    assert!(team.lead().ok(assign(1, "ann")).is_empty(), "repeating it changes nothing");
    assert_eq!(
        team.lead().refused(assign(1, "bob")),
        "task-1 cannot be given to `bob`: ann has held it since 10:00; take it back first"
    );
}

#[test]
fn a_reserved_task_can_be_assigned_to_another() {
    let mut team = Bench::new();
    team.lead().ok(create_for("write", "ann"));
    team.person().ok(assign(1, "bob"));
    assert_eq!(team.owner(1), Some("bob"));
}

#[test]
fn only_members_are_given_tasks() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    assert_eq!(
        team.lead().refused(assign(1, "eve")),
        "there is no member `eve`; the members are ann, bob, lead"
    );
    assert_eq!(
        team.lead().refused(create_for("write", "eve")),
        "there is no member `eve`; the members are ann, bob, lead"
    );
}

#[test]
fn members_cannot_claim_if_work_is_assigned() {
    let mut team = Bench::with(|settings| settings.assignment = Assignment::Auto);
    team.lead().ok(create("write"));
    assert_eq!(
        team.member("ann").refused(claim(1)),
        "work in this team is assigned, not claimed; wait for your next task"
    );
    team.system().ok(assign(1, "ann"));
    assert_eq!(team.owner(1), Some("ann"));
}

#[test]
fn completing_needs_a_result_and_keeps_it() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    assert_eq!(team.member("ann").refused(complete_with(1, " \n")), "the result is empty");
    team.member("ann").ok(complete_with(1, "written"));
    assert_eq!(
        (team.status(1), team.task(1).result.as_deref()),
        (Status::Completed, Some("written"))
    );
    assert_eq!(team.task(1).provenance.completed_at, Some(team.now));
    assert_eq!(team.owner(1), Some("ann"), "the owner shows who did it");
}

#[test]
fn a_completed_task_is_not_completed_again() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(complete_with(1, "first"));
    let before = team.state.clone();
    for who in ["ann", "bob", "lead"] {
        assert_eq!(
            team.member(who).refused(complete_with(1, "second")),
            "task-1 is completed, so it cannot be completed"
        );
    }
    assert_eq!(team.state, before);
}

#[test]
fn completing_a_pending_task_claims_it_first() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let events = team.member("ann").ok(complete(1));
    assert_eq!(kinds(&events), ["task.claimed", "task.completed"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::Completed, Some("ann")));
    assert_eq!(
        team.member("bob").refused(complete(1)),
        "task-1 is completed, so it cannot be completed"
    );
}

#[test]
fn completing_claims_only_claimable_tasks() {
    let mut team = Bench::new();
    team.lead().ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    team.lead().ok(create_for("three", "bob"));
    assert!(team.member("ann").refused(complete(2)).contains("blocked by task-1"));
    assert!(team.member("ann").refused(complete(3)).contains("reserved for bob"));
}

#[test]
fn only_the_holder_can_act_on_a_held_task() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    for command in
        [complete(1), fail(1), progress(1, 5), review(1), ask_user(1), release(1), renew(1)]
    {
        assert_eq!(team.member("bob").refused(command), "task-1 is not held by `bob` but by `ann`");
    }
}

#[test]
fn people_may_end_work_in_place_of_its_holder() {
    let mut team = Bench::new();
    for subject in ["one", "two", "three"] {
        team.lead().ok(create(subject));
    }
    team.member("ann").ok(claim(1));
    team.person().ok(complete(1));
    team.person().ok(complete(2));
    team.system().ok(fail(3));
    assert_eq!(
        [1, 2, 3].map(|n| team.status(n)),
        [Status::Completed, Status::Completed, Status::Failed]
    );
    assert_eq!((team.owner(1), team.owner(2)), (Some("ann"), None));
}

#[test]
fn a_finished_task_has_a_snapshot_in_its_metadata() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let result = format!("{}\nmore", "é".repeat(300));
    team.at(3).member("ann").ok(complete_with(1, &result));
    let snapshot = &team.task(1).metadata.0["snapshot"];
    assert_eq!(snapshot["completed_at"], "2026-01-01T10:03:00Z");
    assert_eq!(snapshot["result_preview"], "é".repeat(100));
    assert_eq!(snapshot["final_status"], "completed");
    assert_eq!(snapshot["ai_summary"], "é".repeat(200));
}

#[test]
fn a_given_summary_is_kept() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(TaskCommand::Complete {
        task: task(1),
        result: "a long text".into(),
        summary: Some("in short".into()),
        attempt: None,
    });
    assert_eq!(team.task(1).metadata.0["snapshot"]["ai_summary"], "in short");
}

#[test]
fn progress_is_kept_while_the_task_is_in_progress() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    for percent in [0, 40, 100] {
        team.member("ann").ok(progress(1, percent));
        let progress = team.task(1).hold.progress.clone().unwrap();
        assert_eq!((i64::from(progress.percent), progress.step.as_str()), (percent, "writing"));
    }
    for percent in [-1, 101, 256, i64::MAX, i64::MIN] {
        assert_eq!(
            team.member("ann").refused(progress(1, percent)),
            format!("progress is 0 to 100 percent, not {percent}")
        );
    }
    team.member("ann").ok(complete(1));
    assert_eq!(team.task(1).hold.progress, None);
}

#[test]
fn a_released_task_is_pending_again() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(progress(1, 50));
    team.member("ann").ok(release(1));
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
    assert_eq!((&team.task(1).hold.progress, team.task(1).hold.lease_until), (&None, None));
    assert_eq!(team.lead().refused(release(1)), "task-1 is pending, so nobody holds it");
    assert_eq!(team.person().refused(renew(1)), "task-1 is pending, so nobody holds it");
}

#[test]
fn a_crashed_member_keeps_only_its_results_in_review() {
    let mut team = Bench::new();
    for subject in ["one", "two", "three"] {
        team.lead().ok(create(subject));
    }
    team.member("ann").ok(claim(1));
    team.member("ann").ok(claim(2));
    team.member("ann").ok(review(2));
    team.member("bob").ok(claim(3));
    team.system().ok(set_state("ann", MemberState::Crashed));
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
    assert_eq!(team.status(2), Status::InReview, "its result is already submitted");
    assert_eq!(team.owner(3), Some("bob"));
    let ann = team.state.member(&"ann".parse().unwrap()).unwrap();
    assert_eq!(ann.state, MemberState::Crashed);
}

#[test]
fn members_do_not_create_or_delegate() {
    let mut team = Bench::new();
    let refused = team.member("ann").refused(create("write"));
    assert_eq!(refused, "`ann` may not create tasks; the lead or a person may");
    team.lead().ok(create("write"));
    let refused = team.member("ann").refused(delegate(1, "bob"));
    assert_eq!(refused, "`ann` may not delegate tasks; the lead or a person may");
}

#[test]
fn a_member_works_while_it_holds_a_task() {
    let mut team = Bench::new();
    let state = |team: &Bench| team.state.member(&"ann".parse().unwrap()).unwrap().state;
    team.lead().ok(create("one"));
    team.lead().ok(create("two"));
    assert_eq!(state(&team), MemberState::Stopped);
    team.member("ann").ok(claim(1));
    team.member("ann").ok(claim(2));
    assert_eq!(state(&team), MemberState::Working);
    team.member("ann").ok(complete(1));
    assert_eq!(state(&team), MemberState::Working);
    team.member("ann").ok(complete(2));
    assert_eq!(state(&team), MemberState::Idle);
}

#[test]
fn a_comment_on_its_task_does_not_wake_a_stopped_member() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(review(1));
    team.system().ok(set_state("ann", MemberState::Stopped));
    team.lead().ok(comment(1, "nice"));
    let ann = team.state.member(&"ann".parse().unwrap()).unwrap();
    assert_eq!(ann.state, MemberState::Stopped);
}

#[test]
fn the_lead_is_recorded_by_its_own_name() {
    let mut team = Bench::empty();
    let mut new = super::bench::new_team(Default::default(), &["ann"]);
    new.lead = super::bench::newcomer("boss");
    team.person().ok(Command::CreateTeam(new));
    let events = team.lead().ok(create("write"));
    assert_eq!(events[0].actor.name, "boss");
    assert!(matches!(&events[0].fact, Fact::TaskCreated { .. }));
    assert_eq!(team.task(1).provenance.created_by.name, "boss");
    let refusal = team.member("ann").refusal(create("write"));
    assert!(matches!(refusal, Refusal::Forbidden { .. }));
}

#[test]
fn progress_is_sent_to_the_user_if_the_settings_say_so() {
    for is_told in [false, true] {
        let mut team = Bench::with(|settings| settings.followup.progress_notifications = is_told);
        team.lead().ok(create("one"));
        team.member("ann").ok(claim(1));
        let step = |step: &str| TaskCommand::Progress {
            task: task(1),
            percent: 40,
            step: step.to_owned(),
        };
        team.member("ann").ok(step("half of it"));
        team.member("ann").ok(step(""));
        let wanted: &[&str] =
            if is_told { &["task-1 is at 40%: half of it", "task-1 is at 40%"] } else { &[] };
        assert_eq!(team.unread("user"), wanted);
    }
}
