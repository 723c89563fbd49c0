//! Installing what the tests need and a fresh Debian machine lacks.

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::run;

/// Installs what is missing.
pub(crate) fn all() -> Result<()> {
    if !run::exists("cargo-nextest") {
        run::cargo(&["install", "--locked", "cargo-nextest"])?;
    }
    if !has_postgres() {
        debian(&["postgresql"])?;
    }
    Ok(())
}

/// Debian keeps the server's programs out of the path, one folder for each version.
fn has_postgres() -> bool {
    let folders = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let on_debian =
        folders.map(|folder| folder.path().join("bin/initdb")).any(|path| path.exists());
    on_debian || run::exists("initdb")
}

fn debian(packages: &[&str]) -> Result<()> {
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("install these and run this again: {}", packages.join(", "));
    }
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    let is_root =
        std::fs::metadata("/proc/self").map(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
    let steps = [vec!["update"], install];
    for step in steps {
        if is_root.as_ref().is_ok_and(|is_root| *is_root) {
            run::program("apt-get", &step)?;
        } else {
            let step = [vec!["apt-get"], step].concat();
            run::program("sudo", &step).context("installing packages needs root")?;
        }
    }
    Ok(())
}
