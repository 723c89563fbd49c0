//! Agents that a project or a person defines, each in a markdown file with front matter.

mod front;

use std::path::{Path, PathBuf};

pub(crate) use front::FrontMatter;

/// The definition of an agent in a markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub key: String,
    /// Its strengths.
    pub description: String,
    pub model: Option<String>,
    /// The agent that thinks for it, if not the built-in one.
    pub agent: Option<String>,
    /// The script to follow, if `agent` is `script`.
    pub script: Option<String>,
    /// The program that the lead starts for it instead of troop.
    pub program: Vec<String>,
    /// The only tools that it may use, as rules; none if it may use all.
    pub tools: Option<Vec<String>>,
    /// The tools that it may not use, as rules.
    pub denied: Vec<String>,
    /// The mistake in the file, if there is one. Such an agent does not run: it might do more than was meant.
    pub wrong: Option<String>,
    pub prompt: String,
    pub file: PathBuf,
}

impl Definition {
    /// All definitions in these folders; the first of each name counts.
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

    /// The folders of a project and of a person with definitions, in order of precedence.
    #[must_use]
    pub fn folders(project: &Path, home: Option<&Path>) -> Vec<PathBuf> {
        let own = home.map(|home| home.join("agents"));
        [project.join(".troop/agents"), project.join(".claude/agents")]
            .into_iter()
            .chain(own)
            .collect()
    }

    fn parse(file: &Path, text: &str) -> Option<Self> {
        let front = FrontMatter::read(text);
        let field = |name: &str| front.text(name);
        let mut wrong = front.wrong.clone();
        let mut list = |name: &str| {
            let list = front.list(name).transpose();
            list.unwrap_or_else(|why| {
                wrong = Some(why);
                Some(Vec::new())
            })
        };
        let tools = list("tools").filter(|tools| tools != &["*"]);
        let denied = list("disallowedTools").unwrap_or_default();
        let program = list("program").unwrap_or_default();
        Some(Self {
            key: field("name").or_else(|| file.file_stem()?.to_str().map(str::to_owned))?,
            description: field("description").unwrap_or_default(),
            model: field("model"),
            agent: field("agent"),
            script: field("script"),
            program,
            tools,
            denied,
            wrong,
            prompt: front.rest.trim().to_owned(),
            file: file.to_owned(),
        })
    }
}

/// The definitions in a folder, sorted by file name. Unreadable files are skipped.
fn read_folder(folder: &Path) -> Vec<Definition> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut files: Vec<_> = paths.filter(is_markdown).collect();
    files.sort();
    let read = |file: &PathBuf| Definition::parse(file, &std::fs::read_to_string(file).ok()?);
    files.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests;
