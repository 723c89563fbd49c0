//! Faults in the middle of a merge: a full disk. (Killed leads: `killed_git.rs`.)

use std::{fs, process::Command};

use crate::troop::Troop;

/// A lead with one task: write a file.
const WRITE: &str = r#"
when mail * from user
    call task/create {"subject": "one", "description": "echo 1 > one"}
    wait until all tasks are done
"#;

const RUN: [&str; 8] =
    ["--team", "crew", "run", "write", "--agent", "script:lead.script", "-m", "ann=command"];

/// The beginning of a command that runs with a small disk mounted on a folder; none if mounting is not allowed.
fn small_disk(folder: &std::path::Path) -> Option<Vec<String>> {
    let mount = format!("mount -t tmpfs -o size=8m troop {}", folder.display());
    [&["unshare", "--mount"][..], &["unshare", "--mount", "--map-root-user"]].iter().find_map(
        |it| {
            let words = |script: &str| {
                let words = it.iter().copied().chain(["sh", "-c", script]);
                words.map(str::to_owned).collect::<Vec<_>>()
            };
            let tried = words(&mount);
            let tried = Command::new(&tried[0]).args(&tried[1..]).output().ok()?;
            tried.status.success().then(|| words(&format!("{mount} && exec \"$0\" \"$@\"")))
        },
    )
}

/// Runs a team in a repository on a small disk, and makes room after the team has reported that the disk is full.
const FULL: &str = r#"
cd disk && git init --quiet --initial-branch=main && cp ../lead.script . && git add --all
git -c user.name=pat -c user.email=pat@localhost commit --quiet -m begin
"$@" --set retry_backoff_seconds=3 --set max_attempts=9 > ../out 2>&1 &
lead=$!
until grep -q 'cannot be merged now' ../out; do
    kill -0 $lead || exit 9
done
git rev-parse main troop/crew > ../during
rm ballast
wait $lead
code=$?
git show main:big > ../big
exit $code
"#;

#[test]
fn a_full_disk_delays_a_merge_and_loses_nothing() {
    let troop = Troop::new();
    let folder = troop.folder();
    let script = WRITE.replace(
        "echo 1 > one",
        "seq 100000 > big; cd PLACE; mkdir once && dd if=/dev/zero of=disk/ballast bs=4096; true",
    );
    let script = script.replace("PLACE", &folder.display().to_string());
    fs::write(folder.join("lead.script"), script).unwrap();
    fs::create_dir(folder.join("disk")).unwrap();
    let Some(words) = small_disk(&folder.join("disk")) else {
        eprintln!(
            "nobody may mount here; `a_full_disk_during_a_merge_loses_nothing` of troop-runtime stands in"
        );
        return;
    };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["sh", "-c", FULL, "sh", env!("CARGO_BIN_EXE_troop")]).args(RUN);
    let like = troop.command(&[]);
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.current_dir(folder).output().unwrap();
    let out = fs::read_to_string(folder.join("out")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{out}\n{output:?}");
    assert!(out.contains("No space left on device"), "{out}");
    let during = fs::read_to_string(folder.join("during")).unwrap();
    let mut during = during.lines();
    assert_eq!(during.next(), during.next(), "the team's branch was as it had been");
    let big: String = (1..=100_000).map(|nth| format!("{nth}\n")).collect();
    assert!(
        fs::read_to_string(folder.join("big")).unwrap() == big,
        "the whole file is merged in the end"
    );
}

/// Runs a team whose home is on a small disk, and makes room after it has reported that the disk is full.
const FULL_HOME: &str = r#"
"$@" > out 2>&1 &
lead=$!
until grep -q 'nothing can be stored' out; do
    kill -0 $lead || exit 9
done
rm disk/ballast
wait $lead
code=$?
"$1" --team crew task get 1 --json > task
exit $code
"#;

#[test]
fn a_full_disk_under_the_log_is_reported_and_loses_nothing() {
    let troop = Troop::new();
    let folder = troop.folder();
    let fill = "echo x >> ran; dd if=/dev/zero of=disk/ballast bs=4096; true";
    fs::write(folder.join("lead.script"), WRITE.replace("echo 1 > one", fill)).unwrap();
    fs::create_dir(folder.join("disk")).unwrap();
    let Some(words) = small_disk(&folder.join("disk")) else {
        eprintln!("nobody may mount here, so no disk can be full");
        return;
    };
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["sh", "-c", FULL_HOME, "sh", env!("CARGO_BIN_EXE_troop")]);
    command.args(RUN);
    let like = troop.command(&[]);
    command.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TROOP_HOME", folder.join("disk/home"));
    let output = command.current_dir(folder).output().unwrap();
    let out = fs::read_to_string(folder.join("out")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(0), "{out}\n{output:?}");
    let said = out.lines().filter(|line| line.contains("nothing can be stored")).count();
    assert_eq!(said, 1, "{out}");
    let task = fs::read_to_string(folder.join("task")).unwrap();
    let task: serde_json::Value = serde_json::from_str(&task).unwrap();
    assert_eq!((&task["status"], &task["attempts"]), (&"completed".into(), &1.into()), "{out}");
    assert_eq!(fs::read_to_string(folder.join("ran")).unwrap(), "x\n", "it ran once");
}
