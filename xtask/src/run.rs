//! Runs other programs, with their output visible.

use std::{
    ffi::OsStr,
    io::{self, Write as _},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result, bail};

/// Runs cargo.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    program("cargo", arguments)
}

/// Runs cargo with additional environment variables.
pub(crate) fn cargo_with(environment: &[(&str, &str)], arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("cargo");
    command.envs(environment.iter().copied());
    succeed(command, "cargo", arguments)
}

/// Runs a program; an exit code other than 0 is an error.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Result<()> {
    succeed(Command::new(name), name, arguments)
}

fn succeed(mut command: Command, name: &str, arguments: &[&str]) -> Result<()> {
    say(&format!("$ {name} {}", arguments.join(" ")));
    let status =
        command.args(arguments).status().with_context(|| format!("`{name}` cannot be run"))?;
    if !status.success() {
        bail!("`{name} {}` did not succeed", arguments.join(" "));
    }
    Ok(())
}

/// The path of a program that cargo built.
pub(crate) fn built(profile: &str, name: &str) -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Path::new(&target).join(profile).join(name).display().to_string()
}

/// Whether a program can be run at all.
pub(crate) fn exists(name: impl AsRef<OsStr>) -> bool {
    accepts(name, "--version")
}

/// Whether a program runs and accepts this argument.
pub(crate) fn accepts(name: impl AsRef<OsStr>, argument: &str) -> bool {
    Command::new(name).arg(argument).output().is_ok_and(|output| output.status.success())
}

/// Prints a text. Its reader may stop early, as `head` does.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("the text cannot be printed"),
    }
}

#[expect(clippy::print_stderr, reason = "the one place of this program that prints")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}
