//! A team's life, one operation at a time.

use serde_json::{Value, json};
use troop_observe::{MemberStatus, ObservedFact, TaskStatus, TeamEvent, TeamRole};

use crate::stream::{Observation, failed, mail, result, spawned, text, used, uses};

#[test]
fn a_whole_life_is_one_valid_session() {
    let mut seen = Observation::team();
    assert_eq!(seen.session().agents, ["ann", "bob"]);
    seen.add_task(1);
    seen.add_task(2);
    seen.pair("l", "TaskList", json!({}), "#1 [pending] task 1\n#2 [pending] task 2");
    seen.update("1", json!({"status": "in_progress", "owner": "ann"}));
    seen.update("1", json!({"status": "completed"}));
    seen.line(&mail("ann", "task 1 is done"));
    seen.line(&mail("ann", r#"{"type":"idle_notification","from":"ann","completedTaskId":"1"}"#));
    let asked = r#"{"success":true,"request_id":"shutdown-1@ann","target":"ann"}"#;
    seen.pair("q", "SendMessage", json!({"type": "shutdown_request", "recipient": "ann"}), asked);
    seen.line(&mail(
        "ann",
        r#"{"type":"shutdown_approved","requestId":"shutdown-1@ann","from":"ann"}"#,
    ));
    seen.pair("d", "TeamDelete", json!({}), r#"{"success":true,"team_name":"blue"}"#);
    assert_eq!(
        seen.story(),
        [
            "team:task:created 1",
            "team:task:created 2",
            "team:task:claimed 1",
            "team:task:completed 1",
            "team:message:received ann",
            "team:idle:reported ann",
            "team:member:idle ann",
            "team:shutdown:requested team-lead",
            "team:shutdown:response ann",
            "team:member:shutdown ann",
            "team:deleted blue",
        ]
    );
    assert_eq!((seen.session().team, seen.session().agents), (None, Vec::new()));
}

#[test]
fn a_team_is_created_once_and_its_creator_leads() {
    let mut seen = Observation::default();
    assert_eq!(seen.session().team, None);
    seen.pair("a", "TeamCreate", json!({"team_name": "blue"}), "{\"team_name\":\"blue\"}");
    let team = seen.team_now();
    assert_eq!((team.name(), team.role()), ("blue", TeamRole::Lead));
    assert_eq!((team.members().len(), team.tasks().len()), (0, 0));
    seen.pair("b", "TeamCreate", json!({"team_name": "red"}), "{\"team_name\":\"red\"}");
    assert_eq!(seen.team_now(), team);
    assert_eq!(seen.story(), ["team:created blue"]);
}

#[test]
fn after_a_deletion_another_team_can_be_created() {
    let mut seen = Observation::team();
    seen.pair("d", "TeamDelete", json!({}), "ok");
    assert_eq!(seen.session().team, None);
    seen.pair("d2", "TeamDelete", json!({}), "ok");
    seen.pair("t2", "TeamCreate", json!({"team_name": "red"}), "ok");
    assert_eq!(seen.story(), ["team:deleted blue", "team:created red"]);
    assert_eq!(seen.team_now().members().len(), 0);
}

#[test]
fn a_deletion_that_is_refused_deletes_nothing() {
    let mut seen = Observation::team();
    let refusal = r#"{"success":false,"message":"Cannot cleanup team with 2 active member(s)"}"#;
    seen.pair("d", "TeamDelete", json!({}), refusal);
    assert_eq!(seen.team_now().members().len(), 2);
    assert!(!seen.team_now().is_tentative());
    assert_eq!(seen.story(), [""; 0]);
}

#[test]
fn a_member_joins_once_with_its_known_details() {
    let mut seen = Observation::team();
    let ann = seen.team_now().member("ann").unwrap().clone();
    assert_eq!((ann.agent_id.as_str(), ann.agent_type.as_str()), ("ann@blue", "general-purpose"));
    assert_eq!(ann.status, MemberStatus::Active);
    let input = json!({"team_name": "blue", "name": "ann", "subagent_type": "other"});
    seen.pair("again", "Task", input, spawned("ann", "blue"));
    assert_eq!(seen.team_now().members().len(), 2);
    assert_eq!(seen.team_now().member("ann"), Some(&ann));
    let input = json!({"team_name": "blue", "name": "cy", "subagent_type": "tester", "model": "m"});
    seen.pair("cy", "Task", input, "{\"agent_id\":\"cy-1\"}");
    let cy = seen.team_now().member("cy").unwrap().clone();
    assert_eq!((cy.agent_id.as_str(), cy.agent_type.as_str()), ("cy-1", "tester"));
    assert_eq!(cy.model.as_deref(), Some("m"));
    assert_eq!(seen.story(), ["team:member:joined cy"]);
}

#[test]
fn a_member_that_shut_down_can_join_again() {
    let mut seen = Observation::team();
    seen.line(&mail("ann", r#"{"type":"shutdown_approved","requestId":"r"}"#));
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Shutdown);
    // A copy of the first spawn is not news.
    seen.line(&result("ann", spawned("ann", "blue")));
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Shutdown);
    let input = json!({"team_name": "blue", "name": "ann"});
    seen.pair("ann 2", "Task", input, spawned("ann", "blue"));
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Active);
    assert_eq!(seen.session().agents, ["ann", "bob"]);
}

#[test]
fn a_spawn_without_a_team_has_no_effect() {
    let mut seen = Observation::default();
    let input = json!({"team_name": "blue", "name": "ann"});
    seen.pair("a", "Task", input, "I have looked into it");
    assert_eq!((seen.session().team, seen.story()), (None, Vec::new()));
}

#[test]
fn tasks_have_the_id_of_the_result_and_are_created_once() {
    let mut seen = Observation::team();
    let input = json!({"subject": "s", "description": "d", "activeForm": "Doing s"});
    seen.pair("a", "TaskCreate", input.clone(), "{\"id\": 7}");
    seen.pair("b", "TaskCreate", input.clone(), "{\"id\": \"7\"}");
    seen.pair("c", "TaskCreate", input, "created, but which?");
    let team = seen.team_now();
    assert_eq!(team.tasks().len(), 1);
    let task = team.task("7").unwrap();
    assert_eq!((task.subject.as_str(), task.status), ("s", TaskStatus::Pending));
    assert_eq!(
        (task.description.as_deref(), task.active_form.as_deref()),
        (Some("d"), Some("Doing s"))
    );
    assert_eq!(seen.story(), ["team:task:created 7"]);
}

#[test]
fn updates_change_only_the_fields_they_name_and_the_last_one_wins() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.update(
        "1",
        json!({"subject": "new", "description": "d", "activeForm": "a", "owner": "ann"}),
    );
    seen.update("1", json!({"owner": "bob"}));
    seen.update("9", json!({"owner": "bob"}));
    let task = seen.task("1");
    assert_eq!((task.subject.as_str(), task.owner.as_deref()), ("new", Some("bob")));
    assert_eq!((task.description.as_deref(), task.active_form.as_deref()), (Some("d"), Some("a")));
    assert_eq!(task.status, TaskStatus::Pending);
    assert_eq!(seen.team_now().tasks().len(), 1);
    assert_eq!(seen.story()[1..], ["team:task:updated 1", "team:task:updated 1"]);
    // The status, too, changes by itself, and whatever is said last is so.
    for (said, status) in [
        ("in_progress", TaskStatus::InProgress),
        ("completed", TaskStatus::Completed),
        ("pending", TaskStatus::Pending),
        ("in_progress", TaskStatus::InProgress),
    ] {
        seen.update("1", json!({"status": said}));
        let expected = troop_observe::ObservedTask { status, ..task.clone() };
        assert_eq!(seen.task("1"), expected);
    }
    seen.update("1", json!({"status": "nonsense", "subject": "newer"}));
    let task = seen.task("1");
    assert_eq!((task.status, task.subject.as_str()), (TaskStatus::InProgress, "newer"));
}

#[test]
fn an_update_confirmed_before_the_creation_of_its_task_is_not_lost() {
    let created = "Task #1 created successfully: s";
    for has_team in [true, false] {
        let mut seen = if has_team { Observation::team() } else { Observation::default() };
        seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
        seen.line(&used("o", "TaskUpdate", json!({"taskId": "1", "status": "in_progress"})));
        seen.line(&used("u", "TaskUpdate", json!({"taskId": "1", "subject": "newer"})));
        seen.line(&used("other", "TaskUpdate", json!({"taskId": "2", "subject": "never"})));
        seen.line(&result("o", "Updated task #1 owner, status"));
        seen.line(&result("u", "Updated task #1 subject"));
        seen.line(&result("other", "Updated task #2 subject"));
        // Lines that are held back survive a restart.
        seen.observer = troop_observe::Observer::restore(&seen.observer.save()).unwrap();
        assert_eq!(seen.story(), [""; 0]);
        seen.line(&result("c", created));
        if has_team {
            let story = ["team:task:created 1", "team:task:claimed 1", "team:task:updated 1"];
            assert_eq!(seen.story(), story);
        } else {
            seen.spawn("a", "ann", "ann");
        }
        let task = seen.task("1");
        assert_eq!((task.subject.as_str(), task.owner.as_deref()), ("newer", Some("team-lead")));
        assert_eq!(task.status, TaskStatus::InProgress);
        assert!(seen.team_now().task("2").is_none());
        // Copies of the results change nothing.
        let before = seen.session();
        for id in ["o", "u", "c"] {
            seen.line(&result(id, created));
        }
        assert_eq!(seen.session(), before);
    }
}

#[test]
fn an_update_of_a_task_that_nobody_creates_is_not_kept() {
    let mut seen = Observation::team();
    seen.update("1", json!({"subject": "never"}));
    seen.add_task(1);
    assert_eq!(seen.task("1").subject, "task 1");
    // A deletion takes what was held with it.
    seen.line(&used("c", "TaskCreate", json!({"subject": "s"})));
    seen.update("2", json!({"subject": "never"}));
    seen.pair("d", "TeamDelete", json!({}), "ok");
    seen.pair("t", "TeamCreate", json!({"team_name": "red"}), "ok");
    seen.add_task(2);
    assert_eq!(seen.task("2").subject, "task 2");
}

#[test]
fn a_members_color_is_learned_from_its_mail() {
    let mut seen = Observation::team();
    let color = |seen: &Observation| seen.team_now().member("ann").unwrap().color.clone();
    assert_eq!(color(&seen), None);
    seen.line(&mail("ann", "hello"));
    assert_eq!(color(&seen).as_deref(), Some("blue"));
    assert_eq!(seen.story(), ["team:message:received ann"], "a colour is no event");
    let other = mail("ann", "again").replace("blue", "red");
    seen.line(&other);
    assert_eq!(color(&seen).as_deref(), Some("blue"), "the first one stays");
}

#[test]
fn an_update_that_changes_nothing_is_no_event() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.update("1", json!({"status": "pending"}));
    assert_eq!(seen.story(), ["team:task:created 1"]);
}

