//! Programs that know only the files work in the team, and nothing is lost.

mod announced;
mod bad_input;
mod behind;
mod interleaved;
mod leaving;
mod lost;
mod outside;
mod own;
mod plan;
mod programs;
mod stage;
mod step;
mod taken_away;
mod wishes;

use serde_json::json;
use stage::{Stage, external};
use troop_model::{Command, MemberName, NewMember, Status, TaskCommand};
use troop_runtime::{Layout, MirrorNotice};

use crate::support::{add_tasks, by, claim, complete, create, name, numbered, say};

#[tokio::test]
async fn the_files_show_the_whole_team() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    stage.submit("ann", say("pat", "hello")).await;
    stage.mirror().await.pass().await.unwrap();
    let config = stage.read("teams/crew/config.json");
    assert_eq!(config["name"], "crew");
    assert!(config["createdAt"].is_string());
    let members: Vec<_> =
        config["members"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(members, ["ann", "bob", "pat", "quin"]);
    assert!(config["members"][2]["agentId"].is_string());
    assert_eq!(config["members"][2]["agentType"], "external");
    let task = stage.read("tasks/crew/task-1.json");
    for (key, value) in [
        ("id", "task-1"),
        ("subject", "write"),
        ("description", ""),
        ("status", "pending"),
        ("claimed_by", ""),
        ("claimedBy", ""),
        ("assignedTo", ""),
        ("createdBy", "ann"),
        ("completed_at", ""),
    ] {
        assert_eq!(task[key], value, "{key}");
    }
    assert_eq!(task["dependsOn"], json!([]));
    let created_at =
        stage.board.look(|state| state.tasks().iter().next().unwrap().provenance.created_at);
    let created_at = created_at.await.unwrap().to_string();
    for key in ["created_at", "createdAt", "updatedAt"] {
        assert_eq!(task[key], created_at, "{key}");
    }
    let [message] = stage.inbox("pat").try_into().unwrap();
    assert_eq!(message["from"], "ann");
    assert_eq!(message["to"], "pat");
    assert_eq!(message["type"], "direct");
    assert_eq!(message["content"], "hello");
    assert!(message["timestamp"].is_string() && message["id"].is_string());
}

#[tokio::test]
async fn a_restart_changes_no_files() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    stage.mirror().await.pass().await.unwrap();
    let before = (stage.bytes("teams/crew/config.json"), stage.bytes("tasks/crew/task-1.json"));
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let after = (stage.bytes("teams/crew/config.json"), stage.bytes("tasks/crew/task-1.json"));
    assert_eq!((before, mirror.n_written()), (after, 0));
}

#[tokio::test]
async fn a_claim_and_its_end_in_a_file_are_on_the_board() {
    for (layout, file, claimed, done) in [
        (
            Layout::Seeds,
            "tasks/crew/task-1.json",
            json!({"status": "claimed", "claimed_by": "pat"}),
            json!({"status": "done", "result": "written"}),
        ),
        (
            Layout::Claude,
            "tasks/crew/1.json",
            json!({"status": "in_progress", "owner": "pat"}),
            json!({"status": "completed", "metadata": {"result": "written"}}),
        ),
    ] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        let created = stage.read(file)["updatedAt"].clone();
        stage.change(file, &claimed);
        mirror.pass().await.unwrap();
        assert_eq!(stage.task(1).await, (Status::InProgress, Some(name("pat"))));
        let said = stage.read(file);
        let owners: &[&str] =
            if layout == Layout::Seeds { &["claimedBy", "claimed_by"] } else { &["owner"] };
        assert!(owners.iter().all(|key| said[*key] == "pat"), "{said}");
        let before = said["updatedAt"].clone();
        assert!(layout == Layout::Claude || before != created, "{said}");
        stage.change(file, &done);
        mirror.pass().await.unwrap();
        assert_eq!(stage.task(1).await.0, Status::Completed, "{layout}");
        assert_eq!(stage.result(1).await.as_deref(), Some("written"), "{layout}");
        assert!(layout == Layout::Claude || stage.read(file)["updatedAt"] != before);
    }
}

