//! Chores: `cargo xtask test` installs what tests need and runs everything that must pass.

mod install;
mod run;

#[cfg(test)]
mod house;

use std::process::ExitCode;

const USAGE: &str =
    "usage: cargo xtask test    install what is missing, then format, lints and all tests";

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        Some("test") => test(),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            run::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn test() -> anyhow::Result<()> {
    install::all()?;
    run::cargo(&["fmt", "--all", "--check"])?;
    run::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "--deny",
        "warnings",
    ])?;
    run::cargo(&["nextest", "run", "--workspace", "--locked"])
}
