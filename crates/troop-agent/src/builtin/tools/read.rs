//! Reads a file, with line numbers.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    sync::atomic::{AtomicBool, Ordering},
};

use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{LINES, MAX_LINE, fault, schema};
use crate::files::WorkFolder;

#[derive(Deserialize)]
pub(super) struct ReadInput {
    file_path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

pub(super) fn about() -> (&'static str, Map<String, Value>) {
    let about = "Reads a text file in the working folder. Each line begins with its number and a tab. Without a limit it reads \
                 2000 lines.";
    let fields = [
        ("file_path", "string", "The file, relative to the working folder"),
        ("offset", "integer", "The first line to read; 1 by default"),
        ("limit", "integer", "How many lines to read"),
    ];
    (about, schema(&fields, &["file_path"]))
}

pub(super) fn read(
    input: &ReadInput,
    files: &WorkFolder,
    is_over: &AtomicBool,
) -> Result<String, String> {
    let path = files.inside(&input.file_path)?;
    let wrong = |error| fault(&path, &error);
    let mut reader =
        BufReader::new(files.open_file(&path, OpenOptions::new().read(true)).map_err(wrong)?);
    let first = input.offset.unwrap_or(1).max(1);
    let limit = input.limit.unwrap_or(LINES).min(LINES);
    let mut text = String::new();
    let mut line = Vec::new();
    let mut number = 0_usize;
    loop {
        line.clear();
        // A line without end must not take all memory.
        let n_read = reader
            .by_ref()
            .take(16 * MAX_LINE as u64)
            .read_until(b'\n', &mut line)
            .map_err(wrong)?;
        if n_read == 0 || is_over.load(Ordering::Relaxed) {
            break;
        }
        if line.contains(&0) {
            return Err(format!("`{}` is not a text file", path.display()));
        }
        number += 1;
        if number < first {
            continue;
        }
        if number >= first + limit || text.len() > super::MAX_RESULT {
            text.push_str(&format!("[there is more; continue with offset {number}]\n"));
            break;
        }
        let shown = String::from_utf8_lossy(&line);
        let shown = troop_model::preview(shown.trim_end_matches(['\n', '\r']), MAX_LINE);
        text.push_str(&format!("{number:>6}\t{shown}\n"));
    }
    match (number, text.is_empty()) {
        (0, _) => Ok("[the file is empty]".to_owned()),
        (_, true) => Err(format!("`{}` has only {number} lines", path.display())),
        (_, false) => Ok(text),
    }
}
