//! Writes files, and replaces parts of them.

use std::{io::Read as _, path::Path};

use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{fault, schema};
use crate::files::WorkFolder;

/// The longest file that can be edited.
const MAX_EDITED: u64 = 16 * 1024 * 1024;

#[derive(Deserialize)]
pub(super) struct WriteInput {
    file_path: String,
    content: String,
}

#[derive(Deserialize)]
pub(super) struct EditInput {
    file_path: String,
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn about_write() -> (&'static str, Map<String, Value>) {
    let about = "Writes a whole file in the working folder. Replaces an existing file, and creates missing folders.";
    let fields = [
        ("file_path", "string", "The file, relative to the working folder"),
        ("content", "string", "The whole content of the file"),
    ];
    (about, schema(&fields, &["file_path", "content"]))
}

pub(super) fn about_edit() -> (&'static str, Map<String, Value>) {
    let about = "Replaces a text in a file. The old text must match exactly, white space included and line numbers left out, and \
                 must occur only once unless you set replace_all.";
    let fields = [
        ("file_path", "string", "The file, relative to the working folder"),
        ("old_string", "string", "The present text"),
        ("new_string", "string", "The new text"),
        ("replace_all", "boolean", "Replace every occurrence"),
    ];
    (about, schema(&fields, &["file_path", "old_string", "new_string"]))
}

pub(super) fn write(input: &WriteInput, files: &WorkFolder) -> Result<String, String> {
    let path = files.inside(&input.file_path)?;
    let wrong = |error| fault(&path, &error);
    let was_there = files.dir().exists(&path);
    files.write(&path, &input.content).map_err(wrong)?;
    let n_lines = input.content.lines().count();
    let how = if was_there { "replaced" } else { "created" };
    Ok(format!("{how} `{}`, {n_lines} lines", path.display()))
}

pub(super) fn edit(input: &EditInput, files: &WorkFolder) -> Result<String, String> {
    let path = files.inside(&input.file_path)?;
    let wrong = |error| fault(&path, &error);
    let mut file = files.open_file(&path, OpenOptions::new().read(true)).map_err(wrong)?;
    if file.metadata().map_err(wrong)?.len() > MAX_EDITED {
        return Err(format!("`{}` is too large to edit; change it with a command", path.display()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(wrong)?;
    let Replacement { text, places } = replaced(&text, input, &path)?;
    files.write(&path, &text).map_err(wrong)?;
    Ok(format!("changed {places} in `{}`", path.display()))
}

/// A text after an edit.
pub(super) struct Replacement {
    pub(super) text: String,
    /// How many places were changed, in words.
    pub(super) places: String,
}

/// Carries out an edit of the text of this file.
pub(super) fn replaced(text: &str, input: &EditInput, path: &Path) -> Result<Replacement, String> {
    let n_found = count(text, input, path)?;
    let places = if n_found == 1 { "1 place".to_owned() } else { format!("{n_found} places") };
    Ok(Replacement { text: text.replace(&input.old_string, &input.new_string), places })
}

/// How often the old text occurs, if that is allowed.
fn count(text: &str, input: &EditInput, path: &Path) -> Result<usize, String> {
    let path = path.display();
    if input.old_string.is_empty() {
        return Err("`old_string` is empty; use Write for a whole file".to_owned());
    }
    if input.old_string == input.new_string {
        return Err("`old_string` and `new_string` are the same".to_owned());
    }
    match text.matches(&input.old_string).count() {
        0 => Err(format!(
            "`{path}` does not contain `old_string`; read the file again and copy the text exactly"
        )),
        n_found if n_found > 1 && !input.replace_all => Err(format!(
            "`{path}` contains `old_string` {n_found} times; include more of the surrounding text, or set `replace_all`"
        )),
        n_found => Ok(n_found),
    }
}
