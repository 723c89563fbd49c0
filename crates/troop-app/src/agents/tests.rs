//! Finding agents.

use std::fs;

use super::Agents;
use crate::surroundings::{Environment, Surroundings};

fn agents(folder: &std::path::Path) -> Agents {
    let home = folder.join("home");
    let environment = Environment::default();
    Agents::read(&Surroundings::bare(environment, home, folder.to_owned(), "me".to_owned()))
}

fn write(folder: &std::path::Path, path: &str, text: &str) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

#[test]
fn a_member_is_resolved_by_the_key_or_the_id_of_its_agent() {
    let folder = tempfile::tempdir().unwrap();
    let agents = agents(folder.path());
    let by_key = agents.member("ann=claude").unwrap();
    assert_eq!((by_key.name.as_str(), by_key.agent.as_str()), ("ann", "claude"));
    let id = agents.0.iter().find(|agent| agent.key == "claude").unwrap().id;
    assert_eq!(agents.member(&format!("ann={id}")).unwrap(), by_key);
    assert_eq!(agents.member("codex").unwrap().name.as_str(), "codex");
}

#[test]
fn a_member_without_expertise_gets_that_of_its_agent() {
    let folder = tempfile::tempdir().unwrap();
    let agents = agents(folder.path());
    assert_eq!(agents.description("command"), "runs a task's command");
    assert_eq!(agents.description("script:any.script"), "follows a script");
    assert_eq!(agents.description("nobody"), "");
}

#[test]
fn an_agent_that_cannot_be_resolved_is_refused_with_the_nearest_one() {
    let folder = tempfile::tempdir().unwrap();
    let error = agents(folder.path()).member("ann=cladue").unwrap_err();
    assert_eq!(error.to_string(), "there is no agent `cladue`");
    assert!(agents(folder.path()).member("ann=00000000-0000-0000-0000-000000000000").is_err());
}

#[test]
fn agents_are_described_by_markdown_files_of_the_project_and_of_claude_code() {
    let folder = tempfile::tempdir().unwrap();
    let text = "---\nname: reviewer\ndescription: \"finds what others miss\"\nmodel: opus\n---\nYou review.\n";
    write(folder.path(), ".troop/agents/r.md", text);
    write(folder.path(), ".claude/agents/tester.md", "no front matter");
    write(folder.path(), ".claude/agents/notes.txt", "---\nname: nobody\n---\n");
    let agents = agents(folder.path());
    let reviewer = agents.member("rev=reviewer").unwrap();
    assert_eq!(reviewer.expertise, "finds what others miss");
    assert_eq!(reviewer.model.as_deref(), Some("opus"));
    assert_eq!(agents.member("tester").unwrap().name.as_str(), "tester");
    assert!(agents.member("nobody").is_err());
}

#[test]
fn a_member_may_follow_its_own_script() {
    let folder = tempfile::tempdir().unwrap();
    let ann = agents(folder.path()).member("ann=script:demo/ann.script").unwrap();
    assert_eq!((ann.name.as_str(), ann.agent.as_str()), ("ann", "script:demo/ann.script"));
}
