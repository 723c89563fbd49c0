//! `troop run`, `resume`, `stop` and `member spawn|stop|interrupt`: real teams of real processes.

mod agents;
mod agreed;
mod away;
mod delegation;
mod hooks;
mod planning;
mod refusals;
mod scripts;
mod served;
mod waiting;

use std::{fs, path::PathBuf};

use rustix::process::Signal;
use serde_json::Value;
use troop_process::Mark;
use troop_runtime::find_lead;
use troop_testkit::wait_for;

use crate::{
    isolation::lead_only_waits,
    troop::{Printing, Troop, wait},
};

/// A lead with two tasks, one after the other.
const GREET: &str = r#"
when mail * from user
    call task/create {"subject": "say hello", "description": "echo hello: {mail}"} as hello
    call task/create {"subject": "say bye", "description": "echo bye", "blocked_by": ["{hello.task.number}"]}
    wait until all tasks are done
    message user all is said
"#;

/// A lead with two tasks that wait for the file `go`.
const WAIT: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "touch one; until [ -e go ]; do sleep 0.01; done; echo one"}
    call task/create {"subject": "two", "description": "touch two; until [ -e go ]; do sleep 0.01; done; echo two"}
    wait until all tasks are done
"#;

/// A project whose lead follows a script.
fn project(script: &str) -> Troop {
    let troop = Troop::new();
    write(&troop, "lead.script", script);
    troop
}

fn write(troop: &Troop, path: &str, text: &str) {
    let file = troop.folder().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// Starts a team named `crew`.
fn start(troop: &Troop, more: &str) -> Printing {
    let line = format!("--team crew run 'the goal' --agent script:lead.script {more}");
    Printing::new(troop.start(&line))
}

/// A team of two that works on two tasks, and cannot continue before there is a file `go`.
fn at_work(troop: &Troop) -> Printing {
    let mut team = start(troop, "-m ann=command -m bob=command");
    for wanted in ["goes to", "goes to"] {
        team.wait_for(wanted);
    }
    // A member that is stopped after it was given a task and before it began gives the task back.
    wait("both tasks have begun", || {
        ["one", "two"].iter().all(|file| troop.folder().join(file).exists())
    });
    lead_only_waits(troop);
    team
}

/// All processes that run for the lead of the only team.
fn processes(troop: &Troop) -> Mark {
    let team = troop.json("team list")["teams"][0]["id"].as_str().unwrap().to_owned();
    let lead = find_lead(&troop.folder().join("home/teams").join(team)).unwrap();
    Mark { session: lead.session, run: None }
}

async fn all_end(mark: Mark) {
    wait_for("no process is left", async || mark.processes().is_empty().then_some(())).await;
}

/// Kills the lead of the only team, and waits until everything that ran for it has ended.
async fn kill(team: Printing, troop: &Troop) {
    let mark = processes(troop);
    team.signal(Signal::KILL);
    all_end(mark).await;
}

fn statuses(troop: &Troop) -> Vec<String> {
    let tasks = troop.json("task list --status all");
    let tasks = tasks["tasks"].as_array().unwrap().clone();
    tasks.iter().map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

fn members(troop: &Troop) -> Vec<(String, String)> {
    let members = troop.json("member list");
    let text = |it: &Value| it.as_str().unwrap().to_owned();
    let members = members["members"].as_array().unwrap();
    members.iter().map(|it| (text(&it["name"]), text(&it["state"]))).collect()
}

#[test]
fn a_team_works_on_its_leads_plan_and_ends_when_it_is_done() {
    let troop = project(GREET);
    let run = troop
        .succeed_silently("run 'be nice' --agent script:lead.script -m ann=command -m bob=command");
    // When the second task is created, the first may be done already.
    assert!(run.out.contains("lead created task-2: say bye (after task-1)"), "{}", run.out);
    let steps = [
        "user → lead: be nice",
        "completed task-1: hello: be nice",
        "completed task-2: bye",
        "lead → user: all is said",
        "2 of 2 tasks done in ",
    ];
    let mut rest = run.out.as_str();
    for step in steps {
        let at = rest.find(step);
        let at =
            at.unwrap_or_else(|| panic!("`{step}` is missing, or too early, in:\n{}", run.out));
        rest = rest.split_at(at).1;
    }
    let team = troop.json("team show");
    assert_eq!((&team["status"], &team["goal"]), (&"completed".into(), &"be nice".into()));
    assert!(members(&troop).iter().all(|(_, state)| state == "stopped"));
    let said = troop.json("message read");
    assert_eq!(said["messages"][0]["content"], "all is said");
}

#[test]
fn the_first_team_in_the_documentation_works() {
    let text = fs::read_to_string(troop_testkit::repository().join("docs/running.md")).unwrap();
    let script = text.split_once("```text\n").unwrap().1.split_once("```").unwrap().0;
    let line = text.lines().find_map(|line| line.strip_prefix("troop run ")).unwrap();
    let troop = project(script);
    write(&troop, "README.md", "one\ntwo\n");
    let run = troop.succeed_silently(&format!("run {}", line.replace('"', "'")));
    assert!(run.out.contains("completed task-1: 2 README.md"), "{}", run.out);
    assert!(run.out.contains("lead → user: done: look at this project"), "{}", run.out);
}

#[test]
fn the_report_of_a_run_is_available_as_json() {
    let troop = project(GREET);
    let run =
        troop.succeed_silently("--json run 'be nice' --agent script:lead.script -m ann=command");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&report["success"], &report["ended"]["how"]), (&true.into(), &"quiet".into()));
    assert_eq!(report["tasks"][1]["result"], "bye");
    assert_eq!(report["members"][0]["completed"], serde_json::json!([1, 2]));
    assert_eq!(report["members"][0]["name"], "ann");
}

