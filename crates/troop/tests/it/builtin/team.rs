//! Whole teams, from a goal to what is merged.

use std::fs;

use serde_json::json;
use troop_testkit::mock::{Answer, MockModel, Seen};

use super::{KEY, git, member, repository, run};

/// A lead that has two files written, and says so.
fn leads(seen: &Seen) -> Answer {
    let last = seen.last();
    if last.contains("write a greeting") {
        Answer::call("TaskList", &json!({}))
    } else if last.contains("No tasks") || last.contains("no task") {
        Answer::calls(["one", "two"].map(|name| {
            let description = format!("write the file {name}.txt");
            ("TaskCreate", json!({"subject": name, "description": description}))
        }))
    } else if last.contains("created") {
        Answer::text("I wait for two files.")
    } else {
        Answer::text("Both greetings are written.")
    }
}

/// A teammate that writes the file of its task.
fn works(seen: &Seen) -> Answer {
    let last = seen.last();
    match last.split("write the file ").nth(1).and_then(|rest| rest.split_whitespace().next()) {
        Some(file) => Answer::call("Write", &json!({"file_path": file, "content": "hello\n"})),
        None => Answer::text("It is written."),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_goes_from_a_goal_to_what_is_merged() {
    let troop = repository(&["Edit"]);
    let mock = MockModel::start(|seen| if member(seen) == "lead" { leads(seen) } else { works(seen) }).await;
    let arguments = ["--team", "crew", "run", "write a greeting", "--agent", "builtin", "-m", "ann=builtin", "-m", "bob=builtin"];
    let run = run(&troop, &mock, &arguments).await;
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    for file in ["one.txt", "two.txt"] {
        assert_eq!(fs::read_to_string(troop.folder().join(file)).unwrap(), "hello\n");
    }
    assert_eq!(git(troop.folder(), &["status", "--porcelain"]), "");
    assert!(run.out.contains("Both greetings are written."), "{}", run.out);
    let asked = mock.requests();
    assert!(asked.iter().all(|seen| seen.system().contains("Greet in small letters.")));
    let events = troop.ok("events --json");
    assert!(!events.contains(KEY) && !run.out.contains(KEY));
}
