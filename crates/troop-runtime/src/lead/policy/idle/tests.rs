//! When the idle report of a member is news.

use super::is_news;
use crate::lead::policy::table::{SmallTeam, check, name, task_ref};

/// A change to a team in which nobody has done anything.
type Change = fn(&mut SmallTeam);

#[test]
fn an_idle_report_is_news_after_work_and_from_the_lead() {
    let nothing: Change = |_| {};
    let rows: Vec<(&str, (&str, Change), bool)> = vec![
        ("ann did nothing", ("ann", nothing), false),
        ("ann has worked", ("ann", |it| it.facts("ann").idle.has_worked = true), true),
        ("a report of ann waits", ("ann", |it| it.facts("ann").work.n_held = 1), true),
        ("bob has worked", ("ann", |it| it.facts("bob").idle.has_worked = true), false),
        ("the lead did nothing", ("lead", nothing), true),
    ];
    check(rows, |(member, change)| {
        let mut scene = SmallTeam::new();
        change(&mut scene);
        is_news(&scene.state, &name(member), &scene.crew[&name(member)], None)
    });
    let scene = SmallTeam::new();
    let ann = name("ann");
    let last = task_ref(1);
    assert!(is_news(&scene.state, &ann, &scene.crew[&ann], Some(&last)), "it names a task");
}