#[test]
fn a_claim_needs_an_owner_and_starting_a_task_makes_one() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.add_task(2);
    seen.pair(
        "u",
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress"}),
        "Updated task #1 status",
    );
    assert_eq!(seen.story().last().unwrap(), "team:task:updated 1");
    let input = json!({"taskId": "2", "status": "in_progress"});
    seen.pair("v", "TaskUpdate", input, "Updated task #2 owner, status");
    assert_eq!(seen.task("2").owner.as_deref(), Some("team-lead"));
    assert_eq!(seen.story().last().unwrap(), "team:task:claimed 2");
}

#[test]
fn a_completion_is_an_event_of_its_own_with_the_task_and_its_owner() {
    let mut seen = Observation::team();
    (1..=3).for_each(|number| seen.add_task(number));
    seen.update("1", json!({"status": "in_progress", "owner": "ann"}));
    seen.events.clear();
    // Completed by its owner; without ever being claimed; and together with another change.
    seen.update("1", json!({"status": "completed"}));
    seen.update("2", json!({"status": "completed"}));
    seen.update("3", json!({"status": "completed", "owner": "bob", "subject": "new"}));
    let completed: Vec<_> = seen
        .events
        .iter()
        .filter_map(|it| {
            let ObservedFact::TaskCompleted { task } = &it.fact else { return None };
            Some((task.id.as_str(), task.owner.as_deref(), task.status))
        })
        .collect();
    let done = TaskStatus::Completed;
    assert_eq!(completed, [("1", Some("ann"), done), ("2", None, done), ("3", Some("bob"), done)]);
    // Completing it again, or changing it afterwards, is no second completion.
    seen.events.clear();
    seen.update("1", json!({"status": "completed"}));
    seen.update("1", json!({"description": "as agreed"}));
    let changed = seen.story();
    assert!(changed.contains(&"team:task:updated 1".to_owned()), "{changed:?}");
    assert!(!changed.iter().any(|it| it.contains("completed")), "{changed:?}");
}

