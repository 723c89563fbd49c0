//! The dialect `claude`.

use serde_json::{Value, json};
use troop_model::{Actor, Command, Dialect, MemberState, StateCause};
use troop_runtime::CommandRequest;

use super::Stage;

#[tokio::test]
async fn a_task_goes_from_creation_to_completion_in_the_clients_words() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann, bob) = (stage.hand("lead"), stage.hand("ann"), stage.hand("bob"));
    let said = lead.ok("TaskCreate", json!({"subject": "Task A", "description": "all"})).await;
    assert_eq!(said, "Task #1 created successfully: Task A");
    let second = json!({"subject": "Task B", "activeForm": "Doing B", "blockedBy": ["1"]});
    lead.ok("TaskCreate", second).await;
    assert_eq!(
        ann.ok("TaskList", json!({})).await,
        "#1 [pending] Task A\n#2 [pending] Task B [blocked by #1]"
    );
    let take = json!({"taskId": "1", "status": "in_progress", "owner": "ann"});
    assert_eq!(ann.ok("TaskUpdate", take).await, "Updated task #1 owner, status");
    let told = bob.told("TaskUpdate", json!({"taskId": 1, "status": "in_progress"})).await;
    assert!(told.starts_with("task-1 is not available: ann has held it since"), "{told}");
    let done = json!({"taskId": "#1", "status": "completed", "result": "in a.rs"});
    assert_eq!(
        ann.ok("TaskUpdate", done).await,
        "Updated task #1 status\nCall TaskList for your next task."
    );
    assert_eq!(
        bob.ok("TaskList", Value::Null).await,
        "#1 [completed] Task A (ann)\n#2 [pending] Task B"
    );
    assert_eq!(
        lead.ok("TaskGet", json!({"task_id": "task-1"})).await,
        "Task #1: Task A\nStatus: completed\nOwner: ann\nDescription: all\nBlocks: #2\nResult: in a.rs"
    );
}

#[tokio::test]
async fn tasks_are_listed_in_the_order_of_their_creation_whatever_became_of_them() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    for subject in ["zoo", "yard", "xylophone", "apple"] {
        lead.ok("TaskCreate", json!({"subject": subject})).await;
    }
    for (task, status) in [("4", "in_progress"), ("3", "in_progress"), ("3", "completed")] {
        let change = json!({"taskId": task, "status": status, "result": "done"});
        ann.ok("TaskUpdate", change).await;
    }
    assert_eq!(
        lead.ok("TaskList", json!({})).await,
        "#1 [pending] zoo\n#2 [pending] yard\n#3 [completed] xylophone (ann)\n#4 [in_progress] apple (ann)"
    );
}

#[tokio::test]
async fn a_lead_gives_out_changes_and_deletes_tasks() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    for subject in ["A", "B", "C"] {
        lead.ok("TaskCreate", json!({"subject": subject})).await;
    }
    let said = lead.ok("TaskUpdate", json!({"taskId": "1", "owner": "ann"})).await;
    assert_eq!(said, "Updated task #1 owner");
    let more = json!({
        "taskId": "2", "subject": "B2", "description": "more", "metadata": {"k": 1},
        "addBlockedBy": ["1"], "addBlocks": ["3"],
    });
    assert_eq!(
        lead.ok("TaskUpdate", more).await,
        "Updated task #2 subject, description, metadata, blockedBy, blocks"
    );
    let reserved = lead.ok("TaskUpdate", json!({"taskId": "2", "owner": "bob"})).await;
    assert_eq!(reserved, "Updated task #2 owner\nIt is reserved for bob until it can start.");
    assert_eq!(
        lead.ok("TaskList", json!({})).await,
        "#1 [in_progress] A (ann)\n#2 [pending] B2 (bob) [blocked by #1]\n#3 [pending] C [blocked by #2]"
    );
    let said = lead.ok("TaskUpdate", json!({"taskId": "3", "status": "deleted"})).await;
    assert_eq!(said, "Updated task #3 deleted");
    let said = lead.ok("TaskUpdate", json!({"taskId": "1", "status": "deleted"})).await;
    assert!(said.starts_with("Updated task #1 status\nIt is cancelled, and stays"), "{said}");
    let told = ann.told("TaskUpdate", json!({"taskId": "3", "status": "completed"})).await;
    assert!(told.starts_with("Task not found: task-3 was deleted"), "{told}");
    ann.ok("TaskCreate", json!({"subject": "D"})).await;
    ann.ok("TaskUpdate", json!({"taskId": "4", "owner": "ann"})).await;
    assert_eq!(
        ann.ok("TaskUpdate", json!({"taskId": "4", "owner": ""})).await,
        "Updated task #4 owner"
    );
    assert!(ann.ok("TaskList", json!({"status": "pending"})).await.contains("#4 [pending] D"));
}

