//! Teams that end at the same time in one repository, and a person who works there meanwhile.

use std::{
    fs,
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use troop_testkit::{git, git_may_fail};

use crate::{
    isolation::repository,
    troop::{Run, Troop},
};

/// A lead whose only task adds a file that the other teams add as well, and a file of its own.
const SAME_FILE: &str = r#"
when mail * from user
    call task/create {"subject": "notes", "description": "echo $TROOP_TEAM > NOTES; sleep 0.2"}
    wait until all tasks are done
"#;

const TEAMS: [&str; 3] = ["red", "blue", "green"];

/// Runs three teams at once, and calls something until all of them have ended.
fn run_teams(troop: &Troop, round: u32, meanwhile: impl Fn() + Sync) -> Vec<(String, Run)> {
    let has_ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::SeqCst) {
                meanwhile();
            }
        });
        let children: Vec<_> = TEAMS
            .iter()
            .map(|team| {
                let name = format!("{team}{round}");
                let words = ["--team", &name, "run", "go", "--agent", "script:lead.script", "-m"];
                let mut command = troop.command(&words);
                command.arg("ann=command").stdin(Stdio::null());
                let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
                (name, child)
            })
            .collect();
        let ended = children
            .into_iter()
            .map(|(name, child)| (name, Run::new(child.wait_with_output().unwrap())));
        let ended = ended.collect();
        has_ended.store(true, Ordering::SeqCst);
        ended
    })
}

/// A team lands if and only if it says so; the others wait on their branches.
fn check(folder: &Path, round: u32, ended: &[(String, Run)]) -> usize {
    let mut n_landed = 0;
    for (name, run) in ended {
        assert_eq!(run.code, 0, "{round}: {name}: {run:#?}");
        let has_landed = run.out.contains("of the team are on `main` now");
        n_landed += usize::from(has_landed);
        let branch = format!("troop/{name}");
        let is_there =
            git_may_fail(folder, &["rev-parse", "--verify", "--quiet", &branch]).status.success();
        assert_eq!(is_there, !has_landed, "{round}: {name}: {run:#?}");
        if is_there {
            let waits = format!("the team's work is on `{branch}`, not merged: ");
            assert!(run.out.contains(&waits) && run.out.contains("git merge"), "{run:#?}");
            assert_eq!(git(folder, &["show", &format!("{branch}:NOTES")]), *name, "{round}");
        }
    }
    n_landed
}

#[test]
fn one_of_three_teams_that_end_at_once_lands_and_the_project_is_unharmed() {
    let troop = repository(SAME_FILE);
    let folder = troop.folder();
    fs::write(folder.join("README"), "one\n").unwrap();
    git(folder, &["add", "README"]);
    git(folder, &["commit", "--quiet", "-m", "readme"]);
    // A person's uncommitted changes.
    fs::write(folder.join("README"), "one\ntwo\n").unwrap();
    fs::write(folder.join("staged"), "staged\n").unwrap();
    git(folder, &["add", "staged"]);
    fs::write(folder.join("untracked"), "untracked\n").unwrap();
    let before = git(folder, &["status", "--porcelain"]);
    for round in 0..3 {
        let ended = run_teams(&troop, round, thread::yield_now);
        assert_eq!(check(folder, round, &ended), 1, "{round}: {ended:#?}");
        assert_eq!(git(folder, &["status", "--porcelain"]), before, "{round}: {ended:#?}");
        let landed = git(folder, &["show", "HEAD:NOTES"]);
        assert_eq!(fs::read_to_string(folder.join("NOTES")).unwrap().trim(), landed, "{round}");
        assert!(ended.iter().any(|(name, _)| *name == landed), "{round}: {landed}");
        for (name, _) in ended.iter().filter(|(name, _)| *name != landed) {
            git(folder, &["branch", "-D", &format!("troop/{name}")]);
        }
    }
}

#[test]
fn a_person_who_commits_while_teams_land_loses_nothing() {
    let troop = repository(SAME_FILE);
    let folder = troop.folder();
    let person = folder.join("person");
    let n_commits = std::sync::atomic::AtomicUsize::new(0);
    for round in 0..3 {
        let ended = run_teams(&troop, round, || {
            // Only in some moments: else nobody else would ever come to an end.
            thread::park_timeout(std::time::Duration::from_millis(150));
            let n_before = n_commits.load(Ordering::SeqCst);
            fs::write(&person, format!("{n_before}\n")).unwrap();
            let added = git_may_fail(folder, &["add", "person"]).status.success();
            let commit = ["commit", "--quiet", "-m", "by a person", "person"];
            if added && git_may_fail(folder, &commit).status.success() {
                n_commits.store(n_before + 1, Ordering::SeqCst);
            }
        });
        check(folder, round, &ended);
        drop(git_may_fail(folder, &["add", "person"]));
        if git_may_fail(folder, &["commit", "--quiet", "-m", "by a person"]).status.success() {
            n_commits.fetch_add(1, Ordering::SeqCst);
        }
        assert_eq!(git(folder, &["status", "--porcelain"]), "", "{round}: {ended:#?}");
        let counted = git(folder, &["rev-list", "--count", "--grep=by a person", "HEAD"]);
        assert_eq!(counted, n_commits.load(Ordering::SeqCst).to_string(), "{round}");
    }
}
