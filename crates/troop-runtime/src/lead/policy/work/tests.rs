//! Which member gets which task.

use troop_model::{Assignment, MemberState, StateCause, TaskCommand, Version};

use super::{at_work, has_or_gets_work, is_working, offers, others_at_work};
use crate::lead::{
    crew::lifecycle::Lifecycle,
    policy::table::{SmallTeam, name, stop_order, task, task_ref},
};

/// A change to a team with one open task.
type Change = fn(&mut SmallTeam);

fn given(scene: &SmallTeam) -> Vec<(String, u32)> {
    let offers = offers(&scene.state, &scene.list(), scene.is_spent);
    offers.iter().map(|it| (it.member.to_string(), it.task.0)).collect()
}

fn given_after(change: Change) -> Vec<(String, u32)> {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    change(&mut scene);
    given(&scene)
}

fn to(member: &str, number: u32) -> (String, u32) {
    (member.to_owned(), number)
}

#[test]
fn every_free_member_gets_one_task() {
    assert_eq!(given_after(|_| {}), [to("ann", 1)]);
    assert_eq!(given_after(|it| it.adds(|_| {})), [to("ann", 1), to("bob", 2)]);
    assert_eq!(
        given_after(|it| {
            it.adds(|_| {});
            it.adds(|_| {});
        }),
        [to("ann", 1), to("bob", 2)],
        "one each"
    );
}

#[test]
fn the_most_important_task_goes_first_and_a_reserved_one_to_its_assignee() {
    assert_eq!(
        given_after(|it| {
            it.adds(|new| new.priority = 5);
        }),
        [to("ann", 2), to("bob", 1)]
    );
    assert_eq!(
        given_after(|it| {
            it.adds(|new| {
                new.priority = 5;
                new.assignee = Some(name("bob"));
            });
        }),
        [to("ann", 1), to("bob", 2)]
    );
}

#[test]
fn a_blocked_task_is_not_offered() {
    let dependent: Change = |it| it.adds(|new| new.blocked_by = vec![task_ref(1)]);
    assert_eq!(given_after(dependent), [to("ann", 1)]);
}

#[test]
fn members_that_cannot_take_work_now_get_none() {
    let rows: [(&str, Change); 10] = [
        ("it works", |it| it.sets("ann", MemberState::Working, None)),
        ("it starts", |it| it.facts("ann").life = Lifecycle::Starting { is_new: true }),
        ("it stops", |it| it.facts("ann").life = Lifecycle::Stopping(stop_order(false))),
        ("its wire has ended", |it| it.facts("ann").wire.is_silent = true),
        ("it breaks off a task", |it| it.facts("ann").work.breaks_off = Some(task(9))),
        ("its turn is not over", |it| it.facts("ann").work.is_in_turn = true),
        ("it was offered a task", |it| it.facts("ann").work.offers.begin()),
        ("the log does not show its offer yet", |it| {
            it.facts("ann").work.offers.begin();
            it.facts("ann").work.offers.settle(Some(Version(1_000)));
        }),
        ("it does not run", |it| drop(it.crew.remove("ann"))),
        ("it holds another task", |it| {
            it.adds(|_| {});
            it.claims("ann", 2);
            it.sets("ann", MemberState::Idle, None);
        }),
    ];
    for (title, change) in rows {
        assert_eq!(given_after(change), [to("bob", 1)], "{title}");
    }
}

#[test]
fn members_that_plan_or_wait_for_a_review_get_work() {
    assert_eq!(given_after(|it| it.sets("ann", MemberState::Planning, None)), [to("ann", 1)]);
    let handed_in: Change = |it| {
        it.claims("ann", 1);
        it.member("ann", TaskCommand::Review { task: task_ref(1), result: None });
        it.sets("ann", MemberState::Idle, None);
        it.adds(|_| {});
    };
    assert_eq!(given_after(handed_in), [to("ann", 2)]);
}

#[test]
fn unread_mail_does_not_block_assignment() {
    assert_eq!(given_after(|it| it.mails("ann")), [to("ann", 1)]);
}

#[test]
fn the_lead_gets_no_work() {
    let alone: Change = |it| {
        it.crew.remove("ann");
        it.crew.remove("bob");
        it.sets("ann", MemberState::Stopped, Some(StateCause::Asked));
        it.sets("bob", MemberState::Stopped, Some(StateCause::Asked));
    };
    assert_eq!(given_after(alone), []);
}

#[test]
fn no_work_is_offered_without_budget_or_where_members_claim() {
    assert_eq!(given_after(|it| it.is_spent = true), []);
    let mut scene = SmallTeam::with(|settings| settings.assignment = Assignment::Claim);
    scene.adds(|_| {});
    assert_eq!(given(&scene), []);
}

#[test]
fn a_member_gets_work_at_once_if_a_task_is_ready_for_it() {
    let gets = |scene: &SmallTeam, member: &str| has_or_gets_work(&scene.state, &name(member));
    let mut scene = SmallTeam::new();
    assert!(!gets(&scene, "ann"));
    scene.adds(|new| new.assignee = Some(name("ann")));
    assert!(gets(&scene, "ann"));
    assert!(!gets(&scene, "bob"), "it is reserved for ann");
    scene.claims("ann", 1);
    assert!(gets(&scene, "ann"), "it has work");
    let mut scene = SmallTeam::with(|settings| settings.assignment = Assignment::Claim);
    scene.adds(|_| {});
    assert!(!gets(&scene, "ann"), "the team does not assign work");
    scene.claims("ann", 1);
    assert!(gets(&scene, "ann"));
}

#[test]
fn a_submitted_task_does_not_count_as_work() {
    let mut scene = SmallTeam::new();
    let ann = name("ann");
    scene.adds(|_| {});
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene.claims("ann", 2);
    assert_eq!(at_work(&scene.state, &ann).collect::<Vec<_>>(), [task(1), task(2)]);
    assert_eq!(others_at_work(&scene.state, &ann, task(1)).collect::<Vec<_>>(), [task(2)]);
    assert!(is_working(&scene.state, &ann));
    scene.member("ann", TaskCommand::Review { task: task_ref(2), result: None });
    assert_eq!(at_work(&scene.state, &ann).collect::<Vec<_>>(), [task(1)]);
    scene.completes("ann", 1);
    assert!(!is_working(&scene.state, &ann));
}
