//! Files in a real folder, and attempts to get out of it.

mod swapped;

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    sync::{Arc, Barrier},
};

use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;
use troop_model::WorkspaceFolder;

use super::{FilePath, MAX_FILE, MAX_FILES, Workspace, WorkspaceError};

/// A workspace in a temporary folder, and something outside that must not change.
struct Stage {
    temp: TempDir,
    workspace: Workspace,
    folder: WorkspaceFolder,
}

impl Stage {
    fn new() -> Self {
        let temp = TempDir::new().unwrap();
        fs::create_dir(temp.path().join("outside")).unwrap();
        fs::write(temp.path().join("outside/secret"), "secret").unwrap();
        let workspace = Workspace::new(&temp.path().join("team"));
        Self { temp, workspace, folder: WorkspaceFolder::default() }
    }

    /// A path in the folder, for changes without troop.
    fn by_hand(&self, path: &str) -> PathBuf {
        self.workspace.path_of(&self.folder).join(path)
    }

    fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    fn write(&self, path: &str, text: &str) -> Result<u64, String> {
        self.write_within(path, text.as_bytes(), None)
    }

    fn write_within(&self, path: &str, bytes: &[u8], quota: Option<u64>) -> Result<u64, String> {
        let written = self.workspace.write(&self.folder, &at(path), bytes, quota);
        written.map(|stat| stat.size).map_err(|error| error.to_string())
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let read = self.workspace.read(&self.folder, &at(path));
        read.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|error| error.to_string())
    }

    fn delete(&self, path: &str) -> Result<u64, String> {
        self.workspace.delete(&self.folder, &at(path)).map_err(|error| error.to_string())
    }

    fn list(&self) -> (Vec<String>, usize) {
        let listing = self.workspace.list(&self.folder).unwrap();
        let paths = listing.files.iter().map(|(path, _)| path.to_string()).collect();
        (paths, listing.n_skipped)
    }

    /// Nothing outside has changed.
    fn check_outside(&self) {
        let entries: Vec<_> = fs::read_dir(self.outside()).unwrap().collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(fs::read_to_string(self.outside().join("secret")).unwrap(), "secret");
    }
}

fn at(path: &str) -> FilePath {
    FilePath::new(path).unwrap()
}

fn listed(paths: &[&str], n_skipped: usize) -> (Vec<String>, usize) {
    (paths.iter().map(ToString::to_string).collect(), n_skipped)
}

#[test]
fn files_are_written_read_listed_and_deleted() {
    let stage = Stage::new();
    assert_eq!(stage.list(), listed(&[], 0));
    assert_eq!(stage.read("a.txt").unwrap_err(), "there is no file `a.txt` in the workspace");
    assert_eq!(stage.write("notes/deep/plan.md", "one"), Ok(3));
    assert_eq!(stage.write("a.txt", ""), Ok(0));
    assert_eq!(stage.write("notes/deep/plan.md", "other"), Ok(5));
    assert_eq!(stage.read("notes/deep/plan.md").unwrap(), "other");
    assert_eq!(stage.list(), listed(&["a.txt", "notes/deep/plan.md"], 0));
    let stat = stage.workspace.stat(&stage.folder, &at("notes/deep/plan.md")).unwrap();
    assert_eq!(stat.size, 5);
    assert_eq!(stage.delete("notes/deep/plan.md"), Ok(5));
    assert!(stage.delete("notes/deep/plan.md").unwrap_err().contains("there is no file"));
    assert!(!stage.by_hand("notes").exists(), "empty folders go with their last file");
    assert!(stage.by_hand("").exists());
    assert_eq!(stage.write("notes", "a file now"), Ok(10));
}

