//! All generations of the vocabulary, and tools that are in none of them.

use serde_json::json;
use troop_observe::{MemberStatus, ObservedFact, ObservedTaskId, Observer, TeamRole};

use crate::stream::{Observation, mail, result, team_lines, text, used, uses};

#[test]
fn an_implicit_team_appears_with_its_first_member() {
    let mut seen = Observation::default();
    seen.spawn("a", "ann", "ann");
    seen.spawn("b", "ann", "ann-2");
    let team = seen.team_now();
    assert_eq!((team.name(), team.role()), ("session-0123abcd", TeamRole::Lead));
    assert_eq!(seen.session().agents, ["ann", "ann-2"], "a name that is taken becomes another");
    assert_eq!(team.members()[0].agent_type, "tester");
    seen.line(&mail("ann-2", "hello"));
    let story =
        ["team:created session-0123abcd", "team:member:joined ann", "team:member:joined ann-2"];
    assert_eq!(seen.story()[..3], story);
    assert_eq!(seen.story()[3], "team:message:received ann-2");
}

#[test]
fn tasks_from_before_the_first_teammate_become_the_teams() {
    for is_restarted in [false, true] {
        let mut seen = Observation::default();
        seen.add_task(1);
        seen.add_task(2);
        seen.add_task(3);
        seen.update("2", json!({"addBlockedBy": ["1"]}));
        seen.update("3", json!({"status": "deleted"}));
        assert_eq!(
            (seen.session().team, seen.story()),
            (None, Vec::new()),
            "the team has no members yet"
        );
        if is_restarted {
            seen.observer = Observer::restore(&seen.observer.save()).unwrap();
        }
        seen.spawn("a", "ann", "ann");
        seen.update("1", json!({"owner": "ann", "status": "in_progress"}));
        let story = [
            "team:created session-0123abcd",
            "team:task:created 1",
            "team:task:created 2",
            "team:member:joined ann",
            "team:task:claimed 1",
        ];
        assert_eq!(seen.story(), story);
        assert_eq!(seen.task("1").owner.as_deref(), Some("ann"));
        assert_eq!(
            seen.task("2").blocked_by.iter().map(ObservedTaskId::as_str).collect::<Vec<_>>(),
            ["1"]
        );
        // A later teammate does not change the board.
        seen.spawn("b", "bob", "bob");
        assert_eq!(seen.story()[5..], ["team:member:joined bob"]);
    }
}

/// A message to a busy lead, as in its transcript since 2.1.178.
fn queued(kind: &str, from: &str, body: &str) -> String {
    let prompt = format!("<agent-message from=\"{from}\">\n{body}\n</agent-message>");
    let origin = json!({"kind": kind, "from": from, "body": body});
    let attachment = json!({"type": "queued_command", "prompt": prompt, "origin": origin});
    json!({"parentUuid": null, "attachment": attachment, "type": "attachment", "uuid": format!("{from} {body}"),
        "sessionId": "s"})
    .to_string()
}

#[test]
fn a_queued_message_to_a_busy_lead_is_a_message() {
    let mut seen = Observation::default();
    seen.line(&queued("peer", "ann", "too early"));
    seen.spawn("a", "ann", "ann");
    seen.events.clear();
    let line = queued("peer", "ann", "task 1 is done");
    seen.line(&line);
    seen.line(&line);
    // The client's notes about its queue and its requests repeat the words.
    let words = "<agent-message from=\"ann\">\ntask 1 is done\n</agent-message>";
    seen.line(
        &json!({"type": "queue-operation", "operation": "enqueue", "content": words}).to_string(),
    );
    let content = json!([{"type": "text", "text": words}]);
    seen.line(
        &json!({"type": "api-request-blob", "message": {"role": "user", "content": content}})
            .to_string(),
    );
    // A person may queue something, too.
    seen.line(&queued("human", "ann", "go on"));
    assert_eq!(seen.story(), ["team:message:received ann"]);
    let ObservedFact::Message { from, to, content, .. } = &seen.events[0].fact else {
        panic!("{:?}", seen.events[0]);
    };
    assert_eq!((from.as_str(), to.as_deref()), ("ann", Some("team-lead")));
    assert_eq!(content, "task 1 is done");
    let idle = json!({"type": "idle_notification", "from": "ann"});
    seen.line(&queued("peer", "ann", &idle.to_string()));
    assert_eq!(seen.story()[1..], ["team:idle:reported ann", "team:member:idle ann"]);
}

