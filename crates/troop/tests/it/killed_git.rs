//! Leads and git commands that are killed at named moments: no work is lost or done twice, and no lock blocks what comes after.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use rustix::process::Signal;
use serde_json::Value;
use troop_testkit::{git, git_may_fail};

use crate::{
    isolation::repository,
    troop::{Printing, Run, Troop, wait},
};

/// A lead with one task, which adds a line to a file that is there already.
const ONE_LINE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo line >> lines; echo did it"}
    wait until all tasks are done
when started
    wait until all tasks are done
"#;

const RUN: [&str; 10] = [
    "--team",
    "crew",
    "run",
    "write",
    "--agent",
    "script:lead.script",
    "-m",
    "ann=command",
    "--check",
    "test -e lines",
];

/// A fault that happens once, when git is called with some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kill {
    LeadBefore,
    LeadAfter,
    /// Git and its lead are killed, and git leaves a lock.
    Both,
    /// Git alone is killed, as when the machine runs out of memory, and leaves a lock.
    Git,
}

/// Puts a git into the way that kills once. Returns the PATH.
fn deadly_git(troop: &Troop, words: &str, kill: Kill, lock: &str) -> String {
    let folder = troop.folder().join("home/bin");
    fs::create_dir_all(&folder).unwrap();
    let lock = troop.folder().join(".git").join(lock);
    let lock = lock.display();
    let deed = match kill {
        Kill::LeadBefore => "kill -9 $PPID; exit 1".to_owned(),
        Kill::LeadAfter => "/usr/bin/git \"$@\"; kill -9 $PPID; exit 0".to_owned(),
        Kill::Both => format!(": > '{lock}'; kill -9 $PPID; kill -9 $$"),
        Kill::Git => format!(": > '{lock}'; kill -9 $$"),
    };
    let once = folder.join("killed");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n    *\"{words}\"*) if mkdir '{}' 2> /dev/null; then {deed}; fi ;;\nesac\nexec /usr/bin/git \"$@\"\n",
        once.display()
    );
    fs::write(folder.join("git"), script).unwrap();
    fs::set_permissions(folder.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:/usr/bin:/bin", folder.display())
}

fn has_killed(troop: &Troop) -> bool {
    troop.folder().join("home/bin/killed").exists()
}

fn lines(script: &str) -> Troop {
    let troop = repository(script);
    fs::write(troop.folder().join("lines"), "top\n").unwrap();
    git(troop.folder(), &["add", "lines"]);
    git(troop.folder(), &["commit", "--quiet", "-m", "lines"]);
    troop
}

/// The locks in a repository.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|it| it == "lock") {
            found.push(path);
        }
    }
    found
}

