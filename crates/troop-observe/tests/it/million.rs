//! A million tasks, created one by one.

use std::fmt::Write as _;

use troop_observe::{Observer, TaskStatus};

use crate::stream::at;

/// The resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

/// The tool use that creates a task, and its result.
fn made(number: u32, text: &mut String) {
    text.clear();
    write!(
        text,
        r##"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_{number:012}","name":"TaskCreate","input":{{"subject":"task {number}"}}}}]}}}}
{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{number:012}","content":"Task #{number} created successfully: task {number}"}}]}}}}"##
    )
    .unwrap();
}

#[test]
fn a_million_tasks_take_half_a_kilobyte_each() {
    // Debug code is too slow for a million; `troop bench observe` has as many.
    let n_tasks: u32 = if cfg!(debug_assertions) { 10_000 } else { 1_000_000 };
    let mut observer = Observer::default();
    let mut text = String::new();
    let team = r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"TeamCreate","input":{"team_name":"blue"}}]}}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"{\"team_name\":\"blue\"}"}]}}"#;
    let mut say =
        |text: &str| text.lines().for_each(|line| drop(observer.line(line.as_bytes(), at(0))));
    say(team);
    let before = resident();
    for number in 1..=n_tasks {
        made(number, &mut text);
        say(&text);
    }
    let grown = resident() - before;
    let team = observer.team().unwrap();
    assert_eq!(team.tasks().len(), n_tasks as usize);
    let last = team.task(&n_tasks.to_string()).unwrap();
    assert_eq!(
        (last.subject.clone(), last.status),
        (format!("task {n_tasks}"), TaskStatus::Pending)
    );
    // Only the last tool uses are remembered; they are counted here, too.
    assert!(grown < 1_000 * n_tasks as usize, "{} bytes each", grown / n_tasks as usize);
    assert_eq!(observer.n_waiting(), 0);
}
