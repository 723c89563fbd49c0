//! Tool uses without a result are shown as tentative.

use serde_json::json;
use troop_observe::TaskStatus;

use crate::stream::{Seen, at, failed, result, spawned, used};

#[test]
fn a_tool_use_is_tentative_until_its_result_confirms_it() {
    let mut seen = Seen::default();
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
    let mut seen = Seen::team();
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

#[test]
fn a_tool_use_without_a_result_is_forgotten_after_30_seconds() {
    let mut seen = Seen::team();
    seen.line_at(&used("c", "TaskCreate", json!({"subject": "s"})), at(100));
    seen.line_at("{}", at(130));
    assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (1, 1));
    seen.line_at("{}", at(131));
    assert_eq!((seen.team_now().tasks().len(), seen.observer.n_waiting()), (0, 0));
    // A person took a minute to allow it.
    seen.line_at(&result("c", "Task #1 created successfully: s"), at(160));
    assert_eq!(seen.story(), ["team:task:created 1"]);
}
