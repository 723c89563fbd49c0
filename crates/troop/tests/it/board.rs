//! The board: a team's work from the first task to the last.

use crate::{mcp::Client, troop::Troop};

#[test]
fn a_task_goes_from_created_to_done() {
    let troop = Troop::with_team();
    assert_eq!(
        troop.ok("task create 'Write the parser' --priority 5"),
        "created task-1: Write the parser\n"
    );
    assert_eq!(
        troop.ok("task create 'Test the parser' --blocked-by 1"),
        "created task-2: Test the parser\n"
    );
    assert_eq!(troop.ok("--as ann task next"), "task-1 Write the parser\n");
    assert_eq!(troop.ok("--as ann task claim"), "claimed task-1: Write the parser (ann)\n");
    assert_eq!(
        troop.ok("--as ann task progress 1 40 lexing"),
        "noted progress on task-1: Write the parser (ann)\n"
    );
    assert_eq!(
        troop.ok("--as ann task complete 1 --result 'in main'"),
        "completed task-1: Write the parser (ann)\n"
    );
    assert_eq!(troop.ok("--as bob task claim"), "claimed task-2: Test the parser (bob)\n");
    assert_eq!(
        troop.ok("--as bob task review 2 --result 'all green'"),
        "handed in for review: task-2: Test the parser (bob)\n"
    );
    assert_eq!(troop.ok("task approve task-2"), "approved task-2: Test the parser (bob)\n");
    assert_eq!(troop.ok("task list"), "no tasks\n");
}

