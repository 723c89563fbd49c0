//! The lead's own state in the log.

use troop_model::{MemberState, StateCause};

use super::{LeadMove, has_closed, to_rest, to_work};
use crate::lead::{
    crew::lifecycle::Lifecycle,
    policy::table::{SmallTeam, name, stop_order},
};

/// A change to a team whose lead is idle.
type Change = fn(&mut SmallTeam);

fn moves(change: Change, left_open: Option<StateCause>) -> (Option<LeadMove>, Option<LeadMove>) {
    let mut scene = SmallTeam::new();
    change(&mut scene);
    let facts = &scene.crew[&name("lead")];
    (to_work(&scene.state, facts, left_open), to_rest(&scene.state, facts, left_open))
}

fn works(cause: Option<StateCause>) -> Option<LeadMove> {
    Some(LeadMove { to: MemberState::Working, cause })
}

fn rests(cause: Option<StateCause>) -> Option<LeadMove> {
    Some(LeadMove { to: MemberState::Idle, cause })
}

const BUSY: Change = |it| it.facts("lead").work.is_at_rest = false;

#[test]
fn the_log_shows_a_busy_lead_as_working() {
    assert_eq!(moves(BUSY, None), (works(None), None));
    let known: Change = |it| {
        BUSY(it);
        it.sets("lead", MemberState::Working, None);
    };
    assert_eq!(moves(known, None), (None, None), "it says so already");
    assert_eq!(
        moves(known, Some(StateCause::LeftOpen)),
        (works(Some(StateCause::LeftOpen)), None),
        "a request is left open"
    );
}

#[test]
fn a_lead_works_before_the_log_shows_that_it_is_ready() {
    let rows: [(&str, Change, bool); 4] = [
        ("it starts", |it| it.sets("lead", MemberState::Spawning, None), true),
        ("it was stopped before", |it| it.sets("lead", MemberState::Stopped, None), true),
        ("it crashed before", |it| it.sets("lead", MemberState::Crashed, None), true),
        ("it plans", |it| it.sets("lead", MemberState::Planning, None), false),
    ];
    for (title, change, moves_to_work) in rows {
        let mut scene = SmallTeam::new();
        change(&mut scene);
        BUSY(&mut scene);
        let facts = &scene.crew[&name("lead")];
        let moved = to_work(&scene.state, facts, None);
        assert_eq!(moved.is_some(), moves_to_work, "{title}");
        assert_eq!(to_rest(&scene.state, facts, None), None, "{title}");
    }
}

#[test]
fn the_log_shows_a_lead_as_idle_once_it_has_finished() {
    assert_eq!(moves(|_| {}, None), (None, None), "it says so already");
    let worked: Change = |it| it.sets("lead", MemberState::Working, None);
    assert_eq!(moves(worked, None), (None, rests(None)));
    let open = Some(StateCause::LeftOpen);
    assert_eq!(moves(worked, open), (None, rests(open)));
    assert_eq!(moves(|_| {}, open), (None, rests(open)), "the open request is news");
    let failed = Some(StateCause::CouldNot);
    assert_eq!(moves(|_| {}, failed), (None, rests(failed)));
}

#[test]
fn other_causes_do_not_move_the_lead() {
    let interrupted: Change =
        |it| it.sets("lead", MemberState::Idle, Some(StateCause::Interrupted));
    assert_eq!(moves(interrupted, None), (None, None));
}

#[test]
fn a_lead_that_holds_a_task_or_does_not_run_is_not_moved() {
    let rows: [(&str, Change); 5] = [
        ("it holds a task", |it| {
            it.adds(|_| {});
            it.claims("lead", 1);
            it.facts("lead").work.is_at_rest = false;
        }),
        ("it starts", |it| {
            it.facts("lead").life = Lifecycle::Starting { is_new: false };
            it.facts("lead").work.is_at_rest = false;
        }),
        ("it stops", |it| {
            it.facts("lead").life = Lifecycle::Stopping(stop_order(true));
            it.facts("lead").work.is_at_rest = false;
        }),
        ("its wire has ended", |it| {
            it.facts("lead").wire.is_silent = true;
            it.facts("lead").work.is_at_rest = false;
        }),
        ("the log says that it stops", |it| {
            it.sets("lead", MemberState::Stopping, None);
            it.facts("lead").work.is_at_rest = false;
        }),
    ];
    for (title, change) in rows {
        assert_eq!(moves(change, None), (None, None), "{title}");
    }
}

#[test]
fn a_request_is_closed_when_only_the_log_still_has_it_open() {
    let open = Some(StateCause::LeftOpen);
    for (title, cause, left_open, expected) in [
        ("nothing ever was", None, None, false),
        ("it has been done", open, None, true),
        ("it is still open", open, open, false),
        ("it could not be done, and stays so", Some(StateCause::CouldNot), None, false),
    ] {
        let mut scene = SmallTeam::new();
        scene.sets("lead", MemberState::Working, cause);
        assert_eq!(has_closed(&scene.state, left_open), expected, "{title}");
    }
}
