//! A team that an MCP client leads while troop runs its teammates.

use std::fs::{self, File};

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use serde_json::json;

use super::Client;
use crate::troop::{Printing, Troop};

/// A team with an external lead, run by troop.
fn led_elsewhere(troop: &Troop) -> Printing {
    troop.ok("team create crew --dialect board --lead lead=external --member ann=command");
    let mut team = Printing::new(troop.start("resume crew --grace 0"));
    team.wait_for(" leads");
    team
}

#[test]
fn a_client_leads_a_team_that_troop_runs_beside_it() {
    let troop = Troop::new();
    let team = led_elsewhere(&troop);
    let mut lead = Client::start(&troop, "--as lead");
    lead.call("team_tasks", &json!({"action": "list"}));
    let create = json!({"action": "create", "subject": "count", "description": "echo four", "assignee": "ann"});
    lead.call("team_tasks", &create);
    let said = lead.call("spawn", &json!({"agent": "ann", "team_task_id": "1"}));
    assert!(said[0].contains(r#""status":"started""#), "{said:?}");
    // The result comes with one of the next calls.
    loop {
        let said = lead.call("team_tasks", &json!({"action": "list"}));
        if said.get(1).is_some_and(|mail| mail.contains("four")) {
            break;
        }
    }
    assert_eq!(troop.json("task get 1")["status"], "completed");
    team.signal(Signal::INT);
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_client_that_leads_acts_in_the_conversation_of_the_mail_that_it_deals_with() {
    let troop = Troop::new();
    let team = led_elsewhere(&troop);
    let mut lead = Client::start(&troop, "--as lead");
    let list = json!({"action": "list"});
    for user in ["u1", "u2"] {
        let sent = troop.by(user, &["message", "send", "lead", &format!("a request of {user}")]);
        assert_eq!(sent.code, 0, "{sent:?}");
    }
    let requests = troop.json("message read --all");
    let mut said = lead.call("team_tasks", &list);
    assert!(said[1].contains("1 more from other conversations: send the user"), "{said:?}");
    assert!(!said[1].contains("with your next calls"), "{said:?}");
    for (nth, user, other) in [(1, "u1", "u2"), (2, "u2", "u1")] {
        assert!(said[1].contains(&format!("a request of {user}")), "{said:?}");
        assert!(!said[1].contains(&format!("a request of {other}")), "{said:?}");
        let create = json!({"action": "create", "subject": "work", "description": format!("until [ -e go{nth} ]; do sleep 0.01; done; echo done"), "assignee": "ann"});
        lead.call("team_tasks", &create);
        let spawn =
            json!({"agent": "ann", "team_task_id": nth.to_string(), "task": "and be quick"});
        lead.call("spawn", &spawn);
        let get = json!({"action": "get", "task_id": nth.to_string()});
        let shown = &lead.call("team_tasks", &get)[0];
        let shown: serde_json::Value = serde_json::from_str(shown).unwrap();
        assert_eq!(shown["origin"], json!({"user_id": user, "channel": "cli"}));
        let created = &shown["events"][0];
        assert_eq!(
            (&created["actor_type"], &created["event"]),
            (&"agent".into(), &"created".into())
        );
        // The result comes before the request of the other user, and is answered.
        fs::write(troop.folder().join(format!("go{nth}")), "").unwrap();
        loop {
            let said = lead.call("team_tasks", &list);
            let Some(mail) = said.get(1) else { continue };
            assert!(!mail.contains(&format!("a request of {other}")), "{mail}");
            if mail.contains("that you delegated is done") {
                break;
            }
        }
        let answer = json!({"action": "send", "to": "user", "text": format!("done for {user}")});
        said = lead.call("team_message", &answer);
    }
    let all = troop.json("team delegations");
    for (nth, user) in [(0, "u1"), (1, "u2")] {
        let delegation = &all["delegations"][nth];
        assert_eq!(delegation["origin"]["user_id"], user, "{all}");
        assert_eq!(delegation["parent_trace_id"], requests["messages"][nth]["id"], "{all}");
        assert_eq!(delegation["session"].as_str().unwrap().split(':').next(), Some("delegate"));
    }
    // Each user reads what is for that user alone, and marks nothing of the other as read.
    for user in ["u1", "u2"] {
        let read = troop.by(user, &["message", "read", "--json"]);
        let read: serde_json::Value = serde_json::from_str(&read.out).unwrap();
        let texts: Vec<_> =
            read["messages"].as_array().unwrap().iter().map(|it| &it["content"]).collect();
        assert_eq!(texts, [&json!(format!("done for {user}"))]);
    }
    team.signal(Signal::INT);
    team.end();
}

#[test]
fn a_client_that_leads_takes_a_held_task_back_and_gives_it_to_another() {
    let troop = Troop::new();
    troop.ok("team create crew --dialect board --lead lead=external --member ann=external --member bob=external");
    let mut lead = Client::start(&troop, "--as lead");
    lead.call("team_tasks", &json!({"action": "list"}));
    lead.call("team_tasks", &json!({"action": "create", "subject": "dig", "assignee": "ann"}));
    let waits =
        json!({"action": "create", "subject": "fill", "assignee": "ann", "blocked_by": ["1"]});
    let said = lead.call("team_tasks", &waits);
    assert!(said[0].contains("when task-1 is finished: spawn(agent='ann'"), "{said:?}");
    troop.ok("--as ann task claim 1");
    for call in [
        json!({"action": "assign", "task_id": "1", "assignee": "bob"}),
        json!({"action": "update", "task_id": "1", "assignee": "bob"}),
    ] {
        let told = lead.told("team_tasks", &call);
        assert!(
            told.contains("ann has held it since") && told.contains("take it back first"),
            "{told}"
        );
        assert!(told.ends_with("hint: release it, then give it to another member"), "{told}");
    }
    lead.call("team_tasks", &json!({"action": "update", "task_id": "1", "assignee": "ann"}));
    lead.call(
        "team_tasks",
        &json!({"action": "release", "task_id": "1", "reason": "bob is faster"}),
    );
    lead.call("team_tasks", &json!({"action": "assign", "task_id": "1", "assignee": "bob"}));
    assert_eq!(troop.json("task get 1")["owner"], "bob");
    let (_, err) = troop.refused("--as ann task complete 1 --result x");
    assert!(err.contains("task-1 is not held by `ann` but by `bob`"), "{err}");
    assert!(
        lead.told("spawn", &json!({"agent": "eve", "team_task_id": "1"}))
            .starts_with("there is no member `eve`")
    );
    let told = lead.told("spawn", &json!({"agent": "eve", "team_task_id": "1"}));
    assert!(!told.contains(r#"{"agent": "ann""#), "{told}");
}

/// Stops a team's process in a moment in which it holds no lock of the store: nobody can take a lock from a stopped process.
fn stop_without_locks(troop: &Troop, team: &Printing) {
    let file = |suffix: &str| File::open(troop.folder().join(format!("home/troop.db{suffix}")));
    let locks = [file(".bell").unwrap(), file(".turn").unwrap()];
    let pid = Pid::from_raw(team.id().try_into().unwrap()).unwrap();
    loop {
        team.signal(Signal::STOP);
        waitpid(Some(pid), WaitOptions::UNTRACED).unwrap();
        let are_free = locks.iter().all(|lock| lock.try_lock().is_ok());
        locks.iter().for_each(|lock| lock.unlock().unwrap());
        if are_free {
            return;
        }
        team.signal(Signal::CONT);
    }
}

#[test]
fn a_stopped_lead_does_not_block_its_client() {
    let troop = Troop::new();
    let team = led_elsewhere(&troop);
    let mut lead = Client::start(&troop, "--as lead");
    lead.call("team_tasks", &json!({"action": "list"}));
    lead.call("team_tasks", &json!({"action": "create", "subject": "count", "assignee": "lead"}));
    stop_without_locks(&troop, &team);
    lead.call("team_tasks", &json!({"action": "comment", "task_id": "1", "text": "still here"}));
    team.signal(Signal::CONT);
    let comments = troop.json("task get 1")["detail"]["comments"].clone();
    assert_eq!(comments.as_array().map(Vec::len), Some(1), "once: {comments}");
    team.signal(Signal::INT);
    team.end();
}
