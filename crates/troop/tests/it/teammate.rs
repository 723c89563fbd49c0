//! `troop --mode teammate` over real pipes.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use troop_testkit::{
    mock::{Answer, MockModel},
    wait_for, wait_until_gone,
};

use crate::troop::Troop;

/// A teammate `ann` that is ready and idle.
struct Mate {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Mate {
    fn start(troop: &Troop, agent: &str) -> Self {
        Self::start_with(troop, agent, &[])
    }

    /// Starts it with these environment variables.
    fn start_with(troop: &Troop, agent: &str, environment: &[(&str, &str)]) -> Self {
        let arguments = "--mode teammate --team blue --name ann --lead-session s1 --agent";
        let arguments: Vec<_> = arguments.split(' ').chain([agent]).collect();
        let mut command = troop.command(&arguments);
        command.envs(environment.iter().copied());
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut mate = Self { child, input, output };
        mate.hears("team.ready");
        mate.hears("team.idle");
        mate
    }

    fn say(&mut self, method: &str, params: &Value) {
        let line = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(format!("{line}\n").as_bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn assign(&mut self, description: &str) {
        let task = json!({"id": "task-1", "subject": "x", "description": description});
        self.say("team.assignTask", &json!({ "task": task }));
        assert_eq!(self.hears("team.taskUpdate")["status"], "in_progress");
    }

    /// The next line as bytes; empty at the end.
    fn line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line).unwrap();
        line
    }

    #[track_caller]
    fn hears(&mut self, method: &str) -> Value {
        let line = self.line();
        let mut said: Value = serde_json::from_slice(&line)
            .unwrap_or_else(|_| panic!("no message: {}", String::from_utf8_lossy(&line)));
        assert_eq!(said["method"], method, "{said}");
        said["params"].take()
    }

