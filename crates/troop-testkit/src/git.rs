//! git as a person would run it, whatever the machine's own git is told.

use std::{
    path::Path,
    process::{Command, Output},
};

/// What git prints in a folder.
///
/// # Panics
///
/// If git is not content: nothing that it did not say can be compared with anything.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = git_may_fail(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The same where git may refuse, as with a merge that conflicts.
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
