//! Teammates in folders of their own, checks, and what is left behind, as people use them.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use troop_testkit::git;

use crate::{
    mcp::Client,
    troop::{Printing, Troop},
};

/// A lead that has two files written at once.
const WRITE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one; git branch --show-current"}
    call task/create {"subject": "two", "description": "echo 2 > two"}
    wait until all tasks are done
"#;

/// A lead whose only task leaves half of its work behind.
const FAIL_HALFWAY: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo half > half; exit 1"}
    wait for mail *failed after* from system
"#;

/// A repository whose lead follows a script.
pub(crate) fn repository(script: &str) -> Troop {
    let troop = Troop::new();
    let folder = troop.folder();
    fs::write(folder.join("lead.script"), script).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n").unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", "begin"]);
    troop
}

#[test]
fn what_teammates_do_in_their_folders_is_merged_and_lands_in_the_project() {
    let troop = repository(WRITE);
    let run = troop.run(
        "--team crew run 'write' --agent script:lead.script -m ann=command -m bob=command --check 'test -e lead.script'",
    );
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.contains("task-1 is merged into troop/crew"), "{}", run.out);
    let n_commits =
        git(troop.folder(), &["rev-list", "--count", "HEAD"]).parse::<u32>().unwrap() - 1;
    let says = format!("{n_commits} commits of the team are on `main` now");
    assert!(run.out.contains(&says), "{}", run.out);
    assert!(troop.folder().join("one").exists() && troop.folder().join("two").exists());
    assert_eq!(git(troop.folder(), &["status", "--porcelain"]), "");
    assert_eq!(git(troop.folder(), &["branch", "--format=%(refname:short)"]), "main");
    let task = troop.json("task get 1");
    let result = task["result"].as_str().unwrap();
    assert!(result.starts_with("troop-work/crew/") && result.ends_with("/task-1"), "{result}");
    let evidence = &task["detail"]["evidence"][0];
    assert_eq!(
        (&evidence["command"], &evidence["exit_code"]),
        (&"test -e lead.script".into(), &0.into())
    );
    assert_eq!(evidence["commit"], task["merged"]["commit"]);
    let shown = troop.ok("task get 1");
    assert!(shown.contains("✓ test -e lead.script  exit code 0"), "{shown}");
    let commit: String = evidence["commit"].as_str().unwrap().chars().take(10).collect();
    let line = run.out.lines().find(|line| line.contains("✓ test -e lead.script  exit code 0"));
    assert!(line.is_some_and(|line| line.ends_with(&format!("commit {commit}"))), "{}", run.out);
}

#[test]
fn what_checks_said_is_shown_wherever_tasks_are() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one"}
    wait until all tasks are done
    call task/list {"status": "all"}
"#;
    let troop = repository(script);
    let run = troop.run(
        "--team crew run 'write' --agent script:lead.script -m ann=command --check 'test -e one' --json",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let report: Value = serde_json::from_str(run.out.lines().last().unwrap())
        .or_else(|_| serde_json::from_str(&run.out))
        .unwrap();
    let task = &report["tasks"][0];
    let commit = &task["merged"]["commit"];
    let said = json!([{"command": "test -e one", "exit_code": 0, "commit": commit}]);
    assert!(commit.is_string() && task["evidence"] == said, "{task:#}");
    assert_eq!(troop.json("task list --status all")["tasks"][0]["evidence"], said);
    assert_eq!(troop.json("team replay crew")["tasks"][0]["evidence"], said);
    assert_eq!(troop.json("task get 1")["evidence"], said);
    let list = troop.ok("task list --status all");
    assert!(list.contains("1 check passed"), "{list}");
    let mut client = Client::start(&troop, "--team crew --as lead --dialect board");
    let got = client.call("team_tasks", &json!({"action": "get", "task_id": "1"}));
    let got: Value = serde_json::from_str(&got[0]).unwrap();
    let short = commit.as_str().unwrap().split_at(10).0;
    let short = json!({"command": "test -e one", "exit_code": 0, "commit": short});
    assert_eq!((&got["evidence"][0], &got["checks"]), (&short, &"1 passed".into()), "{got:#}");
    let resource: Value = serde_json::from_str(&client.read("troop://task/1")).unwrap();
    assert_eq!(resource["evidence"], said, "{resource:#}");
    troop.ok("team mirror mirror --once");
    let file = fs::read_to_string(troop.folder().join("mirror/tasks/crew/task-1.json")).unwrap();
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file["evidence"], said, "{file:#}");
    let shown = troop.ok("team show --team-md");
    assert!(shown.contains("troop runs these, and all must pass:\n\n- `test -e one`"), "{shown}");
    troop.ok("team export --output crew.jsonl");
    troop.ok("team import crew.jsonl --name copy --yes");
    assert_eq!(
        troop.json("--team copy task get 1")["detail"]["evidence"][0]["command"],
        "test -e one"
    );
}

