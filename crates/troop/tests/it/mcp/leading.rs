//! A team that an MCP client leads while troop runs its teammates.

use std::fs::File;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use serde_json::json;

use super::Client;
use crate::troop::{Printing, Troop};

/// A team with an external lead, run by troop.
fn led_elsewhere(troop: &Troop) -> Printing {
    troop.ok("team create crew --lead lead=external --member ann=command");
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