#[tokio::test]
async fn messages_go_in_both_shapes() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    let new = json!({"to": "lead", "summary": "hi", "message": "hello"});
    let old = json!({"type": "message", "recipient": "team-lead@crew", "content": "hello"});
    for input in [new, old] {
        let said = ann.json("SendMessage", input).await;
        assert_eq!(said, json!({"success": true, "message": "Message sent to lead's inbox"}));
    }
    let everybody = "Message broadcast to 2 teammate(s): ann, bob";
    for (tool, input) in [
        ("SendMessage", json!({"to": "*", "message": "all"})),
        ("SendMessage", json!({"type": "broadcast", "content": "all"})),
        ("Broadcast", json!({"content": "all"})),
    ] {
        assert_eq!(lead.json(tool, input).await["message"], everybody);
    }
    let told = ann.told("SendMessage", json!({"to": "carol", "message": "hello"})).await;
    assert_eq!(told, "there is no member `carol`; the members are ann, bob, lead");
}

#[tokio::test]
async fn requests_are_answered_by_their_id() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    let asked = lead.json("ShutdownTeammate", json!({"name": "ann", "reason": "done"})).await;
    let id = asked["request_id"].as_str().unwrap();
    assert_eq!(asked["message"], format!("Shutdown request sent to ann. Request ID: {id}"));
    assert_eq!(asked["target"], "ann");
    let no =
        json!({"type": "shutdown_response", "request_id": id, "approve": false, "content": "busy"});
    let said = ann.json("SendMessage", no).await;
    assert_eq!(said["message"], "Shutdown rejected. Reason: \"busy\". Continuing to work.");
    let message = json!({"type": "shutdown_request", "reason": "now"});
    let asked = lead.json("SendMessage", json!({"to": "ann", "message": message})).await;
    let yes =
        json!({"type": "shutdown_response", "request_id": asked["request_id"], "approve": true});
    ann.ok("SendMessage", json!({"to": "lead", "message": yes})).await;
    let plan = json!({"type": "plan_approval_request", "content": "1. look 2. write"});
    let asked = ann.json("SendMessage", plan).await;
    let answer = json!({
        "type": "plan_approval_response", "recipient": "ann", "request_id": asked["request_id"], "approve": true,
    });
    assert_eq!(lead.json("SendMessage", answer).await["message"], "Plan approved for ann.");
    let told = ann
        .told(
            "SendMessage",
            json!({"type": "shutdown_response", "request_id": "shutdown-1@ann", "approve": true}),
        )
        .await;
    assert!(told.contains("`shutdown-1@ann` is not the id of a request"), "{told}");
}