#[test]
fn dependencies_are_merged_seen_from_both_sides_and_cycles_are_flagged() {
    let mut seen = Observation::team();
    (1..=4).for_each(|number| seen.add_task(number));
    seen.update("2", json!({"addBlockedBy": ["1", "1"]}));
    seen.update("2", json!({"addBlockedBy": ["1"], "addBlocks": ["3"]}));
    let ids = |ids: &std::collections::BTreeSet<troop_observe::ObservedTaskId>| {
        ids.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids(&seen.task("2").blocked_by), ids(&seen.task("2").blocks)),
        (vec!["1".into()], vec!["3".into()])
    );
    assert_eq!(
        (ids(&seen.task("1").blocks), ids(&seen.task("3").blocked_by)),
        (vec!["2".into()], vec!["2".into()])
    );
    assert!(!seen.task("2").in_cycle);
    seen.update("1", json!({"addBlockedBy": ["3"]}));
    seen.update("4", json!({"addBlockedBy": ["1"]}));
    let flagged: Vec<_> = (1..=4).filter(|it| seen.task(&it.to_string()).in_cycle).collect();
    assert_eq!(flagged, [1, 2, 3], "4 waits for the cycle but is not in it");
    seen.update("4", json!({"addBlockedBy": ["4"]}));
    assert!(seen.task("4").in_cycle);
}

