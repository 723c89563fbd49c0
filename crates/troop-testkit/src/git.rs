//! git as a person would run it, independent of the machine's configuration.

use std::{
    path::Path,
    process::{Command, Output},
};

/// Runs git in a folder and returns its output.
///
/// # Panics
///
/// If git fails.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = git_may_fail(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Runs a git command that may fail, such as a merge with conflicts.
///
/// # Panics
///
/// If git cannot be started.
pub fn git_may_fail(folder: &Path, arguments: &[&str]) -> Output {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=pat", "-c", "user.email=pat@localhost"]).args(arguments);
    git.current_dir(folder).output().unwrap()
}