#[test]
fn what_a_person_completes_while_nobody_leads_is_merged_by_who_leads_next() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one; touch ../begun; sleep 600"}
    wait until all tasks are done
"#;
    let troop = repository(script);
    let mut lead = Printing::new(
        troop.start("--team crew run 'write' --agent script:lead.script -m ann=command"),
    );
    lead.wait_for("task-1 goes to ann");
    let worktree = || {
        let mut teams = fs::read_dir(troop.folder().join("home/teams")).unwrap().flatten();
        teams.next().map(|team| team.path().join("worktrees"))
    };
    wait("ann is at it", || worktree().is_some_and(|it| it.join("begun").exists()));
    lead_only_waits(&troop);
    lead.signal(rustix::process::Signal::KILL);
    lead.end();
    let complete = troop.run("task complete 1 --result 'good enough'");
    assert_eq!(complete.code, 0, "{complete:?}");
    assert!(!troop.folder().join("one").exists());
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains("of ann on task-1 in "), "{doctor}");
    let resume = troop.run("resume crew");
    assert_eq!(resume.code, 0, "{resume:?}");
    assert!(resume.out.contains("task-1 is merged into troop/crew"), "{}", resume.out);
    assert_eq!(fs::read_to_string(troop.folder().join("one")).unwrap(), "1\n");
    let doctor = troop.run("doctor").out;
    assert!(!doctor.contains("left behind"), "{doctor}");
}

/// Waits for something that has a name.
/// Waits until the log says that the lead has nothing left to do but to wait.
pub(crate) fn lead_only_waits(troop: &Troop) {
    wait("the lead only waits", || {
        let members = troop.json("--team crew member list");
        let mut members = members["members"].as_array().unwrap().iter();
        let lead = members.find(|it| it["role"] == "lead").unwrap();
        lead["state"] == "working" && lead["state_reason"].is_null()
    });
}

