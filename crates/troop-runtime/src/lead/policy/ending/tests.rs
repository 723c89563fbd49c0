//! When a team's work is over, and when it is stuck.

use troop_model::{Assignment, MemberState, StateCause, TaskCommand, Version};

use super::{WorkEnd, end_of_work, is_idle, is_stuck};
use crate::lead::{
    LeadWork, Timing, Until,
    crew::lifecycle::Lifecycle,
    policy::table::{SmallTeam, account, name, stop_order, task, task_ref},
};

/// A change to a team at rest.
type Change = fn(&mut SmallTeam);

/// The end of work after a change to a quiet team.
fn end_after(change: Change) -> Option<WorkEnd> {
    let mut scene = SmallTeam::new();
    change(&mut scene);
    scene.look(end_of_work)
}

#[track_caller]
fn check(rows: &[(&str, Change, Option<WorkEnd>)]) {
    for (title, change, expected) in rows {
        assert_eq!(end_after(*change), *expected, "{title}");
    }
}

#[test]
fn a_team_at_rest_is_quiet() {
    check(&[
        ("nothing was ever to do", |_| {}, Some(WorkEnd::Quiet)),
        (
            "a member plans and waits",
            |it| it.sets("ann", MemberState::Planning, None),
            Some(WorkEnd::Quiet),
        ),
        (
            "all tasks are done",
            |it| {
                it.adds(|_| {});
                it.claims("ann", 1);
                it.completes("ann", 1);
                it.sets("ann", MemberState::Idle, None);
                read_all(it, &name("lead"));
            },
            Some(WorkEnd::Quiet),
        ),
        ("no member runs", |it| it.crew.clear(), Some(WorkEnd::Quiet)),
        (
            "a task has failed for good",
            |it| {
                it.adds(|_| {});
                it.claims("ann", 1);
                it.member(
                    "ann",
                    TaskCommand::Fail {
                        task: task_ref(1),
                        reason: "no".to_owned(),
                        attempt: None,
                        for_good: true,
                    },
                );
                it.sets("ann", MemberState::Idle, None);
                let lead = name("lead");
                read_all(it, &lead);
            },
            Some(WorkEnd::Quiet),
        ),
    ]);
}

/// A member reads all its mail.
fn read_all(scene: &mut SmallTeam, member: &troop_model::MemberName) {
    let command = troop_model::Command::MarkRead { reader: Some(member.clone()), messages: None };
    scene.give(troop_model::Actor::agent(member), command);
}

#[test]
fn a_team_goes_on_while_a_member_is_busy() {
    check(&[
        ("it works", |it| it.sets("ann", MemberState::Working, None), None),
        ("it has mail", |it| it.mails("ann"), None),
        ("it handles its mail", |it| it.facts("ann").work.is_at_rest = false, None),
        ("its turn is not over", |it| it.facts("ann").work.is_in_turn = true, None),
        ("it breaks off a task", |it| it.facts("ann").work.breaks_off = Some(task(1)), None),
        ("it may get a task", |it| it.facts("ann").work.offers.begin(), None),
        (
            "it got a task that the log does not show yet",
            |it| {
                it.facts("ann").work.offers.begin();
                it.facts("ann").work.offers.settle(Some(Version(1_000)));
            },
            None,
        ),
        (
            "the effect of its last offer is in the log",
            |it| {
                it.facts("ann").work.offers.begin();
                it.facts("ann").work.offers.settle(Some(Version(1)));
            },
            Some(WorkEnd::Quiet),
        ),
    ]);
}