#[tokio::test]
async fn a_refused_change_is_put_back_and_reported() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    let blocked = troop_model::NewTask {
        subject: "test".to_owned(),
        blocked_by: vec![numbered(1)],
        ..troop_model::NewTask::default()
    };
    stage.submit("ann", Command::Task(TaskCommand::Create(blocked))).await;
    let mut mirror = stage.mirror().await;
    let mut notices = mirror.notices();
    mirror.pass().await.unwrap();
    assert_eq!(stage.read("tasks/crew/task-2.json")["status"], "blocked");
    assert_eq!(stage.read("tasks/crew/task-2.json")["dependsOn"], json!(["task-1"]));
    let before = stage.bytes("tasks/crew/task-2.json");
    stage.change("tasks/crew/task-2.json", &json!({"status": "claimed", "claimed_by": "pat"}));
    mirror.pass().await.unwrap();
    assert_eq!(stage.bytes("tasks/crew/task-2.json"), before);
    let MirrorNotice::Refused { path, reason } = notices.try_recv().unwrap() else {
        panic!("not refused")
    };
    assert_eq!(path, "tasks/crew/task-2.json");
    assert!(reason.contains("blocked by task-1"), "{reason}");
    let told = stage.inbox("pat");
    assert!(told[0]["content"].as_str().unwrap().contains("blocked by task-1"), "{told:?}");
    // Another member's claim, a finished task, an unknown member.
    stage.submit("bob", claim(1)).await;
    mirror.pass().await.unwrap();
    for (number, change, why) in [
        (1, json!({"claimed_by": "pat"}), "bob has held it"),
        (1, json!({"claimed_by": "nobody"}), "nobody"),
        (1, json!({"status": "mine"}), "there is no status `mine`"),
        (2, json!({"dependsOn": ["task-1", "task-9"]}), "there is no task"),
        (2, json!({"dependsOn": ["task-2"]}), "would wait for itself"),
    ] {
        let path = format!("tasks/crew/task-{number}.json");
        let before = stage.bytes(&path);
        stage.change(&path, &change.clone());
        mirror.pass().await.unwrap();
        let notice = std::iter::from_fn(|| notices.try_recv().ok()).last();
        let Some(MirrorNotice::Refused { reason, .. }) = notice else {
            panic!("{change} is not refused")
        };
        assert!(reason.contains(why), "{reason}");
        assert_eq!(stage.bytes(&path), before);
    }
}

#[tokio::test]
async fn a_new_file_is_a_new_task_with_the_files_id() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("first")).await;
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        // One waits for the other, whichever the mirror sees first; ids may be numbers.
        let (waits, own) = match layout {
            Layout::Seeds => ("dependsOn", "note"),
            Layout::Claude => ("blockedBy", "note"),
        };
        stage.write("tasks/crew/a.json", &json!({"id": "a", "subject": "second", waits: ["b", 1]}));
        stage.write("tasks/crew/b.json", &json!({"id": "b", "subject": "third", own: "kept"}));
        if layout == Layout::Seeds {
            stage.change("tasks/crew/a.json", &json!({waits: ["b", "task-1"]}));
        }
        mirror.pass().await.unwrap();
        assert_eq!(stage.read("tasks/crew/b.json")["id"], "b");
        assert_eq!(stage.read("tasks/crew/b.json")["note"], "kept");
        let numbers = stage.with_subject(&["second", "third"]).await;
        let waits_for = stage.waits_for(numbers[0]).await;
        assert_eq!(waits_for, [1, numbers[1]].into_iter().collect(), "{layout}");
        // The id stays, also for a later mirror.
        let mut again = stage.mirror().await;
        stage.change(
            "tasks/crew/b.json",
            &json!({"status": "completed", "claimedBy": "pat", "owner": "pat"}),
        );
        again.pass().await.unwrap();
        assert_eq!(stage.task(numbers[1]).await.0, Status::Completed, "{layout}");
        assert_eq!(stage.n_tasks().await, 3);
    }
}