#[test]
fn a_cancelled_task_does_not_fail_the_run() {
    let script = GREET.replace("echo bye", "exit 3");
    let troop = project(&script);
    troop.ok("team list");
    let mut team = start(&troop, "-m ann=command --keep");
    team.wait_for("failed at task-2: exit code 3");
    troop.ok("--team crew task cancel 2 --reason 'it never works'");
    team.wait_for("lead → user: all is said");
    troop.ok("stop");
    let run = team.end();
    assert_eq!(run.code, 0, "a cancelled task is over: {}{}", run.out, run.err);
}

#[test]
fn a_lead_that_cannot_continue_fails_the_run() {
    let troop = project("when mail *\n    call task/create {\"subject\": \"\"}\n");
    let run = troop.run("run x --agent script:lead.script");
    assert_eq!(run.code, 1, "{}", run.out);
    let says = "error: the lead could not continue: line 2 of the script: the subject is empty\nhint: see what it did: `troop --team ";
    assert!(run.err.starts_with(says), "{}", run.err);
    assert_eq!(troop.json("team list")["teams"][0]["state"], "stopped", "its work is not over");
    // The same holds if other steps were done and more mail came.
    let half = "when mail * from user\n    call task/create {\"subject\": \"a\", \"description\": \"echo a\"}\n    \
                call task/get {\"task\": 7}\n    message user all done\nwhen mail *\n    log heard\n";
    let troop = project(half);
    let run = troop.run("run x --agent script:lead.script -m ann=command");
    assert_eq!(run.code, 1, "{}", run.out);
    assert_eq!(troop.json("team list")["teams"][0]["state"], "stopped", "its work is not over");
    let says =
        "error: the lead could not continue: line 3 of the script: there is no task `task-7`";
    assert!(run.err.starts_with(says), "{}", run.err);
}

#[tokio::test]
async fn a_killed_lead_ends_its_team_and_resume_continues() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    let mark = processes(&troop);
    assert!(mark.processes().len() >= 4, "two teammates, two shells");
    kill(team, &troop).await;
    // No member counts as alive, and nobody leads.
    assert!(
        members(&troop).iter().all(|(_, state)| state == "crashed"),
        "{}",
        troop.ok("member list")
    );
    let (code, err) = troop.refused("stop");
    assert_eq!(code, 1);
    assert!(err.contains(" is dead\nhint: continue it: `troop resume crew`\n"), "{err}");
    write(&troop, "go", "");
    let run = troop.succeed_silently("resume");
    let says = "2 teammates were cut short; started: ann, bob\n";
    assert!(run.out.starts_with(says), "{}", run.out);
    assert_eq!(statuses(&troop), ["completed", "completed"]);
    let log = troop.ok("events --json");
    assert_eq!(log.matches("\"kind\":\"task.completed\"").count(), 2, "{log}");
}

