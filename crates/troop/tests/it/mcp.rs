//! The MCP server as a client sees it: a process and lines of JSON, without our own client code.

mod clients;
mod conformance;
mod http;
mod install;
mod leading;
mod mail;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc,
    time::Duration,
};

use serde_json::{Value, json};

use crate::troop::{Printing, Troop};

/// Much longer than any wait should take, so that only a missing answer fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// A client of a running server.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    n_asked: u64,
    /// Messages that were not answers.
    heard: Vec<Value>,
}

impl Client {
    pub(crate) fn start(troop: &Troop, arguments: &str) -> Self {
        let words: Vec<_> = ["mcp"].into_iter().chain(arguments.split_whitespace()).collect();
        let mut command = troop.command(&words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let mut client = Self { child, input, lines, n_asked: 0, heard: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
        });
        let said = client.ask("initialize", &hello);
        assert_eq!(said["serverInfo"]["name"], "troop");
        assert_eq!(said["protocolVersion"], "2025-06-18");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and waits for its answer; other messages are kept for later.
    #[track_caller]
    fn respond(&mut self, method: &str, params: &Value) -> Value {
        self.n_asked += 1;
        let id = self.n_asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let said = self.lines.recv_timeout(PATIENCE);
            let said = said.unwrap_or_else(|_| panic!("`{method}` was never answered"));
            if said["id"] == json!(id) {
                return said;
            }
            self.heard.push(said);
        }
    }