pub(crate) fn wait(what: &str, is_so: impl Fn() -> bool) {
    let until = tokio::time::Instant::now() + std::time::Duration::from_secs(40);
    while !is_so() {
        assert!(tokio::time::Instant::now() < until, "waited in vain: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn checks_that_are_configured_hold_for_every_team_that_is_led_here() {
    let troop = repository(WRITE);
    fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    let config = r#"{"teams": {"checks": ["test ! -e two"]}}"#;
    fs::write(troop.folder().join(".troop/config.json"), config).unwrap();
    let run = "run 'write' --agent script:lead.script -m ann=command --set max_attempts=1";
    let untrusted = troop.run(&format!("--team crew {run}"));
    assert_eq!(untrusted.code, 0, "{untrusted:?}");
    assert!(untrusted.err.contains("tasks are completed without its check"), "{untrusted:?}");
    assert!(
        troop.json("--team crew task get 2")["detail"]["evidence"].as_array().unwrap().is_empty()
    );
    troop.ok("trust --yes");
    git(troop.folder(), &["rm", "--quiet", "two"]);
    git(troop.folder(), &["commit", "--quiet", "-m", "again"]);
    let trusted = troop.run(&format!("--team more {run}"));
    assert_eq!(trusted.code, 1, "{trusted:?}");
    let evidence = |task: &str| {
        let task = troop.json(&format!("--team more task get {task}"));
        let evidence = &task["detail"]["evidence"][0];
        (task["status"].clone(), evidence["command"].clone(), evidence["exit_code"].clone())
    };
    assert_eq!(evidence("1"), ("completed".into(), "test ! -e two".into(), 0.into()));
    assert_eq!(evidence("2"), ("failed".into(), "test ! -e two".into(), 1.into()));
}

#[test]
fn what_was_left_behind_is_listed_and_rescued() {
    let troop = repository(FAIL_HALFWAY);
    let run = troop.run("--team crew run 'write' --agent script:lead.script -m ann=command --set retry_backoff_seconds=0");
    assert_ne!(run.code, 0, "the task is not done: {}", run.out);
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains("unmerged work of ann on task-1 in "), "{doctor}");
    assert!(
        doctor.contains("commit it and keep only its branch: `troop doctor --rescue`"),
        "{doctor}"
    );
    let rescued = troop.run("doctor --rescue").out;
    assert!(rescued.contains("it is on `troop-work/crew/ann/task-1-3`"), "{rescued}");
    assert_eq!(git(troop.folder(), &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(troop.folder(), &["show", "troop-work/crew/ann/task-1-3:half"]), "half");
}

#[test]
fn where_there_is_no_repository_one_line_says_so() {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), "when mail * from user\n    message user hi\n")
        .unwrap();
    let run = troop.run("run 'write' --agent script:lead.script");
    let says =
        "teammates share this folder: this is not a git repository (`git init`, then commit)\n";
    assert!(run.out.contains(says), "{run:?}");
}

#[test]
fn a_person_completes_a_task_when_its_checks_pass_here_or_says_why_not() {
    let troop = Troop::with_team();
    troop.ok("task create 'write' --check 'echo looked; test -e done'");
    let (code, err) = troop.refused("task complete 1 --result ok");
    assert_eq!(code, 1);
    assert!(err.contains("the check `echo looked; test -e done` ended with exit code 1"), "{err}");
    assert!(err.contains("--without-checks REASON"), "{err}");
    assert_eq!(troop.json("task get 1")["detail"]["failed_checks"], 1);
    fs::write(troop.folder().join("done"), "").unwrap();
    let run = troop.run("task complete 1 --result ok");
    assert_eq!(run.code, 0, "{run:?}");
    let task = troop.json("task get 1");
    assert_eq!(
        (&task["status"], &task["detail"]["evidence"][0]["tail"]),
        (&"completed".into(), &"looked".into())
    );
    troop.ok("task create 'more' --check 'false'");
    troop.ok("task complete 2 --result ok --without-checks 'it is only a test'");
    assert_eq!(troop.json("task get 2")["detail"]["checks_waived"], "it is only a test");
}

#[test]
fn a_member_without_a_lead_cannot_complete_what_must_be_checked() {
    let troop = Troop::with_team();
    troop.ok("task create 'write' --check 'make test'");
    troop.ok("--as ann task claim 1");
    let (code, err) = troop.refused("--as ann task complete 1 --result ok");
    assert_eq!(code, 1);
    assert!(err.contains("task-1 is not proved: `make test` must pass first"), "{err}");
}

