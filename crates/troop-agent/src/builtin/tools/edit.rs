//! Writes files and changes parts of them.

use std::{io::Read as _, path::Path};

use cap_std::fs::OpenOptions;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{fault, schema};
use crate::files::WorkFolder;

/// How long a file may be that is changed in part.
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
    let about = "Writes a whole file in the working folder, in place of what is there. Folders on the way are made.";
    let fields = [
        ("file_path", "string", "The file, from the working folder on"),
        ("content", "string", "All that is to be in it"),
    ];
    (about, schema(&fields, &["file_path", "content"]))
}

pub(super) fn about_edit() -> (&'static str, Map<String, Value>) {
    let about = "Replaces a text in a file. The old text must be there exactly once, with all its spaces and without numbers of \
                 lines; or say replace_all.";
    let fields = [
        ("file_path", "string", "The file, from the working folder on"),
        ("old_string", "string", "The text as it is now"),
        ("new_string", "string", "The text as it is to be"),
        ("replace_all", "boolean", "Whether to replace it everywhere"),
    ];
    (about, schema(&fields, &["file_path", "old_string", "new_string"]))
}

pub(super) fn write(input: &WriteInput, files: &WorkFolder) -> Result<String, String> {
    let path = files.inside(&input.file_path)?;
    let wrong = |error| fault(&path, &error);
    let was_there = files.dir().exists(&path);
    files.write(&path, &input.content).map_err(wrong)?;
    let n_lines = input.content.lines().count();
    let how = if was_there { "wrote" } else { "made" };
    Ok(format!("{how} `{}`, {n_lines} lines", path.display()))
}

pub(super) fn edit(input: &EditInput, files: &WorkFolder) -> Result<String, String> {
    let path = files.inside(&input.file_path)?;
    let wrong = |error| fault(&path, &error);
    let mut file = files.open_file(&path, OpenOptions::new().read(true)).map_err(wrong)?;
    if file.metadata().map_err(wrong)?.len() > MAX_EDITED {
        return Err(format!(
            "`{}` is too long to be edited; change it by a command",
            path.display()
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(wrong)?;
    let n_found = count(&text, input, &path)?;
    let changed = text.replace(&input.old_string, &input.new_string);
    files.write(&path, &changed).map_err(wrong)?;
    let places = if n_found == 1 { "1 place".to_owned() } else { format!("{n_found} places") };
    Ok(format!("changed {places} in `{}`", path.display()))
}

/// How often the old text is there; as often as it may be.
fn count(text: &str, input: &EditInput, path: &Path) -> Result<usize, String> {
    let path = path.display();
    if input.old_string.is_empty() {
        return Err("`old_string` is empty; to write a whole file use Write".to_owned());
    }
    if input.old_string == input.new_string {
        return Err("`old_string` and `new_string` are the same".to_owned());
    }
    match text.matches(&input.old_string).count() {
        0 => Err(format!(
            "`{path}` does not hold that text; read it again and copy the text exactly"
        )),
        n_found if n_found > 1 && !input.replace_all => Err(format!(
            "`{path}` holds that text {n_found} times; give more of what stands around it, or say `replace_all`"
        )),
        n_found => Ok(n_found),
    }
}
