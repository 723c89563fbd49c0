//! Bad input for commands that run teams: one clear line, the right exit code, and nothing changes.

use super::{GREET, project, start, write};
use crate::troop::Troop;

#[test]
fn an_invalid_run_is_refused_and_creates_no_team() {
    let troop = project(GREET);
    write(&troop, "bad.script", "when task *\n    dance\n");
    let lead = "--agent script:lead.script";
    let cases = [
        (
            "run hi".to_owned(),
            1,
            "there is no agent to lead the team: none was chosen, and none is set as `agent`",
        ),
        (format!("run '' {lead}"), 2, "the goal is empty"),
        (format!("run '  ' {lead}"), 2, "the goal is empty"),
        ("run hi --agent nobody".to_owned(), 2, "there is no agent `nobody`"),
        (
            "run hi --agent claude".to_owned(),
            1,
            "the agent `claude` is not available in this version; available: builtin, command, script:FILE, your own program",
        ),
        (
            "run hi --agent codex".to_owned(),
            1,
            "the agent `codex` is not available in this version",
        ),
        ("run hi --agent command".to_owned(), 2, "`command` cannot lead: it only runs"),
        ("run hi --agent script".to_owned(), 1, "which script? write `script:FILE`"),
        ("run hi --agent script:none.script".to_owned(), 1, "the script `"),
        ("run hi --agent script:bad.script".to_owned(), 1, "`"),
        (
            format!("run hi {lead} -m ann=claude"),
            1,
            "the agent `claude` is not available in this version",
        ),
        (
            format!("run hi {lead} -m ann=builtin"),
            1,
            "the agent `builtin` has no model to use: set `ANTHROPIC_API_KEY` or",
        ),
        (format!("run hi {lead} -m ann=nobody"), 2, "there is no agent `nobody`"),
        (format!("run hi {lead} -m ann"), 2, "there is no agent `ann`"),
        (format!("run hi {lead} -m 'a b=command'"), 2, "`a b` is not a name"),
        (format!("run hi {lead} -m user=command"), 2, "`user` is reserved"),
        (format!("run hi {lead} -m lead=command"), 2, "`lead` leads the team and"),
        (format!("run hi {lead} -m script:lead.script"), 2, "`script:lead.script` has no member"),
        (format!("run hi {lead} --max-teammates 0"), 2, "`max_teammates` must be 1 to 1000"),
        (format!("run hi {lead} --max-teammates many"), 2, "invalid value 'many'"),
        (format!("run hi {lead} --grace -1"), 2, "unexpected argument '-1'"),
        (format!("run hi {lead} --grace 1e9"), 2, "invalid value '1e9'"),
        (format!("--team 'My Team' run hi {lead}"), 2, "`My Team` is not a name"),
        ("run".to_owned(), 2, "the following required arguments were not provided: <GOAL>"),
    ];
    for (line, code, says) in &cases {
        let (got, err) = troop.refused(line);
        assert!(err.starts_with(&format!("error: {says}")), "`troop {line}` said: {err}");
        assert_eq!(got, *code, "`troop {line}` said: {err}");
        assert!(err.lines().count() <= 2, "`troop {line}` said: {err}");
    }
    assert_eq!(troop.ok("team list"), "no teams\n");
    let run = troop.with_input(&format!("run - {lead}"), &"x".repeat(1_000_000));
    assert_eq!(run.code, 2);
    assert!(
        run.err.starts_with("error: the goal has 1000000 characters; the limit is 262144"),
        "{}",
        run.err
    );
    assert_eq!(troop.ok("team list"), "no teams\n");
}

#[test]
fn a_run_without_an_agent_explains_what_to_set_and_lists_agents() {
    let troop = Troop::new();
    let others = "; or a script: `--agent script:FILE`; or your own program, which `.troop/agents/NAME.md` describes (`program: \
                  [python3, agent.py]`): `--agent NAME`; to see a team at work without any of these: `troop demo`\n";
    for line in ["run hi", "run hi --agent command", "run hi --agent claude"] {
        let (_, err) = troop.refused(line);
        let hint = err.split_once("\nhint: let the built-in agent lead: ").unwrap().1;
        let key = "`export ANTHROPIC_API_KEY=…` (or `OPENAI_API_KEY`, `GEMINI_API_KEY`, or a local model: docs/builtin.md), then `--agent builtin`";
        assert_eq!(hint, format!("{key}{others}"), "troop {line}");
        let words: Vec<_> = line.split(' ').collect();
        let output = troop.command(&words).env("OPENAI_API_KEY", "x").output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        let hint = err.split_once("\nhint: let the built-in agent lead: ").unwrap().1;
        let here = "`--agent builtin`, which uses `gpt-5` here";
        assert_eq!(hint, format!("{here}{others}"), "troop {line}");
    }
    write(&troop, "lead.script", GREET);
    let line = ["run", "hi", "--agent", "script:lead.script", "-m", "ann=claude"];
    let output = troop.command(&line).env("OPENAI_API_KEY", "x").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("\nhint: say `--member ann=builtin`, which uses `gpt-5`, "), "{err}");
}