#[test]
fn what_a_teammate_runs_acts_as_that_teammate() {
    let troop = Troop::new();
    let program = env!("CARGO_BIN_EXE_troop");
    let script = format!(
        r#"
when mail * from user
    call task/create {{"subject": "one", "description": "{program} message send user 'from inside' && {program} task list --json"}}
    wait until all tasks are done
    run {program} message send user 'from the lead'
"#
    );
    let folder = troop.folder();
    fs::create_dir_all(folder.join(".troop")).unwrap();
    // Found from the project's folder on, not from the teammate's.
    fs::write(folder.join(".troop/config.json"), r#"{"store": "files:.troop/store"}"#).unwrap();
    fs::write(folder.join("lead.script"), script).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n.troop/store/\n").unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", "begin"]);
    let made = troop.run("team create other");
    assert_eq!(made.code, 0, "{made:?}");
    let run = troop.run("--team crew run 'write' --agent script:lead.script -m ann=command");
    assert_eq!(run.code, 0, "{run:?}");
    let task = troop.json("--team crew task get 1");
    assert!(task["result"].as_str().unwrap().contains(r#""subject":"one""#), "{task:#}");
    let messages = troop.json("--team crew message read --all");
    let from = |text: &str| {
        let mut all = messages["messages"].as_array().unwrap().iter();
        all.find(|it| it["content"] == text).map(|it| it["from"].clone())
    };
    assert_eq!(from("from inside"), Some("ann".into()), "{messages:#}");
    assert_eq!(from("from the lead"), Some("lead".into()), "{messages:#}");
}

#[test]
fn a_waiting_claim_is_answered_when_the_worktree_is_ready_for_the_task() {
    let troop = Troop::new();
    let program = env!("CARGO_BIN_EXE_troop");
    let folder = troop.folder();
    let lead = r#"
when mail * from user
    call task/create {"subject": "one"}
    wait until all tasks are done
"#;
    fs::write(folder.join("lead.script"), lead).unwrap();
    // The teammate waits for its task in a shell, and says on which branch it is right after the claim.
    fs::write(folder.join("ann.script"), "when started\n    run sh claim.sh\n").unwrap();
    let claim = format!(
        "{program} task claim --wait 30 && branch=$(git branch --show-current) && {program} task complete 1 --result \"$branch\"\n"
    );
    fs::write(folder.join("claim.sh"), claim).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n").unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", "begin"]);
    let run = troop.run(
        "--team crew run 'go' --agent script:lead.script --set assignment=claim -m ann=script:ann.script",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let task = troop.json("--team crew task get 1");
    assert!(task["result"].as_str().unwrap().ends_with("/task-1"), "{task:#}");
}

#[test]
fn a_team_that_is_erased_takes_its_files_along_unless_they_hold_work() {
    let troop = repository(FAIL_HALFWAY);
    let run = "run 'write' --agent script:lead.script -m ann=command --set max_attempts=1";
    assert_eq!(troop.run(&format!("--team crew {run}")).code, 1);
    let id = troop.json("team show crew")["id"].as_str().unwrap().to_owned();
    let folder = troop.folder().join("home/teams").join(&id);
    let (code, err) = troop.refused("team delete crew --purge");
    assert_eq!(code, 1);
    assert!(err.contains("worktrees/ann` holds unmerged work\nhint: keep it on a branch first: `troop doctor --rescue`"), "{err}");
    assert!(folder.join("worktrees/ann/half").exists(), "nothing was removed");
    assert_eq!(troop.json("team list")["teams"].as_array().unwrap().len(), 1, "nor erased");
    troop.run("doctor --rescue");
    troop.ok("--team crew workspace write notes.md lead.script");
    assert!(folder.join("workspace").exists());
    assert_eq!(troop.ok("team delete crew --purge"), "erased team crew\n");
    assert!(!folder.exists());
    assert_eq!(git(troop.folder(), &["show", "troop-work/crew/ann/task-1:half"]), "half");
}