#[test]
fn a_dependency_on_a_later_task_is_seen_from_both_sides() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.update("1", json!({"addBlockedBy": ["2"], "addBlocks": ["3"]}));
    seen.add_task(2);
    seen.add_task(3);
    assert_eq!(seen.task("2").blocks.len(), 1);
    assert_eq!(seen.task("3").blocked_by.len(), 1);
}

#[test]
fn a_deleted_task_is_gone_for_good() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.add_task(2);
    seen.update("2", json!({"addBlockedBy": ["1"]}));
    seen.update("1", json!({"status": "deleted"}));
    assert!(seen.team_now().task("1").is_none());
    assert!(seen.task("2").blocked_by.is_empty());
    assert_eq!(seen.story()[3..], ["team:task:deleted 1", "team:task:updated 2"]);
    seen.pair("again", "TaskCreate", json!({"subject": "s"}), "Task #1 created successfully: s");
    assert!(seen.team_now().task("1").is_none(), "ids are not used twice");
}

#[test]
fn listing_and_getting_tasks_changes_nothing() {
    let mut seen = Observation::team();
    seen.add_task(1);
    let before = seen.session();
    seen.pair("l", "TaskList", json!({}), "#1 [completed] other (bob)\n#2 [pending] new");
    seen.pair("g", "TaskGet", json!({"taskId": "1"}), "{\"id\":\"1\",\"status\":\"completed\"}");
    assert_eq!(seen.session(), before);
    assert_eq!(seen.story(), ["team:task:created 1"]);
}

