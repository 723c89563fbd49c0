//! The consumers' side: supplements, events with names, a read-only view, capabilities.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use serde_json::{Value, json};
use troop_observe::{
    ObservedCategory, ObservedMember, ObservedTask, ObservedTeam, Observer, StreamSource,
    Supplement, TaskStatus,
};

use crate::stream::{Observation, at, failed, mail, result, spawned, team_lines, text, told, used};

fn now<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn every_use_and_every_result_has_a_supplement_with_its_id() {
    let mut seen = Observation::team();
    seen.line(&used("c", "TaskCreate", json!({"subject": "s", "metadata": {"k": [1, 2.50]}})));
    seen.line(&result("c", "Task #1 created successfully: s"));
    seen.line(&used("e", "TaskUpdate", json!({"taskId": "1"})));
    seen.line(&failed("e"));
    seen.line(&result("other", "of a tool that is not about teams"));
    let found: Vec<_> =
        seen.supplements.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert_eq!(
        found,
        [
            json!({"type": "team_task_update", "role": "system", "content": [], "metadata": {"toolName": "TaskCreate",
                "teamToolUseId": "c", "input": {"subject": "s", "metadata": {"k": [1, 2.50]}}}}),
            json!({"type": "team_task_update", "role": "system", "content": [], "metadata": {"toolName": "TaskCreate",
                "teamToolUseId": "c", "result": "Task #1 created successfully: s", "isError": false}}),
            json!({"type": "team_task_update", "role": "system", "content": [], "metadata": {"toolName": "TaskUpdate",
                "teamToolUseId": "e", "input": {"taskId": "1"}}}),
            json!({"type": "team_task_update", "role": "system", "content": [], "metadata": {"toolName": "TaskUpdate",
                "teamToolUseId": "e", "result": "no", "isError": true}}),
        ]
    );
}

#[test]
fn only_three_kinds_are_supplements() {
    for category in ObservedCategory::ALL {
        let written = json!({"type": category.as_str(), "role": "system", "content": [],
            "metadata": {"toolName": "T", "teamToolUseId": "t"}});
        let read: Supplement = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(read.category, category);
        assert_eq!(serde_json::to_value(read).unwrap(), written);
    }
    let other = json!({"type": "assistant", "role": "system", "content": [],
        "metadata": {"toolName": "T", "teamToolUseId": "t"}});
    assert!(serde_json::from_value::<Supplement>(other).is_err());
}

#[test]
fn another_observer_ignores_supplements_in_a_stream() {
    let mut first = Observation::default();
    let mut second = Observation::default();
    for line in team_lines() {
        let n_before = first.supplements.len();
        first.line(&line);
        second.line(&line);
        for added in &first.supplements[n_before..] {
            second.line(&serde_json::to_string(added).unwrap());
        }
    }
    assert_eq!(second.story(), first.story());
}

fn with(value: &Value, field: &str, new: Value) -> Value {
    let mut value = value.clone();
    value[field] = new;
    value
}

fn without(value: &Value, field: &str) -> Value {
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove(field).unwrap();
    value
}

#[test]
fn incomplete_members_tasks_and_teams_are_refused() {
    let member =
        json!({"name": "ann", "agent_id": "ann@blue", "agent_type": "t", "status": "idle"});
    let task =
        json!({"id": "1", "subject": "s", "status": "pending", "blocked_by": [], "blocks": []});
    let team = json!({"name": "blue", "role": "teammate", "members": [member], "tasks": [task]});
    for status in ["active", "idle", "shutdown"] {
        assert!(
            serde_json::from_value::<ObservedMember>(with(&member, "status", status.into()))
                .is_ok()
        );
    }
    for status in ["pending", "in_progress", "completed", "deleted"] {
        assert!(
            serde_json::from_value::<ObservedTask>(with(&task, "status", status.into())).is_ok()
        );
    }
    for role in ["lead", "teammate"] {
        assert!(serde_json::from_value::<ObservedTeam>(with(&team, "role", role.into())).is_ok());
    }
    assert!(
        serde_json::from_value::<ObservedMember>(with(&member, "status", "dead".into())).is_err()
    );
    assert!(serde_json::from_value::<ObservedTask>(with(&task, "status", "done".into())).is_err());
    assert!(serde_json::from_value::<ObservedTask>(with(&task, "id", "".into())).is_err());
    assert!(serde_json::from_value::<ObservedTeam>(with(&team, "role", "boss".into())).is_err());
    for field in ["name", "agent_id", "agent_type", "status"] {
        assert!(
            serde_json::from_value::<ObservedMember>(without(&member, field)).is_err(),
            "{field}"
        );
    }
    for field in ["id", "subject", "status", "blocked_by", "blocks"] {
        assert!(serde_json::from_value::<ObservedTask>(without(&task, field)).is_err(), "{field}");
    }
    for field in ["name", "role", "members", "tasks"] {
        assert!(serde_json::from_value::<ObservedTeam>(without(&team, field)).is_err(), "{field}");
    }
}

