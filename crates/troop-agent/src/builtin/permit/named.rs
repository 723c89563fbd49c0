//! Files that a command names: what nobody may look at with a tool for files is not shown by the usual programs either.

use std::path::{Component, Path, PathBuf};

use super::{Deed, line::Line};

/// Programs that show what is in the files that they are given.
const SHOW: [&str; 32] = [
    "cat", "head", "tail", "less", "more", "tac", "nl", "bat", "grep", "egrep", "fgrep", "rg",
    "sed", "awk", "cut", "sort", "uniq", "diff", "cmp", "strings", "xxd", "od", "hexdump",
    "base64", "cp", "mv", "ln", "tar", "zip", "source", ".", "curl",
];
/// Programs that change the files that they are given.
const CHANGE: [&str; 13] = [
    "sed", "tee", "cp", "mv", "ln", "rm", "rmdir", "unlink", "touch", "truncate", "dd", "chmod",
    "install",
];

/// What rules about files are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Look,
    Change,
}

/// The files that a line names and would use so, from the working folder on.
pub(super) fn files(deed: &Deed<'_>, how: Use) -> Vec<String> {
    let line = Line::read(deed.what);
    let programs: &[&str] = if how == Use::Look { &SHOW } else { &CHANGE };
    let ways = line.all_ways();
    let uses =
        |words: &&Vec<String>| words.first().is_some_and(|it| programs.contains(&it.as_str()));
    let named = ways.iter().filter(uses).flat_map(|words| words.iter().skip(1));
    // `dd of=x`, `curl -d @x`, `--file=x`.
    let parts = named.flat_map(|word| word.split(['=', '@']).chain([word.as_str()]));
    let all = parts.chain(line.files.iter().map(String::as_str));
    all.filter(|word| !word.is_empty()).map(|word| from_folder(deed.root, word)).collect()
}

fn from_folder(root: &Path, word: &str) -> String {
    let path = Path::new(word);
    let path = path.strip_prefix(root).unwrap_or(path);
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && plain.file_name().is_some() {
            plain.pop();
        } else if part != Component::CurDir {
            plain.push(part);
        }
    }
    plain.display().to_string()
}