#[tokio::test]
async fn two_tasks_under_one_id_are_two_tasks() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    // Both choose the same number at the same time.
    stage.write("tasks/crew/1.json", &json!({"id": "1", "subject": "theirs", "status": "pending"}));
    stage.submit("ann", create("ours")).await;
    mirror.pass().await.unwrap();
    let mut subjects: Vec<_> =
        stage.files("tasks/crew").iter().map(|it| it["subject"].clone()).collect();
    subjects.sort_by_key(ToString::to_string);
    assert_eq!(subjects, ["ours", "theirs"]);
    assert_eq!(stage.read("tasks/crew/1.json")["subject"], "theirs");
    let mut again = stage.mirror().await;
    again.pass().await.unwrap();
    assert_eq!((stage.n_tasks().await, again.n_written()), (2, 0));
}

#[tokio::test]
async fn a_task_made_by_another_program_at_the_same_time_is_kept() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let lock = stage.path("tasks/crew/.lock.lock");
    std::fs::create_dir(&lock).unwrap();
    stage.submit("ann", create("ours")).await;
    mirror.pass().await.unwrap();
    assert!(stage.files("tasks/crew").is_empty(), "whoever has the lock counts");
    stage.write("tasks/crew/1.json", &json!({"id": "1", "subject": "theirs", "status": "pending"}));
    std::fs::remove_dir(&lock).unwrap();
    mirror.pass().await.unwrap();
    assert_eq!(stage.read("tasks/crew/1.json")["subject"], "theirs");
    let mut subjects: Vec<_> =
        stage.files("tasks/crew").iter().map(|it| it["subject"].clone()).collect();
    subjects.sort_by_key(ToString::to_string);
    assert_eq!(subjects, ["ours", "theirs"]);
    assert_eq!(stage.n_tasks().await, 2);
}

