//! `troop demo`, which people try first.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use crate::troop::{Printing, Troop};

#[test]
fn a_whole_team_works_through_a_crash_a_rejected_plan_and_a_veto() {
    let troop = Troop::new();
    let run = troop.succeed_silently("demo");
    let out = &run.out;
    for part in [
        "lead rejects the plan of cyd: two words can be equally frequent",
        "lead approves the plan of cyd",
        "ann → cyd: of two equally frequent words, which comes first?",
        "cyd → ann: by the alphabet",
        " crashed: killed by signal 9\n",
        "task-2 is back on the board: ",
        " (attempt 2)\n",
        "a hook said no to ",
        "the tests fail: README.md lacks --json, --top\n",
        "task-1 is merged into troop/tally\n",
        " is not done yet: it conflicts with what is in `troop/tally` now: `README.md`\n",
        "5 of 5 tasks done in ",
        " commits of the team are on `main` now\n",
        "  rejected   the plan of cyd: ",
        "  recovered  task-2: ",
        "  vetoed     ",
        "  Ran 5 tests in ",
        "\n  OK\n",
    ] {
        assert!(out.contains(part), "`{part}` is missing from:\n{out}");
    }
    let (lost, after) = out.split_once(" crashed: killed by signal 9\n").unwrap();
    let lost = lost.rsplit(' ').next().unwrap();
    assert!(!after.contains(&format!("task-2 goes to {lost} ")), "another one has it: {out}");
    printed_commands_can_be_pasted(out);
}

fn printed_commands_can_be_pasted(out: &str) {
    let (_, look) = out.split_once("Where to look\n").unwrap();
    let (look, removal) = look.split_once("Everything is kept; to remove it\n").unwrap();
    let is_command = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let commands: Vec<_> = look.lines().map(str::trim).filter(is_command).collect();
    let (export, commands) = commands.split_first().unwrap();
    assert_eq!(commands.len(), 5, "{look}");
    for command in commands {
        let line = format!("{export}; {command}");
        let output = Command::new("/bin/sh").args(["-c", &line]).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "`{line}`: {output:?}");
    }
    let folder = Path::new(removal.trim().strip_prefix("rm -rf ").unwrap());
    assert!(folder.join("home").is_dir() && folder.join("tally").is_dir(), "{removal}");
}

#[test]
fn a_demo_without_a_temporary_folder_explains_how_to_name_one() {
    let troop = Troop::new();
    let output = troop.command(&["demo"]).env("TMPDIR", "/no/such").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: no temporary folder can be made: "), "{err}");
    assert!(
        err.ends_with("\nhint: name a folder with room: `TMPDIR=/var/tmp troop demo`\n"),
        "{err}"
    );
}

#[test]
fn the_demo_reports_as_json() {
    let troop = Troop::new();
    let run = troop.succeed_silently("demo --json");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["success"], true);
    assert_eq!(report["tests"]["passed"], true);
    assert_eq!(report["tasks"].as_array().unwrap().len(), 5);
    assert_eq!(report["members"].as_array().unwrap().len(), 3);
    assert_eq!(report["recoveries"][0]["task"], 2);
    assert_ne!(report["recoveries"][0]["from"], report["recoveries"][0]["to"]);
    assert_eq!(report["vetoes"].as_array().unwrap().len(), 1);
    let approved: Vec<_> =
        report["plans"].as_array().unwrap().iter().map(|it| &it["approved"]).collect();
    assert_eq!(approved, [&Value::Bool(false), &Value::Bool(true)]);
    let notes = Path::new(report["project"].as_str().unwrap()).join("CHANGES.md");
    assert!(fs::read_to_string(notes).unwrap().contains("--top N"));
}

#[test]
fn a_demo_without_python_explains_what_to_install() {
    let troop = Troop::new();
    let mut command = troop.command(&["demo"]);
    let output = command.env("PATH", troop.folder()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains(
            "needs `python3`, which is not installed\nhint: install it: `apt-get install python3`"
        ),
        "{err}"
    );
}

#[test]
fn the_demo_redraws_one_screen_on_a_terminal() {
    let troop = Troop::new();
    let line = format!("stty rows 24 cols 80; {} demo", env!("CARGO_BIN_EXE_troop"));
    let output = troop.on_terminal(&line).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let screen = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    assert!(screen.contains("\u{1b}[K\n"), "lines are drawn over");
    assert!(screen.contains("  5  Write the release notes"), "the board is shown");
    assert!(!screen.contains("\u{1b}[2J"), "nothing is cleared that is not ours");
    let (_, report) = screen.rsplit_once("5 of 5 tasks done in ").unwrap();
    assert!(report.contains("Ran 5 tests in "), "{report}");
}

#[test]
fn a_demo_that_keeps_running_explains_how_to_look_and_how_to_stop_it() {
    let troop = Troop::new();
    let mut demo = Printing::new(troop.start("demo --keep"));
    let line = demo.wait_for("export TROOP_HOME=");
    let home = line.trim().strip_prefix("export TROOP_HOME=").unwrap().to_owned();
    assert!(demo.wait_for(" stop").starts_with("  "));
    demo.wait_for("ann is ready");
    let mut stop = troop.command(&["stop"]);
    let stopped = stop.env("TROOP_HOME", home).output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(demo.end().out.contains("Everything is kept; to remove it\n  rm -rf "));
}
