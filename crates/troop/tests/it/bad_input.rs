//! Bad input for every command: one clear line, the right exit code, and nothing changes.

use crate::troop::Troop;

/// A team with a few tasks in different states, and its log.
fn team() -> (Troop, String) {
    let troop = Troop::with_team();
    for subject in ["one", "two", "three"] {
        troop.ok(&format!("task create {subject}"));
    }
    troop.ok("--as ann task claim 1");
    troop.ok("task update 3 --blocked-by 2");
    let log = troop.ok("events --json");
    (troop, log)
}

/// The command, its exit code, and the beginning of its error.
type Case<'a> = (&'a str, i32, &'a str);

#[track_caller]
fn all_are_refused(cases: &[Case<'_>]) {
    let (troop, log) = team();
    for (line, code, says) in cases {
        let (got, err) = troop.refused(line);
        assert!(err.starts_with(&format!("error: {says}")), "`troop {line}` said: {err}");
        assert_eq!(got, *code, "`troop {line}` said: {err}");
        assert!(err.lines().count() <= 2, "`troop {line}` said too much: {err}");
    }
    assert_eq!(troop.ok("events --json"), log, "nothing may have changed");
}

#[test]
fn unknown_teams_members_and_tasks_are_refused() {
    all_are_refused(&[
        ("--team bleu task list", 1, "there is no team `bleu`"),
        ("--team bleu team show", 1, "there is no team `bleu`"),
        ("team show bleu", 1, "there is no team `bleu`"),
        ("team delete bleu", 1, "there is no team `bleu`"),
        ("--as amy task claim", 1, "`amy` is not a member of this team"),
        ("--as amy task complete 1 -r x", 1, "`amy` is not a member of this team"),
        ("--as amy message read", 1, "`amy` is not a member of this team"),
        ("task assign 2 amy", 1, "there is no member `amy`; the members are ann, bob, lead"),
        ("task create x -a amy", 1, "there is no member `amy`"),
        ("task update 2 -a amy", 1, "there is no member `amy`"),
        ("member remove amy", 1, "there is no member `amy`"),
        ("member mode amy plan", 1, "there is no member `amy`"),
        ("message send amy hi", 1, "there is no member `amy`"),
        ("task get 9", 1, "there is no task `task-9`; pending tasks: task-2"),
        ("--as ann task claim 9", 1, "there is no task `task-9`"),
        ("--as ann task complete 9 -r x", 1, "there is no task `task-9`"),
        ("task cancel task-9 --reason x", 1, "there is no task `task-9`"),
        ("task approve 9", 1, "there is no task `task-9`"),
        ("task reject 9 --reason x", 1, "there is no task `task-9`"),
        ("task retry 9", 1, "there is no task `task-9`"),
        ("task comment 9 x", 1, "there is no task `task-9`"),
        ("task update 9 --subject x", 1, "there is no task `task-9`"),
        ("task delete 9", 1, "there is no task `task-9`"),
        ("task attach 9 x", 1, "there is no task `task-9`"),
        ("task create x -b 9", 1, "there is no task `task-9`"),
        ("events --task 9", 1, "there is no task `task-9`"),
        ("task get 4294967296", 1, "there is no task `4294967296`"),
        ("task get '#nine'", 2, "`#nine` does not name a task"),
        ("task get ''", 2, "`` does not name a task"),
    ]);
}

#[test]
fn an_ambiguous_prefix_is_refused_with_its_candidates() {
    let (troop, _) = team();
    troop.ok("task create four --id aaaaaaaa-0000-7000-8000-000000000001");
    troop.ok("task create five --id aaaaaaaa-0000-7000-8000-000000000002");
    troop.ok("task create six --id aaaabbbb-0000-7000-8000-000000000003");
    assert_eq!(troop.json("task get aaaab")["number"], 6);
    assert_eq!(troop.json("task get AAAAAAAA-0000-7000-8000-000000000002")["number"], 5);
    let (code, err) = troop.refused("task get aaaaaaaa");
    assert_eq!(code, 2);
    assert_eq!(
        err,
        "error: `aaaaaaaa` could be task-4, task-5; give more of the id\nhint: use its number: `troop task get 4`\n"
    );
    let (_, err) = troop.refused("task create seven --id aaaaaaaa-0000-7000-8000-000000000002");
    assert!(err.starts_with("error: there is already a task with the id aaaaaaaa-0000-7000-8000-000000000002: task-5"), "{err}");
}

#[test]
fn empty_overlong_and_unprintable_texts_are_refused() {
    let long = "x".repeat(1_000_000);
    let (troop, log) = team();
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec!["task", "create", ""], "the subject is empty"),
        (vec!["task", "create", "   "], "the subject is empty"),
        (
            vec!["task", "create", "a\u{1b}[2Jb"],
            "the subject contains the unprintable character U+001B",
        ),
        (
            vec!["task", "create", "a\u{202e}b"],
            "the subject contains the unprintable character U+202E",
        ),
        (
            vec!["task", "create", "two\nlines"],
            "the subject contains the unprintable character U+000A",
        ),
        (vec!["task", "update", "2", "--subject", ""], "the subject is empty"),
        (vec!["--as", "ann", "task", "complete", "1", "-r", ""], "the result is empty"),
        (vec!["task", "cancel", "2", "--reason", " "], "the reason is empty"),
        (vec!["task", "comment", "2", ""], "the comment is empty"),
        (vec!["message", "send", "ann", ""], "the message is empty"),
        (vec!["team", "create", ""], "a name must not be empty"),
        (vec!["team", "create", "Blue Team"], "`Blue Team` is not a name"),
        (vec!["team", "create", "../etc"], "`../etc` is not a name"),
        (vec!["team", "create", "b\u{7}"], "`b\\u{7}` is not a name"),
        (vec!["member", "add", "user=claude"], "`user` is reserved"),
        (vec!["member", "add", "a b=claude"], "`a b` is not a name"),
    ];
    for (arguments, says) in cases {
        let run = troop.args(&arguments);
        assert!(run.err.starts_with(&format!("error: {says}")), "{arguments:?} said: {}", run.err);
        assert_eq!(run.code, 2, "{arguments:?} said: {}", run.err);
    }
    for line in
        ["task create -", "task comment 2 -", "message send ann -", "--as ann task complete 1 -r -"]
    {
        let run = troop.with_input(line, &long);
        assert_eq!(run.code, 2, "`troop {line}` said: {}", run.err);
        assert!(
            run.err.contains("has 1000000 characters; the limit is"),
            "`troop {line}` said: {}",
            run.err
        );
        assert!(run.err.len() < 400, "the text itself is not repeated");
    }
    assert_eq!(troop.ok("events --json"), log, "nothing may have changed");
}

