//! `cargo xtask map [CRATE]`: every source file with its purpose, as a tree.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};

use crate::run;

/// Prints the map of one crate, or of all.
pub(crate) fn run() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no workspace")?;
    let wanted = std::env::args().nth(2);
    let mut crates = entries(&root.join("crates"))?;
    crates.push(root.join("xtask"));
    crates.retain(|folder| wanted.as_ref().is_none_or(|name| folder.ends_with(name)));
    if crates.is_empty() {
        bail!("there is no such crate; usage: cargo xtask map [CRATE]");
    }
    let maps: Result<Vec<_>> = crates.iter().map(|folder| map(folder)).collect();
    run::print(&maps?.join("\n"))
}

/// The name of a crate, then a line for each of its files.
fn map(folder: &Path) -> Result<String> {
    let mut rows = Vec::new();
    collect(&folder.join("src"), 1, &mut rows)?;
    let width = rows.iter().map(|(file, _)| file.len()).max().unwrap_or_default();
    let lines = rows
        .iter()
        .map(|(file, purpose)| format!("{file:width$}  {purpose}").trim_end().to_owned() + "\n");
    Ok(format!("{}\n{}", name(folder), lines.collect::<String>()))
}

/// `foo.rs` comes before the files of `foo/`, which are indented below it.
fn collect(folder: &Path, depth: usize, rows: &mut Vec<(String, String)>) -> Result<()> {
    let mut paths = entries(folder)?;
    paths.sort_by_key(|path| {
        let is_root = matches!(name(path).as_str(), "lib.rs" | "main.rs");
        (!is_root, path.with_extension(""), path.is_dir())
    });
    for path in paths {
        if path.is_dir() {
            collect(&path, depth + 1, rows)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let purpose = text.lines().next().and_then(|line| line.strip_prefix("//! "));
            let file = format!("{}{}", "  ".repeat(depth), name(&path));
            rows.push((file, purpose.unwrap_or_default().to_owned()));
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let paths: io::Result<Vec<_>> = read.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.with_context(|| folder.display().to_string())?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    //! The map of a small crate.

    use std::fs;

    use super::map;

    #[test]
    fn a_module_is_listed_above_its_files_with_their_purposes() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("small/src");
        fs::create_dir_all(source.join("board")).unwrap();
        for (file, text) in [
            ("lib.rs", "//! Everything.\n"),
            ("board.rs", "//! The board.\n//! More of it.\n"),
            ("board/writer.rs", "//! Writes.\n"),
            ("apple.rs", "fn says_nothing() {}\n"),
            ("board/notes.txt", "no source"),
        ] {
            fs::write(source.join(file), text).unwrap();
        }
        let expected = "small
  lib.rs       Everything.
  apple.rs
  board.rs     The board.
    writer.rs  Writes.
";
        assert_eq!(map(&folder.path().join("small")).unwrap(), expected);
    }
}
