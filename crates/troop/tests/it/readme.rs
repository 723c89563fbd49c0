//! Runs the commands of the README.

use std::{fs, path::Path, process::Command};

use crate::troop::Troop;

/// The command that the README shows as refused.
const REFUSED: &str = "troop --as bob task claim 1";
/// The command that runs until it is stopped.
const ENDLESS: &str = "troop events --follow";

#[test]
fn the_first_five_minutes_of_the_readme_work() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    let typed: Vec<_> = readme.lines().filter(|line| line.starts_with("troop ")).collect();
    assert!(typed.len() > 10 && typed.contains(&REFUSED), "the README has its first five minutes");
    let troop = Troop::new();
    let program = Path::new(env!("CARGO_BIN_EXE_troop"));
    for line in typed.into_iter().filter(|line| *line != ENDLESS) {
        let output = Command::new("/bin/sh")
            .args(["-c", line])
            .current_dir(troop.folder())
            .env("PATH", program.parent().unwrap())
            .env("TROOP_HOME", troop.folder().join("home"))
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.success(), line != REFUSED, "`{line}`: {err}");
        assert_eq!(
            err.contains("ann has held it") && err.contains("hint:"),
            line == REFUSED,
            "`{line}`: {err}"
        );
    }
    let main_job =
        readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- ")).unwrap();
    let main_job = main_job.split(" #").next().unwrap().trim();
    Troop::new().ok(main_job);
}
