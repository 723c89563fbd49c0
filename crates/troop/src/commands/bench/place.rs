//! Where the stores lie that are measured: a folder that goes away afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use crate::output::Printer;

/// What Linux calls a file system that is in memory alone.
const TMPFS: i64 = 0x0102_1994;

#[derive(Debug)]
pub(super) struct Place(TempDir);

impl Place {
    /// Makes a folder within `parent`, or where the system keeps temporary files.
    pub(super) fn new(parent: Option<&Path>) -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("troop-bench-");
        let folder = match parent {
            Some(parent) => builder.tempdir_in(parent),
            None => builder.tempdir(),
        };
        Ok(Self(folder.context("there is no place for the stores to be measured")?))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in the folder.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn warn_if_in_memory(&self, printer: &Printer) {
        let found = rustix::fs::statfs(self.path());
        if found.is_ok_and(|found| found.f_type == TMPFS) {
            let folder = self.path().display();
            printer
                .warn(format!("`{folder}` is in memory: nothing is durable there; see `--folder`"));
        }
    }
}
