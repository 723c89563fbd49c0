//! The files that a command names: rules about reading and editing hold for the usual programs, too.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use globset::Glob;

use super::{ToolAction, line::ShellLine};

/// Programs that show the content of their files.
const SHOW: [&str; 33] = [
    "cat", "head", "tail", "less", "more", "tac", "nl", "bat", "grep", "egrep", "fgrep", "rg",
    "sed", "awk", "cut", "sort", "uniq", "diff", "cmp", "strings", "xxd", "od", "hexdump",
    "base64", "cp", "mv", "ln", "tar", "zip", "source", ".", "curl", "dd",
];
/// The subcommands of git that show files.
const GIT_SHOWS: [&str; 7] = ["show", "diff", "grep", "log", "blame", "cat-file", "archive"];
/// Programs that change their files.
const CHANGE: [&str; 13] = [
    "sed", "tee", "cp", "mv", "ln", "rm", "rmdir", "unlink", "touch", "truncate", "dd", "chmod",
    "install",
];
/// Programs that take whole folders, and those that do so with an option.
const TAKE_ALL: [&str; 3] = ["mv", "tar", "zip"];
const TAKE_ALL_IF_TOLD: [&str; 7] = ["grep", "egrep", "fgrep", "cp", "rm", "diff", "chmod"];
/// Wildcards in file names.
const WILD: [char; 3] = ['*', '?', '['];
/// How many files are checked at most.
const MAX_FILES: usize = 5_000;

/// The use of files that a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileUse {
    Look,
    Change,
}

/// The files that a line would use in this way, relative to the working folder: by name, behind links, by wildcards,
/// and in folders that are taken whole.
pub(super) fn files(action: &ToolAction<'_>, how: FileUse) -> Vec<String> {
    let line = ShellLine::read(action.what);
    let ways = line.all_ways();
    let mut words = line.files.clone();
    let mut folders = Vec::new();
    for (program, rest) in ways.iter().filter_map(|words| words.split_first()) {
        if !uses(program, rest, how) {
            continue;
        }
        // `dd of=x`, `curl -d @x`, `--file=x`, `git show HEAD:x`.
        let parts = rest.iter().flat_map(|word| word.split(['=', '@', ':']));
        words.extend(parts.map(str::to_owned).chain(rest.iter().cloned()));
        if takes_all(program, rest) {
            folders.extend(rest.iter().cloned());
            // Without a path, grep searches the present folder.
            let n_said = rest.iter().filter(|word| !word.starts_with('-')).count();
            let is_here = program.ends_with("grep") && n_said < 2;
            folders.extend(is_here.then(|| ".".to_owned()));
        }
    }
    let places = places(&ways);
    let named = |words: &[String]| {
        let words = words.iter().filter(|word| !word.is_empty());
        let all = words.flat_map(|word| places.iter().map(move |place| place.join(word)));
        all.map(|path| from_folder(action.root, &path))
            .flat_map(|path| expanded(action.root, &path))
            .collect::<Vec<_>>()
    };
    let files = named(&words);
    let folders = named(&folders);
    let inside = folders.iter().flat_map(|folder| all_in(action.root, folder));
    let all: Vec<_> = files.into_iter().chain(inside).collect();
    let real: Vec<_> = all.iter().filter_map(|path| real(action.root, path)).collect();
    all.into_iter().chain(real).map(|path| path.display().to_string()).collect()
}

/// Whether a program uses its files in this way.
fn uses(program: &str, rest: &[String], how: FileUse) -> bool {
    let is_shown_by_git = || {
        let does = rest.first().map(String::as_str);
        program == "git" && does.is_some_and(|it| GIT_SHOWS.contains(&it))
    };
    match how {
        FileUse::Look => SHOW.contains(&program) || is_shown_by_git(),
        FileUse::Change => CHANGE.contains(&program),
    }
}

/// Whether a program takes whole folders.
fn takes_all(program: &str, rest: &[String]) -> bool {
    let is_told = |word: &String| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        is_short && word.contains(['r', 'R', 'a']) || word == "--recursive" || word == "--archive"
    };
    TAKE_ALL.contains(&program) || TAKE_ALL_IF_TOLD.contains(&program) && rest.iter().any(is_told)
}

/// The folders in which commands of a line may run: the working folder, and those that it changes to.
fn places(ways: &[Vec<String>]) -> Vec<PathBuf> {
    let mut places = vec![PathBuf::new()];
    for words in ways {
        if let [program, folder, ..] = words.as_slice()
            && (program == "cd" || program == "pushd")
        {
            let from = places.last().cloned().unwrap_or_default();
            places.push(from.join(folder));
        }
    }
    places.dedup();
    places
}

fn from_folder(root: &Path, path: &Path) -> PathBuf {
    let path = path.strip_prefix(root).unwrap_or(path);
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && plain.file_name().is_some() {
            plain.pop();
        } else if part != Component::CurDir {
            plain.push(part);
        }
    }
    plain
}

/// The files that match a path with wildcards. A path without wildcards stands for itself.
fn expanded(root: &Path, path: &Path) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    for part in path.components() {
        let part = part.as_os_str().to_string_lossy();
        let glob = Glob::new(&part).ok().filter(|_| part.contains(WILD));
        let Some(glob) = glob.map(|glob| glob.compile_matcher()) else {
            all.iter_mut().for_each(|path| path.push(&*part));
            continue;
        };
        let is_meant = |name: &String| {
            glob.is_match(name) && (part.starts_with('.') || !name.starts_with('.'))
        };
        let inside = |folder: &PathBuf| {
            let names = names_in(&root.join(folder)).into_iter().filter(is_meant);
            names.map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(inside).take(MAX_FILES).collect();
    }
    all
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// All files in a folder and its subfolders. Links are not followed, as the programs do not follow them either.
fn all_in(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if !root.join(&folder).is_dir() || files.len() >= MAX_FILES {
            continue;
        }
        for name in names_in(&root.join(&folder)) {
            let path = folder.join(name);
            let is_folder =
                fs::symlink_metadata(root.join(&path)).is_ok_and(|it| it.file_type().is_dir());
            if is_folder { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

/// A path with its links resolved, relative to the working folder, if that is another path.
fn real(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(root.join(path)).ok()?;
    let real = real.strip_prefix(fs::canonicalize(root).ok()?).map(Path::to_owned).unwrap_or(real);
    (real != path).then_some(real)
}
