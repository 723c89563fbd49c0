//! Tool uses without a result are shown as tentative.

use serde_json::json;
use troop_observe::TaskStatus;

use crate::stream::{Observation, at, failed, result, spawned, used};

#[test]
fn a_tool_use_is_tentative_until_its_result_confirms_it() {
    let mut seen = Observation::default();
    seen.line(&used("t", "TeamCreate", json!({"team_name": "blue"})));
    assert!(seen.team_now().is_tentative());
    assert_eq!(seen.observer.team(), None);
    seen.line(&used("a", "Task", json!({"team_name": "blue", "name": "ann"})));
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    assert!(seen.team_now().member("ann").unwrap().tentative);
    assert!(seen.task("c").tentative, "it has no id of its own yet");
    assert_eq!(seen.session().agents, ["ann"]);
    assert_eq!(seen.story(), [""; 0], "nothing has happened yet");
    seen.line(&result("t", "{\"team_name\":\"blue\"}"));
    seen.line(&result("a", spawned("ann", "blue")));
    seen.line(&result("c", "Task #1 created successfully: s"));
    assert_eq!(
        seen.story(),
        ["team:created blue", "team:member:joined ann", "team:task:created 1"]
    );
    let team = seen.team_now();
    assert!(!team.is_tentative() && !team.members()[0].tentative);
    assert_eq!(
        team.tasks().map(|it| (it.id.as_str(), it.tentative)).collect::<Vec<_>>(),
        [("1", false)]
    );
}

#[test]
fn an_error_removes_the_tentative_change() {
    let mut seen = Observation::team();
    seen.add_task(1);
    let before = seen.session();
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    seen.line(&used("u", "TaskUpdate", json!({"taskId": "1", "status": "completed"})));
    seen.line(&used("d", "TeamDelete", json!({})));
    assert_eq!(seen.team_now().tasks().len(), 2);
    assert_eq!((seen.task("1").status, seen.task("1").tentative), (TaskStatus::Completed, true));
    assert!(seen.team_now().is_tentative(), "it is still there: deleting it may be refused");
    ["c", "u", "d"].into_iter().for_each(|id| seen.line(&failed(id)));
    assert_eq!(seen.session(), before);
}

/// A line with the stream's time. Nothing in it is about a team, so it is not read any further.
fn stamped(second: u32) -> String {
    let content = json!([{"type": "text", "text": "I work"}]);
    json!({"type": "assistant", "message": {"id": second, "content": content},
        "timestamp": format!("2026-11-18T21:16:{second}.000Z")})
    .to_string()
}

#[test]
fn a_tool_use_in_a_recorded_stream_is_forgotten_after_30_seconds_of_its_clock() {
    // All lines are read at one moment of ours.
    for is_stamped in [true, false] {
        let mut seen = Observation::team();
        let mut line: serde_json::Value =
            serde_json::from_str(&used("c", "TaskCreate", json!({"subject": "s"}))).unwrap();
        if is_stamped {
            line["timestamp"] = "2026-11-18T21:16:10.000Z".into();
        }
        seen.line(&line.to_string());
        seen.line(&stamped(10));
        // A time inside the line is not the line's.
        let inner = json!({"type": "user", "message": {"content": [{"type": "text", "text": "x",
            "timestamp": "2026-11-18T22:00:00.000Z"}]}});
        seen.line(&inner.to_string());
        seen.line(&stamped(40));
        assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (1, 1));
        seen.line(&stamped(41));
        assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (0, 0));
        seen.line(&result("c", "Task #1 created successfully: s"));
        assert_eq!(seen.story(), ["team:task:created 1"], "a late result counts");
    }
}

#[test]
fn a_tool_use_without_a_result_is_forgotten_after_30_seconds() {
    let mut seen = Observation::team();
    seen.line_at(&used("c", "TaskCreate", json!({"subject": "s"})), at(100));
    seen.line_at("{}", at(130));
    assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (1, 1));
    seen.line_at("{}", at(131));
    assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (0, 0));
    // A person took a minute to allow it.
    seen.line_at(&result("c", "Task #1 created successfully: s"), at(160));
    assert_eq!(seen.story(), ["team:task:created 1"]);
}