#[tokio::test]
async fn a_lead_starts_teammates_by_three_names() {
    let stage = Stage::new(Dialect::Claude).await.led().await;
    let lead = stage.hand("lead");
    let said = lead.ok("SpawnTeammate", json!({"name": "carol", "prompt": "hi"})).await;
    let begins = "Spawned successfully.\nagent_id: carol@crew\nname: carol\nteam_name: crew\n";
    assert!(said.starts_with(begins), "{said}");
    let agent = json!({
        "name": "dave", "prompt": "hi", "description": "d", "subagent_type": "general-purpose",
        "team_name": "crew", "mode": "plan", "isolation": "worktree", "run_in_background": true,
    });
    lead.ok("Agent", agent).await;
    lead.ok("Task", json!({"name": "eve", "prompt": "hi"})).await;
    let modes = stage
        .board
        .look(|state| {
            let shown =
                |it: &troop_model::Member| format!("{} {} {}", it.name, it.agent, it.permissions);
            state.members().map(shown).collect::<Vec<_>>()
        })
        .await
        .unwrap();
    assert!(modes.contains(&"dave script plan".to_owned()), "{modes:?}");
    assert_eq!(
        lead.told("Task", json!({"prompt": "look for bugs"})).await,
        "`Agent` needs `name`\nhint: for example: Agent {\"name\": \"ann\", \"description\": \"Write the API\", \"prompt\": \"You work on …\"}"
    );
}

