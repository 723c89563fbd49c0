//! The lifecycle of a run, whatever the order of its events.

use std::io;

use troop_model::{Party, StateCause};
use uuid::Uuid;

use super::{Account, Boot, Lifecycle, MemberExit, StopOrder, StopRequest, StopStep};

fn order(reason: &str, is_forced: bool) -> StopOrder {
    StopOrder { reason: reason.to_owned(), request: None, is_forced }
}

fn asked(reason: &str) -> StopOrder {
    let request = StopRequest { id: Uuid::from_u128(1), from: Party::user() };
    StopOrder { request: Some(request), ..order(reason, false) }
}

fn account(boot: Boot, stop: Option<StopOrder>) -> Account {
    Account { boot, stop, is_let_go: false }
}

const NEW: Boot = Boot::Pending { is_new: true };

/// One lifecycle of each kind.
fn all() -> Vec<(&'static str, Lifecycle)> {
    let exited =
        |is_killed, account| Lifecycle::Exited { exit: MemberExit::Task, is_killed, account };
    vec![
        ("starting", Lifecycle::Starting { is_new: true }),
        ("ready", Lifecycle::Ready),
        ("stopping", Lifecycle::Stopping(order("enough", false))),
        ("ending", Lifecycle::Ending(account(Boot::Complete, None))),
        ("ending unready", Lifecycle::Ending(account(NEW, None))),
        ("exited", exited(false, account(Boot::Complete, None))),
        ("exited unready", exited(false, account(NEW, None))),
        ("killed and exited", exited(true, account(Boot::Complete, None))),
    ]
}

/// The titles of those that match.
fn holding(holds: impl Fn(&Lifecycle) -> bool) -> Vec<&'static str> {
    all().into_iter().filter(|(_, life)| holds(life)).map(|(title, _)| title).collect()
}

#[test]
fn each_predicate_holds_in_its_stages_only() {
    assert_eq!(holding(Lifecycle::is_starting), ["starting"]);
    assert_eq!(holding(Lifecycle::is_ready), ["ready"]);
    assert_eq!(holding(Lifecycle::is_killed), ["ending", "ending unready", "killed and exited"]);
    assert_eq!(holding(Lifecycle::has_exited), ["exited", "exited unready", "killed and exited"]);
    assert_eq!(holding(|life| life.stop().is_some()), ["stopping"]);
}

#[test]
fn a_run_becomes_ready_once_even_if_its_end_was_seen_before() {
    let mut news = Vec::new();
    for (title, mut life) in all() {
        if life.become_ready() {
            assert!(!life.become_ready(), "{title}: only once");
            assert_eq!(life.account().boot, Boot::Complete, "{title}");
            news.push(title);
        }
    }
    assert_eq!(news, ["starting", "ending unready", "exited unready"]);
}

#[test]
fn a_run_that_is_not_ready_is_killed_instead_of_asked_to_stop() {
    let steps: Vec<_> = all()
        .into_iter()
        .map(|(title, mut life)| (title, life.take_stop(order("enough", false))))
        .collect();
    assert_eq!(
        steps,
        [
            ("starting", StopStep::Kill),
            ("ready", StopStep::Grace),
            ("stopping", StopStep::Nothing),
            ("ending", StopStep::Grace),
            ("ending unready", StopStep::Kill),
            ("exited", StopStep::Grace),
            ("exited unready", StopStep::Kill),
            ("killed and exited", StopStep::Grace),
        ]
    );
}

#[test]
fn an_order_to_stop_is_remembered_until_the_end() {
    for (title, mut life) in all() {
        life.take_stop(order("enough", false));
        assert_eq!(life.stop(), Some(&order("enough", false)), "{title}");
        life.kill();
        life.exit(MemberExit::Task);
        assert_eq!(life.account().stop, Some(order("enough", false)), "{title}");
    }
}