#[tokio::test]
async fn the_client_finds_the_fields_that_it_writes_itself() {
    let stage = Stage::new(Layout::Claude).await;
    let rob = NewMember { model: Some("opus".into()), ..external("rob") };
    stage.submit("ann", Command::AddMember(rob)).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let mut config = stage.read("teams/crew/config.json");
    let keys = |it: &serde_json::Value| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&config),
        ["name", "description", "createdAt", "leadAgentId", "leadSessionId", "members"]
    );
    assert_eq!(config["leadAgentId"], "team-lead@crew");
    assert!(config["createdAt"].is_u64() && config["leadSessionId"].is_string());
    for (nth, (name, agent_type)) in
        [("team-lead", "team-lead"), ("bob", "general-purpose"), ("pat", "general-purpose")]
            .into_iter()
            .enumerate()
    {
        let entry = &config["members"][nth];
        let expected = json!({"agentId": format!("{name}@crew"), "name": name, "agentType": agent_type,
            "agent": if name == "pat" { "external" } else { "script" }, "joinedAt": entry["joinedAt"], "tmuxPaneId": "", "cwd": "", "subscriptions": [],
            "memberId": entry["memberId"]});
        assert_eq!(*entry, expected);
        assert!(entry["joinedAt"].is_u64());
    }
    assert_eq!(config["members"][4]["model"], "opus");
    // A client that leads has its own session there.
    config["leadSessionId"] = json!("its own");
    stage.write("teams/crew/config.json", &config);
    stage.submit("ann", Command::AddMember(external("sue"))).await;
    mirror.pass().await.unwrap();
    let config = stage.read("teams/crew/config.json");
    assert_eq!(config["leadSessionId"], "its own");
    assert_eq!(config["members"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn no_client_claims_a_failed_task_and_one_can_retry_it() {
    let stage = Stage::new(Layout::Claude).await;
    stage.submit("ann", create("write")).await;
    stage.submit("bob", claim(1)).await;
    let task = numbered(1);
    let reason = "no".to_owned();
    stage
        .submit(
            "bob",
            Command::Task(TaskCommand::Fail { task, reason, attempt: None, for_good: false }),
        )
        .await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    assert_eq!(stage.task(1).await.0, Status::Failed);
    let file = stage.read("tasks/crew/1.json");
    assert_eq!((&file["status"], &file["owner"]), (&json!("in_progress"), &json!("team-lead")));
    // A later mirror does not take the lead for its holder.
    let mut again = stage.mirror().await;
    again.pass().await.unwrap();
    assert_eq!((stage.task(1).await.0, again.n_written()), (Status::Failed, 0));
    stage.change("tasks/crew/1.json", &json!({"status": "pending"}));
    mirror.pass().await.unwrap();
    assert_eq!(stage.task(1).await, (Status::Pending, None));
    let file = stage.read("tasks/crew/1.json");
    assert_eq!((&file["status"], file.get("owner")), (&json!("pending"), None));
    let look = |state: &troop_model::State| {
        state.tasks().get(troop_model::TaskNumber(1)).unwrap().assignee.clone()
    };
    assert_eq!(stage.board.look(look).await.unwrap(), None);
}

#[tokio::test]
async fn the_mark_of_the_highest_id_never_falls() {
    for (mark, expected) in
        [("5000000000", "5000000000"), ("99999999999999999999", "99999999999999999999"), ("x", "x")]
    {
        let stage = Stage::new(Layout::Claude).await;
        let mut mirror = stage.mirror().await;
        std::fs::write(stage.path("tasks/crew/.highwatermark"), mark).unwrap();
        stage.submit("ann", create("write")).await;
        mirror.pass().await.unwrap();
        assert_eq!(stage.bytes("tasks/crew/.highwatermark"), expected.as_bytes());
    }
}

#[tokio::test]
async fn changes_made_without_a_mirror_are_taken() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", create("write")).await;
        stage.submit("ann", create("test")).await;
        stage.submit("ann", say("pat", "hello")).await;
        stage.mirror().await.pass().await.unwrap();
        let [first, second] = match layout {
            Layout::Seeds => ["tasks/crew/task-1.json", "tasks/crew/task-2.json"],
            Layout::Claude => ["tasks/crew/1.json", "tasks/crew/2.json"],
        };
        let claimed = json!({"status": "in_progress", "owner": "pat", "claimedBy": "pat"});
        stage.change(first, &claimed.clone());
        // The board moved on after the file did.
        stage.change(second, &claimed);
        stage.submit("bob", claim(2)).await;
        stage.take_letters("pat");
        stage.mirror().await.pass().await.unwrap();
        assert_eq!(stage.task(1).await, (Status::InProgress, Some(name("pat"))), "{layout}");
        assert_eq!(stage.task(2).await, (Status::InProgress, Some(name("bob"))), "{layout}");
        assert_eq!(stage.n_unread("pat").await, 1, "it was told that task-2 is held; {layout}");
    }
}

#[tokio::test]
async fn members_join_and_leave_through_the_config() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let mut mirror = stage.mirror().await;
        let mut notices = mirror.notices();
        mirror.pass().await.unwrap();
        let mut config = stage.read("teams/crew/config.json");
        config["mood"] = json!("good");
        let members = config["members"].as_array_mut().unwrap();
        members.push(
            json!({"name": "rae", "agentId": "rae@crew", "agentType": "tester", "color": "blue"}),
        );
        members.push(json!({"name": "Not A Name"}));
        members.retain(|it| it["name"] != "pat" && it["name"] != "bob");
        stage.write("teams/crew/config.json", &config);
        mirror.pass().await.unwrap();
        let roster = stage.roster().await;
        assert!(roster.contains(&("rae".to_owned(), "external".to_owned())), "{roster:?}");
        assert!(!roster.iter().any(|(name, _)| name == "pat"), "{roster:?}");
        // A member that troop runs cannot be removed through a file.
        assert!(roster.iter().any(|(name, _)| name == "bob"), "{roster:?}");
        let config = stage.read("teams/crew/config.json");
        assert_eq!(config["mood"], "good");
        let members = config["members"].as_array().unwrap();
        let rae = members.iter().find(|it| it["name"] == "rae").unwrap();
        assert_eq!((&rae["agentType"], &rae["color"]), (&json!("tester"), &json!("blue")));
        assert!(members.iter().any(|it| it["name"] == "bob"));
        assert!(!members.iter().any(|it| it["name"] == "Not A Name" || it["name"] == "pat"));
        let refused = std::iter::from_fn(|| notices.try_recv().ok())
            .filter(|it| matches!(it, MirrorNotice::Refused { .. }));
        assert_eq!(refused.count(), 2, "a name that is none, and bob");
        // A member that was removed on the board does not come back from a file.
        let rae: MemberName = name("rae");
        stage.submit("ann", Command::RemoveMember { member: rae, reason: None }).await;
        stage.mirror().await.pass().await.unwrap();
        assert!(!stage.roster().await.iter().any(|(name, _)| name == "rae"));
    }
}

