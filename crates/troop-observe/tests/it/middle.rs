//! Streams that begin or stop in the middle, that repeat, or that arrive in another order.

use serde_json::json;
use troop_observe::{Observer, SavedError, TaskStatus, TeamRole};

use crate::stream::{Observation, V47, V177, mail, result, spawned, team_lines, used};

#[test]
fn a_stream_that_begins_in_the_middle_finds_its_team_by_name() {
    let mut seen = Observation::default();
    seen.line(&result("before", "Task #1 created successfully: x"));
    seen.pair(
        "u",
        "TaskUpdate",
        json!({"taskId": "1", "status": "completed"}),
        "Updated task #1 status",
    );
    assert_eq!(seen.session().team, None);
    seen.pair("a", "Task", json!({"team_name": "blue", "name": "ann"}), spawned("ann", "blue"));
    let team = seen.team_now();
    assert_eq!((team.name(), team.role(), team.is_partial()), ("blue", TeamRole::Lead, true));
    // A list adds missed tasks, once, and does not change known ones.
    seen.pair(
        "l",
        "TaskList",
        json!({}),
        "#1 [completed] Task A (bob)\n#2 [pending] Task B [blocked by #1]",
    );
    seen.pair("m", "TaskList", json!({}), "#1 [pending] Task Z (ann)");
    assert_eq!(
        (seen.task("1").status, seen.task("1").subject.as_str()),
        (TaskStatus::Completed, "Task A")
    );
    assert_eq!((seen.task("1").blocks.len(), seen.task("2").blocked_by.len()), (1, 1));
    seen.line(&mail("bob", "I was here before"));
    assert_eq!(seen.session().agents, ["ann", "bob"]);
    assert_eq!(
        seen.story(),
        [
            "team:created blue",
            "team:member:joined ann",
            "team:task:created 1",
            "team:task:created 2",
            "team:member:joined bob",
            "team:message:received bob",
        ]
    );
}

#[test]
fn a_stream_may_begin_and_stop_anywhere() {
    for stream in [V47, V177] {
        let lines: Vec<_> = stream.lines().collect();
        for start in 0..lines.len() {
            for end in start..=lines.len() {
                Observation::of(&lines[start..end]).end();
            }
        }
    }
}

#[test]
fn half_a_line_at_the_end_changes_nothing() {
    let whole: Vec<_> = V47.lines().take(6).collect();
    let last = V47.lines().nth(6).unwrap();
    for cut in (0..last.len()).filter(|cut| last.is_char_boundary(*cut)) {
        let mut seen = Observation::of(&whole);
        seen.line(last.split_at(cut).0);
        assert_eq!(seen.observer.team(), Observation::of(&whole).observer.team());
    }
}

#[test]
fn a_repeated_stream_yields_every_event_once() {
    for stream in [V47, V177] {
        let once = Observation::of(stream.lines());
        let twice = Observation::of(stream.lines().chain(stream.lines()));
        assert_eq!(twice.story(), once.story());
        assert_eq!(twice.session().team, once.session().team);
        assert_eq!(twice.supplements.len(), once.supplements.len());
        let doubled = Observation::of(stream.lines().flat_map(|line| [line, line]));
        assert_eq!(doubled.story(), once.story());
        assert_eq!(doubled.supplements.len(), once.supplements.len());
    }
}

#[test]
fn repeated_mail_is_one_event() {
    let mut seen = Observation::team();
    (0..2).for_each(|_| seen.line(&mail("ann", "hi")));
    seen.line(&mail("ann", "hi again"));
    assert_eq!(seen.story().len(), 2);
}

#[test]
fn a_result_may_come_before_its_use() {
    let mut seen = Observation::default();
    for pair in team_lines().chunks(2) {
        seen.line(&pair[1]);
        seen.line(&pair[0]);
    }
    // Another line that mentions the use comes before both.
    seen.line(r#"{"type":"system","subtype":"task_started","tool_use_id":"c"}"#);
    seen.line(&result("c", "Task #1 created successfully: s"));
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    let story = [
        "team:created blue",
        "team:member:joined ann",
        "team:member:joined bob",
        "team:task:created 1",
    ];
    assert_eq!(seen.story(), story);
    assert_eq!(seen.observer.n_waiting(), 0);
}

#[test]
fn a_restart_at_any_line_changes_nothing() {
    let whole = Observation::of(V177.lines());
    let mut seen = Observation::default();
    for line in V177.lines() {
        seen.line(line);
        seen.observer = Observer::restore(&seen.observer.save()).unwrap();
    }
    assert_eq!(seen.events, whole.events);
    assert_eq!(seen.session(), whole.session());
    assert_eq!(seen.observer.counts(), whole.observer.counts());
}

#[test]
fn a_saved_session_is_restored_with_its_members() {
    let before = Observation::team();
    let mut after = Observation {
        observer: Observer::restore(&before.observer.save()).unwrap(),
        ..Observation::default()
    };
    assert_eq!(after.session(), before.session());
    assert_eq!(after.session().agents, ["ann", "bob"]);
    // The stream is replayed after the reconnection.
    team_lines().iter().for_each(|line| after.line(line));
    assert_eq!(after.story(), [""; 0]);
}

#[test]
fn changes_that_are_worth_saving_are_reported() {
    let mut seen = Observation::team();
    assert!(seen.observer.take_changed());
    seen.line(r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hm"}]}}"#);
    assert!(!seen.observer.take_changed());
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    assert!(seen.observer.take_changed() && !seen.observer.take_changed());
}

#[test]
fn bytes_that_are_not_a_saved_state_are_refused() {
    let saved = String::from_utf8(Observation::team().observer.save()).unwrap();
    let broken = [
        String::new(),
        "{}".to_owned(),
        saved.split_at(saved.len() / 2).0.to_owned(),
        saved.replace("\"active\"", "\"sleepy\""),
        saved.replace("\"lead\"", "\"boss\""),
        saved.replace("\"agent_id\"", "\"agent\""),
        saved.replace("\"name\":\"bob\"", "\"name\":\"ann\""),
        saved.replace("\"name\":\"blue\"", "\"name\":\"\""),
    ];
    for broken in broken {
        assert_ne!(broken, saved);
        let error = Observer::restore(broken.as_bytes()).unwrap_err();
        assert!(matches!(error, SavedError::Damaged { .. }), "{broken}");
    }
    let newer = saved.replace("\"format\":1", "\"format\":2");
    let error = Observer::restore(newer.as_bytes()).unwrap_err();
    assert!(matches!(error, SavedError::Format { found: 2 }));
}
