//! Worktrees of teammates, checks, and leftovers, as people use them.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use troop_testkit::git;

use crate::{
    mcp::Client,
    troop::{Printing, Troop, wait},
};

/// A lead with two tasks that write a file each.
const WRITE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one; git branch --show-current"}
    call task/create {"subject": "two", "description": "echo 2 > two"}
    wait until all tasks are done
"#;

/// A lead whose only task fails halfway.
const FAIL_HALFWAY: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo half > half; exit 1"}
    wait for mail *failed after* from system
"#;

/// The script of a lead with one task, which runs a command.
fn one_task(command: &str) -> String {
    let task = json!({"subject": "one", "description": command});
    format!(
        "when mail * from user\n    call task/create {task}\n    wait until all tasks are done\n"
    )
}

/// The command that runs such a team.
const RUN: &str = "--team crew run 'write' --agent script:lead.script -m ann=command";

/// A repository whose lead follows a script.
pub(crate) fn repository(script: &str) -> Troop {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), script).unwrap();
    fs::write(troop.folder().join(".gitignore"), "home/\n").unwrap();
    commit_all(&troop);
    troop
}

/// Makes a repository of everything in the project's folder.
fn commit_all(troop: &Troop) {
    let folder = troop.folder();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", "begin"]);
}

#[test]
fn the_work_of_teammates_is_merged_into_the_project() {
    let troop = repository(WRITE);
    let run = troop.succeed_silently(
        "--team crew run 'write' --agent script:lead.script -m ann=command -m bob=command --check 'test -e lead.script'",
    );
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
fn a_run_lasts_until_a_teammate_has_handled_its_prompt_and_its_mail() {
    let lead = r#"
when mail * from user
    call member/spawn {"member": {"name": "eve", "agent": "script:eve.script"}, "prompt": "one"}
    message eve two
"#;
    let eve = r#"
when mail one
    sleep 300ms
    run touch $TMPDIR/home/one
when mail two
    sleep 700ms
    run touch $TMPDIR/home/two
"#;
    let troop = Troop::new();
    fs::write(troop.folder().join("eve.script"), eve).unwrap();
    fs::write(troop.folder().join("lead.script"), lead).unwrap();
    fs::write(troop.folder().join(".gitignore"), "home/\n").unwrap();
    commit_all(&troop);
    troop.succeed_silently("--team crew run 'go' --agent script:lead.script");
    let home = troop.folder().join("home");
    let done = ["one", "two"].map(|it| home.join(it).exists());
    assert_eq!(done, [true, true], "the prompt and the message were handled to the end");
}

#[test]
fn evidence_is_shown_wherever_tasks_are() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one"}
    wait until all tasks are done
    call task/list {"status": "all"}
"#;
    let troop = repository(script);
    let run = troop.succeed(
        "--team crew run 'write' --agent script:lead.script -m ann=command --check 'test -e one' --json",
    );
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
fn a_task_that_a_person_completes_without_a_lead_is_merged_by_the_next_lead() {
    let troop = repository(&one_task("echo 1 > one; touch ../begun; sleep 600"));
    let mut lead = Printing::new(troop.start(RUN));
    lead.wait_for("task-1 goes to ann");
    let worktree = || {
        let mut teams = fs::read_dir(troop.folder().join("home/teams")).unwrap().flatten();
        teams.next().map(|team| team.path().join("worktrees"))
    };
    wait("ann is at it", || worktree().is_some_and(|it| it.join("begun").exists()));
    lead_only_waits(&troop);
    lead.signal(rustix::process::Signal::KILL);
    lead.end();
    troop.succeed("task complete 1 --result 'good enough'");
    assert!(!troop.folder().join("one").exists());
    let doctor = troop.run("doctor").out;
    assert!(doctor.contains("of ann on task-1 in "), "{doctor}");
    let resume = troop.succeed("resume crew");
    assert!(resume.out.contains("task-1 is merged into troop/crew"), "{}", resume.out);
    assert_eq!(fs::read_to_string(troop.folder().join("one")).unwrap(), "1\n");
    let doctor = troop.run("doctor").out;
    assert!(!doctor.contains("left behind"), "{doctor}");
}

/// Waits until the lead has nothing left to do but to wait.
pub(crate) fn lead_only_waits(troop: &Troop) {
    wait("the lead only waits", || {
        let members = troop.json("--team crew member list");
        let mut members = members["members"].as_array().unwrap().iter();
        let lead = members.find(|it| it["role"] == "lead").unwrap();
        lead["state"] == "working" && lead["state_reason"].is_null()
    });
}

#[test]
fn configured_checks_apply_to_every_team_of_the_project() {
    let troop = repository(WRITE);
    fs::create_dir_all(troop.folder().join(".troop")).unwrap();
    let config = r#"{"teams": {"checks": ["test ! -e two"]}}"#;
    fs::write(troop.folder().join(".troop/config.json"), config).unwrap();
    let run = "run 'write' --agent script:lead.script -m ann=command --set max_attempts=1";
    let untrusted = troop.succeed(&format!("--team crew {run}"));
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
fn unmerged_work_is_listed_and_rescued() {
    let troop = repository(FAIL_HALFWAY);
    let run = troop.run(&format!("{RUN} --set retry_backoff_seconds=0"));
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
fn a_run_outside_a_repository_says_so_in_one_line() {
    let troop = Troop::new();
    fs::write(troop.folder().join("lead.script"), "when mail * from user\n    message user hi\n")
        .unwrap();
    let run = troop.run("run 'write' --agent script:lead.script");
    let says =
        "teammates share this folder: this is not a git repository (`git init`, then commit)\n";
    assert!(run.out.contains(says), "{run:?}");
}

#[test]
fn a_person_completes_a_task_if_its_checks_pass_here_or_gives_a_reason() {
    let troop = Troop::with_team();
    troop.ok("task create 'write' --check 'echo looked; test -e done'");
    let (code, err) = troop.refused("task complete 1 --result ok");
    assert_eq!(code, 1);
    assert!(err.contains("the check `echo looked; test -e done` ended with exit code 1"), "{err}");
    assert!(err.contains("--without-checks REASON"), "{err}");
    assert_eq!(troop.json("task get 1")["detail"]["failed_checks"], 1);
    fs::write(troop.folder().join("done"), "").unwrap();
    troop.succeed("task complete 1 --result ok");
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
fn a_member_without_a_lead_cannot_complete_a_task_with_checks() {
    let troop = Troop::with_team();
    troop.ok("task create 'write' --check 'make test'");
    troop.ok("--as ann task claim 1");
    let (code, err) = troop.refused("--as ann task complete 1 --result ok");
    assert_eq!(code, 1);
    assert!(err.contains("task-1 is not proved: `make test` must pass first"), "{err}");
}

#[test]
fn commands_that_a_teammate_runs_act_as_that_teammate() {
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
    // A path relative to the project's folder, not to the teammate's.
    fs::write(folder.join(".troop/config.json"), r#"{"store": "files:.troop/store"}"#).unwrap();
    fs::write(folder.join("lead.script"), script).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n.troop/store/\n").unwrap();
    commit_all(&troop);
    troop.succeed("team create other");
    troop.succeed(RUN);
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
    // The teammate waits for its task in a shell, and its result is the branch right after the claim.
    fs::write(folder.join("ann.script"), "when started\n    run sh claim.sh\n").unwrap();
    let claim = format!(
        "{program} task claim --wait 30 && branch=$(git branch --show-current) && {program} task complete 1 --result \"$branch\"\n"
    );
    fs::write(folder.join("claim.sh"), claim).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n").unwrap();
    commit_all(&troop);
    troop.succeed(
        "--team crew run 'go' --agent script:lead.script --set assignment=claim -m ann=script:ann.script",
    );
    let task = troop.json("--team crew task get 1");
    assert!(task["result"].as_str().unwrap().ends_with("/task-1"), "{task:#}");
}

#[test]
fn erasing_a_team_removes_its_files_unless_they_hold_work() {
    let troop = repository(FAIL_HALFWAY);
    assert_eq!(troop.run(&format!("{RUN} --set max_attempts=1")).code, 1);
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
fn a_run_that_cannot_start_explains_why_and_leaves_no_team() {
    let troop = repository(WRITE);
    git(troop.folder(), &["branch", "troop"]);
    let run = "run 'write' --agent script:lead.script -m ann=command -m bob=command";
    let (code, err) = troop.refused(run);
    let says = "error: teammates cannot have their own worktrees: the branch `troop` is in the way: branches of teams go below `troop/`\nhint: rename it: `";
    assert!(code == 1 && err.starts_with(says), "{err}");
    assert_eq!(troop.json("team list")["teams"].as_array().unwrap().len(), 0);
    let folders = fs::read_dir(troop.folder().join("home/teams"));
    assert_eq!(folders.into_iter().flatten().count(), 0, "nothing was made for it");
    // Both ways that the hint names work.
    assert!(
        err.ends_with("or work without them: `troop run GOAL --set isolation=none`\n"),
        "{err}"
    );
    troop.succeed(&format!("{run} --set isolation=none"));
    let (_, rename) = err.split_once("rename it: `").unwrap();
    let (rename, _) = rename.split_once('`').unwrap();
    let renamed = Command::new("/bin/sh").args(["-c", rename]).current_dir(troop.folder()).output();
    assert!(renamed.unwrap().status.success(), "{rename}");
    troop.succeed(&format!("{run} --team other"));
}

#[test]
fn simultaneous_runs_in_one_folder_get_different_names() {
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
    let troop = repository(&one_task("echo 1 > one; git worktree lock ."));
    troop.succeed(RUN);
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
fn doctor_offers_to_drop_a_superseded_attempt_first() {
    let troop = repository(&one_task(
        "test -e ../once && echo 1 > one || { touch ../once; echo half > half; exit 1; }",
    ));
    troop.succeed(&format!("{RUN} --set retry_backoff_seconds=0"));
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
fn work_on_other_branches_and_in_the_stash_is_listed_with_commands() {
    let troop = repository(&one_task(
        "own=$(git branch --show-current); git checkout -q -b its-own; echo 1 > one; git add one; git commit -q -m own; git checkout -q $own; echo 2 > two; git add --all; git stash -q",
    ));
    troop.succeed(RUN);
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
fn ignored_files_are_named_at_the_end_with_their_place() {
    let troop = repository(&one_task("mkdir home; echo precious > home/out"));
    let run = troop.succeed(RUN);
    let says = "not merged, because git ignores it: `home/` of ann; kept in ";
    let (_, place) = run.out.split_once(says).unwrap_or_else(|| panic!("{}", run.out));
    let place = Path::new(place.lines().next().unwrap());
    assert_eq!(fs::read_to_string(place.join("home/out")).unwrap(), "precious\n");
    troop.ok("team delete crew --purge");
    assert!(!place.exists());
}

#[test]
fn a_worktree_that_became_a_separate_repository_is_rescued_and_its_team_erased() {
    let script = r#"
when mail * from user
    call task/create {"subject": "one", "description": "rm .git; git init -q; echo half > half"}
    wait for mail *failed after* from system
"#;
    let troop = repository(script);
    let run = troop.run(&format!("{RUN} --set max_attempts=1"));
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

/// A git filter that blocks until `home/go` exists.
const SLOW: &str = r#"touch home/begun; until test -e home/go; do :; done; cat"#;

#[test]
fn stopping_a_team_lands_its_work_first() {
    let troop = repository("when started\n    log here\n");
    let folder = troop.folder();
    let mut team = Printing::new(troop.start(&format!("{RUN} --keep")));
    team.wait_for("leads");
    troop.ok("task create one --description 'echo 1 > one.slow' --assignee ann");
    team.wait_for("task-1 is merged into troop/crew");
    git(folder, &["config", "filter.slow.smudge", SLOW]);
    fs::write(folder.join(".git/info/attributes"), "*.slow filter=slow\n").unwrap();
    let stop = troop.start("stop crew");
    wait("git writes the file", || folder.join("home/begun").exists());
    let (code, err) = troop.refused("team delete crew --purge");
    assert!(code == 1 && err.contains("while somebody leads it"), "{err}");
    fs::write(folder.join("home/go"), "").unwrap();
    let stopped = stop.wait_with_output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(folder.join("one.slow").exists());
    assert_eq!(team.end().code, 0);
}
