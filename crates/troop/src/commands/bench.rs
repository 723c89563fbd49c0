//! `troop bench`: runs the program `troop-bench`, which is built and installed separately.

use std::{ffi::OsString, io::ErrorKind, os::unix::process::CommandExt as _, process::Command};

use anyhow::{Context as _, Result};
use troop_model::{Hint, HintCommand};

use crate::report::Error;

const PROGRAM: &str = "troop-bench";

/// Becomes the benchmark, so that its output, its exit code and signals to it are its own. It measures this program.
pub(crate) fn run(arguments: &[OsString], is_json: bool) -> Result<()> {
    let troop = std::env::current_exe().context("this program cannot be found")?;
    let beside = troop.with_file_name(PROGRAM);
    let program = if beside.is_file() { beside.into_os_string() } else { PROGRAM.into() };
    let mut command = Command::new(program);
    command.arg("--troop").arg(troop).args(is_json.then_some("--json")).args(arguments);
    let error = command.exec();
    if error.kind() != ErrorKind::NotFound {
        return Err(error).with_context(|| format!("`{PROGRAM}` cannot be started"));
    }
    let message = format!(
        "the benchmarks are a separate program, and `{PROGRAM}` is neither beside `troop` nor in \
         your PATH"
    );
    let build = HintCommand::other("cargo").words(["build", "--release", "-p", PROGRAM]);
    let install = HintCommand::other("cargo").words(["install", "--path"]);
    let install = install.word(format!("crates/{PROGRAM}"));
    let hint = Hint::from("in troop's repository, ")
        .and_to("", "build it", build)
        .or_to("install it", install);
    Err(Error::refused(message, hint).into())
}
