//! Error messages: what is wrong, and what to paste next.

use std::fs;

use serde_json::json;

use crate::{
    mcp::Client,
    troop::{Printing, Troop},
};

/// Checks that a command is refused with a message that contains a part.
#[track_caller]
fn says(troop: &Troop, typed: &str, part: &str) {
    let (_, err) = troop.refused(typed);
    assert!(err.contains(part), "`troop {typed}` said: {err}instead of: {part}");
}

#[test]
fn hints_repeat_the_callers_options() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim 1");
    let another = "hint: claim another: `troop --as bob task claim`, or ask: `troop --as bob message send ann";
    says(&troop, "--as bob task claim 1", another);
    says(&troop, "--as bob --team blue task claim 1", "`troop --team blue --as bob task claim`");
    says(&troop, "--team blue task get 9", "hint: see the board: `troop --team blue task list");
    says(
        &troop,
        "mcp install claude --print --team blue",
        "hint: for example: `troop --team blue mcp install claude-code --as ann`",
    );
}

#[test]
fn a_person_without_work_gets_a_hint_for_people() {
    let troop = Troop::with_team();
    let (code, err) = troop.refused("task next");
    let expected = "error: no task can be started now\nhint: see why: `troop task list`\n";
    assert_eq!((code, err.as_str()), (1, expected));
    let (_, err) = troop.refused("task next --json");
    assert!(err.contains("\"kind\":\"no_work\""), "{err}");
}

#[test]
fn a_completed_task_is_refused_with_a_hint() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim 1");
    troop.ok("--as ann task complete 1 -r done");
    let hint = "so it cannot be completed\nhint: see its result: `troop task get 1`";
    says(&troop, "--as ann task complete 1 -r again", hint);
}

#[test]
fn each_invalid_member_has_its_own_error() {
    let troop = Troop::new();
    let twice = "error: two members are called `ann`\nhint: give each its own name: `--member ann-2=command`\n";
    says(&troop, "team create z -m ann=command -m ann=command", twice);
    fs::write(troop.folder().join("lead.script"), "when started\n  log hello\n").unwrap();
    let run = "run go --agent script:lead.script";
    says(
        &troop,
        &format!("{run} -m a=command -m b=command -m c=command --max-teammates 2"),
        "error: 3 members are to start, but at most 2 may run at once\nhint: allow more: `--max-teammates 3`",
    );
    says(&troop, &format!("{run} -m ann=claude"), "hint: say `--member ann=command`");
    says(&troop, "run go --agent claude", "hint: let the built-in agent lead: ");
}

#[test]
fn an_invalid_script_is_reported_with_its_place() {
    let troop = Troop::new();
    fs::write(troop.folder().join("bad.script"), "foo bar\n").unwrap();
    let there = troop.folder().display();
    says(&troop, "run go --agent script:bad.script", &format!("+1 {there}/bad.script`"));
    says(&troop, "run go --agent script:sub/no.script", &format!("folder: `ls {there}`"));
}

#[test]
fn configuration_errors_are_in_plain_words() {
    let troop = Troop::with_team();
    says(&troop, "team set lease_seconds=-1", "expected a whole number that is not negative");
    let config = troop.folder().join("home/config.json");
    fs::write(&config, "{\"teams\": 7}").unwrap();
    says(&troop, "team list", "`teams`: invalid type: integer `7`, expected an object\n");
    fs::remove_file(&config).unwrap();
    fs::create_dir(&config).unwrap();
    says(&troop, "team list", "config.json` is a folder, not a file\nhint: move it away: `mv ");
}

#[test]
fn an_unsupported_database_is_not_mistaken_for_a_typo() {
    let troop = Troop::new();
    says(&troop, "--store mysql://x team list", "hint: a store is `sqlite:PATH`");
    says(&troop, "--store sqllite:x team list", "hint: did you mean `sqlite:x`?");
}

#[test]
fn rejecting_a_task_reports_its_new_status() {
    let troop = Troop::with_team();
    troop.ok("team set require_review=true");
    for task in ["1", "2"] {
        troop.ok("task create parse");
        troop.ok(&format!("--as ann task claim {task}"));
        troop.ok(&format!("--as ann task complete {task} -r done"));
    }
    let said = troop.ok("task reject 1 --reason no");
    assert!(said.starts_with("rejected and cancelled task-1: parse"), "{said}");
    assert!(said.ends_with("; to send it back for another try: `--mode revise`\n"), "{said}");
    let said = troop.ok("task reject 2 --reason no --mode revise");
    assert!(said.starts_with("rejected and sent back task-2: parse"), "{said}");
}

