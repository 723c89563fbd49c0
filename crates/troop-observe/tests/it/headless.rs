//! Headless sessions of the newest Claude Code have no teams, but a board, named background agents and mail.

use serde_json::{Value, json};
use troop_observe::{MemberStatus, Observer};

use crate::stream::{HEADLESS, HEADLESS_NAMES, Observation, text, told};

#[test]
fn a_headless_session_has_a_board_members_and_mail() {
    let seen = Observation::of(HEADLESS.lines());
    assert_eq!(
        seen.story(),
        [
            "team:created session-9039c45e",
            "team:task:created 1",
            "team:task:created 2",
            "team:member:joined alice",
            "team:task:claimed 1",
            "team:message:received team-lead",
            "team:member:idle alice",
            "team:task:completed 1",
            "team:member:active alice",
            "team:message:received team-lead",
            "team:message:received alice",
            "team:member:idle alice",
        ]
    );
    let team = serde_json::to_value(seen.team_now()).unwrap();
    assert_eq!(
        team,
        json!({
            "name": "session-9039c45e", "role": "lead", "own_name": "team-lead",
            "members": [{
                "name": "alice", "agent_id": "a771c84fe4aa75001", "agent_type": "general-purpose", "status": "idle",
                "model": "claude-opus-5-5", "tool_use_id": "toolu_0030", "background": true, "tokens": 157,
            }],
            "tasks": [
                {"id": "1", "subject": "Task A", "description": "the first", "status": "completed", "owner": "alice",
                 "blocked_by": [], "blocks": ["2"]},
                {"id": "2", "subject": "Task B", "description": "the second", "status": "pending",
                 "blocked_by": ["1"], "blocks": []},
            ],
        })
    );
    assert_eq!((seen.observer.n_waiting(), seen.observer.counts().unreadable), (0, 0));
}

#[test]
fn mail_of_a_headless_session_says_who_wrote_to_whom_and_how_far_it_has_come() {
    let seen = Observation::of(HEADLESS.lines());
    let events = seen.events.iter().map(|it| serde_json::to_value(it).unwrap());
    let mail: Vec<_> = events
        .filter(|it| it["type"] == "message")
        .map(|it| json!([it["from"], it["to"], it["content"], it["delivery"]]))
        .collect();
    assert_eq!(
        mail,
        [
            json!(["team-lead", "alice", "begin with task 1", "queued"]),
            json!(["team-lead", "alice", "SECOND please go on", "delivered"]),
            json!(["alice", "team-lead", "hi-back from alice", "queued"]),
        ]
    );
}

#[test]
fn agents_with_the_same_name_are_two_members_and_a_stopped_one_has_shut_down() {
    let seen = Observation::of(HEADLESS_NAMES.lines());
    assert_eq!(seen.session().agents, ["alice", "alice-2"], "one without a name is no member");
    let statuses: Vec<_> = seen.team_now().members().iter().map(|it| it.status).collect();
    assert_eq!(statuses, [MemberStatus::Idle, MemberStatus::Shutdown]);
    assert_eq!(
        seen.story(),
        [
            "team:created session-48fc5add",
            "team:member:joined alice",
            "team:member:joined alice-2",
            "team:task:created 1",
            "team:message:received team-lead",
            "team:member:shutdown alice-2",
            "team:member:idle alice",
        ],
        "a message to nobody and one to all were refused"
    );
    let mail = serde_json::to_value(&seen.events[4]).unwrap();
    assert_eq!(mail["to"], "alice-2", "a name means the newest agent that has it");
}

#[test]
fn knowledge_of_a_headless_session_survives_restarts_copies_and_replays() {
    for stream in [HEADLESS, HEADLESS_NAMES] {
        let whole = Observation::of(stream.lines());
        let mut seen = Observation::default();
        for (nth, line) in stream.lines().enumerate() {
            seen.line(line);
            seen.line(line);
            if nth % 3 == 0 {
                seen.observer = Observer::restore(&seen.observer.save()).unwrap();
            }
        }
        stream.lines().for_each(|line| seen.line(line));
        assert_eq!(seen.story(), whole.story());
        assert_eq!(seen.session().team, whole.session().team);
    }
}

#[test]
fn a_headless_session_is_known_without_structured_results_and_session_ids() {
    for stream in [HEADLESS, HEADLESS_NAMES] {
        let bare = stream.lines().map(|line| {
            let mut it: Value = serde_json::from_str(line).unwrap();
            let fields = it.as_object_mut().unwrap();
            fields.remove("tool_use_result");
            fields.remove("session_id");
            it.to_string()
        });
        let seen = Observation::of(bare);
        assert_eq!(seen.team_now().name(), "session");
        let whole = Observation::of(stream.lines());
        let without_team: Vec<_> = whole.events.iter().skip(1).map(told).collect();
        assert_eq!(seen.story()[1..], without_team);
        let statuses = |it: &Observation| {
            let team = it.team_now();
            team.members()
                .iter()
                .map(|it| (it.agent_id.clone(), it.status, it.tokens))
                .collect::<Vec<_>>()
        };
        assert_eq!(statuses(&seen), statuses(&whole));
    }
}

#[test]
fn a_stopped_agent_that_is_resumed_has_joined_again() {
    let mut seen = Observation::of(HEADLESS.lines());
    seen.events.clear();
    let news = |subtype: &str, fields: Value| {
        let mut line =
            json!({"type": "system", "subtype": subtype, "task_id": "a771c84fe4aa75001"});
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line.to_string()
    };
    for status in ["killed", "failed"] {
        seen.line(&news(
            "task_started",
            json!({"task_type": "local_agent", "tool_use_id": "again"}),
        ));
        seen.line(&news("task_updated", json!({"patch": {"status": status}})));
        seen.line(&news(
            "task_notification",
            json!({"status": "completed", "tool_use_id": "again"}),
        ));
    }
    let story = [
        "team:member:active alice",
        "team:member:shutdown alice",
        "team:member:joined alice",
        "team:member:shutdown alice",
    ];
    assert_eq!(seen.story(), story);
    // Other work in the background, such as a command, is nobody's.
    seen.line(&json!({"type": "system", "subtype": "task_started", "task_id": "b1", "task_type": "local_bash",
        "tool_use_id": "toolu_0030"}).to_string());
    assert_eq!(seen.story().len(), 4);
}

#[test]
fn task_text_does_not_change_a_background_agents_status() {
    let (lines, ends) = HEADLESS
        .split_at(HEADLESS.find("{\"type\":\"system\",\"subtype\":\"task_updated\"").unwrap());
    let mut seen = Observation::of(lines.lines());
    let status = |seen: &Observation| seen.team_now().member("alice").unwrap().status;
    seen.update("1", json!({"status": "completed"}));
    seen.line(&text("next"));
    seen.end();
    assert_eq!(status(&seen), MemberStatus::Active, "it still works");
    ends.lines().take(1).for_each(|line| seen.line(line));
    assert_eq!(status(&seen), MemberStatus::Idle);
    seen.update("2", json!({"status": "in_progress", "owner": "alice"}));
    assert_eq!(status(&seen), MemberStatus::Idle, "nobody has told it yet");
}

#[test]
fn a_background_agent_in_a_named_team_is_a_plain_subagent() {
    let mut seen = Observation::team();
    let said = "Async agent launched successfully.\nagentId: a0123 (internal ID)";
    seen.pair("a", "Agent", json!({"name": "cy", "prompt": "p"}), said);
    assert_eq!(seen.session().agents, ["ann", "bob"]);
}
