//! Running other programs, with their output in view.

use std::{ffi::OsStr, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

/// Runs cargo.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    program("cargo", arguments)
}

/// Runs a program; an exit code other than 0 is an error.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Result<()> {
    say(&format!("$ {name} {}", arguments.join(" ")));
    let status = Command::new(name)
        .args(arguments)
        .status()
        .with_context(|| format!("`{name}` cannot be run"))?;
    if !status.success() {
        bail!("`{name} {}` did not succeed", arguments.join(" "));
    }
    Ok(())
}

/// Where cargo puts a program that it built.
pub(crate) fn built(profile: &str, name: &str) -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Path::new(&target).join(profile).join(name).display().to_string()
}

/// Whether a program can be run at all.
pub(crate) fn exists(name: impl AsRef<OsStr>) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[expect(clippy::print_stderr, reason = "the one place of this program that prints")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}
