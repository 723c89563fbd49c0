//! The judge objects to what must not be, and to nothing else.

use troop_model::{Actor, OperationId};

use super::*;

fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

/// An event of the log, by a member.
fn event(version: u64, by: &str, fact: Fact) -> Event {
    Event {
        version: Version(version),
        at: Time::from_micros(version as i64),
        actor: Actor::agent(&name(by)),
        operation: OperationId(Uuid::from_u128(version.into())),
        fact,
    }
}

fn claimed(owner: &str) -> Fact {
    let lease_until = Time::from_micros(1_000);
    Fact::TaskClaimed { task: TaskNumber(1), owner: name(owner), attempt: 1, lease_until }
}

fn completed() -> Fact {
    Fact::TaskCompleted { task: TaskNumber(1), result: String::new(), summary: String::new() }
}

fn released(owner: &str) -> Fact {
    let reason = String::new();
    Fact::TaskReleased { task: TaskNumber(1), owner: name(owner), reason, forgiven: false }
}

/// The promise that a log breaks first, if it breaks one.
fn check(facts: Vec<(&str, Fact)>, expect: Option<Promise>) {
    let mut judge = Judge::default();
    let what = format!("{facts:?}");
    for (nth, (by, fact)) in facts.into_iter().enumerate() {
        judge.see(&event(nth as u64 + 1, by, fact));
    }
    assert_eq!(judge.violation().map(|it| it.promise), expect, "{what}");
}

#[test]
fn the_judge_sees_every_broken_promise_of_a_log() {
    check(vec![("ann", claimed("ann")), ("ann", completed())], None);
    let again = vec![("ann", claimed("ann")), ("ann", released("ann")), ("bob", claimed("bob"))];
    check(again, None);
    let two = vec![("ann", claimed("ann")), ("bob", claimed("bob"))];
    check(two, Some(Promise::OneHolder));
    let late = vec![("ann", claimed("ann")), ("ann", released("ann")), ("ann", completed())];
    check(late, Some(Promise::CompletedOnce));
    let stolen = vec![("ann", claimed("ann")), ("bob", completed())];
    check(stolen, Some(Promise::CompletedOnce));
    let twice = vec![("ann", claimed("ann")), ("ann", completed()), ("ann", completed())];
    check(twice, Some(Promise::CompletedOnce));
    let reopened = vec![("ann", claimed("ann")), ("ann", completed()), ("ann", released("ann"))];
    check(reopened, Some(Promise::CompletedOnce));
}

#[test]
fn the_judge_sees_gaps_and_time_that_runs_backwards() {
    let mut gap = Judge::default();
    gap.see(&event(1, "ann", claimed("ann")));
    gap.see(&event(3, "ann", completed()));
    assert_eq!(gap.violation().unwrap().promise, Promise::LogInOrder);

    let mut backwards = Judge::default();
    backwards.see(&event(1, "ann", claimed("ann")));
    backwards.see(&Event { at: Time::from_micros(0), ..event(2, "ann", completed()) });
    assert_eq!(backwards.violation().unwrap().promise, Promise::LogInOrder);
}

#[test]
fn the_judge_uses_the_programs_own_knowledge() {
    let task = TaskNumber(1);
    let mut judge = Judge::default();
    judge.claimed(task, "p1");
    judge.gave_up(task, "p1");
    judge.claimed(task, "p2");
    judge.done(task, "p2");
    assert_eq!(judge.violation(), None);
    judge.claimed(task, "p1");
    assert_eq!(judge.violation().unwrap().promise, Promise::ClaimedOnce);

    let mut judge = Judge::default();
    judge.done(task, "p1");
    judge.done(task, "p2");
    assert_eq!(judge.violation().unwrap().promise, Promise::DoneOnce);
}

#[test]
fn undelivered_mail_is_not_read() {
    let reader = Party::member(&name("ann"));
    let read = |id: u128| Fact::MessageRead {
        reader: Party::member(&name("ann")),
        messages: vec![Uuid::from_u128(id)],
    };
    let mut judge = Judge::default();
    judge.showed(reader, Uuid::from_u128(7));
    judge.see(&event(1, "ann", read(7)));
    assert_eq!(judge.violation(), None);
    judge.see(&event(2, "ann", read(8)));
    assert_eq!(judge.violation().unwrap().promise, Promise::ReadIfShown);
}