#[tokio::test]
async fn a_team_whose_lead_was_killed_can_be_deleted() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    kill(team, &troop).await;
    assert_eq!(troop.ok("team delete crew"), "deleted team crew\n");
}

#[tokio::test]
async fn commands_of_a_killed_leads_agent_end_with_it() {
    let troop = project("when mail *\n    run sh -c 'touch begun; sleep 600'\n");
    let team = start(&troop, "");
    let begun = troop.folder().join("begun");
    wait_for("the lead runs something", async || begun.exists().then_some(())).await;
    let mark = processes(&troop);
    assert!(!mark.processes().is_empty(), "it has the mark of its lead");
    kill(team, &troop).await;
}

#[test]
fn a_second_lead_is_refused_with_the_name_of_the_first() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    let (code, err) = troop.refused("resume crew");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: pat on "), "{err}");
    assert!(err.contains(&format!(", process {} has led the team since ", team.id())), "{err}");
    let hint = "\nhint: see what it is doing: `troop --team crew events --follow`; stop it: `troop stop crew`\n";
    assert!(err.ends_with(hint), "{err}");
    let (code, err) = troop.refused("--team crew run 'once more' --agent script:lead.script");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: team `crew` is already running, led by pat on "), "{err}");
    assert!(
        err.ends_with("stop it: `troop stop crew`, or use another name: `--team crew-2`\n"),
        "{err}"
    );
    let (code, err) = troop.refused("team delete");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: team `crew` is led by pat on "), "{err}");
    assert!(
        err.contains("; ann is working, bob is working\nhint: stop it first: `troop stop crew`\n"),
        "{err}"
    );
    write(&troop, "go", "");
    assert_eq!(team.end().code, 0, "the first one continues");
}

#[test]
fn a_task_that_waits_for_a_cancelled_one_is_named_with_the_way_out() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "true", "assignee": "lead"} as one
    call task/create {"subject": "two", "description": "true", "blocked_by": ["{one.task.number}"]}
    call task/cancel {"task": "{one.task.number}", "reason": "no"}
    "#;
    let troop = project(script);
    let run = start(&troop, "-m ann=command").end();
    let unblock = "troop --team crew task update 2 --unblock";
    let says = format!(
        "error: 1 task is not done\nhint: task-2 waits for task-1, which was cancelled; make it wait for nothing: `{unblock}`, or cancel it too: `troop --team crew task cancel 2 --reason \"…\"`, then continue: `troop resume crew`\n"
    );
    assert_eq!((run.code, run.err), (1, says), "{}", run.out);
    assert!(run.out.contains("crew: 0 of 1 tasks done"), "{}", run.out);
    assert!(troop.ok("--team crew team status").contains("tasks    0/1 completed"));
    troop.ok(unblock.strip_prefix("troop ").unwrap());
    troop.succeed_silently("resume crew");
}

#[tokio::test]
async fn a_team_is_stopped_from_another_terminal_and_resumed_later() {
    let troop = project(WAIT);
    let team = at_work(&troop);
    let mark = processes(&troop);
    write(&troop, "later", "");
    // Its commands do not end by themselves, so the grace period must.
    let stopped = Printing::new(troop.start("stop --reason 'lunch'"));
    let stopped = stopped.end();
    assert_eq!((stopped.code, stopped.err.as_str()), (0, ""), "{}", stopped.out);
    assert!(stopped.out.contains("ann: its team stopped: lunch\n"), "{}", stopped.out);
    assert!(stopped.out.contains("crew has stopped, after "), "{}", stopped.out);
    all_end(mark).await;
    let run = team.end();
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.out.contains("pat asks the team to stop: lunch\n"), "{}", run.out);
    assert_eq!(run.err, "error: 2 tasks are not done\nhint: continue: `troop resume crew`\n");
    let status = troop.json("team status");
    let lead = status["members"].as_array().unwrap().iter().find(|it| it["role"] == "lead");
    assert_eq!(lead.unwrap()["unread"], 0, "the stop itself leaves no mail");
    let (code, err) = troop.refused("stop");
    assert_eq!((code, err.starts_with("error: nobody is running this team\n")), (1, true), "{err}");
    write(&troop, "go", "");
    troop.succeed_silently("resume crew");
    assert_eq!(statuses(&troop), ["completed", "completed"]);
    let run = troop.succeed("resume crew");
    assert!(run.out.contains("no task is open, so nobody is started"), "{}", run.out);
}