#[test]
fn unavailable_agents_are_listed_separately() {
    let troop = Troop::new();
    let apart = "builtin, command, script (not in this version: claude, codex, acp)";
    assert!(troop.ok("doctor").contains(apart));
    says(&troop, "team create z -m ann=nope", &format!("hint: the agents are: {apart}"));
    assert!(!troop.ok("run --help").contains("for the lead: command"));
    assert!(troop.ok("profile").contains("this version does not start claude"));
    let agents = troop.folder().join(".troop/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("own.md"), "---\nprogram: [python3, a.py]\n---\n").unwrap();
    fs::write(agents.join("theirs.md"), "---\ntools: Read\ncolor: red\n---\n").unwrap();
    let said = troop.ok("doctor");
    assert!(
        said.contains("own, theirs, builtin, command, script (not in this version: claude,"),
        "{said}"
    );
    fs::write(agents.join("own.md"), "---\nprogrm: [python3, a.py]\n---\n").unwrap();
    let run = troop.run("doctor");
    assert_eq!(run.code, 1);
    assert!(run.out.contains("own.md`: unknown key `progrm`; did you mean `program`?"), "{run:?}");
}

#[test]
fn a_project_that_names_its_lead_must_be_trusted_first() {
    let troop = Troop::new();
    fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    let config = "{\"agent\": \"script:lead.script\"}";
    fs::write(troop.folder().join(".troop/config.json"), config).unwrap();
    let run = troop.run("run go");
    assert_eq!(run.code, 1);
    let said = "error: this project names `script:lead.script` as its lead, but you have not trusted the project\nhint: review it: `troop trust`\n";
    assert!(run.err.ends_with(said), "{}", run.err);
}

#[test]
fn troop_names_the_team_that_it_chose() {
    let troop = Troop::with_team();
    assert_eq!(troop.run("task list").err, "", "the only team is not announced");
    troop.ok("team create red");
    fs::write(troop.folder().join("quiet.script"), "when started\n  log hello\n").unwrap();
    troop.succeed("--team done run go --agent script:quiet.script");
    troop.ok("team delete red");
    let run = troop.run("task list");
    assert_eq!((run.code, run.err.as_str()), (0, "team done, the newest of this folder (of 2)\n"));
    assert_eq!(troop.run("task list --json").err, "", "programs are not told");
    assert_eq!(troop.run("--team blue task list").err, "", "it was named");
    let (code, err) = troop.refused("team delete");
    assert_eq!(
        (code, err.lines().next().unwrap()),
        (2, "error: more than one team fits; the newest are: done, blue")
    );
}

#[test]
fn missing_transcripts_delegations_and_members_are_reported() {
    let troop = Troop::with_team();
    assert_eq!(troop.ok("log ann"), "ann has no transcript: it has not run yet\n");
    assert_eq!(troop.ok("log ann --json"), "");
    let hint = "of a delegation `zzz`\nhint: list them: `troop team delegations`\n";
    says(&troop, "log ann --delegation zzz", hint);
    let (code, err) = troop.refused("--as zed task list");
    let said = "error: `zed` is not a member of this team, so it cannot act in it\nhint: the members are: ann, bob, lead\n";
    assert_eq!((code, err.as_str()), (1, said));
}

#[test]
fn a_stream_that_is_not_json_is_refused() {
    let troop = Troop::new();
    let run = troop.with_input("observe", "not json\n");
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(run.err.contains("error: no line was recognised"), "{}", run.err);
    assert!(run.err.contains("--output-format stream-json"), "{}", run.err);
    let told = "warning: 1 line could not be read\n";
    for (typed, input, told) in [
        ("observe", "{\"type\":\"system\"}\nnoise\n", told),
        ("observe", "", ""),
        ("observe --pass-through", "not json\n", told),
    ] {
        let run = troop.with_input(typed, input);
        assert_eq!((run.code, run.err.as_str()), (0, told), "{typed}: {input}");
    }
}

#[test]
fn attaching_a_missing_file_is_refused() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    let n_events = troop.ok("events --json").lines().count();
    let told = "error: `nope.md` is not in the workspace\nhint: put it there: `troop workspace write nope.md FILE --task task-1`\n";
    assert_eq!(troop.refused("task attach 1 nope.md"), (1, told.to_owned()));
    let (code, told) = troop.refused("--json task attach 1 nope.md");
    assert_eq!(code, 1);
    assert!(told.contains("`nope.md` is not in the workspace"), "{told}");
    let mut ann = Client::start(&troop, "--as ann");
    let attach = json!({"action": "attach", "task_id": 1, "path": "nope.md"});
    let told = ann.told("team_tasks", &attach);
    assert!(told.starts_with("`nope.md` is not in the workspace\nhint: put it there"), "{told}");
    assert_eq!(troop.ok("events --json").lines().count(), n_events);
    let mut lead = Printing::new(troop.start("resume --agent external --keep"));
    lead.wait_for(" leads");
    let told = "error: `nope.md` is not in the workspace\nhint: put it there: `troop workspace write nope.md FILE --task task-1`\n";
    assert_eq!(troop.refused("task attach 1 nope.md"), (1, told.to_owned()), "through a lead");
    troop.with_input("workspace write nope.md", "a plan");
    ann.call("team_tasks", &attach);
    assert_eq!(troop.json("task get 1")["detail"]["attachments"][0]["path"], "nope.md");
}

#[test]
fn the_name_of_a_deleted_team_can_be_used_again() {
    let troop = Troop::new();
    fs::write(troop.folder().join("quiet.script"), "when started\n  log hello\n").unwrap();
    troop.ok("run go --agent script:quiet.script");
    let name = troop.json("team show")["name"].as_str().unwrap().to_owned();
    troop.ok("team delete");
    troop.ok("run go --agent script:quiet.script");
    assert_eq!(troop.json("team show")["name"], name.as_str());
}

#[test]
fn a_profile_counts_todos() {
    let troop = Troop::new();
    fs::write(troop.folder().join("a.py"), "# TODO\n").unwrap();
    fs::write(troop.folder().join("b.py"), "pass\n").unwrap();
    let said = troop.ok("profile");
    assert!(said.contains("1 × TODO, FIXME, HACK or XXX in 1 file\n"), "{said}");
}