#[test]
fn a_session_without_a_team_has_no_team_field() {
    let without = serde_json::to_value(Observation::default().session()).unwrap();
    assert_eq!(without, json!({"agents": []}));
    let with = serde_json::to_value(Observation::team().session()).unwrap();
    assert_eq!((&with["agents"], &with["team"]["name"]), (&json!(["ann", "bob"]), &json!("blue")));
}

#[test]
fn a_follower_has_the_name_of_the_team_and_its_events_in_order() {
    let mut observer = Observer::default();
    let mut follower = observer.follow(StreamSource::ClaudeStream);
    assert!(follower.capabilities().teams);
    assert_eq!(follower.team_name(), None);
    assert!(now(follower.next()).is_pending());
    for line in team_lines() {
        observer.line(line.as_bytes(), at(0));
    }
    assert_eq!(follower.team_name().as_deref(), Some("blue"));
    assert_eq!(observer.follow(StreamSource::Transcript).team_name().as_deref(), Some("blue"));
    let next = |follower: &mut troop_observe::TeamFollower| match now(follower.next()) {
        Poll::Ready(event) => event.map(|event| told(&event)),
        Poll::Pending => panic!("there are more"),
    };
    for event in ["team:created blue", "team:member:joined ann", "team:member:joined bob"] {
        assert_eq!(next(&mut follower).as_deref(), Some(event));
    }
    for line in [used("d", "TeamDelete", json!({})), result("d", "ok")] {
        observer.line(line.as_bytes(), at(0));
    }
    assert_eq!(follower.team_name(), None);
    drop(observer);
    assert_eq!(next(&mut follower).as_deref(), Some("team:deleted blue"));
    assert_eq!(next(&mut follower), None, "nothing can follow");
}

#[test]
fn a_slow_follower_loses_the_oldest_events_and_counts_them() {
    let mut seen = Observation::team();
    let mut follower = seen.observer.follow(StreamSource::ClaudeStream);
    (1..=10_010).for_each(|number| seen.add_task(number));
    assert_eq!(follower.n_missed(), 10);
    let Poll::Ready(Some(event)) = now(follower.next()) else { panic!("there are many") };
    assert_eq!(told(&event), "team:task:created 11");
}

#[test]
fn sources_declare_their_capabilities() {
    let teams: Vec<_> =
        StreamSource::ALL.iter().map(|it| (it.as_str(), it.capabilities().teams)).collect();
    assert_eq!(
        teams,
        [
            ("claude-stream", true),
            ("transcript", true),
            ("sdk-url", true),
            ("agent-sdk", true),
            ("acp", false),
            ("codex", false),
        ]
    );
}

#[test]
fn events_name_their_session_time_and_tool_use() {
    let mut seen = Observation::team();
    let mut line: Value =
        serde_json::from_str(&result("c", "Task #1 created successfully: s")).unwrap();
    line["timestamp"] = "2026-11-15T18:03:14.087Z".into();
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    seen.line(&line.to_string());
    seen.line_at(&used("d", "TeamDelete", json!({})), at(5));
    seen.line_at(&result("d", "ok"), at(5));
    let told: Vec<_> = seen.events.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert_eq!(
        told,
        [
            json!({"sequence": 4, "at": "2026-11-15T18:03:14.087Z", "kind": "team:task:created", "session_id": "s",
                "team": "blue", "tool_use_id": "c", "type": "task_created", "task": {"id": "1", "subject": "s",
                "status": "pending", "blocked_by": [], "blocks": []}}),
            json!({"sequence": 5, "at": "2026-11-15T18:03:14.087Z", "kind": "team:deleted", "session_id": "s",
                "team": "blue", "tool_use_id": "d", "type": "team_deleted"}),
        ]
    );
}