#[test]
fn a_goal_cannot_act_on_the_terminal() {
    let troop = project("when started\n    log here\n");
    let run = troop.args(&["run", "a\u{1b}[2Jb", "--agent", "script:lead.script"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("user → lead: a\\u{1b}[2Jb"), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'));
}

#[test]
fn a_missing_team_or_member_cannot_be_resumed_stopped_or_read() {
    let empty = Troop::new();
    for line in ["resume", "stop", "log ann", "member spawn ann=command"] {
        let (code, err) = empty.refused(line);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("hint: make one: `troop team create"), "`troop {line}` said: {err}");
    }
    let troop = Troop::with_team();
    let log = troop.ok("events --json");
    for (line, code, says) in [
        ("resume bleu", 1, "there is no team `bleu`"),
        ("stop bleu", 1, "there is no team `bleu`"),
        ("--team bleu log ann", 1, "there is no team `bleu`"),
        ("resume", 1, "the agent `builtin` has no model to use"),
        ("stop", 1, "this team has never run"),
        ("log amy", 1, "there is no member `amy`; the members are ann, bob, lead"),
        ("log ''", 2, "a name must not be empty"),
        ("log ../../etc/passwd", 2, "`../../etc/passwd` is not a name"),
        ("log ann --lines x", 2, "invalid value 'x'"),
        ("member spawn eve=command", 1, "nobody is running this team"),
        ("member spawn eve=nobody", 2, "there is no agent `nobody`"),
        ("member spawn eve", 2, "there is no agent `eve`"),
        ("member spawn lead=command", 1, "nobody is running this team"),
        ("member stop ann", 1, "teammate `ann` is not running; it is stopped"),
        ("member stop amy", 1, "there is no member `amy`"),
        ("member interrupt ann", 1, "teammate `ann` is not running; it is stopped"),
        ("member interrupt amy", 1, "there is no member `amy`"),
        ("stop --wait soon", 2, "invalid value 'soon'"),
    ] {
        let (got, err) = troop.refused(line);
        assert!(err.starts_with(&format!("error: {says}")), "`troop {line}` said: {err}");
        assert_eq!(got, code, "`troop {line}` said: {err}");
    }
    assert_eq!(troop.ok("events --json"), log, "nothing may have changed");
}

#[test]
fn members_cannot_stop_the_team_or_start_others() {
    let troop = project(GREET);
    let mut team = start(&troop, "-m ann=command --keep");
    team.wait_for("all is said");
    for line in
        ["--as ann stop", "--as ann member spawn eve=command", "--as ann member interrupt lead"]
    {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 1, "`troop {line}` said: {err}");
        assert!(err.starts_with("error: `ann` may not "), "`troop {line}` said: {err}");
    }
    let (code, err) = troop.refused("member spawn lead=command");
    assert_eq!(code, 1, "{err}");
    let long = "x".repeat(300_000);
    let run = troop.with_input("member spawn eve=command --prompt -", &long);
    assert_eq!(run.code, 2, "{}", run.err);
    assert!(run.err.starts_with("error: the prompt has 300000 characters"), "{}", run.err);
    troop.ok("stop");
    assert_eq!(team.end().code, 0);
}

#[test]
fn a_teammate_creates_no_team_and_leads_none() {
    let troop = project(GREET);
    for line in ["run hi --agent script:lead.script", "team create nested", "demo", "resume"] {
        let words: Vec<_> = line.split(' ').collect();
        let output = troop.command(&words).env("TROOP_TEAMMATE", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.starts_with("error: a teammate can neither create nor lead a team\n"), "{err}");
    }
    assert_eq!(troop.ok("team list"), "no teams\n");
}

#[test]
fn nothing_runs_while_teams_are_switched_off() {
    let troop = project(GREET);
    write(&troop, "home/config.json", r#"{"teams": {"enabled": false}}"#);
    for line in ["run hi --agent script:lead.script", "resume", "stop", "demo"] {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 1, "{err}");
        assert!(err.starts_with("error: teams are switched off by `teams.enabled` in `"), "{err}");
    }
}

/// A lead that waits for the end of a task.
const ONE: &str = r#"
when mail * from user
    call task/create {"subject": "say hello", "description": "echo hello"}
    wait until all tasks are done
    message user I have waited
"#;

#[test]
fn a_run_whose_tasks_nobody_can_do_ends_and_says_so() {
    let troop = project(ONE);
    let run = troop.run("--team crew run hi --agent script:lead.script");
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.out.contains("lead → user: I have waited"), "{}", run.out);
    let says = "error: nobody can do task-1\nhint: add somebody: `--member ann=command`, or now: `troop --team crew member add ann=command`, then continue: `troop resume crew`\n";
    assert_eq!(run.err, says);
    // The hint works.
    troop.ok("--team crew member add ann=command");
    let run = troop.succeed_silently("resume crew");
    assert!(run.out.starts_with("started: ann\n"), "{}", run.out);
    assert!(run.out.contains("ann completed task-1: hello"), "{}", run.out);
}