#[test]
fn a_team_goes_on_while_a_member_starts_or_stops() {
    check(&[
        ("it starts", |it| it.facts("ann").life = Lifecycle::Starting { is_new: false }, None),
        ("it stops", |it| it.facts("ann").life = Lifecycle::Stopping(stop_order(false)), None),
        ("it was killed", |it| it.facts("ann").life = Lifecycle::Ending(account(None)), None),
        ("its wire has ended", |it| it.facts("ann").wire.is_silent = true, None),
        (
            "the log says that it starts",
            |it| {
                it.crew.remove("ann");
                it.sets("ann", MemberState::Stopped, None);
                it.sets("ann", MemberState::Spawning, None);
            },
            None,
        ),
        (
            "it crashed and is started again",
            |it| {
                it.crew.remove("ann");
                it.sets("ann", MemberState::Crashed, None);
                it.restarts.after_crash(&name("ann"), &Timing::default());
            },
            None,
        ),
        (
            "it crashed for the last time",
            |it| {
                it.crew.remove("ann");
                it.sets("ann", MemberState::Crashed, None);
                let timing = Timing { max_restarts: 0, ..Timing::default() };
                it.restarts.after_crash(&name("ann"), &timing);
                read_all(it, &name("lead"));
            },
            Some(WorkEnd::Quiet),
        ),
    ]);
}

#[test]
fn a_team_goes_on_while_a_task_moves() {
    check(&[
        ("a member can begin it", |it| it.adds(|_| {}), None),
        (
            "it is worked on",
            |it| {
                it.adds(|_| {});
                it.claims("ann", 1);
            },
            None,
        ),
        (
            "it failed and is tried again",
            |it| {
                it.adds(|_| {});
                it.claims("ann", 1);
                it.fails("ann", 1);
                it.sets("ann", MemberState::Idle, None);
                read_all(it, &name("lead"));
            },
            None,
        ),
        (
            "it is reserved for a member that does not run",
            |it| {
                it.adds(|new| new.assignee = Some(name("bob")));
                it.crew.remove("bob");
                it.sets("bob", MemberState::Stopped, Some(StateCause::Asked));
            },
            Some(WorkEnd::Quiet),
        ),
        ("something waits for hooks or proof", |it| it.n_under_way = 1, None),
        ("a member elsewhere may still say something", |it| it.awaits_last_words = true, None),
    ]);
}

#[test]
fn external_members_can_begin_tasks_until_they_leave() {
    let reserved: Change = |it| {
        it.joins_from_elsewhere("eve");
        it.adds(|new| new.assignee = Some(name("eve")));
    };
    assert_eq!(end_after(reserved), None);
    let mut scene = SmallTeam::new();
    reserved(&mut scene);
    scene.sets("eve", MemberState::Stopped, Some(StateCause::Asked));
    assert_eq!(scene.look(end_of_work), Some(WorkEnd::Quiet), "it was asked to leave");
}

#[test]
fn members_that_announce_the_end_of_a_turn_do_not_claim_on_their_own() {
    let mut scene = SmallTeam::with(|settings| settings.assignment = Assignment::Claim);
    scene.adds(|_| {});
    assert_eq!(scene.look(end_of_work), Some(WorkEnd::Quiet));
    scene.facts("bob").wire.tells_end = false;
    assert_eq!(scene.look(end_of_work), None, "bob may claim it at any moment");
}

#[test]
fn the_lead_itself_takes_no_tasks() {
    let mut scene = SmallTeam::new();
    scene.crew.remove("ann");
    scene.crew.remove("bob");
    scene.sets("ann", MemberState::Stopped, Some(StateCause::Asked));
    scene.sets("bob", MemberState::Stopped, Some(StateCause::Asked));
    scene.adds(|_| {});
    assert_eq!(scene.look(end_of_work), Some(WorkEnd::Quiet));
}

#[test]
fn open_requests_keep_a_team_only_if_a_message_or_budget_can_help() {
    for (work, is_spent, is_quiet) in [
        (LeadWork::Done, false, true),
        (LeadWork::Open, false, true),
        (LeadWork::Failed, false, true),
        (LeadWork::Interrupted, false, false),
        (LeadWork::Done, true, true),
        (LeadWork::Open, true, false),
        (LeadWork::Failed, true, false),
        (LeadWork::Interrupted, true, false),
    ] {
        let mut scene = SmallTeam::new();
        scene.lead_work = work;
        scene.is_spent = is_spent;
        let is_over = scene.look(end_of_work) == Some(WorkEnd::Quiet);
        assert_eq!(is_over, is_quiet, "{work:?}, spent: {is_spent}");
    }
}

