//! Folders that somebody swaps for symlinks to the outside and back, as fast as possible, while others work in them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use super::Stage;

/// How often everything is tried at least.
const N_TRIES: u32 = 500;

/// The folders on the way to `d` in the workspace, the innermost first.
fn folders(stage: &Stage) -> Vec<PathBuf> {
    let inside = stage.by_hand("d");
    let team = stage.temp.path().join("team");
    inside.ancestors().take_while(|it| **it != team).map(Path::to_owned).collect()
}

/// A folder outside with the same subfolders as one on the way to `d`, and a secret in them.
fn bait(stage: &Stage, folder: &Path) -> (PathBuf, PathBuf) {
    let bait = stage.temp.path().join("bait");
    let inside = bait.join(stage.by_hand("d").strip_prefix(folder).unwrap());
    fs::create_dir_all(&inside).unwrap();
    fs::write(inside.join("secret"), "secret").unwrap();
    (bait, inside)
}

/// Swaps a folder for a symlink until it is stopped.
struct Swapper {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Swapper {
    fn start(swap: impl Fn() + Send + 'static) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !seen.load(Ordering::Relaxed) {
                swap();
            }
        });
        Self { is_over, thread }
    }

    fn stop(self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

/// Works until it met the symlink, and got in as often as `is_enough` demands.
fn until_met(is_enough: impl Fn(u32) -> bool, mut gets_in: impl FnMut(u32) -> bool) {
    let mut n_in = 0_u32;
    let mut n_out = 0_u32;
    for nth in 0.. {
        if gets_in(nth) {
            n_in += 1;
        } else {
            n_out += 1;
        }
        if n_out > 0 && nth >= N_TRIES && is_enough(n_in) {
            return;
        }
    }
}

#[test]
fn a_folder_swapped_for_a_symlink_leads_nobody_outside() {
    for nth in 0..folders(&Stage::new()).len() {
        let stage = Stage::new();
        stage.write("d/a", "x").unwrap();
        let folder = folders(&stage).swap_remove(nth);
        let (bait, inside) = bait(&stage, &folder);
        let from = folder.clone();
        let aside = stage.temp.path().join("aside");
        // Nobody makes a folder meanwhile, so that each step works.
        let swapper = Swapper::start(move || {
            fs::rename(&from, &aside).unwrap();
            symlink(&bait, &from).unwrap();
            fs::remove_file(&from).unwrap();
            fs::rename(&aside, &from).unwrap();
        });
        until_met(
            |n_in| n_in > 0,
            |nth| {
                match nth % 2 {
                    0 => {
                        let read = stage.read("d/secret");
                        assert!(read.is_err(), "{read:?} by way of {}", folder.display());
                    }
                    _ => assert!(stage.delete("d/secret").is_err(), "{}", folder.display()),
                }
                stage.read("d/a").is_ok()
            },
        );
        swapper.stop();
        assert_eq!(fs::read_to_string(inside.join("secret")).unwrap(), "secret");
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1);
    }
}

#[test]
fn a_write_during_a_folder_swap_stays_inside() {
    for nth in 0..folders(&Stage::new()).len() {
        let stage = Stage::new();
        stage.write("d/a", "x").unwrap();
        let folder = folders(&stage).swap_remove(nth);
        let (bait, inside) = bait(&stage, &folder);
        let from = folder.clone();
        // Writing makes missing folders, so that any step may fail.
        let swapper = Swapper::start(move || {
            drop(fs::remove_dir_all(&from));
            drop(symlink(&bait, &from));
            drop(fs::remove_file(&from));
        });
        // A slow writer may never get in.
        until_met(
            |_| true,
            |nth| {
                drop(stage.write("d/secret", "mine"));
                stage.write(&format!("d/{}", nth % 5), "mine").is_ok()
            },
        );
        swapper.stop();
        let bad = folder.display();
        assert_eq!(fs::read_to_string(inside.join("secret")).unwrap(), "secret", "{bad}");
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 1, "{bad}");
    }
}