#[test]
fn a_run_ends_when_its_only_teammate_cannot_start() {
    let troop = project(ONE);
    write(&troop, ".troop/agents/gone.md", "---\nname: gone\nprogram: [/nowhere/at-all]\n---\n");
    troop.ok("trust --yes");
    let run = troop.run("--team crew run hi --agent script:lead.script -m ann=gone");
    assert_eq!(run.code, 1, "{}", run.out);
    let says =
        "ann was removed: ann did not start: it cannot be started: `/nowhere/at-all`: No such file";
    assert!(run.out.contains(says), "{}", run.out);
    assert!(run.err.starts_with("error: nobody can do task-1\n"), "{}", run.err);
}

#[test]
fn a_run_ends_when_its_only_teammate_crashed_for_good() {
    let troop = project(ONE);
    // The answer to its call shows that the lead knows it is ready.
    write(&troop, "ann.script", "when started\n    call team/show\n    run kill -9 $PPID\n");
    // It may get the task before it crashes; the task must not run out of attempts by that.
    let line = "--team crew run hi --agent script:lead.script -m ann=script:ann.script --set max_attempts=9";
    let run = troop.run(line);
    assert_eq!(run.code, 1, "{}", run.out);
    let line = run.out.lines().find(|line| line.contains("it crashed too often"));
    let line = line.unwrap_or_else(|| panic!("troop does not say that it gave up: {}", run.out));
    assert!(line.contains("ann crashed: ") && line.ends_with("will not be restarted"), "{line}");
    assert!(run.err.starts_with("error: nobody can do task-1\n"), "{}", run.err);
    assert!(run.err.contains("`troop --team crew log ann`"), "{}", run.err);
}

#[test]
fn a_team_is_resumed_only_in_its_folder() {
    let troop = project(GREET);
    let first = troop.run("--team crew run hi --agent script:lead.script");
    assert_eq!(first.code, 1, "nobody does it: {}", first.out);
    let other = troop.folder().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let output = troop.command(&["resume", "crew"]).current_dir(&other).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    let folder = troop.folder().canonicalize().unwrap();
    let says = format!(
        "error: team `crew` works in another folder: `{0}`\nhint: continue there: `cd {0}`, then `troop resume crew`\n",
        folder.display()
    );
    assert_eq!(err, says);
    troop.ok("--team crew member add ann=command");
    assert_eq!(troop.run("resume crew").code, 0);
}

#[test]
fn the_state_of_a_team_is_shown_in_lists() {
    let troop = project(GREET);
    troop.ok("team create fresh");
    let state = |name: &str| {
        let teams = troop.json("team list --all");
        let mut teams = teams["teams"].as_array().unwrap().iter();
        teams.find(|team| team["name"] == name).unwrap()["state"].as_str().unwrap().to_owned()
    };
    let mut team = start(&troop, "-m ann=command --keep");
    team.wait_for("all is said");
    assert_eq!((state("fresh"), state("crew")), ("active".into(), "running".into()));
    troop.ok("--team crew task create wait --assignee lead");
    troop.ok("stop crew --reason 'lunch time'");
    let run = team.end();
    assert_eq!(run.code, 1);
    assert!(run.out.contains("\nstopped: lunch time\n"), "{}", run.out);
    assert_eq!(state("crew"), "stopped");
    assert!(troop.ok("--team crew team status").starts_with("crew  stopped\n"));
    assert!(troop.ok("team list").contains("stopped"));
    let (_, err) = troop.refused("stop crew");
    assert!(err.ends_with("hint: continue it: `troop resume crew`\n"), "{err}");
    troop.ok("--team crew task cancel 3 --reason enough");
    assert_eq!(troop.run("resume crew").code, 0);
    assert_eq!(state("crew"), "completed");
    troop.ok("team delete crew");
    assert_eq!(state("crew"), "deleted");
    let (_, err) = troop.refused("stop fresh");
    assert!(!err.contains("resume"), "nobody ever led it: {err}");
}

#[test]
fn a_task_without_attempts_left_must_be_retried_before_resume() {
    let troop = project(&ONE.replace("echo hello", "exit 3"));
    let line = "--team crew run hi --agent script:lead.script -m ann=command --set max_attempts=1";
    let run = troop.run(line);
    assert_eq!(run.code, 1, "{}", run.out);
    assert!(run.err.contains("retry: `troop --team crew task retry 1`"), "{}", run.err);
    assert!(run.out.contains("  failed     task-1: exit code 3"), "{}", run.out);
    troop.ok("--team crew task retry 1");
    let run = troop.run("resume crew");
    assert!(
        run.out.starts_with("started: ann\n"),
        "after an orderly end nobody was cut short: {}",
        run.out
    );
}
