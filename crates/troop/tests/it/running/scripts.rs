//! A lead's script that fails, does not fit the goal, or is cut short is no success.

use rustix::process::Signal;
use troop_testkit::wait_for;

use super::{Printing, project, start, statuses, write};
use crate::troop::Troop;

/// The state of the only team.
fn standing(troop: &Troop) -> String {
    troop.json("team list")["teams"][0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_failed_step_of_the_lead_fails_the_run() {
    for (step, reason) in [
        (
            r#"call task/create {"subject": "b", "description": "echo b", "blocked_by": [7]}"#,
            "there is no task `task-7`",
        ),
        ("run exit 3", "`exit 3`: exit code 3"),
        ("message ghost boo", "there is no member `ghost`"),
    ] {
        for handler in ["when mail * from user", "when started"] {
            let script = format!(
                "{handler}\n    call task/create {{\"subject\": \"a\", \"description\": \"echo a\"}}\n    {step}\n    message user all done\n"
            );
            let troop = project(&script);
            let run = start(&troop, "-m ann=command").end();
            assert_eq!(run.code, 1, "{}{}", run.out, run.err);
            assert!(run.out.contains("1 of 1 tasks done"), "the created task is done: {}", run.out);
            assert!(!run.out.contains("all done"), "{}", run.out);
            let line = format!("line 3 of the script: {reason}");
            assert!(run.out.contains(&format!("warning: lead: {line}")), "at once: {}", run.out);
            let says = format!("error: the lead could not continue: {line}");
            assert!(run.err.contains(&says), "in the end: {}", run.err);
            assert_eq!(standing(&troop), "stopped");
            // `when started` runs again when the team is resumed.
            if handler == "when started" {
                continue;
            }
            for nth in 0..2 {
                let run = troop.run("resume crew");
                let says = "could not do what it was told, and does not go on with that by itself";
                assert!(run.out.contains(&format!("the lead {says}")), "{nth}: {}", run.out);
                let error = format!("error: the lead could not continue: it {says}\n");
                assert!(run.err.starts_with(&error), "{nth}: {}", run.err);
                assert!(!run.out.contains("cut short"), "that is not what happened: {}", run.out);
            }
        }
    }
}

#[test]
fn a_script_without_a_handler_for_the_goal_fails_the_run() {
    for script in
        ["", "when mail *other* from user\n    log hi\n", "when mail * from ann\n    log hi\n"]
    {
        let troop = project(script);
        let run = start(&troop, "-m ann=command").end();
        assert_eq!(run.code, 1, "{script}: {}{}", run.out, run.err);
        let says =
            "error: the lead could not continue: the script has no `when mail` for `the goal`\n";
        assert!(run.err.contains(says), "{}", run.err);
        assert_eq!(standing(&troop), "stopped");
    }
    let troop = project("when started\n    log hi\n");
    let run = start(&troop, "-m ann=command").end();
    assert_eq!(run.code, 0, "it needs no goal: {}{}", run.out, run.err);
}

/// A lead whose plan has two steps, of which the first waits for the file `go`.
const TWO_STEPS: &str = r#"
when mail * from user
    call task/create {"subject": "a", "description": "until [ -e go ]; do sleep 0.01; done"}
    wait until all tasks are done
    call task/create {"subject": "b", "description": "echo b"}
    wait until all tasks are done
"#;

/// The team while its lead waits for the first step, and the log shows that.
async fn in_the_first_step(troop: &Troop) -> Printing {
    let mut team = start(troop, "-m ann=command --grace 1");
    team.wait_for("task-1 goes to ann");
    wait_for("the log shows the lead in the middle of its script", async || {
        let members = troop.json("member list");
        let lead = members["members"].as_array()?.iter().find(|it| it["role"] == "lead")?.clone();
        (lead["state_reason"] == "it has not done yet what it was told").then_some(())
    })
    .await;
    team
}

#[tokio::test]
async fn a_script_that_was_cut_short_does_not_count_as_done() {
    for signal in [Signal::KILL, Signal::INT] {
        let troop = project(TWO_STEPS);
        let team = in_the_first_step(&troop).await;
        team.signal(signal);
        assert_ne!(team.end().code, 0);
        write(&troop, "go", "");
        for nth in 0..2 {
            let run = troop.run("resume crew");
            assert_eq!(run.code, 1, "{nth}: {}{}", run.out, run.err);
            let says = "the lead was cut short in the middle of its script, and does not go on with that by itself";
            assert!(run.out.contains(says), "{nth}: {}", run.out);
            let says =
                "error: the lead could not continue: it was cut short in the middle of its script";
            assert!(run.err.starts_with(says), "{nth}: {}", run.err);
            assert_eq!(
                (statuses(&troop), standing(&troop)),
                (vec!["completed".to_owned()], "stopped".to_owned())
            );
        }
        // The hint works.
        troop.ok("--team crew message send lead 'the goal'");
        troop.succeed_silently("resume crew");
        assert_eq!((statuses(&troop).len(), standing(&troop)), (3, "completed".to_owned()));
    }
}

#[tokio::test]
async fn a_script_killed_right_after_it_read_its_goal_was_cut_short() {
    let troop = project("when mail * from user\n    run until [ -e go ]; do sleep 0.01; done\n");
    let team = start(&troop, "-m ann=command");
    wait_for("the goal is read", async || {
        let run = troop.run("--team crew --json events");
        run.out.contains(r#""kind":"message.read""#).then_some(())
    })
    .await;
    team.signal(Signal::KILL);
    assert_ne!(team.end().code, 0);
    let run = troop.run("resume crew");
    assert!(run.out.contains("the lead was cut short in the middle of its script"), "{}", run.out);
    assert_eq!(standing(&troop), "stopped");
}

#[test]
fn a_teammates_failure_without_a_task_is_reported_and_fails_the_run() {
    let troop = project("when mail * from user\n    message ann please look\n");
    write(&troop, "ann.script", "when mail *\n    run cat nothing-here\n");
    let run = troop.run("--team crew run hi --agent script:lead.script -m ann=script:ann.script");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.out.contains("ann could not do what it was told: line 2 of the script: "),
        "{run:?}"
    );
    let says = "error: ann could not do what it was told: line 2 of the script: ";
    assert!(run.err.contains(says) && run.err.contains("`troop --team crew log ann`"), "{run:?}");
    let mail = troop.ok("message read --all --team crew");
    assert!(mail.contains("ann could not do what it was told"), "the lead is told: {mail}");
}

#[test]
fn a_teammates_later_success_makes_up_for_its_failure() {
    let troop = project(
        "when mail * from user\n    message ann please look\n    wait for mail *could not*\n    message ann then wave\n",
    );
    let ann =
        "when mail *look*\n    run cat nothing-here\nwhen mail *wave*\n    message user bye\n";
    write(&troop, "ann.script", ann);
    troop.succeed("--team crew run hi --agent script:lead.script -m ann=script:ann.script");
}

#[test]
fn the_examples_in_the_docs_of_scripts_work_together_as_printed() {
    let page = include_str!("../../../../../docs/script.md");
    let mut examples = page.split("```text\n").skip(1).map(|it| it.split("```").next().unwrap());
    let (ann, lead) = (examples.next().unwrap(), examples.next().unwrap());
    let troop = project(lead);
    write(&troop, "ann.script", ann);
    let run = start(&troop, "-m ann=script:ann.script").end();
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("2 of 2 tasks done"), "{}", run.out);
    for says in ["ann crashed: killed by signal 9", "I only write", "task-2 was the last one"] {
        assert!(run.out.contains(says), "{says}: {}", run.out);
    }
}