#[tokio::test]
async fn a_signal_stops_the_team_in_order() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let troop = project(WAIT);
        let team = at_work(&troop);
        let mark = processes(&troop);
        team.signal(signal);
        write(&troop, "go", "");
        let run = team.end();
        // Current work is finished first.
        assert!(run.out.contains("pat asks the team to stop: it got SIG"), "{}", run.out);
        assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        assert!(mark.processes().is_empty());
        assert!(members(&troop).iter().all(|(_, state)| state == "stopped"));
    }
}

#[tokio::test]
async fn a_second_signal_ends_the_team_at_once() {
    let troop = project(WAIT);
    write(&troop, "stubborn.script", "when task *\n    run kill -STOP $PPID\n");
    let mut team = start(&troop, "-m ann=script:stubborn.script --grace 3600");
    team.wait_for("task-1 goes to ann");
    let mark = processes(&troop);
    team.signal(Signal::INT);
    team.wait_for("asks the team to stop");
    team.signal(Signal::INT);
    let run = team.end();
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(mark.processes().is_empty());
    // The end was orderly anyway: nobody leads.
    let (_, err) = troop.refused("stop");
    assert!(err.starts_with("error: nobody is running this team\n"), "{err}");
}

/// A lead whose task leaves a process behind that has neither the mark nor the group of its member.
fn leaves_behind(then: &str) -> String {
    let left = "env -i setsid sh -c 'echo $$ > left; exec sleep 600' > /dev/null 2>&1 &";
    format!(
        r#"
when mail * from user
    call task/create {{"subject": "leave", "description": "{left} until [ -s left ]; do sleep 0.01; done; {then}"}}
    wait until all tasks are done
"#
    )
}

