//! Files by which an agent could make others run something, or give itself more rights.

use std::path::{Component, Path};

/// What is said to who would write them.
pub(super) const OF_GIT: &str =
    "files of git are written by git alone; use git for it, or say that you cannot";

/// Folders and files that tell programs what to run, or agents what they may.
const DECIDE: [&str; 22] = [
    ".claude",
    ".troop",
    ".mcp.json",
    ".claude.json",
    ".vscode",
    ".idea",
    ".cursor",
    ".codex",
    ".gemini",
    ".devcontainer",
    ".husky",
    ".envrc",
    ".gitmodules",
    ".gitconfig",
    ".ripgreprc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".npmrc",
];

/// Whether it is git's own: its hooks and its configuration run with a person's next command.
pub(super) fn is_of_git(path: &Path) -> bool {
    has(path, &[".git"])
}

/// Whether people are asked before it is changed, in every mode that asks at all.
pub(super) fn decides_what_runs(path: &Path) -> bool {
    has(path, &DECIDE)
}

/// Whether any part of a path is called so. Some file systems do not know large letters from small ones.
fn has(path: &Path, names: &[&str]) -> bool {
    let is_one = |part: Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        names.iter().any(|name| part.eq_ignore_ascii_case(name))
    };
    path.components().any(is_one)
}
