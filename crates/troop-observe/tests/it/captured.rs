//! Captured streams of the real client reduce to the right roster, board and timeline.

use serde_json::{Value, json};
use troop_observe::{MemberStatus, ObservedFact, TaskStatus, TeamRole};

use crate::stream::{Observation, V47, V177, V325};

#[test]
fn the_stream_of_2_1_47_has_the_right_roster_board_and_timeline() {
    let seen = Observation::of(V47.lines());
    let session = seen.session();
    assert_eq!(session.agents, ["alice"]);
    assert_eq!(session.version.as_deref(), Some("2.1.47"));
    assert_eq!(session.model.as_deref(), Some("claude-sonnet-4-6"));
    let state = serde_json::to_value(session.team.unwrap()).unwrap();
    assert_eq!(
        state,
        json!({
            "name": "my-team", "role": "lead", "own_name": "team-lead",
            "members": [{
                "name": "alice", "agent_id": "alice@my-team", "agent_type": "general-purpose", "status": "active",
                "model": "claude-opus-4-6", "color": "blue", "tool_use_id": "toolu_mock000005",
            }],
            "tasks": [
                {"id": "1", "subject": "Task A", "description": "first task", "status": "pending", "owner": "alice",
                 "active_form": "Doing A", "blocked_by": [], "blocks": ["2"]},
                {"id": "2", "subject": "Task B", "description": "second task", "status": "pending",
                 "blocked_by": ["1"], "blocks": []},
            ],
        })
    );
    assert_eq!(
        seen.story(),
        [
            "team:created my-team",
            "team:task:created 1",
            "team:task:created 2",
            "team:task:updated 2",
            "team:member:joined alice",
            "team:message:received team-lead",
            "team:task:updated 1",
        ]
    );
    let ObservedFact::Message { from, to, content, summary, .. } = &seen.events[5].fact else {
        panic!("{:?}", seen.events[5]);
    };
    assert_eq!((from.as_str(), to.as_deref()), ("team-lead", Some("alice")));
    assert_eq!((content.as_str(), summary.as_deref()), ("hi from lead", Some("sum")));
    assert_eq!(seen.observer.n_waiting(), 0);
    assert_eq!(seen.observer.counts().unreadable, 0);
}

#[test]
fn the_stream_of_2_1_177_has_the_right_roster_board_and_timeline() {
    let seen = Observation::of(V177.lines());
    assert_eq!(seen.session().team, None, "it was deleted");
    assert_eq!(seen.session().agents, [""; 0]);
    assert_eq!(
        seen.story(),
        [
            "team:created my-team",
            "team:task:created 1",
            "team:task:created 2",
            "team:task:updated 2",
            "team:member:joined alice",
            "team:message:received team-lead",
            "team:task:updated 1",
            "team:shutdown:requested team-lead",
            "team:shutdown:requested team-lead",
            "team:member:shutdown alice",
            "team:deleted my-team",
        ]
    );
    let request = serde_json::to_value(&seen.events[7]).unwrap();
    assert_eq!(request["to"], "alice");
    assert_eq!(request["reason"], "all done 1");
    assert_eq!(request["request_id"], "shutdown-1794765796937@alice");
    assert_eq!(request["at"], "2026-11-15T18:03:16.949Z");
    assert_eq!(request["tool_use_id"], "toolu_mock000016");

    let before_the_end = V177.lines().take_while(|line| !line.contains("TeamDelete\",\"input"));
    let team = Observation::of(before_the_end).team_now();
    assert_eq!((team.name(), team.role()), ("my-team", TeamRole::Lead));
    assert_eq!(team.member("alice").unwrap().status, MemberStatus::Shutdown);
    assert_eq!(team.task("1").unwrap().owner.as_deref(), Some("alice"));
    assert!(team.tasks().all(|task| task.status == TaskStatus::Pending));
}

#[test]
fn the_transcript_of_2_1_325_has_the_right_roster_board_and_timeline() {
    let seen = Observation::of(V325.lines());
    let team = seen.team_now();
    assert_eq!((team.name(), team.role()), ("session-9c51253b", TeamRole::Lead));
    assert_eq!(seen.session().agents, ["bea", "ann", "bea-2"]);
    let board: Vec<_> = team.tasks().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert_eq!(
        board,
        [
            json!({"id": "1", "subject": "Task A", "description": "first", "status": "pending", "owner": "ann",
                "blocked_by": [], "blocks": ["2"]}),
            json!({"id": "2", "subject": "Task B", "description": "second", "status": "pending",
                "blocked_by": ["1"], "blocks": []}),
        ]
    );
    assert_eq!(
        seen.story(),
        [
            "team:created session-9c51253b",
            "team:task:created 1",
            "team:task:created 2",
            "team:member:joined bea",
            "team:member:joined ann",
            "team:member:joined bea-2",
            "team:task:updated 1",
            "team:message:received team-lead",
            "team:message:received ann",
            "team:message:received bea",
            "team:idle:reported bea",
            "team:member:idle bea",
            "team:idle:reported bea-2",
            "team:member:idle bea-2",
            "team:idle:reported ann",
            "team:member:idle ann",
            "team:idle:reported ann",
            "team:idle:reported bea",
            "team:shutdown:requested team-lead",
            "team:idle:reported ann",
        ]
    );
    assert_eq!(seen.observer.counts().unreadable, 0);
}

#[test]
fn captured_streams_as_transcripts_have_the_same_events() {
    for stream in [V47, V177] {
        let transcript: Vec<_> = stream.lines().map(as_transcript).collect();
        assert_eq!(Observation::of(transcript).story(), Observation::of(stream.lines()).story());
    }
}

/// The line as in a transcript: with other field names, and with more fields.
fn as_transcript(line: &str) -> String {
    let mut it: Value = serde_json::from_str(line).unwrap();
    let it = it.as_object_mut().unwrap();
    for (one, other) in [("session_id", "sessionId"), ("tool_use_result", "toolUseResult")] {
        if let Some(value) = it.remove(one) {
            it.insert(other.to_owned(), value);
        }
    }
    it.insert("parentUuid".to_owned(), Value::Null);
    it.insert("isSidechain".to_owned(), false.into());
    serde_json::to_string(it).unwrap()
}

#[test]
fn captured_streams_in_the_form_of_the_agent_sdk_have_the_same_events() {
    for stream in [V47, V177] {
        let messages = stream.lines().map(|line| {
            let it: Value = serde_json::from_str(line).unwrap();
            match it["type"].as_str() {
                // The objects of the SDK have no envelope, and their blocks have no types.
                Some("assistant" | "user") => {
                    let mut content = it["message"]["content"].clone();
                    for block in content.as_array_mut().unwrap() {
                        block.as_object_mut().unwrap().remove("type");
                    }
                    let result = &it["tool_use_result"];
                    json!({"content": content, "tool_use_result": result, "timestamp": it["timestamp"]})
                        .to_string()
                }
                _ => line.to_owned(),
            }
        });
        let messages: Vec<_> = messages.collect();
        assert_eq!(Observation::of(messages).story(), Observation::of(stream.lines()).story());
    }
}
