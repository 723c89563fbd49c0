//! The real Claude Code and troop in one team, through its files. `cargo xtask test` installs the client.
//!
//! A mock model on loopback tells the client what to do. The client runs in a network namespace with nothing else in it. If
//! that is not allowed here, or the client is missing, these tests fail and say what to do: a silent skip would prove
//! nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use troop_testkit::{
    mock::{Answer, MockModel, MockRequest},
    repository, wait_for,
};

use crate::troop::{Printing, Troop};

/// Set in the process that runs in a network namespace.
const ALONE: &str = "TROOP_TEST_ALONE";

/// Runs a test in a network namespace: it starts this very test again in another process.
fn alone<F: Future<Output = ()>>(test: &str, play: impl FnOnce() -> F) {
    if std::env::var_os(ALONE).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(play());
    }
    let up = "ip link set lo up";
    // Without root, a user namespace may help.
    let found = [&["--net"][..], &["--net", "--map-root-user"]].into_iter().find(|own| {
        let tried = Command::new("unshare").args(*own).args(["sh", "-c", up]).output();
        tried.is_ok_and(|output| output.status.success())
    });
    let own = found.expect("a network namespace can be made: `unshare --net` and `ip` are needed, and the right to use them");
    let status = Command::new("unshare")
        .args(own)
        .args(["sh", "-c", &format!("{up} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .status()
        .unwrap();
    assert!(status.success(), "in its network namespace: {status}");
}

/// A home folder for the client, and its model.
struct Home {
    folder: PathBuf,
    model: MockModel,
}

/// The running client, on a separate terminal. It is killed on drop.
struct Client(Child);

impl Home {
    async fn new(
        folder: &Path,
        script: impl FnMut(&MockRequest) -> Answer + Send + 'static,
    ) -> Self {
        let folder = folder.join("client");
        let model = MockModel::start(script).await;
        let work = folder.join("work");
        fs::create_dir_all(&work).unwrap();
        // The answers to what it asks at its first start.
        let known = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {work.to_str().unwrap(): {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
        });
        fs::write(folder.join(".claude.json"), known.to_string()).unwrap();
        Self { folder, model }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(".claude").join(path)
    }

    fn read(&self, path: &str) -> Option<Value> {
        // It writes some files in place, so a read may find half of one.
        serde_json::from_slice(&fs::read(self.path(path)).ok()?).ok()
    }

    fn start(&self, arguments: &str) -> Client {
        let program = repository().join("target/claude-code/node_modules/.bin/claude");
        assert!(program.exists(), "Claude Code is not there; `cargo xtask test` installs it");
        let line = format!("{} --permission-mode bypassPermissions {arguments}", program.display());
        let mut script = Command::new("script");
        script.args(["-qfec", &line]).arg(self.folder.join("screen"));
        script.current_dir(self.folder.join("work")).env_clear();
        for (name, value) in [
            ("HOME", self.folder.to_str().unwrap()),
            ("PATH", "/usr/bin:/bin"),
            ("TERM", "xterm-256color"),
            ("SHELL", "/bin/sh"),
            ("ANTHROPIC_BASE_URL", &self.model.url()),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("IS_SANDBOX", "1"),
        ] {
            script.env(name, value);
        }
        // It reads from its terminal, so the input must stay open.
        script.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Client(script.spawn().unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // This ends the terminal, which ends the client.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// How many answers the model has given in this conversation.
fn n_said(seen: &MockRequest) -> usize {
    seen.messages().iter().filter(|it| it["role"] == "assistant").count()
}

/// The model of a teammate: it claims a task, makes another and completes both, tells the lead, and stops when asked to.
fn teammate(seen: &MockRequest) -> Answer {
    let last = seen.last();
    if !seen.tools().iter().any(|it| it == "SendMessage") {
        return Answer::text("ok");
    }
    let asked = last.split_once("\"requestId\":\"").filter(|_| last.contains("shutdown_request"));
    if let Some((_, rest)) = asked {
        let id = rest.split('"').next().unwrap();
        let agreed = json!({"type": "shutdown_response", "request_id": id, "approve": true});
        return Answer::call("SendMessage", &json!({"to": "team-lead", "message": agreed}));
    }
    match n_said(seen) {
        // The assignment must be the first thing that it hears.
        0 if !last.contains("task_assignment") => Answer::text("I was told nothing"),
        0 => {
            let claim = json!({"taskId": "1", "status": "in_progress", "owner": "bob"});
            Answer::call("TaskUpdate", &claim)
        }
        1 => {
            let task = json!({"subject": "read it again", "description": "with fresh eyes"});
            Answer::call("TaskCreate", &task)
        }
        2 => {
            let done = json!({"taskId": "2", "status": "completed", "owner": "bob"});
            Answer::call("TaskUpdate", &done)
        }
        3 => Answer::call("TaskUpdate", &json!({"taskId": "1", "status": "completed"})),
        4 => {
            let done = json!({"to": "team-lead", "summary": "done", "message": "task 1 is done"});
            Answer::call("SendMessage", &done)
        }
        _ => Answer::text("there is nothing else"),
    }
}

#[test]
fn the_real_claude_code_works_as_a_teammate() {
    alone("claude::the_real_claude_code_works_as_a_teammate", || async {
        let troop = Troop::new();
        let home = Home::new(troop.folder(), teammate).await;
        let script = "when started\n  call task/create {\"subject\": \"write it\", \"assignee\": \"bob\"}\n  \
                      wait until all tasks are done\n  \
                      call message/send {\"to\": \"bob\", \"kind\": \"shutdown_request\", \"content\": \"all is done\"}\n";
        fs::write(troop.folder().join("lead.script"), script).unwrap();
        let run = "--team crew run 'write it' --agent script:lead.script -m bob=external";
        let mut lead = Printing::new(troop.start(run));
        lead.wait_for("write it");
        let shared = home.path("");
        let mirror = format!("--team crew team mirror {} --layout claude", shared.display());
        let mut mirror = Printing::new(troop.start(&mirror));
        mirror.wait_for("mirroring to");
        wait_for("the client's file of the team", async || {
            home.read("teams/crew/config.json").map(drop)
        })
        .await;
        assert!(home.path("tasks/crew/.lock").is_file(), "the client makes tasks under its lock");
        let arguments = "--agent-id bob@crew --agent-name bob --team-name crew --agent-color blue --agent-type general-purpose";
        let mut client = home.start(arguments);
        let has_ended = async || client.0.try_wait().unwrap();
        let status = wait_for("the client stops when it is asked to", has_ended).await;
        assert!(status.success(), "{status}");
        let ended = tokio::task::spawn_blocking(|| lead.end()).await.unwrap();
        assert_eq!(ended.code, 0, "{ended:?}");
        wait_for("bob has stopped", async || {
            let members = troop.json("--team crew member list");
            let members = members["members"].as_array().unwrap().clone();
            members.iter().find(|it| it["name"] == "bob" && it["state"] == "stopped").map(drop)
        })
        .await;
        mirror.signal(Signal::TERM);
        let told = mirror.end();
        assert!(!told.out.contains("refused"), "{}", told.out);
        let task = troop.json("--team crew task get 1");
        assert_eq!((&task["status"], &task["owner"]), (&json!("completed"), &json!("bob")));
        // A task that the client made in troop's folder is a task like any other.
        let made = troop.json("--team crew task get 2");
        assert_eq!(made["subject"], "read it again");
        assert_eq!((&made["status"], &made["owner"]), (&json!("completed"), &json!("bob")));
        let log = troop.ok("--team crew events --json");
        let events: Vec<Value> = log.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
        let by_bob = |kind: &str| {
            let mut events = events.iter();
            events.any(|it| it["kind"] == kind && it["actor"]["name"] == "bob")
        };
        assert!(by_bob("task.claimed") && by_bob("task.completed") && by_bob("message.read"));
        let said = events.iter().filter(|it| it["from"] == "bob" && it["kind"] == "message.sent");
        let said: Vec<_> = said.map(|it| (&it["message_kind"], &it["content"])).collect();
        assert!(said.contains(&(&json!("message"), &json!("task 1 is done"))), "{said:?}");
        assert!(said.iter().any(|(kind, _)| *kind == "shutdown_response"), "{said:?}");
    });
}

/// How often a teammate repeats a message: the client may take one before troop has seen it.
const N_TIMES: usize = 10;

/// The model of a lead and its teammates. The lead makes a team, two tasks and two teammates, and tells one of them what to
/// begin with. That one never answers, so that the message stays in its inbox; the other sends a message when asked to.
fn lead(seen: &MockRequest) -> Answer {
    let tools = seen.tools();
    let has = |tool: &str| tools.iter().any(|it| it == tool);
    if !has("SendMessage") {
        return Answer::text("ok");
    }
    let nth = n_said(seen);
    let said = Value::Array(seen.messages()).to_string();
    if !has("TeamCreate") {
        let hello = json!({"to": "team-lead", "summary": "hello", "message": "bea is here"});
        return match said.contains("speak up") {
            _ if said.contains("think about it") => Answer::Hang,
            true if nth <= N_TIMES => Answer::call("SendMessage", &hello),
            true | false => Answer::text("I wait"),
        };
    }
    let steps = [
        ("TeamCreate", json!({"team_name": "my-team", "description": "two tasks"})),
        ("TaskCreate", json!({"subject": "Task A", "description": "the first"})),
        ("TaskCreate", json!({"subject": "Task B", "description": "the second"})),
        ("TaskUpdate", json!({"taskId": "2", "addBlockedBy": ["1"]})),
        ("Agent", helper("ann", "think about it")),
        ("Agent", helper("bea", "wait for me")),
        ("TaskUpdate", json!({"taskId": "1", "owner": "ann", "status": "in_progress"})),
        ("SendMessage", json!({"to": "ann", "summary": "go", "message": "begin with task 1"})),
    ];
    let said = || Answer::text("all is said");
    steps.get(nth).map_or_else(said, |(name, input)| Answer::call(name, input))
}

fn helper(name: &str, prompt: &str) -> Value {
    json!({"team_name": "my-team", "name": name, "description": "a helper", "prompt": prompt,
        "subagent_type": "general-purpose"})
}

#[test]
fn a_team_made_by_the_real_claude_code_is_read() {
    alone("claude::a_team_made_by_the_real_claude_code_is_read", || async {
        let troop = Troop::new();
        let home = Home::new(troop.folder(), lead).await;
        let _client = home.start("'make a team'");
        wait_for("mail for ann", async || {
            let inbox = home.read("teams/my-team/inboxes/ann.json")?;
            inbox.as_array()?.iter().any(|it| it["summary"] == "go").then_some(())
        })
        .await;
        troop.ok("team create my-team");
        let mirror = format!("team mirror {} --layout claude", home.path("").display());
        let told = troop.ok(&format!("{mirror} --once"));
        assert!(!told.contains("refused"), "{told}");
        let members = troop.json("member list");
        let ann = members["members"].as_array().unwrap().iter().find(|it| it["name"] == "ann");
        assert_eq!(ann.unwrap()["agent"], "external");
        assert_eq!(ann.unwrap()["expertise"], "general-purpose");
        let [first, second] = [1, 2].map(|it| troop.json(&format!("task get {it}")));
        assert_eq!(
            (&first["subject"], &first["status"]),
            (&json!("Task A"), &json!("in_progress"))
        );
        assert_eq!((&first["owner"], &first["description"]), (&json!("ann"), &json!("the first")));
        assert_eq!((&second["subject"], &second["status"]), (&json!("Task B"), &json!("blocked")));
        assert_eq!(second["blocked_by"], json!([1]));
        let mut mirror = Printing::new(troop.start(&mirror));
        mirror.wait_for("mirroring to");
        troop.ok("--as lead message send bea 'please speak up'");
        for (from, to, content) in
            [("bea", "lead", "bea is here"), ("lead", "ann", "begin with task 1")]
        {
            wait_for(&format!("{from} says: {content}"), async || {
                let log = troop.ok("events --json");
                let mut log = log.lines().map(|it| serde_json::from_str::<Value>(it).unwrap());
                log.find(|it| it["from"] == from && it["to"] == to && it["content"] == content)
            })
            .await;
        }
        // The file is still the client's, and shows the state of the board.
        troop.ok("--as ann task complete 1 --result 'all of it'");
        wait_for("the client's file says so", async || {
            let task = home.read("tasks/my-team/1.json")?;
            (task["status"] == "completed" && task["blocks"] == json!(["2"])).then_some(())
        })
        .await;
        mirror.signal(Signal::TERM);
        let told = mirror.end();
        assert!(!told.out.contains("refused"), "{}", told.out);
    });
}
