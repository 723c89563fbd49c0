//! Commands in hints and reports can be pasted into a shell, whatever folders are called.

use std::{fs, process::Command};

use troop_testkit::git;

use crate::{isolation::repository, troop::Troop};

/// The words of a command as a shell splits them.
fn words(command: &str) -> Vec<String> {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
    assert!(output.status.success(), "`{command}` is no command: {output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The commands in backticks that begin with a text.
fn commands(text: &str, begin: &str) -> Vec<String> {
    let parts = text.split('`').skip(1).step_by(2);
    parts.filter(|it| it.starts_with(begin)).map(str::to_owned).collect()
}

#[test]
fn a_hint_quotes_a_home_with_spaces_and_quotes() {
    let troop = Troop::new();
    let home = troop.folder().join("pat's own home");
    let old = home.join("aside/old");
    fs::create_dir_all(&old).unwrap();
    let run = troop.args(&["--home", home.to_str().unwrap(), "doctor"]);
    let [remove] = commands(&run.out, "rm ").try_into().unwrap();
    assert_eq!(words(&remove), ["rm", "-rf", old.to_str().unwrap()], "{}", run.out);
}

#[test]
fn the_command_that_resumes_a_team_elsewhere_quotes_its_folder() {
    let troop = repository("when started\n    log hi\n");
    let project = troop.folder().join("pat's project; rm x");
    fs::create_dir(&project).unwrap();
    fs::rename(troop.folder().join("lead.script"), project.join("lead.script")).unwrap();
    let there = |arguments: &[&str]| {
        troop.command(arguments).current_dir(&project).output().unwrap().status.code()
    };
    assert_eq!(there(&["--team", "crew", "run", "x", "--agent", "script:lead.script"]), Some(0));
    let (_, err) = troop.refused("--store sqlite:home/troop.db resume crew");
    let [change] = commands(&err, "cd ").try_into().unwrap();
    assert_eq!(words(&change), ["cd", project.to_str().unwrap()], "{err}");
    let [resume] = commands(&err, "troop ").try_into().unwrap();
    assert_eq!(resume, "troop --store sqlite:home/troop.db resume crew");
}

#[test]
fn commands_in_a_report_repeat_the_given_store_and_home() {
    let troop = repository("when started\n    log hi\n");
    let line = "--store files:here --home other --team crew run x --agent script:lead.script";
    let run = troop.succeed(line);
    let [events, log] = commands(&run.out, "troop ").try_into().unwrap();
    let given = "troop --store files:here --home other --team crew";
    assert_eq!((events, log), (format!("{given} events"), format!("{given} log MEMBER")));
    assert_eq!(git(troop.folder(), &["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn doctor_without_git_says_so_once_and_suggests_no_removal() {
    let troop = repository(
        "when mail * from user\n    call task/create {\"subject\": \"half\", \"description\": \"echo half > half; exit 1\"}\n",
    );
    let run = troop
        .run("--team crew run x --agent script:lead.script -m ann=command --set max_attempts=1");
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    let bare = troop.folder().join("bare");
    fs::create_dir(&bare).unwrap();
    let output = troop.command(&["doctor"]).env("PATH", &bare).output().unwrap();
    let says = String::from_utf8(output.stdout).unwrap();
    assert_eq!(says.matches("because `git` is not found").count(), 1, "{says}");
    assert!(!says.contains("rm -r"), "{says}");
    let says = troop.run("doctor").out;
    assert!(says.contains("of ann on task-1 in "), "{says}");
}