#[test]
fn messages_are_events_and_change_nothing() {
    let mut seen = Observation::team();
    let before = seen.session();
    let sent = r#"{"success":true,"routing":{"sender":"team-lead","target":"@ann"}}"#;
    let mut send = |id: &str, input| seen.pair(id, "SendMessage", input, sent);
    send("1", json!({"type": "message", "recipient": "ann", "content": "hi", "summary": "s"}));
    send("2", json!({"type": "broadcast", "content": "all"}));
    send("3", json!({"type": "shutdown_request", "recipient": "ann", "content": "why"}));
    send("4", json!({"type": "plan_approval_request", "recipient": "ann", "content": "plan"}));
    send(
        "5",
        json!({"type": "plan_approval_response", "recipient": "ann", "request_id": "r", "approve": true}),
    );
    assert_eq!(seen.session(), before);
    let kinds: Vec<_> = seen.events.iter().map(|it| it.fact.kind()).collect();
    assert_eq!(
        kinds,
        [
            "message.received",
            "message.received",
            "shutdown.requested",
            "plan.requested",
            "plan.resolved"
        ]
    );
    let team_lead = json!("team-lead");
    for (nth, said) in [
        json!({"type": "message", "from": team_lead, "to": "ann", "content": "hi", "summary": "s"}),
        // A message without a recipient is for all.
        json!({"type": "message", "from": team_lead, "content": "all"}),
        json!({"type": "shutdown_request", "from": team_lead, "to": "ann", "reason": "why"}),
        json!({"type": "plan_approval_request", "from": team_lead, "to": "ann", "plan": "plan"}),
        json!({"type": "plan_approval_response", "from": team_lead, "to": "ann", "request_id": "r",
            "approved": true}),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(told(&seen.events[nth]), said);
    }
}

/// An event without its session and time.
fn told(event: &TeamEvent) -> Value {
    let mut event = serde_json::to_value(event).unwrap();
    let fields = event.as_object_mut().unwrap();
    for key in ["sequence", "at", "kind", "session_id", "team", "tool_use_id"] {
        fields.remove(key);
    }
    event
}

#[test]
fn a_message_that_was_not_sent_is_no_event() {
    let mut seen = Observation::team();
    let input = json!({"to": "*", "message": "all"});
    seen.pair("a", "SendMessage", input.clone(), r#"{"success":false,"message":"no broadcasts"}"#);
    seen.line(&used("b", "SendMessage", input));
    seen.line(&failed("b"));
    assert_eq!(seen.story(), [""; 0]);
}

#[test]
fn a_member_that_agrees_to_stop_shuts_down_and_one_that_refuses_stays() {
    let mut seen = Observation::team();
    let before = seen.session();
    let no = json!({"type": "shutdown_response", "request_id": "shutdown-1@ann", "approve": false});
    seen.pair("a", "SendMessage", no, "{\"success\":true}");
    let unknown =
        json!({"type": "shutdown_response", "request_id": "shutdown-1@zoe", "approve": true});
    seen.pair("b", "SendMessage", unknown, "{\"success\":true}");
    assert_eq!(seen.session(), before);
    let yes = json!({"type": "shutdown_response", "request_id": "shutdown-1@ann", "approve": true});
    seen.pair("c", "SendMessage", yes, "{\"success\":true}");
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Shutdown);
    assert_eq!(seen.story()[2..], ["team:shutdown:response ann", "team:member:shutdown ann"]);
    let answered: Vec<_> = seen.events.iter().map(told).collect();
    let answer = |id: &str, approved: bool| json!({"type": "shutdown_response", "from": "ann", "request_id": id, "approved": approved});
    assert_eq!(answered[0], answer("shutdown-1@ann", false));
    assert_eq!(answered[2], answer("shutdown-1@ann", true));
    assert_eq!(answered[3]["type"], "member_left");
    assert_eq!(seen.session().agents, ["ann", "bob"], "members are not taken off the list");
}

