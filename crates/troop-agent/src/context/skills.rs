//! Skills: instructions of a project for certain kinds of work. Agents get a list, and read a skill when they need
//! it.

use std::{collections::BTreeSet, fs, path::Path};

use super::read_inside;
use crate::definition::FrontMatter;

const FOLDER: &str = ".claude/skills";
const MAX_SKILLS: usize = 100;

/// The list of skills, for an agent that can read their files. None if there are none.
pub(super) fn listed(folder: &Path) -> Option<String> {
    let line = |skill: Skill| format!("- {}: {} (in `{}`)\n", skill.title, skill.about, skill.file);
    let skills: String = all(folder)?.into_iter().map(line).collect();
    let head = "\n# Skills of this project\n\nInstructions for certain kinds of work. If one fits your work, read its file before you begin.\n\n";
    (!skills.is_empty()).then(|| format!("{head}{skills}"))
}

/// The files of the skills that an agent in this folder can read.
pub(super) fn files(folder: &Path) -> BTreeSet<String> {
    all(folder).into_iter().flatten().map(|skill| skill.file).collect()
}

/// The skills in full, for an agent that cannot read their files, except those that it can read where it works. None if there are
/// none.
pub(super) fn told(folder: &Path, readable: &BTreeSet<String>) -> Option<String> {
    let text = |skill: Skill| format!("## {}\n\n{}\n\n", skill.title, skill.text.trim());
    let far = all(folder)?.into_iter().filter(|skill| !readable.contains(&skill.file));
    let skills: String = far.map(text).collect();
    let head = "\n# Skills of this project\n\nInstructions for certain kinds of work.\n\n";
    (!skills.is_empty()).then(|| format!("{head}{skills}"))
}

struct Skill {
    title: String,
    about: String,
    file: String,
    text: String,
}

fn all(folder: &Path) -> Option<Vec<Skill>> {
    let mut skills: Vec<_> = fs::read_dir(folder.join(FOLDER))
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let file = format!("{FOLDER}/{name}/SKILL.md");
            let text = read_inside(folder, Path::new(&file))?;
            let front = FrontMatter::read(&text);
            let title = front.text("name").unwrap_or(name);
            let about = front.text("description").unwrap_or_default();
            let about = troop_model::preview(&about, 300);
            Some(Skill { title, about, file, text })
        })
        .collect();
    skills.sort_by(|one, other| one.title.cmp(&other.title));
    skills.truncate(MAX_SKILLS);
    Some(skills)
}