/// The line is in the project once, the task is done, and nothing of troop is left there. Returns the task.
fn check(troop: &Troop, what: &str) -> Value {
    let folder = troop.folder();
    assert!(has_killed(troop), "{what}: nothing was killed");
    assert_eq!(git(folder, &["show", "main:lines"]), "top\nline", "{what}: the work is there once");
    assert_eq!(git(folder, &["status", "--porcelain"]), "", "{what}");
    assert_eq!(locks(&folder.join(".git")), Vec::<PathBuf>::new(), "{what}");
    let fsck = git_may_fail(folder, &["fsck", "--no-dangling"]);
    assert!(fsck.status.success(), "{what}: {fsck:?}");
    assert!(!folder.join(".git/worktrees").exists(), "{what}: worktrees are left");
    let task = troop.json("task get 1");
    assert_eq!(task["status"], "completed", "{what}: {task:#}");
    assert!(task["result"].as_str().unwrap().contains("did it"), "{what}: {task:#}");
    let evidence = task["detail"]["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|it| it["exit_code"] == 0), "{what}: {task:#}");
    task
}

/// Runs a team whose lead is killed, and resumes it.
fn killed_and_resumed(words: &str, kill: Kill, lock: &str) -> (Troop, Run) {
    let troop = lines(ONE_LINE);
    let mut run = troop.command(&RUN);
    let output = run.env("PATH", deadly_git(&troop, words, kill, lock)).output().unwrap();
    assert_eq!(output.status.code(), None, "{words}: it was not killed: {output:?}");
    let resumed = troop.succeed("resume crew");
    (troop, resumed)
}

#[test]
fn a_task_is_done_once_if_its_lead_is_killed_before_its_merge() {
    for (words, kill) in [
        ("add --all", Kill::LeadAfter),
        ("commit --quiet", Kill::LeadAfter),
        ("-m merge task-", Kill::LeadAfter),
        ("--ff-only --no-verify-signatures", Kill::LeadAfter),
        ("update-ref -m troop: task-", Kill::LeadBefore),
    ] {
        let what = format!("{words} {kill:?}");
        let (troop, _) = killed_and_resumed(words, kill, "none");
        let task = check(&troop, &what);
        assert_eq!(task["attempts"], 2, "{what}: its lead was killed during the first");
    }
}

#[test]
fn a_task_is_done_once_if_its_lead_is_killed_right_after_its_merge() {
    let what = "after the branch has moved";
    let words = "update-ref -m troop: task-";
    let (troop, _) = killed_and_resumed(words, Kill::LeadAfter, "none");
    let task = check(&troop, what);
    assert_eq!(task["attempts"], 1, "nobody got it again");
    assert_eq!(task["owner"], "ann", "it is ann who did it: {task:#}");
    assert_eq!(task["merged"]["into"], "troop/crew");
    let commit = task["merged"]["commit"].as_str().unwrap();
    let trailer = "--format=%(trailers:key=Troop-Task,valueonly)";
    let named = git(troop.folder(), &["log", "-1", trailer, commit]);
    assert!(named.trim().ends_with(" task-1 attempt 1"), "{named}");
    let branches = git(troop.folder(), &["branch", "--format=%(refname:short)"]);
    assert_eq!(branches, "main");
}

#[test]
fn a_task_is_done_once_if_its_lead_is_killed_while_it_lands() {
    for kill in [Kill::LeadBefore, Kill::LeadAfter] {
        let (troop, _) = killed_and_resumed("--ff-only --no-overwrite-ignore", kill, "none");
        check(&troop, &format!("landing, {kill:?}"));
    }
}

#[test]
fn an_approved_result_is_merged_once_if_its_lead_is_killed_right_after_the_merge() {
    let troop = lines("when started\n    log here\n");
    let path = deadly_git(&troop, "update-ref -m troop: task-", Kill::LeadAfter, "none");
    let mut words = RUN.to_vec();
    words.extend(["--keep", "--set", "require_review=true"]);
    let lead = troop.command(&words).env("PATH", path).spawn().unwrap();
    let mut lead = KilledLead(lead);
    wait("the team is there", || troop.run("team show crew").code == 0);
    let create = "task create one --description 'echo line >> lines; echo did it' --assignee ann";
    wait("the task is made", || troop.run(create).code == 0);
    wait("the result is submitted", || troop.json("task get 1")["status"] == "in_review");
    // The lead dies under it. The command line then gives it to the board, which knows of no merge.
    troop.run("task approve 1");
    lead.0.wait().unwrap();
    assert_eq!(troop.json("task get 1")["merged"], Value::Null, "the board does not know");
    troop.succeed("resume crew");
    let task = check(&troop, "approved");
    assert_eq!((&task["attempts"], &task["owner"]), (&1.into(), &"ann".into()), "{task:#}");
}

struct KilledLead(Child);

impl Drop for KilledLead {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A git command is killed with its lead, and alone; its lock blocks neither the next lead nor this one.
fn leaves_a_lock(words: &str, lock: &str) {
    let (troop, _) = killed_and_resumed(words, Kill::Both, lock);
    check(&troop, &format!("{words}, with its lead"));
    let troop = lines(ONE_LINE);
    let mut run = troop.command(&RUN);
    let output = run.env("PATH", deadly_git(&troop, words, Kill::Git, lock)).output().unwrap();
    assert!(output.status.success(), "{words}: {output:?}");
    check(&troop, &format!("{words}, alone"));
}

#[test]
fn a_lock_that_a_killed_git_leaves_on_the_teams_branch_blocks_nobody() {
    leaves_a_lock("update-ref -m troop: task-", "refs/heads/troop/crew.lock");
}

#[test]
fn a_lock_that_a_killed_git_leaves_on_a_members_branch_blocks_nobody() {
    leaves_a_lock("commit --quiet", "refs/heads/troop-work/crew/ann/task-1.lock");
}

#[test]
fn a_lock_that_a_killed_git_leaves_in_a_members_worktree_blocks_nobody() {
    leaves_a_lock("checkout --quiet", "worktrees/ann/AUTO_MERGE.lock");
    leaves_a_lock("add --all", "worktrees/ann/index.lock");
}

#[test]
fn a_lock_that_a_killed_git_leaves_on_packed_references_blocks_nobody() {
    leaves_a_lock("update-ref -d refs/heads/troop", "packed-refs.lock");
}

#[test]
fn a_lock_that_a_killed_landing_leaves_on_the_projects_index_blocks_nobody() {
    let words = "--ff-only --no-overwrite-ignore";
    let (troop, _) = killed_and_resumed(words, Kill::Both, "index.lock");
    check(&troop, "landing, with its lead");
    let troop = lines(ONE_LINE);
    let folder = troop.folder();
    let mut run = troop.command(&RUN);
    let path = deadly_git(&troop, words, Kill::Git, "index.lock");
    let run = Run::new(run.env("PATH", path).output().unwrap());
    assert!(run.code == 0 && run.out.contains("killed by signal 9"), "{run:#?}");
    assert!(run.out.contains("git merge troop/crew"), "{run:#?}");
    assert_eq!(locks(&folder.join(".git")), Vec::<PathBuf>::new());
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
    troop.succeed("resume crew");
    check(&troop, "landing, alone, and the next time");
}

#[test]
fn a_persons_lock_is_named_and_kept_and_a_stop_does_not_wait_for_it() {
    let troop = lines("when started\n    log here\n");
    let folder = troop.folder();
    let mut words = RUN.to_vec();
    words.push("--keep");
    let mut command = troop.command(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut team = Printing::new(command.spawn().unwrap());
    team.wait_for("leads");
    troop.ok("task create one --description 'echo line >> lines; echo did it' --assignee ann");
    team.wait_for("task-1 is merged into troop/crew");
    let lock = folder.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let since = tokio::time::Instant::now();
    team.signal(Signal::TERM);
    let ended = team.end();
    assert!(since.elapsed().as_secs() < 30, "it waited {:?}", since.elapsed());
    let says = format!("rm {}", lock.display());
    assert!(ended.out.contains(&says), "{ended:#?}");
    assert!(lock.exists(), "it is not ours");
    let doctor = troop.run("doctor");
    assert!(doctor.out.contains(&lock.display().to_string()), "{doctor:#?}");
    fs::remove_file(&lock).unwrap();
    assert_eq!(git(folder, &["status", "--porcelain"]), "");
    git(folder, &["merge", "--quiet", "troop/crew"]);
    assert_eq!(git(folder, &["show", "main:lines"]), "top\nline");
}
