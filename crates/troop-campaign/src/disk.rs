//! A small disk, to be filled. Only root can make one.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

/// Large enough for a trial, and soon full.
const SIZE: &str = "size=16m";
const BALLAST: &str = "ballast";
const CHUNK: usize = 64 * 1024;

/// Whether small disks can be made here.
pub(crate) async fn can_mount(folder: &Path) -> bool {
    let place = folder.join("small-disk");
    let made = Disk::mount(&place).await;
    let can = made.is_ok();
    if let Ok(disk) = made {
        disk.unmount().await;
    }
    can
}

/// A small disk in memory.
#[derive(Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    pub(crate) async fn mount(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        let mut mount = troop_process::command("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(folder);
        let output = mount.output().await.context("`mount` cannot be run")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(Self { folder: folder.to_owned() })
    }

    /// Writes until the disk is full; returns the file to remove to make room again.
    pub(crate) fn fill(&self) -> Result<PathBuf> {
        let path = self.folder.join(BALLAST);
        let mut ballast = File::create(&path)?;
        let mut chunk = vec![1; CHUNK];
        while !chunk.is_empty() {
            if ballast.write_all(&chunk).is_err() {
                chunk.truncate(chunk.len() / 2);
            }
        }
        Ok(path)
    }

    /// Unmounts the disk and drops its contents.
    pub(crate) async fn unmount(self) {
        let mut unmount = troop_process::command("umount");
        unmount.arg("--lazy").arg(&self.folder);
        // A disk that cannot be unmounted stays until the next reboot; it is small.
        drop(unmount.output().await);
    }
}
