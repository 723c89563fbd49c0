//! Teams in files: `troop team mirror`, and the readable files of a `files:` store.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::troop::{Printing, Troop};

/// A program that only knows the files.
fn program(folder: &Path, member: &str, act: &[&str]) -> Child {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../troop-runtime/tests/it/mirror/member.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(folder).args(["blue", "seeds", member]).args(act);
    python.stdout(Stdio::piped()).spawn().unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn change(path: &Path, change: &Value) {
    let mut file = read(path);
    for (key, value) in change.as_object().unwrap() {
        file[key] = value.clone();
    }
    fs::write(path, file.to_string()).unwrap();
}

#[test]
fn a_files_store_is_readable_and_writable_without_a_daemon() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("shared");
    let troop = Troop::on(&format!("files:{}", folder.display()));
    troop.ok("team create blue --member pat=external --member quin=external");
    let config = read(&folder.join("teams/blue/config.json"));
    assert_eq!(config["members"].as_array().unwrap().len(), 3);
    troop.ok("task create parse");
    let task = folder.join("tasks/blue/task-1.json");
    assert_eq!(read(&task)["status"], "pending");
    change(&task, &json!({"status": "claimed", "claimed_by": "pat"}));
    assert_eq!(troop.json("task get 1")["owner"], "pat");
    change(&task, &json!({"status": "done", "result": "parsed"}));
    assert_eq!(troop.json("task get 1")["result"], "parsed");
    assert_eq!(read(&task)["status"], "completed");
    // A new task, a message, a member.
    let new = json!({"id": "docs", "subject": "write docs"});
    fs::write(folder.join("tasks/blue/docs.json"), new.to_string()).unwrap();
    assert!(troop.ok("task list").contains("write docs"));
    let letter = json!({"from": "pat", "to": "quin", "type": "direct", "content": "your turn"});
    fs::write(folder.join("teams/blue/inbox/quin/hello.json"), letter.to_string()).unwrap();
    assert!(troop.ok("--as quin message read").contains("your turn"));
    assert!(!folder.join("teams/blue/inbox/quin/hello.json").exists(), "it was read");
    troop.ok("message send pat 'well done'");
    let inbox = fs::read_dir(folder.join("teams/blue/inbox/pat")).unwrap();
    let [letter] = inbox.map(|it| it.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(read(&letter)["content"], "well done");
    fs::remove_file(letter).unwrap();
    assert_eq!(troop.json("--as pat message read")["messages"], json!([]), "it was taken");
    troop.ok("team delete blue");
    assert!(!folder.join("tasks/blue").exists() && !folder.join("teams/blue").exists());
}

#[test]
fn a_files_store_can_use_the_layout_of_claude_code() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("shared");
    let troop = Troop::on(&format!("files:{}?layout=claude", folder.display()));
    troop.ok("team create blue --member pat=external");
    troop.ok("task create parse");
    let task = folder.join("tasks/blue/1.json");
    assert_eq!(read(&task)["id"], "1");
    assert_eq!(fs::read_to_string(folder.join("tasks/blue/.highwatermark")).unwrap(), "1");
    let config = read(&folder.join("teams/blue/config.json"));
    assert_eq!(config["leadAgentId"], "team-lead@blue");
    change(&task, &json!({"status": "in_progress", "owner": "pat"}));
    assert_eq!(troop.json("task get 1")["owner"], "pat");
    let (code, err) =
        Troop::on(&format!("files:{}?layout=mine", folder.display())).refused("team list");
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("there is no layout `mine`") && err.contains("?layout=claude"), "{err}");
}

#[test]
fn a_command_warns_about_invalid_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("shared");
    let troop = Troop::on(&format!("files:{}", folder.display()));
    troop.ok("team create blue --member pat=external");
    troop.ok("task create parse");
    fs::write(folder.join("tasks/blue/odd.json"), "[]").unwrap();
    let run = troop.succeed("task list");
    assert_eq!(
        run.err,
        "warning: what was written to `tasks/blue/odd.json` was refused: it holds an array, not an object\n"
    );
    assert_eq!(troop.run("task list").err, "", "once");
    // A store with the other layout does not take over the folder.
    let other = Troop::on(&format!("files:{}?layout=claude", folder.display()));
    let run = other.succeed("task create read");
    assert!(run.err.starts_with("warning: the team's files are left unchanged: "), "{run:?}");
    assert!(run.err.contains("in the layout `seeds`"), "{run:?}");
    assert!(
        !folder.join("tasks/blue/1.json").exists() && !folder.join("teams/blue/inboxes").exists()
    );
    assert!(troop.ok("task list").contains("read"));
    assert!(folder.join("tasks/blue/task-2.json").exists());
}

