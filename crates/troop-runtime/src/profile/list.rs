//! Which files a repository has: what git says, or a walk where there is no git.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use ignore::WalkBuilder;
use tokio::io::AsyncReadExt as _;

use crate::process;

/// How much git may say.
const MAX_LIST: u64 = 256 * 1024 * 1024;
/// How many things are looked at where there is no git, and how deep.
const MAX_WALKED: usize = 100_000;
const MAX_DEPTH: usize = 20;

/// What would make git look at another repository than the one of the folder.
const ELSEWHERE: [&str; 14] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_CEILING_DIRECTORIES",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
];

/// The files of a repository, from its folder.
#[derive(Clone, Debug, Default)]
pub(super) struct FileList {
    pub(super) paths: Vec<PathBuf>,
    pub(super) is_git: bool,
    pub(super) notes: Vec<String>,
}

pub(super) async fn files(root: &Path) -> FileList {
    match tracked(root).await {
        Ok(paths) => FileList { paths, is_git: true, notes: Vec::new() },
        Err(why) => {
            let root = root.to_owned();
            let walked = tokio::task::spawn_blocking(move || walked(&root)).await;
            let mut list = walked.unwrap_or_default();
            list.notes.insert(0, format!("the files are not those that git tracks: {why}"));
            list
        }
    }
}

/// What git tracks below the folder, in its order.
async fn tracked(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut command = process::command("git");
    // A repository may name a program that git asks for what has changed; nothing of it is run only to look at it.
    command.arg("-C").arg(root).args(["-c", "core.fsmonitor=false", "ls-files", "-z"]);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    let group = process::Group::led_by(&child);
    let (Some(output), Some(complaint)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("git has no pipes".to_owned());
    };
    let (mut listed, mut said) = (Vec::new(), Vec::new());
    let (mut output, mut complaint) = (output.take(MAX_LIST), complaint.take(4_096));
    let read = tokio::try_join!(output.read_to_end(&mut listed), complaint.read_to_end(&mut said));
    read.map_err(|error| format!("git cannot be heard: {error}"))?;
    let status = child.wait().await.map_err(|error| error.to_string())?;
    group.release();
    if !status.success() {
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().next().unwrap_or("git says no").to_owned();
        return Err(said.trim_start_matches("fatal: ").to_owned());
    }
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// What lies in the folder, in the order of names, without what `.gitignore` leaves out.
fn walked(root: &Path) -> FileList {
    let mut walk = WalkBuilder::new(root);
    walk.follow_links(false).require_git(false).max_depth(Some(MAX_DEPTH));
    walk.sort_by_file_name(OsStr::cmp);
    let mut list = FileList::default();
    for (n_walked, entry) in walk.build().enumerate() {
        if n_walked >= MAX_WALKED {
            list.notes
                .push(format!("only the first {MAX_WALKED} files and folders were looked at"));
            break;
        }
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|it| it.is_file()) => {
                if let Ok(path) = entry.path().strip_prefix(root) {
                    list.paths.push(path.to_owned());
                }
            }
            Ok(_) => {}
            Err(error) => list.notes.push(error.to_string()),
        }
    }
    list
}
