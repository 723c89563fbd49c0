//! Installing what the tests need and a fresh Debian machine lacks.

use std::{os::unix::fs::MetadataExt as _, path::Path, process::Command};

use anyhow::{Result, bail};

use crate::run;

const PYTHON_SDK: &str = "mcp==2.3.0";
/// The inspector, and the first version of the conformance tests with the protocol of 2026-07-28. Both need a newer Node
/// than Debian's, which only installs them.
const NODE_CLIENTS: [&str; 3] = [
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "node@22.23.3",
];
/// The last version whose teams are created by tools, and have names.
const CLAUDE_CODE: &str = "@anthropic-ai/claude-code@2.1.177";

/// Installs what is missing.
pub(crate) fn all() -> Result<()> {
    // A toolchain of the minimal profile lacks these.
    let components: Vec<_> = [("fmt", "rustfmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(command, _)| !has_cargo_command(command))
        .map(|(_, component)| component)
        .collect();
    if !components.is_empty() {
        run::program("rustup", &[&["component", "add"], components.as_slice()].concat())?;
    }
    if !has_cargo_command("nextest") {
        nextest()?;
    }
    if !has_postgres() {
        debian(&["postgresql"])?;
    }
    if !has_bouncer() {
        debian(&["pgbouncer"])?;
    }
    if !has_faketime() {
        debian(&["faketime"])?;
    }
    // Teammates' own folders, benchmarks, hooks in other languages and the scripts of `docs/hooks.md`.
    let tools: Vec<_> = ["git", "make", "python3", "unshare", "script"]
        .into_iter()
        .filter(|tool| !run::exists(tool))
        .collect();
    if !tools.is_empty() {
        debian(&tools.iter().map(|tool| package(tool)).collect::<Vec<_>>())?;
    }
    // It has no `--version`.
    if !run::accepts("ip", "-V") {
        debian(&["iproute2"])?;
    }
    mcp_clients()?;
    node_packages("claude-code", "claude", &[CLAUDE_CODE])
}

/// Builds the test runner. It mostly waits for other processes, so a build without optimisation is fast enough, and it need
/// not update itself.
fn nextest() -> Result<()> {
    run::cargo(&["install", "--locked", "--debug", "--no-default-features", "cargo-nextest"])
}

/// The package that a tool comes in.
fn package(tool: &str) -> &str {
    match tool {
        "unshare" => "util-linux",
        "script" => "bsdutils",
        same => same,
    }
}

/// Third-party clients for the tests of the MCP server: the official Python SDK, the inspector and the conformance
/// tests.
/// They are fetched once and kept in the target folder.
fn mcp_clients() -> Result<()> {
    let venv = "target/mcp-venv";
    if !Path::new(venv).join("bin/mcp").exists() {
        if !has_venv() {
            debian(&["python3-venv"])?;
        }
        run::program("python3", &["-m", "venv", "--clear", venv])?;
        run::program(&format!("{venv}/bin/pip"), &["install", "--quiet", PYTHON_SDK])?;
    }
    node_packages("mcp-clients", "mcp-inspector", &NODE_CLIENTS)
}

/// A program from npm with its dependencies, fetched once and kept in the target folder.
fn node_packages(folder: &str, program: &str, packages: &[&str]) -> Result<()> {
    let folder = format!("target/{folder}");
    if Path::new(&folder).join("node_modules/.bin").join(program).exists() {
        return Ok(());
    }
    if !run::exists("npm") {
        debian(&["nodejs", "npm"])?;
    }
    let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", &folder];
    run::program("npm", &[install.as_slice(), packages].concat())
}

/// Debian's Python needs a separate package for virtual environments.
fn has_venv() -> bool {
    let imported = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    imported.is_ok_and(|output| output.status.success())
}

/// Whether cargo has a command. A program in the path is not enough: rustup leaves stand-ins for what is not installed.
fn has_cargo_command(command: &str) -> bool {
    let version = Command::new("cargo").args([command, "--version"]).output();
    version.is_ok_and(|output| output.status.success())
}

/// Debian keeps the server's programs out of the PATH, in one folder per version.
fn has_postgres() -> bool {
    let folders = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let on_debian =
        folders.map(|folder| folder.path().join("bin/initdb")).any(|path| path.exists());
    on_debian || run::exists("initdb")
}

/// Debian keeps it where only root looks for programs.
fn has_bouncer() -> bool {
    run::exists("pgbouncer") || run::exists("/usr/sbin/pgbouncer")
}

/// A library, in a folder that is named after the architecture. Only Linux has trials that need it.
fn has_faketime() -> bool {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let found = folders.map(|it| it.path().join("faketime/libfaketime.so.1")).any(|it| it.exists());
    found || !cfg!(target_os = "linux")
}

fn debian(packages: &[&str]) -> Result<()> {
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("install these and run this again: {}", packages.join(", "));
    }
    let by_hand = format!("apt-get install -y {}", packages.join(" "));
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root && !run::exists("sudo") {
        bail!("installing packages needs root; as root say `{by_hand}` and run this again");
    }
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    for step in [vec!["update"], install] {
        let done = if is_root {
            run::program("apt-get", &step)
        } else {
            run::program("sudo", &[vec!["apt-get"], step].concat())
        };
        if let Err(error) = done {
            bail!("{error:#}; as root say `{by_hand}` and run this again");
        }
    }
    Ok(())
}