async fn left_process_ends(troop: &Troop) {
    let id = fs::read_to_string(troop.folder().join("left")).unwrap();
    let file = PathBuf::from(format!("/proc/{}/cmdline", id.trim()));
    wait_for("the process that was left behind has ended", async || {
        fs::read(&file).unwrap_or_default().is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_process_without_its_mark_ends_with_its_teammate() {
    let troop = project(&leaves_behind("true"));
    let run = start(&troop, "-m ann=command").end();
    assert_eq!(run.code, 0, "{run:?}");
    left_process_ends(&troop).await;
}

#[tokio::test]
async fn a_process_without_its_mark_ends_with_its_killed_teammate() {
    let troop = project(&leaves_behind("touch ready; sleep 600"));
    let mut team = start(&troop, "-m ann=command --grace 3600");
    let ready = troop.folder().join("ready");
    wait_for("a process was left behind", async || ready.exists().then_some(())).await;
    team.signal(Signal::INT);
    team.wait_for("asks the team to stop");
    team.signal(Signal::INT);
    assert_eq!(team.end().code, 1);
    left_process_ends(&troop).await;
}

#[tokio::test]
async fn a_closed_output_stops_the_team() {
    let troop = project(WAIT);
    let mut child = troop.start("--team crew run x --agent script:lead.script -m ann=command");
    let mut first = [0; 1];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut first).unwrap();
    write(&troop, "go", "");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    wait_for("nobody leads", async || {
        troop.run("stop").err.starts_with("error: nobody is running this team\n").then_some(())
    })
    .await;
    assert!(members(&troop).iter().all(|(_, state)| state == "stopped"));
}

#[test]
fn a_team_that_is_kept_takes_work_and_mail_from_other_terminals() {
    let troop = project("when mail ping from user\n    message user pong\n");
    write(&troop, "ear.script", "when mail *\n    message user heard: {mail}\n");
    let mut team = start(&troop, "-m ann=script:ear.script -m bob=command --keep");
    team.wait_for("bob is ready");
    troop.ok("message send ann 'can you hear me?'");
    team.wait_for("ann → user: heard: can you hear me?");
    troop.ok("message send lead ping");
    team.wait_for("lead → user: pong");
    troop.ok("task create 'count' --description 'echo 1 2 3' --assignee bob");
    team.wait_for("bob completed task-1: 1 2 3");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn members_are_spawned_interrupted_and_stopped_from_other_terminals() {
    let troop = project("when started\n    log here\n");
    let mut team = start(&troop, "--keep");
    team.wait_for("leads");
    let out = troop.ok("member spawn ann=command");
    assert!(out.starts_with("ann is idle (command, process "), "{out}");
    let (code, err) = troop.refused("member spawn ann");
    assert_eq!(code, 1);
    assert!(err.starts_with("error: teammate `ann` is already running; it is idle\n"), "{err}");
    let listed = troop.json("member list");
    let ann = &listed["members"][0];
    assert!(ann["pid"].as_u64().is_some() && ann["state_since"].is_string(), "{ann}");
    troop.ok("task create 'wait' --description 'until [ -e go ]; do sleep 0.01; done'");
    team.wait_for("task-1 goes to ann");
    assert_eq!(
        troop.ok("member interrupt ann --reason 'the door'"),
        "ann was interrupted\nit continues with the next message: `troop message send ann \"…\"`\n"
    );
    team.wait_for("pat interrupts ann: the door");
    team.wait_for("it continues with the next message: `troop --team crew message send ann \"…\"`");
    let held = r#""state":"working","reason":"interrupted; it goes on with the next message""#;
    let mut events = Printing::new(troop.start("events --follow --json"));
    events.wait_for(held);
    drop(events);
    write(&troop, "go", "");
    troop.ok("message send ann 'go on'");
    team.wait_for("ann completed task-1");
    let log = troop.ok("log ann");
    assert!(log.contains("troop   told to break off what it does: the door\n"), "{log}");
    assert_eq!(troop.ok("member stop ann --reason 'thank you'"), "ann was asked to stop\n");
    team.wait_for("ann stopped: thank you");
    let (code, err) = troop.refused("member stop ann");
    assert_eq!(code, 1);
    let says = "error: teammate `ann` is not running; it is stopped\nhint: start it: `troop member spawn ann`\n";
    assert_eq!(err, says);
    let told = troop.ok("message read --all");
    assert!(told.contains("Teammate ann has shut down."), "{told}");
    // The same member can be started again, this time in plan mode.
    let out = troop.ok("member spawn ann --plan");
    assert!(out.starts_with("ann is planning (command, process "), "{out}");
    let table = troop.ok("member list");
    assert!(table.contains("SINCE") && table.contains("PROCESS"), "{table}");
    let (code, err) = troop.refused("team delete");
    assert_eq!(code, 1, "a running member is in the way: {err}");
    assert!(err.contains("ann"), "{err}");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
    troop.ok("team delete");
    assert_eq!(troop.ok("team list"), "no teams\n");
}

#[test]
fn a_prompt_is_the_first_mail_of_a_spawned_member() {
    let troop = project("when started\n    log here\n");
    write(&troop, "ear.script", "when mail *\n    message user heard: {mail}\n");
    let mut team = start(&troop, "--keep");
    team.wait_for("leads");
    troop.ok("member spawn eve=script:ear.script --prompt 'read the manual'");
    team.wait_for("eve → user: heard: read the manual");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_member_that_fails_to_start_is_removed_and_its_transcript_kept() {
    let troop = project("when started\n    log here\n");
    write(
        &troop,
        "home/agents/broken.md",
        "---\nprogram: [sh, -c, \"echo no such thing >&2; exit 7\"]\n---\n",
    );
    let mut team = start(&troop, "--keep");
    team.wait_for("leads");
    let (code, err) = troop.refused("member spawn eve=broken");
    assert_eq!(code, 1);
    let says = "error: eve did not start: it cannot be started: exit code 7: no such thing\nhint: see what it said: `troop log eve`\n";
    assert_eq!(err, says);
    assert!(members(&troop).iter().all(|(name, _)| name != "eve"));
    let log = troop.ok("log eve");
    assert!(log.contains("stderr  no such thing"), "{log}");
    let (code, err) = troop.refused("member spawn eli=script:none.script");
    assert!(code == 1 && err.ends_with("`troop log eli`\n"), "{err}");
    let log = troop.ok("log eli");
    assert!(log.contains("troop   it cannot be started: the script `"), "{log}");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn one_teammate_too_many_is_refused_and_the_others_continue() {
    let troop = project(GREET);
    write(&troop, "home/config.json", r#"{"teams": {"maxTeammates": 2}}"#);
    let (code, err) =
        troop.refused("run x --agent script:lead.script -m a=command -m b=command -m c=command");
    assert_eq!(code, 1);
    assert!(err.contains("hint: allow more: `--max-teammates 3`"), "{err}");
    assert_eq!(troop.ok("team list"), "no teams\n");
    let mut team = start(&troop, "-m ann=command -m bob=command --keep");
    team.wait_for("all is said");
    let (code, err) = troop.refused("member spawn cyd=command");
    assert_eq!(code, 1);
    assert!(err.contains("max_teammates=10"), "{err}");
    troop.ok("task create 'more' --description 'echo more'");
    team.wait_for("completed task-3: more");
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn teams_are_named_after_the_folder_and_kept_apart() {
    let troop = project(GREET);
    let folder: PathBuf = troop.folder().join("My Parser");
    fs::create_dir(&folder).unwrap();
    fs::copy(troop.folder().join("lead.script"), folder.join("lead.script")).unwrap();
    for _ in 0..2 {
        let mut command =
            troop.command(&["run", "x", "--agent", "script:lead.script", "-m", "ann=command"]);
        assert!(command.current_dir(&folder).output().unwrap().status.success());
    }
    let teams = troop.ok("team list");
    assert!(teams.contains("my-parser ") && teams.contains("my-parser-2 "), "{teams}");
}

#[test]
fn cancelling_a_task_ends_its_commands() {
    let troop = project(WAIT);
    let mut team = at_work(&troop);
    let cancelled = troop.json("task get 1");
    let holder = cancelled["owner"].as_str().unwrap().to_owned();
    troop.ok("task cancel 1 --reason 'not needed'");
    troop.ok(&format!("task create three -d 'echo three' --assignee {holder}"));
    // It runs only if the holder's former command, which waits for ever, has ended.
    team.wait_for(&format!("{holder} completed task-3"));
    write(&troop, "go", "");
    assert_eq!(team.end().code, 0);
    assert_eq!(troop.json("task get 1")["status"], "cancelled");
}

#[test]
fn a_lead_that_does_not_run_is_started_with_its_team() {
    let troop = project(WAIT);
    let mut team = at_work(&troop);
    troop.ok("member stop lead");
    team.wait_for("lead agrees to stop");
    wait("the agent of the lead has stopped", || {
        members(&troop).iter().any(|(name, state)| name == "lead" && state == "stopped")
    });
    let (code, said) = troop.refused("member stop lead");
    let hint = "hint: stop the team: `troop stop`, then start it again: `troop resume`\n";
    assert_eq!((code, said.ends_with(hint)), (1, true), "{said}");
    write(&troop, "go", "");
    team.signal(Signal::INT);
    team.end();
    let (_, said) = troop.refused("member stop lead");
    assert!(said.starts_with("error: nobody is running this team\n"), "{said}");
}

#[test]
fn a_teammate_that_does_not_stop_is_terminated_after_the_grace_period() {
    let troop = project("when mail * from user\n    wait for mail *never*\n");
    // It notes when it is asked to stop, and does not answer.
    let mate = r#"echo '{"jsonrpc":"2.0","method":"team.ready","params":{"name":"eve"}}'
        trap 'date +%s%N > term; exit 0' TERM
        while read -r line; do case $line in *team.shutdown*) date +%s%N > asked;; esac; done
        while :; do sleep 0.01; done"#;
    let program = Value::from(mate);
    let definition = format!("---\ndescription: deaf\nprogram: [sh, -c, {program}]\n---\n");
    write(&troop, ".troop/agents/deaf.md", &definition);
    troop.ok("trust --yes");
    let mut team = start(&troop, "-m eve=deaf --grace 1");
    team.wait_for("eve is ready");
    team.signal(Signal::INT);
    let run = team.end();
    let noted = |file: &str| -> u128 {
        let noted = fs::read_to_string(troop.folder().join(file));
        noted.unwrap_or_else(|error| panic!("{file}: {error}: {}", run.out)).trim().parse().unwrap()
    };
    let millis = (noted("term") - noted("asked")) / 1_000_000;
    assert!((900..20_000).contains(&millis), "it had its second: {millis} ms");
    assert!(members(&troop).iter().all(|(_, state)| state == "stopped"));
}
