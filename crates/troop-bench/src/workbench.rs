//! Where measurements happen: a folder that goes away afterwards, and the program that is measured.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::{output::BenchPrinter, report::WrongUse};

/// Linux's magic number of tmpfs.
const TMPFS: i64 = 0x0102_1994;

#[derive(Debug)]
pub(crate) struct Workbench {
    folder: TempDir,
    /// The program that is measured.
    troop: PathBuf,
    /// This program, which is started again for what needs a process.
    own: PathBuf,
}

impl Workbench {
    /// Makes a folder within `parent`, or where the system keeps temporary files. `troop` is the program to measure; without
    /// it, the one beside this program.
    pub(crate) fn new(parent: Option<&Path>, troop: Option<&Path>) -> Result<Self> {
        let own = std::env::current_exe().context("this program cannot be found")?;
        let troop = find_troop(troop, &own)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix("troop-bench-");
        let folder = match parent {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        let folder = folder.context("there is no place for what is measured")?;
        Ok(Self { folder, troop, own })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// The program that is measured.
    pub(crate) fn troop(&self) -> &Path {
        &self.troop
    }

    /// This program.
    pub(crate) fn own(&self) -> &Path {
        &self.own
    }

    /// `troop …`, away from the user's own files and settings.
    pub(crate) fn troop_command(&self) -> Command {
        self.command(&self.troop)
    }

    /// `troop-bench child …`, away from the user's own files and settings.
    pub(crate) fn child_command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.command(&self.own);
        command.arg("child").args(args);
        command
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("TROOP_HOME", self.path()).current_dir(self.path());
        for variable in ["TROOP_STORE", "TROOP_TEAM", "TROOP_AS"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn warn_if_in_memory(&self, printer: &BenchPrinter) {
        let found = rustix::fs::statfs(self.path());
        if found.is_ok_and(|found| found.f_type == TMPFS) {
            let folder = self.path().display();
            printer.warn(&format!(
                "`{folder}` is in memory: nothing is durable there; see `--folder`"
            ));
        }
    }
}

/// The program to measure, as an absolute path, since measurements run in other folders.
fn find_troop(given: Option<&Path>, own: &Path) -> Result<PathBuf> {
    let path = given.map_or_else(|| own.with_file_name("troop"), Path::to_owned);
    let is_there = path.is_file();
    let absolute = path.canonicalize().ok().filter(|_| is_there);
    absolute.ok_or_else(|| {
        let message = format!("there is no program to measure at `{}`", path.display());
        let hint = "build it: `cargo build --release -p troop`, or name it: `--troop PATH`";
        WrongUse::new(message, hint).into()
    })
}
