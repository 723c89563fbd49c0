//! Tasks that are reserved for members of a team of the `board` dialect, in which members claim their work.

use serde_json::{Value, json};
use troop_testkit::{
    mock::{Answer, MockModel},
    wait_for,
};

use super::{repository, start};
use crate::{
    mcp::Client,
    troop::{Printing, Troop},
};

const CREATE: &str =
    "team create g --dialect board --lead lead=external --member ann=builtin --member bob=command";

/// A running team whose model does each task at once.
async fn led(troop: &Troop) -> (Printing, MockModel) {
    let mock = MockModel::start(|_| Answer::text("It is written.")).await;
    let mut team = start(troop, &mock, &["resume", "g", "--keep"]);
    team.wait_for(" leads");
    (team, mock)
}

fn status(troop: &Troop, number: u32) -> Value {
    troop.json(&format!("task get {number}"))["status"].clone()
}

async fn done(troop: &Troop, number: u32) {
    let what = format!("task-{number} is done");
    wait_for(&what, async || (status(troop, number) == "completed").then_some(())).await;
}

/// The mail about tasks that are reserved for members.
fn assignments(troop: &Troop) -> Vec<String> {
    let all = troop.json("message read --all");
    let messages = all["messages"].as_array().unwrap().iter();
    let assignments = messages.filter(|it| it["kind"] == "task_assignment");
    assignments.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn what_a_person_reserves_is_done_by_its_member_where_members_claim() {
    let troop = repository(&[]);
    troop.ok(CREATE);
    troop.ok("task create early -d 'write it' -a ann");
    let (team, mock) = led(&troop).await;
    troop.ok("task create write -d 'write it' -a ann");
    troop.ok("task create say -d 'echo hi' -a bob");
    troop.ok("task create open -d 'echo no'");
    for task in 1..=3 {
        done(&troop, task).await;
    }
    assert_eq!(status(&troop, 4), "pending", "members claim what is reserved for nobody");
    assert_eq!(mock.requests().len(), 2, "each task is worked on once, and no mail about it");
    assert_eq!(
        assignments(&troop),
        ["task-1 is for you: early"],
        "only what was reserved while nobody led"
    );
    drop(team);
}

#[tokio::test]
async fn what_the_lead_reserves_waits_for_its_delegation() {
    let troop = repository(&[]);
    troop.ok(CREATE);
    let (team, mock) = led(&troop).await;
    let mut lead = Client::start(&troop, "--as lead");
    lead.call("team_tasks", &json!({"action": "list"}));
    let create = |subject: &str| json!({"action": "create", "subject": subject, "assignee": "ann"});
    lead.call("team_tasks", &create("later"));
    troop.ok("task create now -a ann");
    done(&troop, 2).await;
    assert_eq!(status(&troop, 1), "pending");
    lead.call("spawn", &json!({"agent": "ann", "team_task_id": "1"}));
    done(&troop, 1).await;
    assert_eq!(mock.requests().len(), 2);
    assert!(assignments(&troop).is_empty());
    drop(team);
}