#[test]
fn right_to_left_text_is_accepted() {
    let (troop, _) = team();
    troop.ok("task create 'مرحبا بالعالم'");
    assert_eq!(troop.json("task get 4")["subject"], "مرحبا بالعالم");
    assert!(troop.ok("task list").contains("مرحبا بالعالم"));
}

#[test]
fn control_characters_in_a_result_are_escaped() {
    let (troop, _) = team();
    troop.args(&["--as", "ann", "task", "complete", "1", "-r", "red \u{1b}[31mtext\u{7}"]);
    let text = troop.ok("task get 1");
    assert!(text.contains("red \\u{1b}[31mtext\\u{7}"), "{text}");
    assert_eq!(
        troop.json("task get 1")["result"],
        "red \u{1b}[31mtext\u{7}",
        "programs get what was written"
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    all_are_refused(&[
        ("--as ann task progress 1 101", 2, "progress is 0 to 100 percent, not 101"),
        ("--as ann task progress 1 -1", 2, "progress is 0 to 100 percent, not -1"),
        ("--as ann task progress 1 lots", 2, "invalid value 'lots'"),
        ("task create x -p 99999999999", 2, "invalid value '99999999999'"),
        ("task list --page 0", 2, "invalid value '0'"),
        ("task list --status done", 2, "`done` is none of: active, all, pending, in_progress"),
        ("events --since -1", 2, "unexpected argument '-1'"),
        ("team set lease_seconds=0", 2, "`lease_seconds` must be 1 to 604800, not 0"),
        ("team set max_attempts=101", 2, "`max_attempts` must be 1 to 100, not 101"),
        ("team set version=3", 2, "`version` must be 1 to 2, not 3"),
        ("team set lease_seconds=-5", 2, "`lease_seconds` cannot be that"),
        ("team set lease_seconds=soon", 2, "`lease_seconds` cannot be that"),
        (
            "--as ann task complete 1 -r x --attempt 7",
            1,
            "task-1 has moved on: it is in attempt 1 and you hold attempt 7",
        ),
    ]);
}

#[test]
fn a_misspelt_value_is_answered_with_a_suggestion() {
    let troop = Troop::with_team();
    for (line, meant) in [
        ("member mode ann bypas", "bypass"),
        ("member add eve=command --mode accept_edit", "accept-edits"),
        ("run go --permissions plann", "plan"),
        ("task list --status pendin", "pending"),
        ("message send ann hi --kind shutdown-request", "shutdown_request"),
    ] {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 2, "{line}: {err}");
        assert!(err.ends_with(&format!("\nhint: did you mean `{meant}`?\n")), "{line}: {err}");
    }
    let (_, err) = troop.refused("--json member mode ann bypas");
    assert!(err.starts_with(r#"{"error":{"kind":"invalid","#), "{err}");
}

#[test]
fn input_of_the_wrong_shape_is_refused() {
    all_are_refused(&[
        ("task create x --metadata [1]", 2, "the metadata is not a JSON object"),
        ("task create x --metadata {", 2, "the metadata is not JSON"),
        ("task create x --id nonsense", 2, "invalid value 'nonsense'"),
        ("task create x --id 00000000-0000-0000-0000-000000000000", 2, "the id is empty"),
        ("team set lease_secnds=5", 2, "there is no setting `lease_secnds`"),
        ("team set lease_seconds", 2, "`lease_seconds` is not KEY=VALUE"),
        ("team set task_creation=everyone", 2, "`task_creation` cannot be that"),
        ("team create red --member ann", 2, "there is no agent `ann`"),
        ("team create red --member ann=cladue", 2, "there is no agent `cladue`"),
        ("team create blue", 1, "there is already a team `blue`"),
        ("member add ann=claude", 1, "there is already a member `ann`"),
        ("member mode ann wild", 2, "`wild` is none of: plan, default, accept-edits, bypass"),
        ("message send ann hi --kind gossip", 2, "`gossip` is none of: message, broadcast"),
        (
            "message send ann hi --kind system",
            1,
            "messages of kind system are sent by troop itself",
        ),
        ("--as ann message send ann hi", 2, "you cannot send a message to yourself"),
        (
            "task attach 1 ../../etc/passwd",
            2,
            "`../../etc/passwd` is not a path inside the workspace",
        ),
        ("task attach 1 /etc/passwd", 2, "`/etc/passwd` is not a path inside the workspace"),
        ("task update 2", 2, "there is nothing to change"),
        ("--as 'not a name' task claim", 2, "`not a name` is not a name"),
        ("tsk list", 2, "unrecognized subcommand 'tsk'"),
        ("task lst", 2, "unrecognized subcommand 'lst'"),
        ("task list --stauts all", 2, "unexpected argument '--stauts' found"),
        (
            "task complete 1",
            2,
            "the following required arguments were not provided: --result <TEXT>",
        ),
    ]);
}

#[test]
fn commands_that_the_state_of_a_task_forbids_are_refused() {
    all_are_refused(&[
        ("--as bob task claim 1", 1, "task-1 is not available: ann has held it since "),
        ("--as bob task complete 1 -r x", 1, "task-1 is not held by `bob` but by `ann`"),
        (
            "--as bob task claim 3",
            1,
            "task-3 is not available: it is blocked by task-2; finish it first or claim another",
        ),
        ("task claim 2", 1, "only a member can hold a task"),
        ("task approve 2", 1, "task-2 is pending, so it cannot be approved"),
        ("task reject 2 --reason x", 1, "task-2 is pending, so it cannot be rejected"),
        ("task retry 2", 1, "task-2 is pending, so it cannot be retried"),
        ("task delete 2", 1, "task-2 is pending, so it cannot be deleted"),
        ("task clear-ask-user 1", 1, "task-1 has no open question to the user"),
        (
            "task update 2 --add-blocked-by 3",
            2,
            "task-2 would wait for itself: task-2 → task-3 → task-2",
        ),
        ("task update 2 --add-blocked-by 2", 2, "task-2 would wait for itself: task-2 → task-2"),
        ("--as ann task create x", 1, "`ann` may not create tasks; the lead or a person may"),
        ("--as ann task approve 2", 1, "`ann` may not approve tasks"),
        ("--as ann task assign 2 bob", 1, "`ann` may not assign tasks"),
        ("--as ann team set version=1", 1, "`ann` may not change the team's settings"),
        ("--as ann member add eve=claude", 1, "`ann` may not add members"),
        ("--as ann message read --all", 1, "`ann` may not read the mail of others"),
    ]);
}