#[test]
fn folders_are_made_on_demand_for_owner_and_group() {
    let stage = Stage::new();
    stage.write("notes/deep/plan.md", "one").unwrap();
    for folder in ["", "..", "../..", "notes", "notes/deep"] {
        let mode = fs::metadata(stage.by_hand(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750, "{folder}");
    }
    let mode = fs::metadata(stage.by_hand("notes/deep/plan.md")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn each_chat_has_its_own_files() {
    let stage = Stage::new();
    let chat = |name: &str| WorkspaceFolder::of_chat(Some(name.into()));
    let folders = [
        chat("a"),
        chat("shared"),
        chat("../shared"),
        WorkspaceFolder::shared(),
        stage.folder.clone(),
    ];
    for (nth, folder) in folders.iter().enumerate() {
        let bytes = nth.to_string().into_bytes();
        stage.workspace.write(folder, &at("x"), &bytes, None).unwrap();
    }
    for (nth, folder) in folders.iter().enumerate() {
        let read = stage.workspace.read(folder, &at("x")).unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), nth.to_string());
        assert_eq!(stage.workspace.list(folder).unwrap().files.len(), 1);
    }
}

#[test]
fn ten_megabytes_are_written_and_not_one_byte_more() {
    let stage = Stage::new();
    let most = vec![b'x'; MAX_FILE as usize];
    assert_eq!(stage.write_within("most", &most, None), Ok(MAX_FILE));
    let more = vec![b'x'; MAX_FILE as usize + 1];
    let error = stage.workspace.write(&stage.folder, &at("most"), &more, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`most` has 10485761 bytes; a workspace file may have at most 10485760 (10 MB)"
    );
    assert!(error.hint().unwrap().to_string().contains("split it"));
    assert_eq!(stage.read("most").unwrap().len(), most.len(), "it is as it was");
    // A file that grew without troop is not read either.
    fs::write(stage.by_hand("grown"), &more).unwrap();
    assert!(stage.read("grown").unwrap_err().contains("at most 10485760"));
}

#[test]
fn the_hundred_and_first_file_is_refused_and_overwriting_is_not() {
    let stage = Stage::new();
    for n in 0..MAX_FILES {
        stage.write(&format!("d{}/{n}", n % 7), "x").unwrap();
    }
    assert_eq!(
        stage.write("new/one-more", "x").unwrap_err(),
        "`new/one-more` would be one file too many: the workspace has 100 of at most 100"
    );
    assert!(!stage.by_hand("new").exists(), "nothing is made for what is refused");
    assert_eq!(stage.write("d0/0", "other"), Ok(5));
    stage.delete("d0/7").unwrap();
    assert_eq!(stage.write("one-more", "x"), Ok(1));
    let elsewhere = WorkspaceFolder::shared();
    stage.workspace.write(&elsewhere, &at("one-more"), b"x", None).unwrap();
}

#[test]
fn all_files_of_a_team_together_stay_within_the_quota() {
    let stage = Stage::new();
    let quota = Some(100);
    assert_eq!(stage.write_within("a", &[0; 60], quota), Ok(60));
    let shared = WorkspaceFolder::shared();
    stage.workspace.write(&shared, &at("b"), &[0; 40], quota).unwrap();
    let error = stage.workspace.write(&shared, &at("c"), &[0; 1], quota).unwrap_err();
    assert!(
        matches!(error, WorkspaceError::OverQuota { size: 1, used: 100, quota: 100, .. }),
        "{error:?}"
    );
    assert!(error.hint().unwrap().to_string().contains("workspace_quota_mb"));
    assert_eq!(stage.write_within("a", &[0; 60], quota), Ok(60), "what it replaces is not counted");
    assert_eq!(stage.write_within("a", &[1; 60], Some(10)), Ok(60), "it grows no more");
    assert!(stage.write_within("a", &[0; 61], quota).unwrap_err().contains("40 of 100 bytes"));
    stage.workspace.delete(&shared, &at("b")).unwrap();
    assert_eq!(stage.write_within("a", &[0; 100], quota), Ok(100));
}

#[test]
fn many_writers_at_once_do_not_pass_the_limits() {
    let stage = Arc::new(Stage::new());
    let start = Arc::new(Barrier::new(8));
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let stage = Arc::clone(&stage);
            let start = Arc::clone(&start);
            std::thread::spawn(move || {
                start.wait();
                (0..20).filter(|n| stage.write(&format!("{writer}-{n}"), "x").is_ok()).count()
            })
        })
        .collect();
    let n_written: usize = writers.into_iter().map(|it| it.join().unwrap()).sum();
    assert_eq!((n_written, stage.list().0.len()), (MAX_FILES, MAX_FILES));
}

