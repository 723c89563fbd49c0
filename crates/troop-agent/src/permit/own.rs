//! Files with which an agent could make others run something, or give itself more rights.

use std::path::{Component, Path};

/// For a model that tries to write them.
pub(super) const OF_GIT: &str = "only git may write its own files; use git, or say that you cannot";

/// Folders and files that tell programs what to run, or agents what they may do.
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

/// Whether a path belongs to git: its hooks and configuration run with a person's next command.
pub(super) fn is_of_git(path: &Path) -> bool {
    has(path, &[".git"])
}

/// Whether people are asked before the file changes, in every mode that asks at all.
pub(super) fn decides_what_runs(path: &Path) -> bool {
    has(path, &DECIDE)
}

/// Whether any part of a path has one of these names. Some file systems ignore case.
fn has(path: &Path, names: &[&str]) -> bool {
    let is_one = |part: Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        names.iter().any(|name| part.eq_ignore_ascii_case(name))
    };
    path.components().any(is_one)
}
