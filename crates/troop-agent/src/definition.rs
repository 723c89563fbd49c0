//! Agents that a project or a person describes, each in a markdown file with front matter.

use std::path::{Path, PathBuf};

/// What a markdown file says about an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// What it is called.
    pub key: String,
    /// What it is good at.
    pub description: String,
    /// The model that it asks for.
    pub model: Option<String>,
    /// The agent that thinks for it, if not troop's own.
    pub agent: Option<String>,
    /// The script that it follows, if `agent` is `script`.
    pub script: Option<String>,
    /// The program that is to be started for it instead of troop.
    pub program: Vec<String>,
    /// The tools that it may use, if not all.
    pub tools: Option<Vec<String>>,
    /// What it is told about itself.
    pub prompt: String,
    /// Where it is described.
    pub file: PathBuf,
}

impl Definition {
    /// All that the files of these folders describe; of several with one name the first.
    #[must_use]
    pub fn read_all(folders: &[PathBuf]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for definition in folders.iter().flat_map(|folder| read_folder(folder)) {
            if all.iter().all(|known| known.key != definition.key) {
                all.push(definition);
            }
        }
        all
    }

    /// The folders of a project and of a person that describe agents, in the order in which they count.
    #[must_use]
    pub fn folders(project: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let own = home.map(|home| home.join("agents"));
        [project.join(".troop/agents"), project.join(".claude/agents")]
            .into_iter()
            .chain(own)
            .collect()
    }

    fn parse(file: &Path, text: &str) -> Option<Self> {
        let field = |name: &str| field(text, name);
        Some(Self {
            key: field("name").or_else(|| file.file_stem()?.to_str().map(str::to_owned))?,
            description: field("description").unwrap_or_default(),
            model: field("model"),
            agent: field("agent"),
            script: field("script"),
            program: field("program").map(|list| words(&list)).unwrap_or_default(),
            tools: field("tools").map(|list| words(&list)),
            prompt: parted(text).1.trim().to_owned(),
            file: file.to_owned(),
        })
    }
}

/// The front matter of a text, and what follows it.
fn parted(text: &str) -> (&str, &str) {
    let parted = text.strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
    parted.unwrap_or(("", text))
}

/// What the front matter of a text says under a name.
pub(crate) fn field(text: &str, name: &str) -> Option<String> {
    let mut lines = parted(text).0.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
    let value = unquoted(value);
    (!value.is_empty()).then(|| value.to_owned())
}

/// What the markdown files of a folder describe, by file name. What cannot be read describes nobody.
fn read_folder(folder: &Path) -> Vec<Definition> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut files: Vec<_> = paths.filter(is_markdown).collect();
    files.sort();
    let read = |file: &PathBuf| Definition::parse(file, &std::fs::read_to_string(file).ok()?);
    files.iter().filter_map(read).collect()
}

/// The words of `[a, "b c"]`, of `a, b`, or of `a b`.
fn words(list: &str) -> Vec<String> {
    let inner = list.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let words: Vec<&str> = match inner {
        Some(inner) => inner.split(',').map(unquoted).collect(),
        None if list.contains(',') => list.split(',').map(unquoted).collect(),
        None => list.split_whitespace().collect(),
    };
    words.into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests;