#[test]
fn every_kind_of_event_has_its_name_and_its_type() {
    let mut seen = Observation::default();
    seen.pair("t", "TeamCreate", json!({"team_name": "blue"}), r#"{"team_name":"blue"}"#);
    let spawn = json!({"team_name": "blue", "name": "ann"});
    seen.pair("a", "Task", spawn, spawned("ann", "blue"));
    seen.add_task(1);
    seen.add_task(2);
    seen.update("1", json!({"status": "in_progress", "owner": "ann"}));
    seen.update("1", json!({"addBlocks": ["2"]}));
    seen.update("1", json!({"status": "completed"}));
    seen.line(&text("she has nothing to do"));
    seen.line(&mail("ann", "here I am again"));
    seen.update("2", json!({"status": "in_progress", "owner": "ann"}));
    seen.update("2", json!({"status": "deleted"}));
    let plan = r#"{"type":"plan_approval_request","from":"ann","requestId":"plan-1@ann","planContent":"p"}"#;
    seen.line(&mail("ann", plan));
    let mut send = |id: &str, input| seen.pair(id, "SendMessage", input, r#"{"success":true}"#);
    send(
        "p",
        json!({"type": "plan_approval_response", "recipient": "ann", "request_id": "plan-1@ann",
        "approve": false, "content": "no"}),
    );
    send("s", json!({"type": "shutdown_request", "recipient": "ann", "content": "why"}));
    let agreed = r#"{"type":"shutdown_approved","requestId":"shutdown-1@ann","from":"ann"}"#;
    seen.line(&mail("ann", agreed));
    seen.pair("d", "TeamDelete", json!({}), "ok");
    let told: Vec<_> = seen.events.iter().map(|it| serde_json::to_value(it).unwrap()).collect();
    assert!(told.iter().all(|it| it["team"] == "blue" && it["session_id"] == "s"), "{told:#?}");
    assert_eq!(told[0]["role"], "lead");
    let kinds: Vec<_> = told
        .iter()
        .map(|it| format!("{} {}", it["kind"].as_str().unwrap(), it["type"].as_str().unwrap()))
        .collect();
    let expected = [
        "team:created team_created",
        "team:member:joined member_joined",
        "team:task:created task_created",
        "team:task:created task_created",
        "team:task:claimed task_claimed",
        "team:task:updated task_updated",
        "team:task:updated task_updated",
        "team:task:completed task_completed",
        "team:idle:reported idle",
        "team:member:idle member_idle",
        "team:message:received message",
        "team:task:claimed task_claimed",
        "team:member:active member_active",
        "team:task:deleted task_deleted",
        "team:plan:requested plan_approval_request",
        "team:plan:resolved plan_approval_response",
        "team:shutdown:requested shutdown_request",
        "team:shutdown:response shutdown_response",
        "team:member:shutdown member_left",
        "team:deleted team_deleted",
    ];
    assert_eq!(kinds, expected);
    // Responses carry the id of their request.
    let of = |kind: &str| told.iter().find(|it| it["type"] == kind).unwrap();
    assert_eq!(of("plan_approval_request")["request_id"], "plan-1@ann");
    assert_eq!(of("shutdown_response")["request_id"], "shutdown-1@ann");
    assert_eq!(of("shutdown_response")["approved"], true);
}

#[test]
fn a_deleted_team_is_remembered_until_another_begins() {
    let mut seen = Observation::team();
    assert_eq!(seen.observer.over(), None);
    seen.add_task(1);
    seen.pair("d", "TeamDelete", json!({}), "ok");
    let over = seen.observer.over().unwrap();
    assert_eq!((over.name(), over.tasks().len(), over.members().len()), ("blue", 1, 2));
    assert_eq!(seen.session().team, None);
    seen.pair("t", "TeamCreate", json!({"team_name": "red"}), r#"{"team_name":"red"}"#);
    assert_eq!(seen.observer.over(), None);
}

#[test]
fn a_huge_board_in_one_long_cycle_is_handled() {
    let n_tasks = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    let mut seen = Observation::default();
    seen.pair("a", "Task", json!({"team_name": "blue", "name": "ann"}), spawned("ann", "blue"));
    let before = |number: u32| if number == 1 { n_tasks } else { number - 1 };
    let list: String = (1..=n_tasks)
        .map(|number| {
            format!("#{number} [pending] task {number} [blocked by #{}]\n", before(number))
        })
        .collect();
    seen.pair("l", "TaskList", json!({}), list);
    let team = seen.team_now();
    assert_eq!(team.tasks().len(), n_tasks as usize);
    assert!(team.tasks().all(|task| task.in_cycle && task.blocks.len() == 1));
    let numbers = team.tasks().map(|task| task.id.as_str().parse::<u32>().unwrap());
    assert!(numbers.eq(1..=n_tasks), "in the order of numbers");
    // A change of one task costs nothing for the others.
    for number in 1..=100 {
        seen.update(&number.to_string(), json!({"status": "completed", "owner": "zoe"}));
    }
    assert_eq!(seen.observer.team().unwrap().task("100").unwrap().status, TaskStatus::Completed);
}
