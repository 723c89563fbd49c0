//! The context that projects give their agents.

use std::{fs, os::unix::fs::symlink, path::Path};

use tempfile::TempDir;

use super::{ContextSources, MAX_CONTEXT};
use crate::permit::{Rules, Veil};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn read(folder: &Path) -> String {
    ContextSources::default().read(folder, &veil(&[]))
}

fn veil(deny: &[&str]) -> Veil {
    let deny = deny.iter().map(|rule| rule.parse().unwrap()).collect();
    Rules { deny, ..Rules::default() }.veil_over_denied("Read")
}

#[test]
fn context_includes_no_file_outside_the_project_and_no_denied_file() {
    let outside = folder(&[("key", "a private key")]);
    let project = folder(&[("AGENTS.md", "see @.env and @link"), (".env", "a password")]);
    symlink(outside.path().join("key"), project.path().join("CLAUDE.md")).unwrap();
    symlink(".env", project.path().join("link")).unwrap();
    let text = ContextSources::default().read(project.path(), &veil(&["Read(.env)"]));
    assert!(text.contains("see @.env"), "{text}");
    assert!(!text.contains("a private key") && !text.contains("a password"), "{text}");
    assert!(read(project.path()).contains("a password"), "files that are not denied are included");
}

#[test]
fn context_files_are_included_and_copies_only_once() {
    let project = folder(&[
        ("AGENTS.md", "use tabs"),
        ("CLAUDE.md", "use tabs"),
        (".claude/CLAUDE.md", "be kind"),
    ]);
    let text = read(project.path());
    assert_eq!(text.matches("use tabs").count(), 1, "{text}");
    assert!(text.contains("be kind"), "{text}");
    assert_eq!(read(folder(&[]).path()), "");
}

#[test]
fn imports_are_followed_only_within_the_folder() {
    let outside = folder(&[("secret.md", "a secret")]);
    let project = folder(&[
        (
            "CLAUDE.md",
            "see @docs/style.md, and @docs/none.md\n`@docs/code.md`\n```\n@docs/code.md\n```\n@../x @/etc/passwd @link.md pat@docs/code.md",
        ),
        ("docs/style.md", "four spaces; @more.md @../CLAUDE.md"),
        ("docs/more.md", "and no more"),
        ("docs/code.md", "only code"),
    ]);
    symlink(outside.path().join("secret.md"), project.path().join("link.md")).unwrap();
    let text = read(project.path());
    assert!(text.contains("four spaces") && text.contains("and no more"), "{text}");
    assert!(
        !text.contains("only code") && !text.contains("a secret") && !text.contains("root:"),
        "{text}"
    );
}

#[test]
fn an_import_cycle_ends() {
    let project =
        folder(&[("CLAUDE.md", "@a.md"), ("a.md", "@b.md"), ("b.md", "@a.md @CLAUDE.md here")]);
    assert!(read(project.path()).matches("here").count() == 1);
}

#[test]
fn skills_are_listed_without_their_text() {
    let project = folder(&[
        (
            ".claude/skills/release/SKILL.md",
            "---\nname: release\ndescription: \"How a release is made\"\n---\nlong story",
        ),
        (".claude/skills/bare/SKILL.md", "no front matter"),
        (".claude/skills/empty/README.md", "x"),
    ]);
    let text = read(project.path());
    assert!(
        text.contains("- release: How a release is made (in `.claude/skills/release/SKILL.md`)"),
        "{text}"
    );
    assert!(
        text.contains("- bare: ") && !text.contains("long story") && !text.contains("empty"),
        "{text}"
    );
}

#[test]
fn files_of_the_person_and_of_the_project_are_included() {
    let (home, project, work) =
        (folder(&[("AGENTS.md", "I am Pat")]), folder(&[("CLAUDE.md", "not in git")]), folder(&[]));
    let sources = ContextSources {
        project: Some(project.path().to_owned()),
        home: Some(home.path().to_owned()),
    };
    let text = sources.read(work.path(), &veil(&[]));
    assert!(text.contains("I am Pat") && text.contains("not in git"), "{text}");
}

#[test]
fn in_a_subfolder_the_files_of_all_parent_folders_come_outermost_first() {
    let outer = folder(&[
        ("AGENTS.md", "outside of the repository"),
        ("repo/.git/HEAD", "ref: refs/heads/main"),
        ("repo/AGENTS.md", "at the top, and @docs/more.md"),
        ("repo/docs/more.md", "more of the top"),
        ("repo/.claude/skills/brew/SKILL.md", "---\nname: brew\n---\nBoil water first.\n"),
        ("repo/crates/CLAUDE.md", "in between"),
        ("repo/crates/one/AGENTS.md", "right here"),
    ]);
    let text = read(&outer.path().join("repo/crates/one"));
    let told = ["at the top", "more of the top", "in between", "right here", "Boil water first."];
    let places: Vec<_> = told.iter().map(|it| text.find(it).unwrap_or(usize::MAX)).collect();
    assert!(places.is_sorted() && !places.contains(&usize::MAX), "{places:?} {text}");
    assert!(!text.contains("outside of the repository"), "{text}");
    assert!(!read(&outer.path().join("repo/crates")).contains("right here"));
    let without_git = folder(&[("AGENTS.md", "above"), ("x/AGENTS.md", "here")]);
    let text = read(&without_git.path().join("x"));
    assert!(text.contains("here") && !text.contains("above"), "{text}");
}

#[test]
fn long_context_is_cut() {
    let project = folder(&[("AGENTS.md", &"ä".repeat(MAX_CONTEXT))]);
    let text = read(project.path());
    assert!(
        text.len() < MAX_CONTEXT + 200 && text.contains("the rest is left out"),
        "{}",
        text.len()
    );
}

#[test]
fn a_skill_that_git_ignores_reaches_teammates_beside_a_committed_one() {
    let brew = (".claude/skills/brew/SKILL.md", "---\nname: brew\n---\nBoil water first.\n");
    let own = (".claude/skills/own/SKILL.md", "---\nname: own\n---\nAsk Pat first.\n");
    let project = folder(&[brew, own]);
    let worktree = folder(&[brew]);
    let sources =
        ContextSources { project: Some(project.path().to_owned()), ..ContextSources::default() };
    let text = sources.read(worktree.path(), &Rules::default().veil_over_denied("Read"));
    assert!(text.contains("Ask Pat first."), "{text}");
    assert!(text.contains("- brew:") && !text.contains("Boil water first."), "{text}");
}

#[test]
fn skills_outside_the_working_folder_are_included_in_full() {
    let skill = "---\nname: brew\ndescription: how tea is made\n---\nBoil water first.\n";
    let project = folder(&[(".claude/skills/brew/SKILL.md", skill)]);
    assert!(!read(project.path()).contains("Boil water first"), "it is read when needed");
    let worktree = folder(&[]);
    let sources = ContextSources { project: Some(project.path().to_owned()), home: None };
    let text = sources.read(worktree.path(), &veil(&[]));
    assert!(text.contains("## brew") && text.contains("Boil water first."), "{text}");
}
