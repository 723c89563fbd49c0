//! Chores: `cargo xtask test` installs what tests need and runs everything that must pass.

mod fuzz;
mod install;
mod map;
mod measure;
mod run;

#[cfg(test)]
mod house;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask test         install what is missing, then format, lints and all tests
       cargo xtask campaign     real teams under random faults; [--minutes N] [--seed S] [--store sqlite|files|postgres] [--kind KIND,...]
       cargo xtask simulate     simulated teams; [--histories N] [--minutes M] [--seed S] [--scenario NAME] [--history SEED] [--replay FILE]
       cargo xtask fuzz         random bytes for everything that reads foreign input; [TARGET] [--seconds N] [--seed S]
       cargo xtask map          every source file with its purpose, as a tree; [CRATE]
       cargo xtask measure      the numbers that the house rules limit; [--places] [PART-OF-A-PATH]";

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let result = match argument.as_deref() {
        Some("test") => test(),
        Some("campaign") => campaign(),
        Some("simulate") => simulate(),
        Some("fuzz") => fuzz::run(),
        Some("map") => map::run(),
        Some("measure") => measure::run(),
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

/// Runs a campaign with release programs.
fn campaign() -> anyhow::Result<()> {
    install::all()?;
    run::cargo(&["build", "--release", "--locked", "--package", "troop"])?;
    let troop = run::built("release", "troop");
    let campaign = ["run", "--release", "--locked", "--package", "troop-campaign", "--"];
    let own: Vec<_> = std::env::args().skip(2).collect();
    let own = own.iter().map(String::as_str);
    let arguments: Vec<_> = campaign.into_iter().chain(["--troop", &troop]).chain(own).collect();
    run::cargo(&arguments)
}

/// Simulates teams. Needs nothing but the compiler.
fn simulate() -> anyhow::Result<()> {
    let simulate = ["run", "--release", "--locked", "--package", "troop-simulator", "--"];
    let own: Vec<_> = std::env::args().skip(2).collect();
    let arguments: Vec<_> = simulate.into_iter().chain(own.iter().map(String::as_str)).collect();
    run::cargo(&arguments)
}

/// Formats, lints and tests. The compiler that builds the tests is clippy's, so that everything is compiled once and not a
/// second time to be linted.
fn test() -> anyhow::Result<()> {
    install::all()?;
    run::cargo(&["fmt", "--all", "--check"])?;
    let linted = [
        ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
        // How `cargo clippy -- --deny warnings` tells its driver.
        ("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__"),
    ];
    run::cargo_with(&linted, &["nextest", "run", "--workspace", "--locked"])
}