#[tokio::test]
async fn a_teammate_run_by_another_program_gets_its_prompt_as_mail() {
    let stage = Stage::new(Dialect::Claude).await.led().await;
    let lead = stage.hand("lead");
    lead.ok("SpawnTeammate", json!({"name": "pat", "agent_type": "external"})).await;
    for (tool, prompt) in [("SpawnTeammate", "look at #1"), ("Agent", "and at #2")] {
        let said = lead.ok(tool, json!({"name": "pat", "prompt": prompt})).await;
        assert!(said.starts_with("pat@crew is run by another program"), "{said}");
        assert!(said.contains("It finds the prompt in its inbox."), "{said}");
    }
    let look = |state: &troop_model::State| {
        let pat = troop_model::Party::member(&"pat".parse().unwrap());
        state.mailbox().unread_of(&pat).map(|it| it.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(stage.board.look(look).await.unwrap(), ["look at #1", "and at #2"]);
    let told = lead.told("SpawnTeammate", json!({"name": "pat", "agent_type": "script"})).await;
    assert!(told.contains("there is already a member `pat`\nhint: "), "{told}");
    assert!(told.contains("SendMessage"), "{told}");
}

#[tokio::test]
async fn no_teammate_is_started_in_a_team_that_does_not_run() {
    let stage = Stage::new(Dialect::Claude).await;
    let told = stage.hand("lead").told("SpawnTeammate", json!({"name": "carol"})).await;
    assert!(told.starts_with("nobody is running this team\nhint: "), "{told}");
    assert!(told.contains("`troop resume crew --agent external`"), "{told}");
}

#[tokio::test]
async fn a_session_has_one_team() {
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    let told = lead.told("TeamCreate", json!({"team_name": "other"})).await;
    assert!(told.starts_with("a team is already active: `crew`"), "{told}");
    let said = lead.json("TeamDelete", json!({})).await;
    assert_eq!(said["message"], "Cleaned up team \"crew\"");
    let told = lead.told("TeamCreate", json!({"team_name": "other"})).await;
    assert!(told.contains("cannot be created from here"), "{told}");
}

#[tokio::test]
async fn a_teammate_cannot_manage_teams_or_members() {
    let stage = Stage::new(Dialect::Claude).await;
    let ann = stage.hand("ann");
    for (tool, input) in [
        ("TeamCreate", json!({"team_name": "x"})),
        ("SpawnTeammate", json!({"name": "x"})),
        ("Agent", json!({"name": "x", "prompt": "y"})),
        ("Task", json!({"name": "x", "prompt": "y"})),
        ("ShutdownTeammate", json!({"name": "bob"})),
        ("CleanupTeam", json!({})),
        ("TeamDelete", json!({})),
    ] {
        let told = ann.told(tool, input).await;
        assert!(told.contains("is for the lead: a teammate has no team of its own"), "{told}");
        assert!(told.contains("hint: ask the lead: SendMessage"), "{told}");
    }
}

#[tokio::test]
async fn a_long_board_is_listed_in_pages_with_open_tasks_first() {
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    for nth in 1..=32 {
        lead.ok("TaskCreate", json!({"subject": format!("T{nth}")})).await;
    }
    lead.ok("TaskUpdate", json!({"taskId": "1", "status": "completed"})).await;
    let first = lead.ok("TaskList", json!({})).await;
    assert!(first.starts_with("#2 [pending] T2\n"), "{first}");
    assert!(first.ends_with("#31 [pending] T31\n(page 1 of 2)"), "{first}");
    assert_eq!(lead.ok("TaskList", json!({"page": 2})).await, "#32 [pending] T32\n(page 2 of 2)");
}

#[tokio::test]
async fn a_member_can_set_the_status_even_if_its_other_changes_are_refused() {
    let stage = Stage::new(Dialect::Claude).await;
    let (lead, ann) = (stage.hand("lead"), stage.hand("ann"));
    lead.ok("TaskCreate", json!({"subject": "A"})).await;
    let begins = json!({"taskId": "1", "status": "in_progress", "activeForm": "Doing it"});
    assert_eq!(ann.ok("TaskUpdate", begins).await, "Updated task #1 status");
    let more = json!({"description": "other", "metadata": {"k": 1}});
    let mut done = json!({"taskId": "1", "status": "completed", "result": "in a.rs"});
    let mut alone = json!({"taskId": "1"});
    for (name, value) in more.as_object().unwrap() {
        (done[name], alone[name]) = (value.clone(), value.clone());
    }
    let told = ann.told("TaskUpdate", alone).await;
    let why = "`ann` may not change tasks; the lead or a person may: `description`, `metadata`";
    assert!(told.starts_with(why) && told.contains("`status` and `result` alone"), "{told}");
    let told = ann.ok("TaskUpdate", done).await;
    assert!(told.starts_with("Updated task #1 status\nNot changed: `description`, `metadata` ("));
    let seen = lead.ok("TaskGet", json!({"taskId": "1"})).await;
    assert!(seen.contains("Status: completed") && !seen.contains("other"), "{seen}");
}

#[tokio::test]
async fn giving_a_task_again_to_the_member_that_works_on_it_says_so() {
    let stage = Stage::new(Dialect::Claude).await;
    let lead = stage.hand("lead");
    lead.ok("TaskCreate", json!({"subject": "A"})).await;
    stage.hand("ann").ok("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})).await;
    let told = lead.ok("TaskUpdate", json!({"taskId": "1", "owner": "ann"})).await;
    assert!(told.contains("ann is already working on it"), "{told}");
}

#[tokio::test]
async fn a_teammate_needs_a_name_that_nobody_has() {
    let stage = Stage::new(Dialect::Claude).await.led().await;
    let lead = stage.hand("lead");
    let spawn = |name: &str| json!({"name": name, "prompt": "work", "agent_type": "script"});
    let n_members = async || stage.board.look(|state| state.members().count()).await.unwrap();
    let before = n_members().await;
    for (name, why) in [("", "name"), ("lead", "lead"), ("Ann Smith", "name")] {
        let told = lead.told("SpawnTeammate", spawn(name)).await;
        assert!(told.contains(why), "`{name}`: {told}");
    }
    for tool in ["SpawnTeammate", "Agent"] {
        for empty in ["", "  "] {
            let new = json!({"name": "eve", "prompt": "work", "subagent_type": empty});
            let told = lead.told(tool, new).await;
            assert_eq!(
                told,
                "the agent type is empty\nhint: leave it out for the same agent as yours"
            );
        }
    }
    assert_eq!(n_members().await, before, "nobody joined");
}

#[tokio::test]
async fn a_teammate_that_has_stopped_is_not_asked_to_stop() {
    let stage = Stage::new(Dialect::Claude).await.led().await;
    let member = "ann".parse().unwrap();
    let cause = Some(StateCause::Asked);
    let stopped = Command::SetMemberState {
        member,
        state: MemberState::Stopped,
        reason: Some("agreed to stop".to_owned()),
        cause,
        pid: None,
    };
    stage.board.submit(CommandRequest::new(Actor::system(), stopped)).await.unwrap();
    let told = stage.hand("lead").told("ShutdownTeammate", json!({"name": "ann"})).await;
    assert!(told.starts_with("teammate `ann` is not running; it is stopped"), "{told}");
}