    /// Starts a command that starts another process, and returns the pid of the latter.
    fn start_family(&mut self) -> String {
        self.assign("sleep 600 & echo $!; wait");
        self.hears("team.log")["text"].as_str().unwrap().to_owned()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    async fn exit(&mut self) -> ExitStatus {
        wait_for("the teammate ends", async || self.child.try_wait().unwrap()).await
    }
}

impl Drop for Mate {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn with_script(script: &str) -> Troop {
    let troop = Troop::new();
    std::fs::write(troop.folder().join("ann.script"), script).unwrap();
    troop
}

#[tokio::test]
async fn a_teammate_sends_its_messages_in_the_documented_order() {
    let troop = Troop::new();
    let mut mate = Mate::start(&troop, "command");
    mate.assign("echo hi");
    assert_eq!(mate.hears("team.log")["text"], "hi");
    let done = json!({"taskId": "task-1", "status": "completed", "result": "hi"});
    assert_eq!(mate.hears("team.taskUpdate"), done);
    assert_eq!(mate.hears("team.idle"), json!({"lastTask": "task-1"}));
    mate.say("team.shutdown", &json!({"reason": "enough"}));
    assert_eq!(mate.hears("team.shutdownAck"), json!({}));
    assert_eq!(mate.line(), b"");
    assert_eq!(mate.exit().await.code(), Some(0));
}

#[tokio::test]
async fn a_teammate_without_its_lead_ends_with_its_processes() {
    let troop = Troop::new();
    let mut mate = Mate::start(&troop, "command");
    let grandchild = mate.start_family();
    drop(mate.input.take());
    assert_eq!(mate.exit().await.code(), Some(0));
    wait_until_gone(&grandchild).await;
}

#[tokio::test]
async fn a_terminated_teammate_ends_with_its_processes() {
    let troop = Troop::new();
    let mut mate = Mate::start(&troop, "command");
    let grandchild = mate.start_family();
    mate.signal(Signal::TERM);
    assert_eq!(mate.exit().await.code(), Some(143));
    wait_until_gone(&grandchild).await;
}

#[tokio::test]
async fn an_interrupted_teammate_lives_on() {
    let troop = Troop::new();
    let mut mate = Mate::start(&troop, "command");
    let grandchild = mate.start_family();
    mate.say("turn/interrupt", &json!({"reason": "wait"}));
    wait_until_gone(&grandchild).await;
    mate.say("team.shutdown", &json!({}));
    assert_eq!(mate.hears("team.taskUpdate")["status"], "pending");
    mate.hears("team.shutdownAck");
    assert_eq!(mate.exit().await.code(), Some(0));
}

#[test]
fn garbage_from_the_lead_is_skipped() {
    let troop = Troop::new();
    let mut mate = Mate::start(&troop, "command");
    mate.write(b"\xff\xfe\n\nhello\n[]\n{\"method\":\"no.such\"}\n");
    mate.assign("true");
    assert_eq!(mate.hears("team.taskUpdate")["result"], "exit code 0");
}

#[test]
fn a_foreign_lead_drives_our_teammate() {
    let troop = Troop::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/teammate_lead.py");
    let mut python = Command::new("python3");
    let python = python.args([script, env!("CARGO_BIN_EXE_troop")]).arg(troop.folder());
    let output = python.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "served\n", "{error}");
}

#[tokio::test]
async fn the_built_in_agent_works_for_a_lead_that_knows_only_the_table() {
    let troop = Troop::new();
    let mock = MockModel::start(|seen| match seen.messages().len() {
        1 => Answer::calls([
            ("SendMessage", json!({"to": "bob", "message": "I begin"})),
            ("Bash", json!({"command": "touch made.txt"})),
        ]),
        _ => Answer::text("as far as I may"),
    })
    .await;
    let key = [("ANTHROPIC_BASE_URL", mock.url()), ("ANTHROPIC_API_KEY", "k".to_owned())];
    let key: Vec<_> = key.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut mate = Mate::start_with(&troop, "builtin", &key);
    let others = json!({"id": "task-9", "subject": "paint the fence", "owner": "bob", "status": "in_progress"});
    mate.say("team.updateContext", &json!({"tasks": [others]}));
    mate.assign("make something");
    // It blocks until the end, so another thread reads.
    let (mate, said) = tokio::task::spawn_blocking(move || {
        let mut said: Vec<Value> = Vec::new();
        while said.last().is_none_or(|it| it["method"] != "team.idle") {
            said.push(serde_json::from_slice(&mate.line()).unwrap());
        }
        (mate, said)
    })
    .await
    .unwrap();
    assert!(said.iter().all(|it| it.get("id").is_none()), "it asks for no answers: {said:#?}");
    let params = |method: &str| {
        let found = said.iter().find(|it| it["method"] == method);
        found.map(|it| it["params"].clone()).unwrap_or_default()
    };
    let message = params("team.message");
    assert_eq!(
        (&message["to"], &message["content"]),
        (&json!("bob"), &json!("I begin")),
        "{said:#?}"
    );
    let done = params("team.taskUpdate");
    assert_eq!(
        (&done["status"], &done["result"]),
        (&json!("completed"), &json!("as far as I may"))
    );
    let warns = |it: &Value| {
        let text = it["params"]["text"].as_str().unwrap_or_default();
        it["method"] == "team.log" && it["params"]["level"] == "warn" && text.contains("cannot ask")
    };
    assert!(said.iter().any(warns), "people see why the tool was refused: {said:#?}");
    assert!(!troop.folder().join("made.txt").exists());
    let asked = mock.requests();
    let first = asked[0].body.to_string();
    for part in ["a member of the team `blue`", "paint the fence", "in_progress, bob"] {
        assert!(first.contains(part), "`{part}`: {first}");
    }
    assert!(!first.contains("NOT part of any team"), "{first}");
    drop(mate);
}

#[test]
fn wrong_arguments_of_a_teammate_are_refused() {
    let troop = Troop::new();
    for (line, message) in [
        ("--mode teammate --team blue", "a teammate needs `--agent`"),
        (
            "--mode teammate --team blue --agent x --name n --lead-session s",
            "there is no agent `x`",
        ),
        (
            "--mode teammate --team blue --agent command --name n --lead-session s --path /nowhere",
            "the working folder `/nowhere` cannot be used",
        ),
        (
            "--mode teammate --team blue --agent script:no.script --name n --lead-session s",
            "no.script` cannot be read",
        ),
    ] {
        let (code, error) = troop.refused(line);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(message), "{error}");
    }
}

#[tokio::test]
async fn a_teammate_may_be_started_with_its_base_directory() {
    let troop = Troop::new();
    let team = troop.folder().join("base/teams/blue");
    std::fs::create_dir_all(&team).unwrap();
    let config = r#"{"members": [{"name": "ann", "agentType": "command"}]}"#;
    std::fs::write(team.join("config.json"), config).unwrap();
    let run = troop.succeed("--teammate --team blue --agent ann --base-dir base");
    let ready = run.out.lines().next().unwrap();
    assert!(ready.contains(r#""method":"team.ready","params":{"name":"ann""#), "{ready}");
}

#[tokio::test]
async fn a_script_can_kill_its_own_teammate_on_the_first_attempt_only() {
    let script = "when task *\n  on attempt 1\n    run kill -9 $PPID\n  complete second time";
    let troop = with_script(script);
    let mut mate = Mate::start(&troop, "script:ann.script");
    mate.assign("");
    assert_eq!(mate.line(), b"");
    assert_eq!(mate.exit().await.signal(), Some(9));
    let mut mate = Mate::start(&troop, "script:ann.script");
    let task = json!({"id": "task-1", "subject": "x", "attempt": 2});
    mate.say("team.assignTask", &json!({ "task": task }));
    mate.hears("team.taskUpdate");
    assert_eq!(mate.hears("team.taskUpdate")["result"], "second time");
}

#[test]
fn an_agent_of_the_project_is_found_by_its_name() {
    let troop = with_script("when task *\n  complete by script");
    let agents = troop.folder().join(".troop/agents");
    std::fs::create_dir_all(&agents).unwrap();
    std::fs::write(
        agents.join("a.md"),
        "---\nname: actor\nagent: script\nscript: ann.script\n---\n",
    )
    .unwrap();
    std::fs::write(agents.join("b.md"), "---\nname: foreign\nprogram: [python3, x.py]\n---\n")
        .unwrap();
    std::fs::write(agents.join("c.md"), "---\nname: thinker\n---\n").unwrap();
    let mut mate = Mate::start(&troop, "actor");
    mate.assign("");
    assert_eq!(mate.hears("team.taskUpdate")["result"], "by script");
    for (agent, message) in [
        (
            "nobody",
            "there is no agent `nobody`; the agents are: `builtin`, `command`, `script:FILE`, `actor`, `foreign`, `thinker`",
        ),
        (
            "foreign",
            "`foreign` is another program; its lead starts `python3 x.py` instead of troop",
        ),
        ("thinker", "the agent `builtin` has no model to use"),
        ("script", "which script? write `script:FILE`"),
    ] {
        let (_, error) = troop.refused(&format!(
            "--mode teammate --team t --name n --lead-session s --agent {agent}"
        ));
        assert!(error.contains(message), "{error}");
    }
}
