//! Instructions for agents in the files that projects already have: `AGENTS.md`, `CLAUDE.md`, and skills.

mod skills;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{Definition, files::without_dots, permit::Veil, prompt::of_others};

/// How long the whole context may be.
const MAX_CONTEXT: usize = 96 * 1024;
/// How deeply files may import each other.
const MAX_DEPTH: usize = 4;
/// Files for agents, in a project and in a person's own folder.
const NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"];

/// Where to look for context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextSources {
    /// The project, if its files are not all in the working folder.
    pub project: Option<PathBuf>,
    /// The person's own folder.
    pub home: Option<PathBuf>,
}

impl ContextSources {
    /// The folders in which agents are described, for an agent that works in this folder.
    pub(crate) fn definitions(&self, folder: &Path) -> Vec<PathBuf> {
        Definition::folders(self.project.as_deref().unwrap_or(folder), self.home.as_deref())
    }

    /// The context for an agent in this folder; empty if there is none. Files that the agent may not read are left
    /// out.
    pub(crate) fn read(&self, folder: &Path, veil: &Veil) -> String {
        let mut told = ContextCollector {
            veil,
            text: String::new(),
            texts: BTreeSet::new(),
            files: BTreeSet::new(),
        };
        if let Some(home) = &self.home {
            // A person may keep these files elsewhere.
            told.folder(home, "of the person you work for", |path| {
                fs::read_to_string(home.join(path)).ok()
            });
        }
        // Files that git does not track are only in the project itself.
        let other = self.project.as_deref().filter(|project| *project != folder);
        let other = other.map(up_to_top).unwrap_or_default();
        let above = up_to_top(folder);
        let here = skills::listed(folder);
        for folder in above.iter().chain(&other) {
            told.folder(folder, "of this project", |path| {
                fs::read_to_string(real_inside(folder, path)?).ok()
            });
        }
        // The agent cannot read skills above its folder, or those that git does not track, which only the project has.
        let none = BTreeSet::new();
        let readable = skills::files(folder);
        let above = above.iter().filter(|it| **it != folder).map(|it| skills::told(it, &none));
        let other = other.iter().map(|it| skills::told(it, &readable));
        let far: Vec<_> = above.chain(other).flatten().collect();
        far.iter().chain(&here).for_each(|skills| told.push(skills));
        of_others(&told.text)
    }
}

/// A folder and its parents up to the top of its repository, outermost first.
fn up_to_top(folder: &Path) -> Vec<&Path> {
    let n_up = folder.ancestors().position(|folder| folder.join(".git").exists()).unwrap_or(0);
    let mut folders: Vec<_> = folder.ancestors().take(n_up + 1).collect();
    folders.reverse();
    folders
}

struct ContextCollector<'a> {
    veil: &'a Veil,
    text: String,
    /// The texts so far. The same text under two names is included once.
    texts: BTreeSet<String>,
    files: BTreeSet<PathBuf>,
}

impl ContextCollector<'_> {
    fn folder(&mut self, folder: &Path, whose: &str, read: impl Fn(&Path) -> Option<String>) {
        for name in NAMES {
            let Some(text) = read(Path::new(name)) else { continue };
            if text.trim().is_empty() || !self.texts.insert(text.clone()) {
                continue;
            }
            let text = self.with_imports(&text, folder, Path::new(name), 0);
            self.push(&format!("\n# {name} {whose}\n\n{}\n", text.trim()));
        }
    }

    /// A text, followed by the files of the folder that it names as `@path`.
    fn with_imports(&mut self, text: &str, folder: &Path, file: &Path, depth: usize) -> String {
        let mut whole = text.to_owned();
        if depth >= MAX_DEPTH {
            return whole;
        }
        for named in imports(text) {
            let near = file.parent().unwrap_or(Path::new("")).join(&named);
            let Some(path) = without_dots(&near) else { continue };
            if !self.files.insert(folder.join(&path)) {
                continue;
            }
            // An `@` before a word does not always mean a file.
            let Some(text) = read_inside(folder, &path).filter(|_| !self.is_veiled(folder, &path))
            else {
                continue;
            };
            let text = self.with_imports(&text, folder, &path, depth + 1);
            whole.push_str(&format!("\n\n## {}\n\n{}\n", path.display(), text.trim()));
        }
        whole
    }

    /// Whether a file is hidden, by its path or by what its links lead to.
    fn is_veiled(&self, folder: &Path, path: &Path) -> bool {
        let real = fs::canonicalize(folder.join(path)).unwrap_or_default();
        let root = fs::canonicalize(folder).unwrap_or_default();
        let real = real.strip_prefix(&root).unwrap_or(&real);
        [path, real].iter().any(|path| self.veil.hides(&root, &path.display().to_string()))
    }

    fn push(&mut self, text: &str) {
        let room = MAX_CONTEXT.saturating_sub(self.text.len());
        if text.len() <= room {
            self.text.push_str(text);
        } else {
            let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            self.text.push_str(text.get(..end).unwrap_or_default());
            self.text.push_str("\n[the rest is left out because it is too long]\n");
        }
    }
}

/// The files that a text names with an `@`, outside of code.
fn imports(text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let outside = line.split('`').step_by(2);
        let words =
            outside.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@'));
        let words = words.map(|word| word.trim_end_matches(['.', ',', ';', ':', ')']));
        found.extend(words.filter(|word| !word.is_empty()).map(PathBuf::from));
    }
    found
}

/// The content of a file that is not too long and not behind a link that leads out.
fn read_inside(folder: &Path, path: &Path) -> Option<String> {
    let real = real_inside(folder, path)?;
    let is_small = fs::metadata(&real).ok()?.len() <= MAX_CONTEXT as u64;
    is_small.then(|| fs::read_to_string(&real).ok()).flatten()
}

/// The real path of a file, unless a link leads out or it is not a file.
fn real_inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(folder.join(path)).ok()?;
    let is_inside = real.starts_with(fs::canonicalize(folder).ok()?);
    (is_inside && real.is_file()).then_some(real)
}

#[cfg(test)]
mod tests;