#[test]
fn a_lead_ends_by_itself_only_if_its_options_allow_it() {
    let mut scene = SmallTeam::new();
    let version = scene.state.version();
    for (until, end) in [
        (Until::Stopped, None),
        (Until::Quiet, Some(WorkEnd::Quiet)),
        (Until::QuietAfter(version), Some(WorkEnd::Quiet)),
        (Until::QuietAfter(Version(version.0 + 1)), None),
    ] {
        scene.until = until;
        assert_eq!(scene.look(end_of_work), end, "{until:?}");
    }
}

#[test]
fn a_team_without_budget_ends_when_all_are_idle_despite_mail_and_tasks() {
    let spent = |change: Change| {
        let mut scene = SmallTeam::new();
        scene.is_spent = true;
        scene.adds(|_| {});
        scene.mails("ann");
        change(&mut scene);
        scene.look(end_of_work)
    };
    let rows: [(&str, Change, Option<WorkEnd>); 6] = [
        ("all are idle", |_| {}, Some(WorkEnd::Spent)),
        ("a member deals with something", |it| it.facts("bob").work.is_at_rest = false, None),
        ("a member works", |it| it.sets("bob", MemberState::Working, None), None),
        ("a proof is under way", |it| it.n_under_way = 1, None),
        ("a task is worked on", |it| it.claims("bob", 1), None),
        ("it may not end", |it| it.until = Until::Stopped, None),
    ];
    for (title, change, expected) in rows {
        assert_eq!(spent(change), expected, "{title}");
    }
}

#[test]
fn a_lead_is_stuck_when_no_member_can_begin_the_remaining_tasks() {
    let stuck = |change: Change| {
        let mut scene = SmallTeam::new();
        scene.adds(|new| new.assignee = Some(name("bob")));
        // It was stopped after it got the task.
        scene.crew.remove("bob");
        scene.sets("bob", MemberState::Stopped, Some(StateCause::Asked));
        // The lead waits for the end of all tasks.
        scene.facts("lead").work.is_at_rest = false;
        change(&mut scene);
        scene.look(is_stuck)
    };
    let rows: [(&str, Change, bool); 8] = [
        ("its only member does not run", |_| {}, true),
        ("it has mail, too", |it| it.mails("lead"), true),
        ("another member works", |it| it.sets("ann", MemberState::Working, None), false),
        ("another member has mail", |it| it.mails("ann"), false),
        ("something is under way", |it| it.n_under_way = 1, false),
        ("a member can begin another task", |it| it.adds(|_| {}), false),
        ("the lead has no agent", |it| drop(it.crew.remove("lead")), false),
        ("it is not to end", |it| it.until = Until::Stopped, false),
    ];
    for (title, change, expected) in rows {
        assert_eq!(stuck(change), expected, "{title}");
    }
    let mut scene = SmallTeam::new();
    scene.facts("lead").work.is_at_rest = false;
    assert!(!scene.look(is_stuck), "no task is left");
}

#[test]
fn a_member_is_idle_if_both_the_log_and_its_wire_say_so() {
    let mut scene = SmallTeam::new();
    let ann = name("ann");
    let idle = |scene: &SmallTeam| is_idle(&scene.state, &ann, &scene.crew[&ann]);
    assert!(idle(&scene));
    scene.facts("ann").work.is_at_rest = false;
    assert!(!idle(&scene), "its wire does not");
    scene.facts("ann").work.is_at_rest = true;
    scene.mails("ann");
    assert!(idle(&scene), "mail may wait");
    scene.sets("ann", MemberState::Working, None);
    assert!(!idle(&scene), "the log does not");
}