#[tokio::test]
async fn a_change_writes_only_the_files_that_it_touches() {
    let stage = Stage::new(Layout::Seeds).await;
    // Enough to show that one change costs the same however many files there are.
    add_tasks(&stage.board, 100).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let before = mirror.n_written();
    assert_eq!(before, 101, "all tasks and the config");
    stage.submit("bob", claim(50)).await;
    stage.submit("bob", complete(50)).await;
    mirror.pass().await.unwrap();
    assert_eq!(mirror.n_written() - before, 1);
}

#[tokio::test]
async fn mail_to_a_running_member_stays_out_of_its_inbox() {
    let stage = Stage::new(Layout::Seeds).await;
    let mut mirror = stage.mirror().await;
    stage.submit("ann", say("bob", "hello")).await;
    mirror.pass().await.unwrap();
    assert_eq!(stage.inbox("bob").len(), 1);
    stage.set_running("bob").await;
    mirror.pass().await.unwrap();
    assert_eq!((stage.inbox("bob").len(), stage.n_unread("bob").await), (0, 1));
    let letter = json!({"from": "pat", "type": "direct", "content": "hello"});
    stage.write("teams/crew/inbox/bob/note.json", &letter);
    mirror.pass().await.unwrap();
    assert_eq!((stage.inbox("bob").len(), stage.n_unread("bob").await), (0, 2));
}

#[tokio::test]
async fn a_broadcast_reaches_every_inbox_and_a_message_one() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", say("*", "to all")).await;
    stage.submit("ann", say("pat", "to one")).await;
    stage.mirror().await.pass().await.unwrap();
    let said = |member: &str| -> Vec<_> {
        let letters = stage.inbox(member);
        letters.iter().map(|it| (it["type"].clone(), it["content"].clone())).collect()
    };
    let all = (json!("broadcast"), json!("to all"));
    assert_eq!(said("bob"), std::slice::from_ref(&all));
    assert_eq!(said("quin"), std::slice::from_ref(&all));
    assert_eq!(said("pat"), [all, (json!("direct"), json!("to one"))]);
    assert!(said("ann").is_empty());
}

#[tokio::test]
async fn a_message_read_on_the_board_leaves_the_inbox() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        stage.submit("ann", say("pat", "hello")).await;
        let mut mirror = stage.mirror().await;
        mirror.pass().await.unwrap();
        assert_eq!(stage.inbox("pat").len(), 1);
        let read = Command::MarkRead { reader: None, messages: None };
        stage.board.submit(by("pat", read)).await.unwrap();
        mirror.pass().await.unwrap();
        assert_eq!(stage.inbox("pat").len(), 0, "{layout}");
    }
}

#[tokio::test]
async fn a_request_to_stop_is_answered_through_files() {
    for layout in [Layout::Seeds, Layout::Claude] {
        let stage = Stage::new(layout).await;
        let mut mirror = stage.mirror().await;
        let Command::Send(mut ask) = say("pat", "it is late") else { panic!() };
        ask.kind = troop_model::MessageKind::ShutdownRequest;
        stage.submit("ann", Command::Send(ask)).await;
        mirror.pass().await.unwrap();
        let [request] = stage.inbox("pat").try_into().unwrap();
        let answer = match layout {
            Layout::Seeds => {
                assert_eq!(request["type"], "shutdown_request");
                json!({"from": "pat", "to": "ann", "type": "shutdown_response", "content": "bye"})
            }
            Layout::Claude => {
                let text: serde_json::Value =
                    serde_json::from_str(request["text"].as_str().unwrap()).unwrap();
                assert_eq!(
                    (&text["type"], &text["from"]),
                    (&json!("shutdown_request"), &json!("team-lead"))
                );
                let text = json!({"type": "shutdown_approved", "requestId": text["requestId"], "from": "pat"});
                json!({"from": "pat", "text": text.to_string(), "timestamp": "2026-01-01T00:00:00.000Z", "read": false})
            }
        };
        stage.put_letter("ann", answer);
        mirror.pass().await.unwrap();
        assert_eq!(stage.n_requests().await, 0, "{layout}: the request is answered");
    }
}

