//! Skills: what a project knows how to do. Agents are told what there is, and read it when they need it.

use std::{fs, path::Path};

use super::read_inside;
use crate::definition::Front;

const FOLDER: &str = ".claude/skills";
const MAX_SKILLS: usize = 100;

/// What there is, for an agent. None if there is nothing.
pub(super) fn listed(folder: &Path) -> Option<String> {
    let mut skills: Vec<_> = fs::read_dir(folder.join(FOLDER))
        .ok()?
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let file = format!("{FOLDER}/{name}/SKILL.md");
            let text = read_inside(folder, Path::new(&file))?;
            let front = Front::read(&text);
            let title = front.text("name").unwrap_or(name);
            let about = front.text("description").unwrap_or_default();
            let about = troop_model::preview(&about, 300);
            Some(format!("- {title}: {about} (in `{file}`)"))
        })
        .collect();
    skills.sort();
    skills.truncate(MAX_SKILLS);
    let head = "\n# Skills of this project\n\nHow some things are done here. When one fits your work, read its file before you \
                begin.\n\n";
    (!skills.is_empty()).then(|| format!("{head}{}\n", skills.join("\n")))
}