#[test]
fn a_run_that_cannot_begin_says_what_is_in_the_way_and_leaves_no_team() {
    let troop = repository(WRITE);
    git(troop.folder(), &["branch", "troop"]);
    let run = "run 'write' --agent script:lead.script -m ann=command -m bob=command";
    let (code, err) = troop.refused(run);
    let says = "error: teammates cannot have their own worktrees: the branch `troop` is in the way: branches of teams go below `troop/`\nhint: rename it: `";
    assert!(code == 1 && err.starts_with(says), "{err}");
    assert_eq!(troop.json("team list")["teams"].as_array().unwrap().len(), 0);
    let folders = fs::read_dir(troop.folder().join("home/teams"));
    assert_eq!(folders.into_iter().flatten().count(), 0, "nothing was made for it");
    // As the hint says, one way and the other.
    assert!(
        err.ends_with("or work without them: `troop run GOAL --set isolation=none`\n"),
        "{err}"
    );
    let shared = troop.run(&format!("{run} --set isolation=none"));
    assert_eq!(shared.code, 0, "{shared:?}");
    let (_, rename) = err.split_once("rename it: `").unwrap();
    let (rename, _) = rename.split_once('`').unwrap();
    let renamed = Command::new("/bin/sh").args(["-c", rename]).current_dir(troop.folder()).output();
    assert!(renamed.unwrap().status.success(), "{rename}");
    let isolated = troop.run(&format!("{run} --team other"));
    assert_eq!(isolated.code, 0, "{isolated:?}");
}

#[test]
fn runs_that_begin_at_once_in_one_folder_take_different_names() {
    let troop = repository(WRITE);
    let run = "run 'write' --agent script:lead.script -m ann=command --set isolation=none --json";
    let runs: Vec<_> = (0..4).map(|_| troop.start(run)).collect();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let teams = troop.json("team list");
    let mut names: Vec<_> =
        teams["teams"].as_array().unwrap().iter().map(|it| it["name"].to_string()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4, "{teams:#}");
}

#[test]
fn a_team_whose_folders_cannot_be_removed_is_not_erased() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one; git worktree lock ."}
    wait until all tasks are done
"#;
    let troop = repository(script);
    let run = troop.run("--team crew run 'write' --agent script:lead.script -m ann=command");
    assert_eq!(run.code, 0, "{run:?}");
    let (_, err) = troop.refused("team delete crew --purge");
    assert!(err.starts_with("error: team `crew` cannot be erased: `git worktree remove "), "{err}");
    assert!(
        err.ends_with("hint: see what is left, and what to do with it: `troop doctor`\n"),
        "{err}"
    );
    let folder = troop.json("team show crew")["id"].as_str().unwrap().to_owned();
    let ann = troop.folder().join("home/teams").join(folder).join("worktrees/ann");
    git(troop.folder(), &["worktree", "unlock", &ann.to_string_lossy()]);
    assert_eq!(troop.ok("team delete crew --purge"), "erased team crew\n");
}

#[test]
fn an_attempt_that_is_not_needed_any_more_is_offered_for_dropping_first() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "test -e ../once && echo 1 > one || { touch ../once; echo half > half; exit 1; }"}
    wait until all tasks are done
"#;
    let troop = repository(script);
    let run = troop.run(
        "--team crew run 'write' --agent script:lead.script -m ann=command --set retry_backoff_seconds=0",
    );
    assert_eq!(run.code, 0, "{run:?}");
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains("; ann completed task-1 without it\n"), "{doctor}");
    let (_, fix) = doctor.split_once("  drop it: `").unwrap();
    let (drop, rest) = fix.split_once('`').unwrap();
    assert!(rest.starts_with("; or merge it anyway: `git -C "), "{doctor}");
    troop.ok("team delete crew --purge");
    let erased = troop.run("doctor").out;
    let says = "unmerged work, in a team that no longer exists, of ann on task-1 in branch troop-work/crew/ann/task-1";
    assert!(erased.contains(says), "{erased}");
    let dropped = Command::new("/bin/sh").args(["-c", drop]).output().unwrap();
    assert!(dropped.status.success(), "{drop}: {dropped:?}");
    let doctor = troop.run("doctor").out;
    assert!(!doctor.contains("left behind"), "{doctor}");
}

#[test]
fn what_members_put_on_branches_of_their_own_or_into_the_stash_is_listed_with_what_to_type() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "own=$(git branch --show-current); git checkout -q -b its-own; echo 1 > one; git add one; git commit -q -m own; git checkout -q $own; echo 2 > two; git add --all; git stash -q"}
    wait until all tasks are done
