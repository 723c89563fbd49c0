//! `troop bench` runs another program.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::troop::Run;

/// A folder that contains only `troop`.
fn installed() -> (TempDir, PathBuf) {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_troop"));
    // In the same file system, so that a hard link works.
    let folder = TempDir::new_in(program.parent().unwrap()).unwrap();
    let troop = folder.path().join("troop");
    fs::hard_link(&program, &troop).unwrap();
    (folder, troop)
}

fn run(mut command: Command) -> Run {
    Run::new(command.env_clear().env("PATH", "/usr/bin:/bin").output().unwrap())
}

#[test]
fn troop_bench_runs_the_program_beside_it_and_passes_its_exit_code_on() {
    let (folder, troop) = installed();
    let bench = folder.path().join("troop-bench");
    fs::write(&bench, "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 7\n").unwrap();
    fs::set_permissions(&bench, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&troop);
    command.args(["bench", "board", "--only", "start", "--json", "--help"]);
    let run = run(command);
    let expected = format!("--troop\n{}\nboard\n--only\nstart\n--json\n--help\n", troop.display());
    assert_eq!((run.code, run.out, run.err), (7, expected, String::new()));
}

#[test]
fn troop_bench_explains_how_to_build_the_missing_program() {
    let (_folder, troop) = installed();
    let mut command = Command::new(troop);
    command.args(["bench", "board"]);
    let run = run(command);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.err,
        "error: the benchmarks are a separate program, and `troop-bench` is neither beside `troop` nor in your PATH\n\
         hint: in troop's repository, build it: `cargo build --release -p troop-bench`, or install it: \
         `cargo install --path crates/troop-bench`\n"
    );
}
