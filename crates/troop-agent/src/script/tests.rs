//! The language of scripts.

use std::{path::Path, time::Duration};

use proptest::prelude::*;
use serde_json::json;

use super::{
    ScriptAgent,
    syntax::{Act, HandlerEnd, MailPattern, Script, ScriptStep, Trigger},
    variables::Variables,
};
use crate::text_pattern::TextPattern;

/// The acts of a handler with these steps.
fn acts(steps: &str) -> Vec<Act> {
    let indented: String = steps.lines().map(|line| format!("  {line}\n")).collect();
    let script = Script::parse(&format!("when started\n{indented}")).unwrap();
    script.handlers.into_iter().flat_map(|it| it.steps).map(|step| step.act).collect()
}

fn act(step: &str) -> Act {
    let [act] = acts(step).try_into().unwrap_or_else(|acts| panic!("{step}: {acts:?}"));
    act
}

fn problem(text: &str) -> String {
    let error = ScriptAgent::parse(Path::new("demo.script"), text).unwrap_err();
    error.to_string()
}

fn sought(pattern: &str, from: Option<&str>) -> MailPattern {
    MailPattern { pattern: TextPattern::new(pattern), from: from.map(str::to_owned) }
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn every_trigger_is_parsed() {
    let when =
        |line: &str| Script::parse(&format!("{line}\n  log x")).unwrap().handlers.remove(0).when;
    assert_eq!(when("when started"), Trigger::Started);
    assert_eq!(when("when shutdown"), Trigger::Shutdown);
    assert_eq!(when("when task write *"), Trigger::Task(TextPattern::new("write *")));
    assert_eq!(when("when task \"write * \""), Trigger::Task(TextPattern::new("write * ")));
    assert_eq!(when("when mail *go* from bob"), Trigger::Mail(sought("*go*", Some("bob"))));
    assert_eq!(when("when mail from bob"), Trigger::Mail(sought("*", Some("bob"))));
    assert_eq!(when("when mail"), Trigger::Mail(sought("*", None)));
    assert_eq!(when("when mail \"news from bob\""), Trigger::Mail(sought("news from bob", None)));
    assert_eq!(when("when plan * from ann"), Trigger::Plan(sought("*", Some("ann"))));
}

#[test]
fn every_step_is_parsed() {
    let end = |end| Act::End(end);
    for (step, expected) in [
        ("log all  well", Act::Log(text("all  well"))),
        ("message bob hello", Act::Message { to: text("bob"), text: text("hello") }),
        ("broadcast hello", Act::Broadcast(text("hello"))),
        ("plan do it", Act::Plan { text: text("do it"), if_rejected: None }),
        ("approve", Act::Approve(text(""))),
        ("reject too dear", Act::Reject(text("too dear"))),
        ("wait for mail go* from bob", Act::WaitForMail(sought("go*", Some("bob")))),
        ("wait until all tasks are done", Act::WaitUntilDone),
        ("write a/b.txt", Act::Write { file: text("a/b.txt"), content: text("") }),
        ("append a.txt", Act::Append { file: text("a.txt"), content: text("") }),
        (
            r#"replace "a \"b\"" with "" in my file.txt"#,
            Act::Replace { old: text("a \"b\""), new: text(""), file: text("my file.txt") },
        ),
        ("run cargo test", Act::Run(text("cargo test"))),
        (
            r#"call task/create {"subject": "known as x"} as design"#,
            Act::Call {
                method: text("task/create"),
                params: json!({"subject": "known as x"}),
                name: Some(text("design")),
            },
        ),
        ("call team/show", Act::Call { method: text("team/show"), params: json!({}), name: None }),
        ("progress 40% half way", Act::Progress { percent: 40, text: text("half way") }),
        ("sleep 200ms", Act::Sleep(Duration::from_millis(200))),
        ("sleep 2s", Act::Sleep(Duration::from_secs(2))),
        ("sleep 1m", Act::Sleep(Duration::from_secs(60))),
        ("complete done", end(HandlerEnd::Complete(text("done")))),
        ("fail no", end(HandlerEnd::Fail(text("no")))),
        ("give back not mine", end(HandlerEnd::GiveBack(text("not mine")))),
        ("refuse shutdown not yet", end(HandlerEnd::RefuseShutdown(text("not yet")))),
    ] {
        assert_eq!(act(step), expected, "{step}");
    }
}

#[test]
fn an_indented_text_keeps_its_form() {
    let content = "# not a comment\n\n  indented {x}\nlast\n";
    let step = "write a.txt\n  # not a comment\n\n    indented {x}\n  last\n\n";
    assert_eq!(act(step), Act::Write { file: text("a.txt"), content: text(content) });
    assert_eq!(
        act("complete first\n  second"),
        Act::End(HandlerEnd::Complete(text("first\nsecond")))
    );
    let call = "call task/create as it\n  {\"subject\": \"x\",\n   \"priority\": 1}";
    let params = json!({"subject": "x", "priority": 1});
    assert_eq!(
        act(call),
        Act::Call { method: text("task/create"), params, name: Some(text("it")) }
    );
}

#[test]
fn steps_are_nested() {
    let steps = "# first\non attempt 1\n  log first\nonly once\n  log x\nplan p\nif rejected\n  log {feedback}\n\ntry run false";
    let step = |line, is_tried, act| ScriptStep { line, is_tried, act };
    let script = format!(
        "when started\n{}",
        steps.replace('\n', "\n  ").replacen("# first", "  # first", 1)
    );
    let steps = Script::parse(&script).unwrap().handlers.remove(0).steps;
    let first = vec![step(4, false, Act::Log(text("first")))];
    let rejected = Some(vec![step(9, false, Act::Log(text("{feedback}")))]);
    assert_eq!(
        steps,
        [
            step(3, false, Act::OnAttempt { attempt: 1, steps: first }),
            step(5, false, Act::OnlyOnce(vec![step(6, false, Act::Log(text("x")))])),
            step(7, false, Act::Plan { text: text("p"), if_rejected: rejected }),
            step(11, true, Act::Run(text("false"))),
        ]
    );
}

#[test]
fn script_errors_name_the_line_and_the_right_form() {
    for (script, expected) in [
        ("log x", "line 1: `log x` begins no handler; there is: `when started`,"),
        ("\n# c\nwhen never\n  log x", "line 3: `when never` begins no handler"),
        ("when task\n  log x", "line 1: which tasks? `when task *` means all"),
        ("when started", "line 1: `when started` does nothing; indent its steps below it"),
        ("when started\n  log a\nwhen started\n  log b", "line 3: `when started` is there already"),
        ("when started\n  workspace", "line 2: write `workspace write FILE`, with its"),
        ("when started\n  workspace list x", "line 2: write `workspace write FILE`, with its"),
        ("when started\n  dance", "line 2: there is no step `dance`; the steps are: log, message,"),
        ("when started\n  log", "line 2: `log` needs a text"),
        ("when started\n  message bob", "line 2: write `message NAME TEXT`"),
        (
            "when started\n  if rejected\n    log x",
            "line 2: `if rejected` belongs right after a `plan`",
        ),
        ("when started\n  sleep 1s\n    log x", "line 3: nothing belongs below `sleep 1s`"),
        (
            "when started\n  sleep long",
            "line 2: `long` is not a duration; write `200ms`, `2s` or `1m`",
        ),
        ("when started\n  wait", "line 2: write `wait for mail PATTERN [from NAME]` or"),
        ("when started\n  progress 101 x", "line 2: write `progress 0…100 TEXT`"),
        ("when started\n  replace a in b", "line 2: write `replace \"OLD\" with \"NEW\" in FILE`"),
        ("when started\n  call dance", "line 2: write `call RESOURCE/VERB {…} [as NAME]`"),
        (
            "when started\n  call a/b {x}",
            "line 2: the parameters of `a/b` are not valid JSON: key must be a string",
        ),
        ("when started\n  call a/b [1]", "line 2: the parameters of `a/b` are not an object `{…}`"),
        ("when started\n  on monday\n    log x", "line 2: write `on attempt N` or `only once`"),
        ("when started\n  only once", "line 2: `only once` does nothing; indent steps below it"),
        ("when started\n  give up", "line 2: write `give back TEXT` or `refuse shutdown TEXT`"),
        ("when started\n  write", "line 2: write `write FILE`, with its content indented below"),
    ] {
        let problem = problem(script);
        assert!(problem.starts_with(&format!("`demo.script`, {expected}")), "{script}\n{problem}");
    }
}

#[test]
fn a_missing_script_is_named() {
    let error = ScriptAgent::read(Path::new("/nowhere/x.script")).unwrap_err();
    assert_eq!(error.to_string(), "the script `/nowhere/x.script` cannot be read");
}

#[test]
fn known_variables_are_replaced_and_unknown_ones_stay() {
    let mut variables = Variables::default();
    variables.set("name", "ann");
    variables.set("design", json!({"task": {"number": 7, "tags": ["a", "b"]}}));
    for (text, expanded) in [
        ("{name} and {name}", "ann and ann"),
        ("{design.task.number}{design.task.tags.1}", "7b"),
        ("{unknown} {design.nothing} { name } {", "{unknown} {design.nothing} { name } {"),
        ("fn main() { println!(\"{name}\") }", "fn main() { println!(\"ann\") }"),
    ] {
        assert_eq!(variables.expand(text), expanded);
    }
    let params = json!({"blocked_by": ["{design.task.number}"], "subject": "for {name}", "n": 1});
    let expected = json!({"blocked_by": [7], "subject": "for ann", "n": 1});
    assert_eq!(variables.expand_json(&params), expected);
}

#[test]
fn the_examples_in_the_documentation_are_valid_scripts() {
    let documentation = include_str!("../../../../docs/script.md");
    let examples: Vec<_> = documentation
        .split("```text\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(example, _)| Script::parse(example).unwrap().handlers.len())
        .collect();
    assert_eq!(examples, [5, 2]);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(when (task|mail|started)|[ \t]{0,4}|(try |plan|call|write|on attempt|if rejected|replace|sleep)|[\\PC\n]|[ \n\"{}*]){0,60}") {
        drop(Script::parse(&text));
    }

    #[test]
    fn no_bytes_make_the_parser_or_the_variables_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        drop(Script::parse(&text));
        Variables::default().expand(&text);
        TextPattern::new(&text).is_match(&text);
    }
}

#[test]
fn fuzz_script() {
    let manual =
        std::fs::read_to_string(troop_testkit::repository().join("docs/script.md")).unwrap();
    let parts = manual.split("```").skip(1).step_by(2);
    let examples: Vec<_> =
        parts.map(|it| it.trim_start_matches("text").as_bytes().to_vec()).collect();
    let words = [
        "when task *\n",
        "  plan x\n",
        "  if rejected\n",
        "  call task/create {",
        "{name}",
        "\t",
        "  wait for mail",
    ];
    troop_testkit::fuzz(&words, &examples, 1_000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        // An error names an existing line.
        if let Err(problem) = Script::parse(&text) {
            assert!(problem.line <= text.lines().count() + 1 && !problem.what.is_empty());
        }
    });
}