#[test]
fn an_explicit_team_begins_with_an_empty_board() {
    let mut seen = Observation::default();
    seen.add_task(1);
    team_lines().iter().for_each(|line| seen.line(line));
    assert_eq!(seen.team_now().tasks().len(), 0);
    // It took the former tasks with it.
    seen.pair("d", "TeamDelete", json!({}), "ok");
    seen.spawn("a", "ann", "ann");
    assert_eq!(seen.team_now().tasks().len(), 0);
}

#[test]
fn a_session_without_a_team_keeps_a_bounded_number_of_tasks() {
    let mut seen = Observation::default();
    for number in 1..=1000 {
        seen.add_task(number);
        let text = "x".repeat(10_000);
        seen.update(&number.to_string(), json!({"description": text, "addBlocks": [number + 1]}));
    }
    assert!(seen.observer.save().len() < 2 << 20, "{}", seen.observer.save().len());
    seen.spawn("a", "ann", "ann");
    assert_eq!(seen.task("1000").subject, "task 1000", "the last ones are known");
    assert!(seen.team_now().task("1").is_none());
}

#[test]
fn an_implicit_team_is_complete_if_the_stream_has_the_whole_session() {
    let init = json!({"type": "system", "subtype": "init", "session_id": "s", "claude_code_version": "2.1.200"});
    for (first, is_partial) in [(init.to_string(), false), (text("t"), true)] {
        let mut seen = Observation::default();
        // Some programs begin a file with a mark.
        seen.line(&format!("\u{feff}{first}"));
        assert_eq!(seen.observer.counts().unreadable, 0, "{first}");
        seen.spawn("a", "ann", "ann");
        assert_eq!(seen.team_now().is_partial(), is_partial, "{first}");
        // A list shows the tasks from before the first member joined.
        seen.pair("l", "TaskList", json!({}), "#1 [pending] Task A");
        assert_eq!(seen.task("1").subject, "Task A");
    }
}

#[test]
fn a_named_agent_that_joins_no_team_is_a_plain_subagent() {
    let mut seen = Observation::default();
    seen.pair("a", "Agent", json!({"name": "ann", "prompt": "p"}), "I looked: all is well");
    assert_eq!((seen.session().team, seen.story(), seen.supplements.len()), (None, Vec::new(), 0));
    let mut seen = Observation::team();
    seen.pair("a", "Agent", json!({"name": "cy", "prompt": "p"}), "I looked: all is well");
    assert_eq!(seen.session().agents, ["ann", "bob"]);
    assert_eq!(seen.supplements.len(), 0);
}

#[test]
fn actions_of_a_teammate_in_the_same_process_are_its_own() {
    let mut seen = Observation::team();
    seen.add_task(1);
    let mut line: serde_json::Value = serde_json::from_str(&used(
        "u",
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress"}),
    ))
    .unwrap();
    line["parent_tool_use_id"] = "ann".into();
    seen.line(&line.to_string());
    seen.line(&result("u", "Updated task #1 owner, status"));
    assert_eq!(seen.task("1").owner.as_deref(), Some("ann"));
}