#[test]
fn a_mirror_that_runs_once_takes_writes_and_reports() {
    let troop = Troop::with_team();
    let folder = troop.folder().join("shared");
    let mirror = format!("team mirror {} --once", folder.display());
    troop.ok("task create parse");
    assert_eq!(troop.ok(&mirror), "");
    let task = folder.join("tasks/blue/task-1.json");
    change(&task, &json!({"status": "claimed", "claimed_by": "ann"}));
    assert_eq!(troop.ok(&mirror), "taken: tasks/blue/task-1.json: task-1 was claimed by ann\n");
    change(&task, &json!({"claimed_by": "bob"}));
    let told: Value = serde_json::from_str(&troop.ok(&format!("{mirror} --json"))).unwrap();
    assert_eq!(
        (&told["kind"], &told["path"]),
        (&json!("refused"), &json!("tasks/blue/task-1.json"))
    );
    assert!(told["what"].as_str().unwrap().contains("ann has held it"), "{told}");
    assert_eq!(read(&task)["claimed_by"], "ann");
}

#[test]
fn a_killed_mirror_neither_loses_nor_repeats_changes() {
    const N_MESSAGES: usize = 60;
    let troop = Troop::new();
    let folder = troop.folder().join("shared");
    troop.ok("team create blue --member pat=external --member quin=external --member bob=command");
    for nth in 0..20 {
        troop.ok(&format!("task create 'task {nth}'"));
    }
    troop.ok(&format!("team mirror {} --once", folder.display()));
    fs::create_dir_all(folder.join("teams/blue/inbox/bob")).unwrap();
    let start = || Printing::new(troop.start(&format!("team mirror {}", folder.display())));
    let mut mirror = start();
    mirror.wait_for("mirroring to");
    let n_messages = N_MESSAGES.to_string();
    let programs = [
        program(&folder, "pat", &["send", "bob", &n_messages]),
        program(&folder, "quin", &["send", "bob", &n_messages]),
        program(&folder, "pat", &["claim", "20"]),
        program(&folder, "quin", &["claim", "20"]),
    ];
    for _ in 0..3 {
        mirror.wait_for("taken");
        mirror.signal(Signal::KILL);
        drop(mirror);
        mirror = start();
        mirror.wait_for("mirroring to");
    }
    let mut claimed = Vec::new();
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success());
        let tasks: Vec<String> = serde_json::from_slice(&output.stdout).unwrap_or_default();
        claimed.extend(tasks);
    }
    assert_eq!(claimed.len(), 20, "each was claimed once: {claimed:?}");
    mirror.signal(Signal::TERM);
    assert_eq!(mirror.end().code, 0);
    troop.ok(&format!("team mirror {} --once", folder.display()));
    let messages = troop.json("--as bob message read");
    let mut contents: Vec<_> =
        messages["messages"].as_array().unwrap().iter().map(|it| it["content"].clone()).collect();
    assert_eq!(contents.len(), 2 * N_MESSAGES, "none is lost or doubled");
    contents.sort_by_key(ToString::to_string);
    contents.dedup();
    assert_eq!(contents.len(), 2 * N_MESSAGES, "each is another");
    let status = troop.json("team status");
    assert_eq!(status["tasks"]["in_progress"], 20, "{status}");
}

#[tokio::test]
async fn a_lead_works_with_a_program_that_knows_only_the_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("shared");
    let troop = Troop::on(&format!("files:{}", folder.display()));
    let script = "when started\n  call task/create {\"subject\": \"write\"}\n  call task/create {\"subject\": \"read\"}\n  wait until all tasks are done\n  message user all is done\n";
    fs::write(troop.folder().join("lead.script"), script).unwrap();
    let run = "--team blue run work --agent script:lead.script -m pat=external";
    let mut lead = Printing::new(troop.start(run));
    lead.wait_for("read");
    let claimed = program(&folder, "pat", &["claim", "2"]).wait_with_output().unwrap();
    assert!(claimed.status.success());
    let claimed: Vec<String> = serde_json::from_slice(&claimed.stdout).unwrap();
    assert_eq!(claimed.len(), 2);
    for id in claimed {
        let task = folder.join(format!("tasks/blue/{id}.json"));
        let is_held = async || (read(&task)["status"] == "in_progress").then_some(());
        troop_testkit::wait_for("it is held", is_held).await;
        change(&task, &json!({"status": "done", "result": "by hand"}));
    }
    let ended = lead.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    let tasks = troop.json("task list --status all");
    assert!(tasks["tasks"].as_array().unwrap().iter().all(|it| it["owner"] == "pat"), "{tasks}");
    let (_, err) = troop.refused("member spawn quin=external");
    assert!(err.contains("troop member add"), "{err}");
}