#[test]
fn a_stop_with_the_team_stays_forced_despite_a_request() {
    let mut life = Lifecycle::Ready;
    life.take_stop(order("the team stops", true));
    life.take_stop(asked("lunch"));
    let stop = life.stop().unwrap();
    assert!(stop.is_forced);
    assert_eq!(stop.reason, "the team stops");
    assert!(stop.request.is_some(), "the request gets an answer");
    let mut life = Lifecycle::Ready;
    life.take_stop(asked("lunch"));
    life.take_stop(order("the team stops", true));
    let stop = life.stop().unwrap();
    assert!(stop.is_forced, "also the other way round");
    assert_eq!(stop.request, None);
}

#[test]
fn a_member_may_decline_to_stop_alone() {
    let mut life = Lifecycle::Ready;
    assert!(life.answer_stop(false).is_none(), "there is no order");
    life.take_stop(asked("lunch"));
    let answer = life.answer_stop(false).unwrap();
    assert!(answer.goes_on);
    assert!(answer.request.is_some());
    assert!(life.is_ready());
    assert_eq!(life.stop(), None);
}

#[test]
fn a_member_may_not_decline_to_stop_with_its_team() {
    let mut life = Lifecycle::Ready;
    life.take_stop(order("over", true));
    assert!(!life.answer_stop(false).unwrap().goes_on);
    assert_eq!(life.stop(), Some(&order("over", true)));
}

#[test]
fn a_request_to_stop_is_answered_once() {
    let mut life = Lifecycle::Ready;
    life.take_stop(asked("lunch"));
    let first = life.answer_stop(true).unwrap();
    assert_eq!((first.request.is_some(), first.goes_on), (true, false));
    let second = life.answer_stop(true).unwrap();
    assert_eq!((second.request, second.goes_on), (None, false));
}

#[test]
fn an_answer_that_comes_after_the_exit_still_counts() {
    let mut life = Lifecycle::Ready;
    life.take_stop(asked("lunch"));
    life.exit(MemberExit::Task);
    assert!(life.answer_stop(false).unwrap().goes_on);
    assert_eq!(life.account().stop, None, "it wanted to go on, so it crashed");
}

#[test]
fn killing_keeps_the_account_of_the_run() {
    for (title, mut life) in all() {
        let before = life.account();
        life.kill();
        assert!(life.is_killed(), "{title}");
        assert_eq!(life.account(), before, "{title}");
        life.exit(MemberExit::Task);
        assert!(life.is_killed() && life.has_exited(), "{title}");
        assert_eq!(life.account(), before, "{title}");
    }
}

#[test]
fn a_run_that_exits_by_itself_was_not_killed() {
    for mut life in [Lifecycle::Starting { is_new: false }, Lifecycle::Ready] {
        life.exit(MemberExit::Task);
        assert!(life.has_exited() && !life.is_killed());
    }
}

#[test]
fn a_removed_member_is_killed_and_forgotten() {
    for (title, mut life) in all() {
        life.let_go();
        assert!(life.is_killed(), "{title}");
        assert!(life.account().is_let_go, "{title}");
    }
}

#[test]
fn the_recorded_reason_says_whether_the_team_stopped() {
    let alone = order("lunch", false);
    assert_eq!((alone.recorded().as_str(), alone.cause()), ("lunch", StateCause::Asked));
    let with_team = order("over", true);
    let words = StateCause::TeamStopped.in_words();
    assert_eq!(with_team.recorded(), format!("{words}: over"));
    assert_eq!(with_team.cause(), StateCause::TeamStopped);
}

#[test]
fn an_exit_is_described_by_its_status() {
    use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};
    let status = |raw| MemberExit::Process(ExitStatus::from_raw(raw));
    for (exit, expected) in [
        (status(0), "exit code 0"),
        (status(7 << 8), "exit code 7"),
        (status(9), "killed by signal 9"),
        (MemberExit::Task, "ended"),
        (MemberExit::NotStarted(io::Error::other("no")), "it cannot be started: no"),
        (MemberExit::Unknown(io::Error::other("no")), "ended: no"),
    ] {
        assert_eq!(exit.to_string(), expected);
    }
}