#[test]
fn a_member_that_completes_a_task_and_starts_no_other_is_idle() {
    let mut seen = Observation::team();
    seen.add_task(1);
    seen.add_task(2);
    seen.update("1", json!({"status": "in_progress", "owner": "ann"}));
    seen.update("1", json!({"status": "completed"}));
    assert_eq!(
        seen.story().last().unwrap(),
        "team:task:completed 1",
        "not yet: the batch is not over"
    );
    seen.line(&text("next"));
    assert_eq!(seen.story()[4..], ["team:idle:reported ann", "team:member:idle ann"]);
    let ObservedFact::Idle { completed_task_id, .. } = &seen.events[4].fact else {
        panic!("{:?}", seen.events)
    };
    assert_eq!(completed_task_id.as_ref().unwrap().as_str(), "1");
    assert_eq!(seen.team_now().member("ann").unwrap().status, MemberStatus::Idle);
    seen.update("2", json!({"status": "in_progress", "owner": "ann"}));
    assert_eq!(seen.story()[6..], ["team:task:claimed 2", "team:member:active ann"]);
}

#[test]
fn a_member_that_starts_another_task_soon_is_not_idle() {
    for together in [true, false] {
        let mut seen = Observation::team();
        seen.add_task(1);
        seen.add_task(2);
        seen.update("1", json!({"status": "in_progress", "owner": "ann"}));
        let done = ("d", "TaskUpdate", json!({"taskId": "1", "status": "completed"}));
        let next = json!({"taskId": "2", "status": "in_progress", "owner": "ann"});
        let next = ("n", "TaskUpdate", next);
        if together {
            seen.line(&uses(&[done, next]));
            seen.line(&result("d", "Updated task #1 status"));
        } else {
            seen.line(&uses(&[done]));
            seen.line(&result("d", "Updated task #1 status"));
            seen.line(&uses(&[next]));
        }
        seen.line(&result("n", "Updated task #2 status, owner"));
        seen.line(&text("after"));
        seen.end();
        assert_eq!(seen.story()[3..], ["team:task:completed 1", "team:task:claimed 2"]);
    }
}

#[test]
fn the_end_of_a_turn_or_stream_ends_a_batch_too() {
    for end_of_turn in [true, false] {
        let mut seen = Observation::team();
        seen.add_task(1);
        seen.update("1", json!({"status": "completed", "owner": "ann"}));
        if end_of_turn {
            seen.line(r#"{"type":"result","subtype":"success"}"#);
        } else {
            seen.end();
        }
        assert_eq!(seen.story().last().unwrap(), "team:member:idle ann");
        seen.end();
        assert_eq!(seen.story().len(), 4);
    }
}

#[test]
fn an_error_changes_nothing_whatever_was_asked() {
    let mut seen = Observation::team();
    seen.add_task(1);
    let before = seen.session();
    for (nth, (tool, input)) in [
        ("TeamCreate", json!({"team_name": "x"})),
        ("TeamDelete", json!({})),
        ("Task", json!({"team_name": "blue", "name": "cy"})),
        ("TaskCreate", json!({"subject": "s"})),
        ("TaskUpdate", json!({"taskId": "1", "status": "deleted"})),
        (
            "SendMessage",
            json!({"type": "shutdown_response", "approve": true, "request_id": "1@ann"}),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("error {nth}");
        seen.line(&used(&id, tool, input));
        seen.line(&failed(&id));
        assert_eq!(seen.session(), before, "{tool}");
        assert_eq!(seen.observer.n_waiting(), 0);
    }
    assert_eq!(seen.story(), ["team:task:created 1"]);
}

#[test]
fn a_restarted_session_keeps_its_team() {
    let mut seen = Observation::team();
    seen.line(r#"{"type":"system","subtype":"init","session_id":"s2","model":"m","cwd":"/p","agents":["Plan"]}"#);
    let session = seen.session();
    assert_eq!((session.session_id.as_deref(), session.model.as_deref()), (Some("s2"), Some("m")));
    assert_eq!(session.agents, ["ann", "bob"]);
    assert_eq!(session.team.unwrap().name(), "blue");
}