#[tokio::test]
async fn unannounced_changes_are_found_by_polling() {
    let stage = Stage::new(Layout::Seeds).await;
    stage.submit("ann", create("write")).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let kept = tokio_util::task::TaskTracker::new().spawn(mirror.run(stop.clone()));
    stage.change("tasks/crew/task-1.json", &json!({"status": "claimed", "claimed_by": "pat"}));
    let is_held = async || (stage.task(1).await.0 == Status::InProgress).then_some(());
    troop_testkit::wait_for("a claim that is told of", is_held).await;
    // A watch stays with its folder, and does not follow one that takes its place.
    let [folder, other] = ["tasks/crew", "tasks/other"].map(|it| stage.path(it));
    std::fs::create_dir(&other).unwrap();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, other.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::rename(&folder, stage.path("tasks/old")).unwrap();
    std::fs::rename(&other, &folder).unwrap();
    stage.change("tasks/crew/task-1.json", &json!({"status": "done", "result": "written"}));
    let is_done = async || (stage.task(1).await.0 == Status::Completed).then_some(());
    troop_testkit::wait_for("an end that nobody is told of", is_done).await;
    stop.cancel();
    kept.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_keeps_the_id_that_its_writer_gave_it() {
    let stage = Stage::new(Layout::Claude).await;
    let mut mirror = stage.mirror().await;
    mirror.pass().await.unwrap();
    let text = |body: serde_json::Value| {
        json!({"from": body["from"], "text": body.to_string(),
        "timestamp": "2026-01-01T00:00:00.000Z", "read": false})
    };
    let id = "shutdown-1767225600000@pat";
    let asked =
        json!({"type": "shutdown_request", "requestId": id, "from": "team-lead", "reason": "done"});
    stage.put_letter("bob", text(asked.clone()));
    mirror.pass().await.unwrap();
    assert_eq!(stage.n_requests().await, 1);
    let request = stage.board.look(|state| state.requests().next().map(|(id, _)| *id)).await;
    let answer = troop_model::Outgoing {
        request_id: request.unwrap(),
        approve: Some(false),
        ..troop_model::Outgoing::new(
            "ann",
            troop_model::MessageKind::ShutdownResponse,
            "one moment",
        )
    };
    stage.submit("bob", Command::Send(answer)).await;
    mirror.pass().await.unwrap();
    let [answer] = stage.inbox("ann").try_into().unwrap();
    let answer: serde_json::Value = serde_json::from_str(answer["text"].as_str().unwrap()).unwrap();
    assert_eq!((&answer["type"], &answer["requestId"]), (&json!("shutdown_rejected"), &json!(id)));
    // Both use files: the answer has the id that was used there.
    stage.put_letter("pat", text(asked));
    mirror.pass().await.unwrap();
    assert_eq!(stage.n_requests().await, 1);
    let agreed = json!({"type": "shutdown_approved", "requestId": id, "from": "pat"});
    stage.put_letter("ann", text(agreed));
    mirror.pass().await.unwrap();
    assert_eq!(stage.n_requests().await, 0);
    // An answer to an unknown request is passed on unchanged.
    let stray = json!({"type": "shutdown_approved", "requestId": "shutdown-1@eve", "from": "pat"});
    stage.put_letter("ann", text(stray));
    mirror.pass().await.unwrap();
    assert!(
        stage.inbox("ann").last().unwrap()["text"].as_str().unwrap().contains("shutdown-1@eve")
    );
}