#[test]
fn the_list_reads_like_a_board() {
    let troop = Troop::with_team();
    for task in [
        "'Write the parser' -p 5",
        "'Test the parser' -b 1",
        "'Write the docs' -a bob",
        "'Ship it' -b 2,3",
    ] {
        troop.ok(&format!("task create {task}"));
    }
    troop.ok("--as ann task claim 1");
    troop.ok("--as ann task progress 1 40 'the lexer'");
    let text = troop.ok("task list");
    let text = text
        .lines()
        .map(|line| line.trim_end_matches(|c: char| c == 's' || c.is_ascii_digit()).trim_end());
    insta::assert_snapshot!(text.collect::<Vec<_>>().join("\n"), @r"
    In progress
      ● 1  Write the parser  ann    P5, 40% the lexer

    Ready
      ○ 3  Write the docs    → bob

    Blocked
      ◌ 2  Test the parser          waits for 1
      ◌ 4  Ship it                  waits for 2, 3
    ");
}

#[test]
fn the_graph_shows_dependencies() {
    let troop = Troop::with_team();
    for task in ["parse", "'test \"it\"' -b 1", "docs -b 1", "ship -b 2,3", "alone"] {
        troop.ok(&format!("task create {task}"));
    }
    insta::assert_snapshot!(troop.ok("task graph"), @r#"
    ○ task-1 parse
    ├─ ◌ task-2 test "it"
    │  └─ task-4 …
    └─ ◌ task-3 docs
       └─ ◌ task-4 ship  (also waits for task-2)
    ○ task-5 alone
    "#);
    insta::assert_snapshot!(troop.ok("task graph --dot"), @r#"
    digraph tasks {
      rankdir=LR;
      node [shape=box, style=rounded];
      1 [label="task-1\nparse\npending"];
      2 [label="task-2\ntest \"it\"\nblocked"];
      1 -> 2;
      3 [label="task-3\ndocs\nblocked"];
      1 -> 3;
      4 [label="task-4\nship\nblocked"];
      2 -> 4;
      3 -> 4;
      5 [label="task-5\nalone\npending"];
    }
    "#);
}

#[test]
fn task_get_shows_everything_about_a_task() {
    let troop = Troop::with_team();
    troop.ok("task create parse -d 'line one'");
    troop.ok("--as ann task claim 1");
    troop.ok("--as bob task comment 1 'mind the tabs'");
    troop.with_input("--as ann workspace write notes/plan.md", "mind the tabs");
    troop.ok("--as ann task attach 1 notes/plan.md");
    troop.ok("--as ann task ask-user 1 'tabs or spaces?'");
    let text = troop.ok("task get 1");
    for part in [
        "parse",
        "in_progress",
        "line one",
        "mind the tabs",
        "notes/plan.md",
        "tabs or spaces?",
        "commented",
    ] {
        assert!(text.contains(part), "`{part}` is missing from:\n{text}");
    }
    assert!(
        troop.ok("message read").contains("tabs or spaces?"),
        "the question goes to the person"
    );
    assert_eq!(troop.ok("--as bob message read"), "no unread messages\n");
}

#[test]
fn every_verb_of_the_board_works() {
    let troop = Troop::with_team();
    for subject in ["one", "two", "three", "four", "five"] {
        troop.ok(&format!("task create {subject}"));
    }
    troop.ok("task assign 1 ann");
    troop.ok("--as ann task review 1");
    assert_eq!(
        troop.ok("task reject 1 --reason 'too short' --mode revise"),
        "rejected and sent back task-1: one (ann)\n"
    );
    let failed = troop.ok("--as ann task fail 1 --reason 'no network'");
    assert_eq!(failed, "failed, to be retried: task-1: one\n");
    assert_eq!(troop.ok("task retry 1"), "to be retried: task-1: one\n");
    troop.ok("task update 2 --subject deux --priority 9 --type chore --assignee bob --metadata '{\"k\":1}'");
    assert_eq!(troop.ok("--as bob task next"), "task-2 deux (for bob)\n");
    troop.ok("task update 2 --unassign");
    troop.ok("task update 3 --add-blocked-by 4,5");
    troop.ok("task update 3 --unblock");
    assert_eq!(troop.ok("task cancel 4 --reason 'not needed'"), "cancelled task-4: four\n");
    assert_eq!(troop.ok("task delete 4"), "deleted task-4\n");
    troop.ok("--as bob task claim 2");
    troop.ok("--as bob task ask-user 2 'which?'");
    assert_eq!(troop.ok("task clear-ask-user 2"), "no longer asking about task-2: deux (bob)\n");
    assert!(troop.ok("task search deux").contains("deux"));
    assert_eq!(troop.ok("task search nothing like it"), "no tasks\n");
    let gate = troop.ok("task create gated --approve-start");
    assert_eq!(gate, "created task-6: gated\n");
    assert_eq!(troop.ok("task approve 6"), "approved the start of task-6: gated\n");
    assert_eq!(troop.ok("--as ann task claim 6"), "claimed task-6: gated (ann)\n");
}

#[test]
fn long_texts_come_from_standard_input() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim 1");
    let run = troop.with_input("--as ann task complete 1 --result -", "first line\nsecond line\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(troop.json("task get 1")["result"], "first line\nsecond line");
}

#[test]
fn lists_have_thirty_tasks_a_page() {
    let troop = Troop::with_team();
    let lines: String = (1..=31).map(|n| format!("task {n}\n")).collect();
    for line in lines.lines() {
        troop.ok(&format!("task create '{line}'"));
    }
    let first = troop.json("task list");
    assert_eq!((first["tasks"].as_array().unwrap().len(), &first["pages"]), (30, &2.into()));
    let second = troop.json("task list --page 2");
    assert_eq!(second["tasks"][0]["number"], 31);
    assert!(troop.ok("task list").ends_with("page 1 of 2 · 31 tasks\n"));
    assert_eq!(troop.json("task list --page 9")["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(
        troop.refused("task list --page 9").1,
        "error: there is no page 9\nhint: the last page is `--page 2`\n"
    );
}

#[test]
fn a_claim_can_wait_for_work() {
    let troop = Troop::with_team();
    let mut waiting = troop.start("--as ann task claim --wait 30");
    troop.ok("task create parse");
    let mut out = String::new();
    std::io::Read::read_to_string(&mut waiting.stdout.take().unwrap(), &mut out).unwrap();
    assert!(waiting.wait().unwrap().success());
    assert_eq!(out, "claimed task-1: parse (ann)\n");
    let (code, err) = troop.refused("--as bob task claim --wait 0");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: nothing is available for `bob` now"), "{err}");
}

#[test]
fn expired_leases_and_due_retries_need_no_daemon() {
    let troop = Troop::with_team();
    troop.ok("team set retry_backoff_seconds=0 lease_seconds=1");
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    troop.ok("--as ann task fail 1 --reason 'no network'");
    assert_eq!(troop.ok("--as bob task claim --wait 30"), "claimed task-1: parse (bob)\n");
    assert_eq!(troop.ok("--as ann task claim --wait 30"), "claimed task-1: parse (ann)\n");
    let (_, err) = troop.refused("--as bob task complete 1 -r late");
    assert!(err.starts_with("error: task-1 is not held by `bob` but by `ann`"), "{err}");
}

#[test]
fn completed_tasks_are_listed_newest_first() {
    let troop = Troop::with_team();
    for subject in ["parse", "test"] {
        troop.ok(&format!("task create {subject}"));
    }
    troop.ok("--as ann task complete 1 -r 'a long story' --summary 'parser is in main'");
    troop.ok("--as bob task complete 2 -r 'all green\nin two lines'");
    let snapshot = &troop.json("task get 1")["metadata"]["snapshot"];
    assert_eq!(
        (&snapshot["final_status"], &snapshot["result_preview"]),
        (&"completed".into(), &"a long story".into())
    );
    let text = troop.ok("task list --status completed");
    let (newer, older) = (text.find("all green").unwrap(), text.find("parser is in main").unwrap());
    assert!(newer < older, "newest first:\n{text}");
}

#[test]
fn a_completion_that_needs_review_says_so() {
    let troop = Troop::with_team();
    troop.ok("team set require_review=true");
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    assert_eq!(
        troop.ok("--as ann task complete 1 -r done"),
        "handed in for review: task-1: parse (ann)\n"
    );
}

#[test]
fn a_task_can_be_given_back() {
    let troop = Troop::with_team();
    troop.ok("task create parse");
    troop.ok("--as ann task claim");
    assert_eq!(
        troop.ok("--as ann task release 1 --reason 'not my field'"),
        "gave back task-1: parse\n"
    );
    assert_eq!(troop.ok("--as bob task claim"), "claimed task-1: parse (bob)\n");
}

/// A team that reviews results. Its only task has a check, and ann has handed it in.
fn in_review(check: &str) -> Troop {
    let troop = Troop::with_team();
    troop.ok("team set require_review=true");
    troop.ok(&format!("task create write --check '{check}'"));
    troop.ok("--as ann task claim 1");
    troop.ok("--as ann task review 1 --result ok");
    troop
}

#[test]
fn a_refused_completion_changes_nothing_and_runs_nothing() {
    let troop = in_review("touch ran; false");
    let log = troop.ok("events --json");
    for line in ["task complete 1 --result ok --without-checks why", "task complete 1 --result ok"]
    {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("hint: decide: `troop task approve 1`"), "{err}");
    }
    assert_eq!(troop.ok("events --json"), log);
    assert!(!troop.folder().join("ran").exists());
}

#[test]
fn a_person_approves_a_result_if_its_checks_pass_here_or_gives_a_reason() {
    let troop = in_review("test -e good");
    let (code, err) = troop.refused("task approve 1");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("`test -e good` ended with exit code 1"), "{err}");
    assert!(err.contains("`--without-checks REASON`"), "{err}");
    assert_eq!(troop.json("task get 1")["status"], "in_review");
    std::fs::write(troop.folder().join("good"), "").unwrap();
    assert_eq!(troop.run("task approve 1").code, 0);
    assert_eq!(troop.json("task get 1")["status"], "completed");
    let troop = in_review("false");
    troop.ok("task approve 1 --without-checks 'it is only a test'");
    let task = troop.json("task get 1");
    assert_eq!(task["detail"]["checks_waived"], "it is only a test");
    assert_eq!(task["status"], "completed");
}

#[tokio::test]
async fn a_check_ends_with_the_command_that_waits_for_it() {
    let troop = Troop::with_team();
    let check = "setsid sleep 1000 & echo $! > left; echo $$ > pid; touch begun; sleep 1000";
    troop.ok(&format!("task create write --check '{check}'"));
    let running = crate::troop::Printing::new(troop.start("task complete 1 --result ok"));
    let begun = troop.folder().join("begun");
    troop_testkit::wait_for("the check runs", async || begun.exists().then_some(())).await;
    running.signal(rustix::process::Signal::INT);
    let run = running.end();
    assert_eq!(run.code, 130, "{run:?}");
    assert!(run.err.contains("stopped by SIGINT"), "{run:?}");
    for file in ["pid", "left"] {
        let pid = std::fs::read_to_string(troop.folder().join(file)).unwrap();
        troop_testkit::wait_until_gone(&pid).await;
    }
    assert_eq!(troop.json("task get 1")["status"], "pending");
}

#[test]
fn open_tasks_are_listed_in_the_order_in_which_they_are_claimed() {
    let troop = Troop::with_team();
    for nth in 1..=31 {
        troop.ok(&format!("task create 'no {nth}'"));
    }
    troop.ok("task create soon --priority 5 --blocked-by 1");
    troop.ok("task create now --priority 100");
    let numbers = |list: &serde_json::Value| -> Vec<u64> {
        let tasks = list["tasks"].as_array().unwrap().iter();
        tasks.map(|it| it["number"].as_u64().unwrap()).take(3).collect()
    };
    assert_eq!(numbers(&troop.json("task list")), [33, 32, 1]);
    assert_eq!(numbers(&troop.json("task list --page 2")), [29, 30, 31]);
    let mut ann = Client::start(&troop, "--as ann");
    let said = ann.call("team_tasks", &serde_json::json!({"action": "list"}));
    let now = said[0].find("now").unwrap();
    assert!(now < said[0].find("no 1").unwrap(), "{}", said[0]);
}
