//! A clock that jumps, for real processes: Debian's libfaketime stands between them and the system's clock.
//!
//! Only the time of day jumps; the monotonic clock, by which a process waits, goes on. A system without the library has no such
//! trials.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

const LIBRARY: &str = "faketime/libfaketime.so.1";

/// The library, if it is installed. Only Linux loads it in this way.
pub(crate) fn library() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|it| it.path());
    folders.map(|folder| folder.join(LIBRARY)).find(|path| path.exists())
}

/// The clock of some processes.
#[derive(Clone, Debug)]
pub(crate) struct ShiftedClock {
    file: PathBuf,
    library: PathBuf,
}

impl ShiftedClock {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let library = library().context("a clock that jumps needs `apt-get install faketime`")?;
        let clock = Self { file: folder.join("clock"), library };
        clock.shift(0)?;
        Ok(clock)
    }

    /// The environment that gives a process and its children this clock.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let settings: [(&str, OsString); 6] = [
            ("LD_PRELOAD", self.library.clone().into()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.clone().into()),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("FAKETIME_DISABLE_SHM", "1".into()),
            ("NO_FAKE_STAT", "1".into()),
        ];
        settings.map(|(name, value)| (name.into(), value)).to_vec()
    }

    /// Makes it differ from the system's clock by so many hours, at once.
    pub(crate) fn shift(&self, hours: i64) -> Result<()> {
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{hours:+}h\n"))?;
        Ok(fs::rename(new, &self.file)?)
    }
}
