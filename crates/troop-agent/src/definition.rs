//! Agents that a project or a person describes, each in a markdown file with front matter.

mod front;

use std::path::{Path, PathBuf};

pub(crate) use front::FrontMatter;

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
    /// The tools that it may use, if not all, as rules.
    pub tools: Option<Vec<String>>,
    /// The tools that it may not use, as rules.
    pub denied: Vec<String>,
    /// What of the file cannot be understood. Such an agent does not run: it might do more than was meant.
    pub wrong: Option<String>,
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

#[cfg(test)]
mod tests;
