//! Bad input for all that runs teams: one clear line, the right exit code, nothing changed.

use super::{GREET, project, start, write};
use crate::troop::Troop;

#[test]
fn what_cannot_run_is_refused_and_no_team_is_made() {
    let troop = project(GREET);
    write(&troop, "bad.script", "when task *\n    dance\n");
    let lead = "--agent script:lead.script";
    let cases = [
        (
            "run hi".to_owned(),
            1,
            "there is no agent to lead the team: none was given with `--agent`",
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
        ("run hi --agent command".to_owned(), 2, "`command` cannot lead: it does what a task says"),
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
            "there is no model for the agent `builtin` to think with: set `ANTHROPIC_API_KEY` or",
        ),
        (format!("run hi {lead} -m ann=nobody"), 2, "there is no agent `nobody`"),
        (format!("run hi {lead} -m ann"), 2, "there is no agent `ann`"),
        (format!("run hi {lead} -m 'a b=command'"), 2, "`a b` is not a name"),
        (format!("run hi {lead} -m user=command"), 2, "`user` is reserved"),
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
fn a_goal_cannot_act_on_the_terminal() {
    let troop = project("when started\n    log here\n");
    let run = troop.args(&["run", "a\u{1b}[2Jb", "--agent", "script:lead.script"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("user → lead: a\\u{1b}[2Jb"), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'));
}

#[test]
fn what_is_not_there_cannot_be_resumed_stopped_or_read() {
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
        ("resume", 1, "there is no model for the agent `builtin` to think with"),
        ("stop", 1, "nobody runs this team now"),
        ("log amy", 1, "there is no member `amy`; the members are ann, bob, lead"),
        ("log ''", 2, "a name must not be empty"),
        ("log ../../etc/passwd", 2, "`../../etc/passwd` is not a name"),
        ("log ann --lines x", 2, "invalid value 'x'"),
        ("member spawn eve=command", 1, "nobody runs this team now"),
        ("member spawn eve=nobody", 2, "there is no agent `nobody`"),
        ("member spawn eve", 2, "there is no agent `eve`"),
        ("member spawn lead=command", 1, "nobody runs this team now"),
        ("member stop ann", 1, "teammate `ann` does not run; it is stopped"),
        ("member stop amy", 1, "there is no member `amy`"),
        ("member interrupt ann", 1, "teammate `ann` does not run; it is stopped"),
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
fn a_teammate_makes_no_team_and_leads_none() {
    let troop = project(GREET);
    for line in ["run hi --agent script:lead.script", "team create nested", "demo", "resume"] {
        let words: Vec<_> = line.split(' ').collect();
        let output = troop.command(&words).env("TROOP_TEAMMATE", "1").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            err.starts_with("error: a teammate makes no team of its own, and leads none\n"),
            "{err}"
        );
    }
    assert_eq!(troop.ok("team list"), "no teams\n");
}

#[test]
fn where_teams_are_switched_off_nothing_runs() {
    let troop = project(GREET);
    write(&troop, "home/config.json", r#"{"teams": {"enabled": false}}"#);
    for line in ["run hi --agent script:lead.script", "resume", "stop", "demo"] {
        let (code, err) = troop.refused(line);
        assert_eq!(code, 1, "{err}");
        assert!(err.starts_with("error: teams are switched off by `teams.enabled` in `"), "{err}");
    }
}