"#;
    let troop = repository(script);
    let run = troop.run("--team crew run 'write' --agent script:lead.script -m ann=command");
    assert_eq!(run.code, 0, "{run:?}");
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains("work that ann put on another branch: its-own\n"), "{doctor}");
    assert!(doctor.contains("work that ann left in `git stash`: stash@{0}\n"), "{doctor}");
    for before in ["merge it: `git -C ", "or drop it: `git -C "] {
        let doctor = troop.run("doctor").out;
        let (_, typed) = doctor.split_once(before).unwrap();
        let typed = format!("git -C {}", typed.split_once('`').unwrap().0);
        let done = Command::new("/bin/sh").args(["-c", &typed]).output().unwrap();
        assert!(done.status.success(), "{typed}: {done:?}");
    }
    let doctor = troop.run("doctor").out;
    assert!(!doctor.contains("left behind"), "{doctor}");
}

#[test]
fn what_git_ignores_is_named_at_the_end_and_where_it_is() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "mkdir home; echo precious > home/out"}
    wait until all tasks are done
"#;
    let troop = repository(script);
    let run = troop.run("--team crew run 'write' --agent script:lead.script -m ann=command");
    assert_eq!(run.code, 0, "{run:?}");
    let says = "not merged, because git ignores it: `home/` of ann; kept in ";
    let (_, place) = run.out.split_once(says).unwrap_or_else(|| panic!("{}", run.out));
    let place = Path::new(place.lines().next().unwrap());
    assert_eq!(fs::read_to_string(place.join("home/out")).unwrap(), "precious\n");
    troop.ok("team delete crew --purge");
    assert!(!place.exists());
}

#[test]
fn a_folder_that_was_made_another_repository_is_rescued_and_its_team_erased() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "rm .git; git init -q; echo half > half"}
    wait for mail *failed after* from system
"#;
    let troop = repository(script);
    let run = "run 'write' --agent script:lead.script -m ann=command --set max_attempts=1";
    let run = troop.run(&format!("--team crew {run}"));
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("your folder is now a separate repository"), "{}", run.out);
    troop.refused("team delete crew --purge");
    let rescued = troop.run("doctor --rescue").out;
    let aside = troop.folder().join("home/aside/crew-ann.git");
    let says = format!(
        "it is on `troop-work/crew/ann/task-1`; files that git cannot keep are in {}\n",
        aside.display()
    );
    assert!(rescued.contains(&says) && aside.join("HEAD").exists(), "{rescued}");
    assert_eq!(git(troop.folder(), &["show", "troop-work/crew/ann/task-1:half"]), "half");
    assert_eq!(troop.ok("team delete crew --purge"), "erased team crew\n");
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains(&format!("or drop it: `rm -rf {}`", aside.display())), "{doctor}");
}

/// A filter that lets git write a file only once somebody allows it.
const SLOW: &str = r#"touch home/begun; until test -e home/go; do :; done; cat"#;

#[test]
fn who_stops_a_team_has_what_it_made_afterwards() {
    let troop = repository("when started\n    log here\n");
    let folder = troop.folder();
    let mut team = Printing::new(
        troop.start("--team crew run 'write' --agent script:lead.script -m ann=command --keep"),
    );
    team.wait_for("leads");
    troop.ok("task create one --description 'echo 1 > one.slow' --assignee ann");
    team.wait_for("task-1 is merged into troop/crew");
    git(folder, &["config", "filter.slow.smudge", SLOW]);
    fs::write(folder.join(".git/info/attributes"), "*.slow filter=slow\n").unwrap();
    let stop = troop.start("stop crew");
    while !folder.join("home/begun").exists() {
        std::thread::yield_now();
    }
    let (code, err) = troop.refused("team delete crew --purge");
    assert!(code == 1 && err.contains("while somebody leads it"), "{err}");
    fs::write(folder.join("home/go"), "").unwrap();
    let stopped = stop.wait_with_output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(folder.join("one.slow").exists());
    assert_eq!(team.end().code, 0);
}