#[test]
fn a_session_of_a_teammate_is_known_by_its_transcript() {
    let mut seen = Observation::default();
    let line = r#"{"type":"user","message":{"role":"user","content":"hi"},"teamName":"blue","agentName":"ann"}"#;
    seen.line(line);
    seen.line(line);
    let team = seen.team_now();
    assert_eq!((team.name(), team.role()), ("blue", TeamRole::Teammate));
    let said = json!({"type": "message", "recipient": "team-lead", "content": "done"});
    seen.pair("m", "SendMessage", said, "{\"success\":true}");
    seen.line(&mail("team-lead", r#"{"type":"shutdown_request","requestId":"shutdown-1@ann"}"#));
    let yes = json!({"to": "team-lead", "message": {"type": "shutdown_response", "request_id": "shutdown-1@ann", "approve": true}});
    seen.pair("y", "SendMessage", yes, "{\"success\":true}");
    assert_eq!(
        seen.story(),
        [
            "team:created blue",
            "team:message:received ann",
            "team:shutdown:requested team-lead",
            "team:shutdown:response ann",
        ]
    );
}

#[test]
fn a_deleted_team_stays_deleted_even_if_the_transcript_names_it() {
    let mut seen = Observation::team();
    seen.pair("d", "TeamDelete", json!({}), "ok");
    seen.line(r#"{"type":"assistant","message":{"content":[]},"teamName":"blue"}"#);
    assert_eq!(seen.session().team, None);
}

#[test]
fn a_teammate_that_ends_by_itself_has_shut_down() {
    let mut seen = Observation::team();
    let ended = |id: &str, status: &str| {
        json!({"type": "system", "subtype": "task_notification",
        "tool_use_id": id, "status": status})
        .to_string()
    };
    seen.line(&ended("ann", "running"));
    seen.line(&ended("somebody else", "completed"));
    assert_eq!(seen.story(), [""; 0]);
    seen.line(&ended("ann", "failed"));
    seen.line(&ended("ann", "failed"));
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Shutdown);
    assert_eq!(seen.story(), ["team:member:shutdown ann"]);
}

#[test]
fn unknown_team_tools_are_counted_and_others_are_not() {
    let mut seen = Observation::team();
    seen.line(&uses(&[
        ("1", "TeamPause", json!({})),
        ("2", "Read", json!({})),
        ("3", "TaskCreate", json!({"subject": "s"})),
        ("4", "TeamPause", json!({})),
        ("5", "TaskUpdate", json!({})),
        ("6", "TaskStop", json!({})),
    ]));
    let counts = seen.observer.counts();
    assert_eq!(counts.unknown_tools.iter().collect::<Vec<_>>(), [(&"TeamPause".to_owned(), &2)]);
    assert_eq!(counts.incomplete, 1, "the others of the message are kept");
    assert_eq!(seen.observer.n_waiting(), 1);
    for nth in 0..1000 {
        seen.line(&used("x", &format!("Team{nth}{}", "x".repeat(200)), json!({})));
    }
    assert!(seen.observer.counts().unknown_tools.len() <= 64, "counting takes no memory");
}

#[test]
fn several_uses_in_one_message_are_seen_in_order() {
    let mut seen = Observation::team();
    seen.line(&uses(&[
        ("1", "TaskCreate", json!({"subject": "one"})),
        ("2", "Bash", json!({"command": "ls"})),
        ("3", "TaskCreate", json!({"subject": "two"})),
        ("4", "SendMessage", json!({"to": "ann", "message": "go"})),
    ]));
    let ids: Vec<_> =
        seen.supplements.iter().map(|it| it.metadata.team_tool_use_id.as_str()).collect();
    assert_eq!(ids, ["1", "3", "4"]);
}

#[test]
fn messages_about_something_else_yield_nothing() {
    let seen = Observation::of([
        text("1"),
        uses(&[]),
        used("r", "Read", json!({"file_path": "/x"})),
        result("r", "Task #1 created successfully: not by TaskCreate"),
        r#"{"type":"user","message":{"role":"user","content":"please use TeamCreate"}}"#.to_owned(),
        r#"{"type":"system","subtype":"init","tools":["Task","TeamCreate"]}"#.to_owned(),
        r#"{"type":"stream_event","event":{"name":"TeamCreate"}}"#.to_owned(),
        // In a message of the user it is only text.
        r#"{"type":"user","message":{"content":[{"type":"tool_use","id":"x","name":"TeamCreate","input":{"team_name":"t"}}]}}"#.to_owned(),
    ]);
    assert_eq!((seen.story(), seen.supplements.len()), (Vec::new(), 0));
    assert_eq!(seen.session().team, None);
}

#[test]
fn a_session_that_keeps_a_plain_list_of_tasks_has_no_team() {
    let mut seen = Observation::default();
    seen.add_task(1);
    seen.update("1", json!({"status": "completed"}));
    seen.line(&mail("ann", "somebody pasted this"));
    assert_eq!((seen.session().team, seen.story(), seen.supplements.len()), (None, Vec::new(), 0));
}