#[test]
fn a_symlink_is_not_followed() {
    let stage = Stage::new();
    stage.write("real/a", "x").unwrap();
    symlink(stage.outside(), stage.by_hand("out")).unwrap();
    symlink(stage.outside().join("secret"), stage.by_hand("secret")).unwrap();
    symlink("real", stage.by_hand("inside")).unwrap();
    symlink("../../../../outside/secret", stage.by_hand("up")).unwrap();
    for path in ["out/secret", "out/new", "inside/a", "inside/new"] {
        for refused in [stage.read(path).map(drop), stage.write(path, "x").map(drop)] {
            assert!(refused.unwrap_err().contains("behind a file or a link"), "{path}");
        }
        assert!(stage.delete(path).is_err());
    }
    for path in ["secret", "up"] {
        for refused in [stage.read(path).map(drop), stage.write(path, "x").map(drop)] {
            assert_eq!(
                refused.unwrap_err(),
                format!("`{path}` is a link, which the workspace does not touch")
            );
        }
    }
    assert_eq!(stage.list(), listed(&["real/a"], 4), "links are not followed, and are counted");
    stage.delete("secret").unwrap();
    assert!(!stage.by_hand("secret").is_symlink(), "the link goes, not what it leads to");
    stage.check_outside();
}

#[test]
fn a_workspace_that_is_a_symlink_is_not_used() {
    let stage = Stage::new();
    let team = stage.temp.path().join("team");
    fs::create_dir(&team).unwrap();
    symlink(stage.outside(), team.join("workspace")).unwrap();
    for refused in [stage.write("a", "x").map(drop), stage.read("secret").map(drop)] {
        assert!(refused.unwrap_err().starts_with("the workspace `"));
    }
    assert!(stage.workspace.list(&stage.folder).is_err());
    assert!(stage.workspace.prepare(&stage.folder).is_err());
    stage.check_outside();
}

#[test]
fn writing_does_not_reach_a_file_through_another_of_its_names() {
    let stage = Stage::new();
    stage.write("a", "x").unwrap();
    fs::hard_link(stage.outside().join("secret"), stage.by_hand("linked")).unwrap();
    assert!(stage.read("linked").unwrap_err().contains("a second name elsewhere (a hard link)"));
    assert_eq!(stage.write("linked", "mine"), Ok(4));
    assert_eq!(stage.read("linked").unwrap(), "mine");
    stage.check_outside();
    assert_eq!(fs::metadata(stage.outside().join("secret")).unwrap().nlink(), 1);
}

#[test]
fn pipes_folders_and_devices_are_refused() {
    let stage = Stage::new();
    stage.write("folder/a", "x").unwrap();
    mkfifoat(CWD, stage.by_hand("pipe"), Mode::from_raw_mode(0o600)).unwrap();
    assert!(fs::metadata(stage.by_hand("pipe")).unwrap().file_type().is_fifo());
    for (path, what) in [("pipe", "a pipe, a socket or a device"), ("folder", "a folder")] {
        let said = format!("`{path}` is {what}, which the workspace does not touch");
        assert_eq!(stage.read(path).unwrap_err(), said);
        assert_eq!(stage.write(path, "x").unwrap_err(), said);
    }
    assert!(stage.delete("folder").unwrap_err().contains("is a folder"));
    assert!(stage.write("folder/a/b", "x").unwrap_err().contains("behind a file or a link"));
    assert_eq!(stage.list(), listed(&["folder/a"], 1));
}

#[test]
fn a_file_with_an_invalid_name_is_counted_but_not_listed() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let stage = Stage::new();
    stage.write("a", "x").unwrap();
    let folder = stage.by_hand("");
    for name in [b"new\nline".as_slice(), b"\xff\xfe", "e\u{301}".as_bytes()] {
        fs::write(folder.join(OsStr::from_bytes(name)), "x").unwrap();
    }
    assert_eq!(stage.list(), listed(&["a"], 3));
}

#[test]
fn temporary_files_of_a_killed_writer_are_hidden_and_removed() {
    let stage = Stage::new();
    stage.write("a", "x").unwrap();
    let writing = stage.temp.path().join("team/workspace/.writing");
    fs::write(writing.join("left"), vec![0; 1_000]).unwrap();
    assert_eq!(stage.list(), listed(&["a"], 0));
    assert_eq!(stage.write_within("b", b"x", Some(2)), Ok(1), "it is not counted");
    assert_eq!(fs::read_dir(writing).unwrap().count(), 0);
}
