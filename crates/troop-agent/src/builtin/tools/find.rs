//! Lists folders, and finds files by name.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use globset::GlobBuilder;
use ignore::WalkBuilder;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{fault, schema};
use crate::{files::WorkFolder, permit::Veil};

const MAX_FOUND: usize = 500;

#[derive(Deserialize)]
pub(super) struct ListInput {
    #[serde(default)]
    path: String,
}

#[derive(Deserialize)]
pub(super) struct GlobInput {
    pattern: String,
    #[serde(default)]
    path: String,
}

pub(super) fn about_list() -> (&'static str, Map<String, Value>) {
    let about = "Lists a folder. The names of subfolders end with a slash.";
    (about, schema(&[("path", "string", "The folder; the working folder by default")], &[]))
}

pub(super) fn about_glob() -> (&'static str, Map<String, Value>) {
    let about = "Finds files whose paths match a glob, such as `**/*.rs` or `src/{a,b}.ts`. Skips files that git ignores.";
    let fields = [
        ("pattern", "string", "The glob, relative to the folder"),
        ("path", "string", "The folder to search; the working folder by default"),
    ];
    (about, schema(&fields, &["pattern"]))
}

pub(super) fn list(input: &ListInput, files: &WorkFolder) -> Result<String, String> {
    let path = files.inside(&input.path)?;
    let wrong = |error| fault(&path, &error);
    let mut names = Vec::new();
    for entry in files.dir().read_dir(&path).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let is_folder = entry.file_type().map_err(wrong)?.is_dir();
        let slash = if is_folder { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(if names.is_empty() { "[the folder is empty]".to_owned() } else { names.join("\n") })
}

pub(super) fn glob(
    input: &GlobInput,
    files: &WorkFolder,
    veil: &Veil,
    is_over: &AtomicBool,
) -> Result<String, String> {
    let glob =
        GlobBuilder::new(input.pattern.trim_start_matches("./")).literal_separator(true).build();
    let glob =
        glob.map_err(|error| format!("`{}` is not a valid glob: {}", input.pattern, error.kind()))?;
    let glob = glob.compile_matcher();
    let root = folder(&input.path, files)?;
    let mut found = Vec::new();
    let mut n_veiled = 0;
    for path in walk(&root, is_over) {
        let inside = path.strip_prefix(&root).unwrap_or(&path);
        if !glob.is_match(inside) {
            continue;
        }
        if veil.hides(files.root(), &from(files.root(), &path)) {
            n_veiled += 1;
        } else {
            found.push(inside.display().to_string());
        }
    }
    found.sort();
    let n_hidden = found.len().saturating_sub(MAX_FOUND);
    let mut text = found.into_iter().take(MAX_FOUND).collect::<Vec<_>>().join("\n");
    if n_hidden > 0 {
        text.push_str(&format!("\n[{n_hidden} more are not shown; use a narrower pattern]"));
    }
    let text = if text.is_empty() { "no file matches".to_owned() } else { text };
    Ok(text + &veiled(n_veiled))
}

/// A path relative to the working folder.
pub(super) fn from(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// A note about files that rules hide.
pub(super) fn veiled(n_veiled: usize) -> String {
    match n_veiled {
        0 => String::new(),
        1 => "\n[1 file was skipped: a rule forbids reading it]".to_owned(),
        n => format!("\n[{n} files were skipped: rules forbid reading them]"),
    }
}

/// A folder inside the working folder, with its links resolved.
pub(super) fn folder(path: &str, files: &WorkFolder) -> Result<PathBuf, String> {
    let path = files.inside(path)?;
    let wrong = |error| fault(&path, &error);
    let real = files.dir().canonicalize(&path).map_err(wrong)?;
    Ok(files.root().join(real))
}

/// All files below a folder that git does not ignore. Links are not followed.
pub(super) fn walk<'a>(root: &Path, is_over: &'a AtomicBool) -> impl Iterator<Item = PathBuf> + 'a {
    let is_own_of_git = |name: &std::ffi::OsStr| name == ".git";
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(move |entry| !is_own_of_git(entry.file_name()))
        .build();
    let files = walk
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    files.take_while(|_| !is_over.load(Ordering::Relaxed)).map(ignore::DirEntry::into_path)
}

/// Runs something slow on another thread. It ends soon after this future is dropped.
pub(super) async fn in_background<T: Send + 'static>(
    act: impl FnOnce(&AtomicBool) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let over = CancelOnDrop(Arc::default());
    let is_over = Arc::clone(&over.0);
    let done = tokio::task::spawn_blocking(move || act(&is_over)).await;
    drop(over);
    done.map_err(|error| format!("it broke off: {error}"))?
}

/// Set when it is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