    #[track_caller]
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let mut said = self.respond(method, params);
        assert_eq!(said["error"], Value::Null, "{method}: {said}");
        said["result"].take()
    }

    /// The texts in the result of a tool call.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Vec<String> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], false, "{tool}: {result}");
        texts(&result)
    }

    /// The error of a tool call that must fail.
    #[track_caller]
    pub(crate) fn told(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        texts(&result).remove(0)
    }

    fn tools(&mut self) -> Vec<String> {
        let tools = self.ask("tools/list", &json!({}));
        let tools = tools["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The text of a resource.
    #[track_caller]
    pub(crate) fn read(&mut self, uri: &str) -> String {
        let read = self.ask("resources/read", &json!({"uri": uri}));
        read["contents"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Waits for a certain notification.
    #[track_caller]
    fn hear(&mut self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(nth) = self.heard.iter().position(&is_meant) {
            return self.heard.remove(nth);
        }
        loop {
            let said = self.lines.recv_timeout(PATIENCE);
            let said = said.unwrap_or_else(|_| panic!("never heard: {what}"));
            if is_meant(&said) {
                return said;
            }
            self.heard.push(said);
        }
    }

    /// Closes the input, as a client should, and waits for the end of the server.
    fn leave(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn texts(result: &Value) -> Vec<String> {
    let content = result["content"].as_array().unwrap().iter();
    content.map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_client_is_shown_the_tools_of_its_member() {
    let troop = Troop::with_team();
    assert_eq!(
        Client::start(&troop, "--as lead").tools(),
        ["team_tasks", "team_message", "team_workspace", "spawn"]
    );
    assert_eq!(
        Client::start(&troop, "--as ann").tools(),
        ["team_tasks", "team_message", "team_workspace"]
    );
    let claude = Client::start(&troop, "--as ann --dialect claude").tools();
    assert_eq!(
        claude,
        ["TaskUpdate", "TaskList", "TaskGet", "SendMessage", "Broadcast"],
        "in this team the lead creates tasks"
    );
    troop.ok("team set task_creation=members");
    let claude = Client::start(&troop, "--as ann --dialect claude").tools();
    assert_eq!(claude[0], "TaskCreate");
}

#[test]
fn a_malformed_request_is_answered_with_its_parameters() {
    let troop = Troop::with_team();
    let mut ann = Client::start(&troop, "--as ann");
    for (method, params, code, said) in [
        ("tools/call", json!({"name": 5}), -32602, "`tools/call` needs `name`, a text"),
        ("resources/read", json!({}), -32602, "`resources/read` needs `uri`, a text"),
        ("tools/dance", json!({}), -32601, "tools/dance"),
    ] {
        let error = &ann.respond(method, &params)["error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().starts_with(said), "{error}");
    }
}

#[test]
fn tools_work_on_the_shared_board() {
    let troop = Troop::with_team();
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let said = lead.call("TaskCreate", &json!({"subject": "Write"}));
    assert_eq!(said, ["Task #1 created successfully: Write"]);
    troop.ok("task claim 1 --as ann");
    assert_eq!(lead.call("TaskList", &json!({})), ["#1 [in_progress] Write (ann)"]);
    let task = troop.json("task get 1");
    assert_eq!((&task["created_by"], &task["owner"]), (&json!("lead"), &json!("ann")));
    let told = lead.told("TaskUpdate", &json!({"taskId": "1", "status": "completed"}));
    assert_eq!(
        told,
        "task-1 is not held by `lead` but by `ann`\nhint: leave it to `ann`; the lead can release it and give it to somebody else"
    );
    let told = lead.told("TaskGet", &json!({"task": "1"}));
    assert!(told.starts_with("`TaskGet` has no field `task`; did you mean"), "{told}");
    let told = lead.told("Frobnicate", &json!({}));
    assert!(told.starts_with("there is no tool `Frobnicate`\nhint: "), "{told}");
    lead.leave();
}

#[test]
fn a_silent_connected_client_keeps_its_task() {
    let troop = Troop::with_team();
    troop.ok("team set lease_seconds=1");
    troop.ok("task create Write");
    let mut events = Printing::new(troop.start("events --follow"));
    let mut ann = Client::start(&troop, "--as ann");
    ann.call("team_tasks", &json!({"action": "claim"}));
    for _ in 0..4 {
        events.wait_for("task.renewed");
    }
    let task = troop.json("task get 1");
    assert_eq!((&task["owner"], &task["attempts"]), (&json!("ann"), &json!(1)));
    ann.leave();
}

#[test]
fn resources_and_prompts_can_be_read() {
    let troop = Troop::with_team();
    troop.ok("task create Write");
    troop.ok("message send ann 'hello'");
    let mut ann = Client::start(&troop, "--as ann");
    let listed = ann.ask("resources/list", &json!({}));
    let uris: Vec<_> =
        listed["resources"].as_array().unwrap().iter().map(|it| it["uri"].clone()).collect();
    assert_eq!(uris, ["troop://board", "troop://mailbox", "troop://TEAM.md"]);
    let templates = ann.ask("resources/templates/list", &json!({}));
    let templates = templates["resourceTemplates"].as_array().unwrap().iter();
    let templates: Vec<_> = templates.map(|it| it["uriTemplate"].clone()).collect();
    assert_eq!(templates, ["troop://board/{page}", "troop://task/{number}"]);
    let mut read = |uri: &str| ann.read(uri);
    let json = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    assert_eq!(json(read("troop://board"))["tasks"][0]["subject"], "Write");
    assert_eq!(json(read("troop://task/1"))["subject"], "Write");
    assert_eq!(json(read("troop://mailbox"))["messages"][0]["content"], "hello");
    assert!(read("troop://TEAM.md").contains("blue"));
    for nth in 2..=31 {
        troop.ok(&format!("task create T{nth}"));
    }
    let first = json(read("troop://board"));
    assert_eq!((&first["tasks"].as_array().unwrap().len(), &first["pages"]), (&30, &json!(2)));
    assert_eq!(json(read("troop://board/1")), first);
    let second = json(read("troop://board/2"));
    assert_eq!(second["tasks"].as_array().unwrap().len(), 1, "{second}");
    for uri in ["troop://board/0", "troop://board/x"] {
        let missing = ann.respond("resources/read", &json!({"uri": uri}));
        assert_eq!(missing["error"]["message"], format!("there is no `{uri}`"));
        assert_eq!(missing["error"]["data"]["uri"], uri);
    }
    let missing = ann.respond("resources/read", &json!({"uri": "troop://task/99"}));
    assert!(missing["error"]["message"].as_str().unwrap().contains("there is no task `task-99`"));
    let prompts = ann.ask("prompts/list", &json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 2);
    let lead = ann.ask("prompts/get", &json!({"name": "lead", "arguments": {"goal": "Ship it"}}));
    let text = lead["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("The goal: Ship it") && text.contains("blue"), "{text}");
    let missing = ann.respond("prompts/get", &json!({"name": "lead"}));
    assert_eq!(missing["error"]["message"], "the prompt `lead` needs `goal`");
}

#[test]
fn team_md_shows_the_team_at_the_time_of_reading() {
    let troop = Troop::with_team();
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let mut ann = Client::start(&troop, "--as ann");
    assert!(!lead.read("troop://TEAM.md").contains("carol"));
    lead.ask("resources/subscribe", &json!({"uri": "troop://TEAM.md"}));
    troop.ok("member add carol=claude --expertise 'knows the database'");
    let updated = |it: &Value| it["method"] == "notifications/resources/updated";
    assert_eq!(lead.hear("a change of the team", updated)["params"]["uri"], "troop://TEAM.md");
    let team_md = lead.read("troop://TEAM.md");
    assert_eq!(team_md, troop.ok("team show --team-md"), "a person is shown the same");
    assert!(team_md.contains("# Team blue\n"), "{team_md}");
    assert!(team_md.contains("- `carol` (member): knows the database\n"), "{team_md}");
    assert!(team_md.contains("Create a task"), "{team_md}");
    assert!(ann.read("troop://TEAM.md").contains("`carol`"));
    troop.ok("member remove carol");
    assert!(!lead.read("troop://TEAM.md").contains("carol"));
    let prompt = ann.ask("prompts/get", &json!({"name": "teammate"}));
    let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with(&ann.read("troop://TEAM.md")), "{text}");
}

#[test]
fn team_md_tells_a_lead_how_to_lead_and_a_member_how_to_work() {
    let troop = Troop::with_team();
    let lead = Client::start(&troop, "--as lead").read("troop://TEAM.md");
    let ann = Client::start(&troop, "--as ann").read("troop://TEAM.md");
    let only_lead = [
        "Delegate the task to a teammate, with the task's id",
        "Sequential:",
        "Iterative:",
        "Parallel:",
        "Mixed:",
        "tell the user who does what",
        "tell the user what has come of it so far",
    ];
    for words in only_lead {
        assert!(lead.contains(words), "{words}: {lead}");
        assert!(!ann.contains(words), "{words}: {ann}");
    }
    for words in
        ["`bob` (member)", "`lead` (lead)", "Do the task that you are given, and only that"]
    {
        assert!(ann.contains(words), "{words}: {ann}");
    }
    assert!(ann.contains("send `lead` a message: what is done"), "{ann}");
    // troop does not run this client, whatever the member's agent is.
    assert!(
        ann.contains("complete it with its result: `team_tasks` with the action\n`complete`"),
        "{ann}"
    );
    assert!(!ann.contains("nothing else is needed"), "{ann}");
    let actions = ann.split("## What you can do with the board\n\n").nth(1).unwrap();
    for action in ["list", "claim", "complete", "fail", "release"] {
        assert!(actions.contains(action), "{action}: {ann}");
    }
    let shown = troop.ok("team show --team-md --as ann");
    assert!(shown.contains("nothing else is needed"), "troop would run the agent itself: {shown}");
}

#[test]
fn a_prompt_names_only_tools_that_its_reader_has() {
    for (version, has_progress) in [(1, false), (2, true)] {
        let troop = Troop::new();
        troop.ok(&format!("team create blue --member ann=claude --set version={version}"));
        let mut ann = Client::start(&troop, "--as ann");
        let prompt = ann.ask("prompts/get", &json!({"name": "teammate"}));
        let text = prompt["messages"][0]["content"]["text"].as_str().unwrap();
        assert_eq!(text.contains("progress (progress)"), has_progress, "{text}");
        assert!(text.contains("Claim a pending task, do it, "), "{text}");
    }
}

#[test]
fn team_md_of_a_built_in_member_without_a_dialect_speaks_of_its_own_tools() {
    let troop = Troop::new();
    troop.ok("team create blue --lead lead=builtin --member ann=builtin --member bob=claude");
    let lead = troop.ok("team show --team-md");
    assert!(lead.contains("`owner`") && !lead.contains("with the board"), "{lead}");
    let ann = troop.ok("team show --team-md --as ann");
    assert!(!ann.contains("What you can do with the board"), "{ann}");
    let bob = troop.ok("team show --team-md --as bob");
    assert!(bob.contains("What you can do with the board"), "{bob}");
}

#[test]
fn a_client_makes_the_first_team_in_a_store_that_is_not_there_yet() {
    for store in ["files:shared", "sqlite:teams.db"] {
        let troop = Troop::on(store);
        let mut lead = Client::start(&troop, "--as lead");
        let said = lead.call("TeamCreate", &json!({"team_name": "blue"}));
        assert!(said[0].contains("lead@blue"), "{store}: {said:?}");
        assert_eq!(troop.json("team list")["teams"][0]["name"], "blue", "{store}");
    }
    let troop = Troop::on("files:shared");
    std::fs::create_dir(troop.folder().join("shared")).unwrap();
    assert!(Client::start(&troop, "--as lead").tools().contains(&"TeamCreate".to_owned()));
    for line in ["mcp --as ann", "mcp --as lead --team blue"] {
        let (_, said) = Troop::on("files:typo").refused(line);
        assert!(said.starts_with("error: there is no store at"), "{line}: {said}");
    }
}

#[test]
fn a_lead_delegates_and_shares_files_with_its_members() {
    let troop = Troop::with_team();
    let mut lead = Client::start(&troop, "--as lead");
    let mut ann = Client::start(&troop, "--as ann");
    lead.call("team_tasks", &json!({"action": "list"}));
    lead.call("team_tasks", &json!({"action": "create", "subject": "Write", "assignee": "ann"}));
    let told = lead.told("spawn", &json!({"agent": "ann", "task": "Write"}));
    assert!(told.contains("task-1"), "{told}");
    let said = lead.call("spawn", &json!({"agent": "ann", "team_task_id": "1"}));
    let said: Value = serde_json::from_str(&said[0]).unwrap();
    assert_eq!((&said["task_number"], &said["agent"]), (&json!(1), &json!("ann")));
    let delegations = troop.json("team delegations");
    assert_eq!(delegations["delegations"][0]["id"], said["delegation_id"]);
    let write = json!({"action": "write", "path": "api.md", "content": "GET /"});
    ann.call("team_workspace", &write);
    assert_eq!(troop.ok("workspace read api.md"), "GET /");
    ann.call("team_tasks", &json!({"action": "complete", "task_id": "1", "result": "api.md"}));
    let said = lead.call("team_tasks", &json!({"action": "get", "task_id": "1"}));
    assert!(said[0].contains("api.md"), "{said:?}");
    assert!(said[1].contains("api.md"), "the result is announced: {said:?}");
}

#[test]
fn a_client_hears_of_changes() {
    let troop = Troop::with_team();
    let mut ann = Client::start(&troop, "--as ann");
    ann.ask("logging/setLevel", &json!({"level": "info"}));
    let board = json!({"uri": "troop://board"});
    ann.ask("resources/subscribe", &board);
    ann.ask("resources/subscribe", &json!({"uri": "troop://task/1"}));
    troop.ok("message send ann 'look' --summary 'a look'");
    let log = ann.hear("a log of the mail", |it| it["method"] == "notifications/message");
    assert_eq!(log["params"]["data"]["text"], "mail from user: a look");
    troop.ok("task create Write");
    let updated = |it: &Value| it["method"] == "notifications/resources/updated";
    assert_eq!(ann.hear("a change of the board", updated)["params"]["uri"], "troop://board");
    assert_eq!(ann.hear("a change of the task", updated)["params"]["uri"], "troop://task/1");
    ann.ask("resources/unsubscribe", &board);
    ann.ask("resources/subscribe", &json!({"uri": "troop://mailbox"}));
    troop.ok("task create Another");
    troop.ok("message send ann 'look again'");
    assert_eq!(ann.hear("a change of the mailbox", updated)["params"]["uri"], "troop://mailbox");
    let meta = json!({"progressToken": "p"});
    ann.ask(
        "tools/call",
        &json!({"name": "team_tasks", "arguments": {"action": "list"}, "_meta": meta}),
    );
    let progress = ann.hear("progress", |it| it["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "p");
    ann.leave();
}

#[test]
fn behind_a_closed_gate_a_client_sees_no_tools() {
    let troop = Troop::with_team();
    std::fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    let config = troop.folder().join(".troop/config.json");
    std::fs::write(config, r#"{"teams": {"enabled": false}}"#).unwrap();
    let mut lead = Client::start(&troop, "--as lead");
    assert_eq!(lead.tools(), Vec::<String>::new());
    let told = lead.told("team_tasks", &json!({"action": "list"}));
    assert!(
        told.starts_with("agent teams are not enabled: switched off by `teams.enabled`"),
        "{told}"
    );
}

#[test]
fn a_lead_deletes_its_team_and_creates_another() {
    let troop = Troop::with_team();
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let said = lead.call("CleanupTeam", &json!({}));
    assert!(said[0].contains("Cleaned up team"), "{said:?}");
    let alone = lead.read("troop://TEAM.md");
    assert!(alone.contains("You are NOT part of any team."), "{alone}");
    assert!(alone.contains("You have NO delegation targets."), "{alone}");
    let said = lead.call("TeamCreate", &json!({"team_name": "blue", "description": "again"}));
    assert!(said[0].contains("lead@blue"), "{said:?}");
    assert_eq!(
        lead.call("TaskCreate", &json!({"subject": "New"}))[0],
        "Task #1 created successfully: New"
    );
    assert_eq!(troop.json("team show blue")["description"], "again");
}

#[test]
fn a_client_makes_the_first_team() {
    let troop = Troop::new();
    let mut lead = Client::start(&troop, "--as lead");
    assert!(lead.tools().contains(&"TeamCreate".to_owned()));
    let alone = lead.read("troop://TEAM.md");
    assert!(alone.contains("You are NOT part of any team."), "{alone}");
    let told = lead.told("TaskList", &json!({}));
    assert!(told.starts_with("there is no team"), "{told}");
    assert!(told.contains("hint: create one: TeamCreate {"), "{told}");
    let said = lead.call("TeamCreate", &json!({"team_name": "blue"}));
    assert!(said[0].contains("lead@blue"), "{said:?}");
    assert_eq!(
        lead.call("TaskCreate", &json!({"subject": "New"}))[0],
        "Task #1 created successfully: New"
    );
    let members = troop.json("member list --team blue");
    assert_eq!(members["members"][0]["agent"], "external", "the client is the lead");
}

#[test]
fn only_a_lead_with_the_tool_for_it_is_served_without_a_team() {
    let troop = Troop::new();
    let (_, said) = troop.refused("mcp --as ann");
    assert!(said.starts_with("error: there is no active team"), "{said}");
    let (code, said) = troop.refused("mcp --as lead --dialect board");
    assert_eq!(code, 2);
    assert!(said.contains("the dialect `board` has no tool that creates one"), "{said}");
}

#[test]
fn a_team_whose_members_nobody_would_start_is_not_made() {
    let troop = Troop::new();
    let mut lead = Client::start(&troop, "--as lead");
    let members = json!([{"name": "ann"}, {"name": "bob", "agent_type": "command"}]);
    let told = lead.told("TeamCreate", &json!({"team_name": "blue", "members": members}));
    assert!(
        told.starts_with("nobody leads the team `blue` yet, so nobody would start `bob`"),
        "{told}"
    );
    assert!(told.contains("troop resume blue --agent external"), "{told}");
    assert_eq!(troop.json("team list --all")["teams"], json!([]));
    let said = lead.call("TeamCreate", &json!({"team_name": "blue", "members": [{"name": "ann"}]}));
    assert!(said[0].contains(r#""members":["ann"]"#), "{said:?}");
}

#[test]
fn a_lead_without_a_team_has_only_the_tool_that_makes_one() {
    let troop = Troop::with_team();
    let mut lead = Client::start(&troop, "--as lead --dialect claude");
    let mut ann = Client::start(&troop, "--as ann");
    lead.call("TaskCreate", &json!({"subject": "Old"}));
    lead.call("CleanupTeam", &json!({}));
    for (tool, input) in [("TaskList", json!({})), ("SpawnTeammate", json!({"name": "eve"}))] {
        let told = lead.told(tool, &input);
        assert!(told.contains("there is no team"), "{told}");
        assert!(told.contains("TeamCreate"), "{told}");
    }
    let told = ann.told("team_tasks", &json!({"action": "list"}));
    assert!(told.contains("there is no team"), "{told}");
}

#[test]
fn only_members_are_served() {
    let troop = Troop::with_team();
    let (code, said) = troop.refused("mcp");
    assert_eq!(
        (code, said.lines().next().unwrap()),
        (2, "error: name the member to act as; the members are: ann, bob, lead")
    );
    let (code, said) = troop.refused("mcp --as carol");
    assert_eq!(code, 1);
    assert!(said.starts_with("error: `carol` is not a member of this team"), "{said}");
    let (_, said) = troop.refused("mcp --as ann --team red");
    assert!(said.contains("red"), "{said}");
}

#[test]
fn a_lone_surrogate_becomes_a_replacement_character() {
    let troop = Troop::with_team();
    let mut ann = Client::start(&troop, "--as ann");
    let text = r"cut \ud83d, whole \ud83d\ude00";
    let call = json!({"action": "send", "to": "lead", "text": "TEXT"});
    let request = json!({
        "jsonrpc": "2.0", "id": "half", "method": "tools/call",
        "params": {"name": "team_message", "arguments": call},
    });
    let line = request.to_string().replace("TEXT", text);
    writeln!(ann.input.as_mut().unwrap(), "{line}").unwrap();
    let answer = ann.hear("an answer", |said| said["id"] == "half");
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let mail = troop.json("message read --as lead");
    assert_eq!(mail["messages"][0]["content"], "cut \u{fffd}, whole \u{1f600}");
}

#[test]
fn invalid_json_does_not_end_the_session() {
    let troop = Troop::with_team();
    let mut ann = Client::start(&troop, "--as ann");
    writeln!(ann.input.as_mut().unwrap(), "this is not JSON\n\n{{\"half\":").unwrap();
    assert_eq!(ann.tools().len(), 3);
    let said = ann.respond("tools/dance", &json!({}));
    assert_eq!(said["error"]["code"], -32601);
    assert_eq!(ann.tools().len(), 3);
}
