//! Reading descriptions of agents.

use std::path::Path;

use super::Definition;

fn read(text: &str) -> Definition {
    Definition::parse(Path::new("agents/ann.md"), text).unwrap()
}

#[test]
fn front_matter_says_what_thinks_for_an_agent() {
    let ann = read(
        "---\nname: \"ann\"\nagent: script\nscript: demo/ann.script\nmodel: opus\n---\nHello.\n",
    );
    assert_eq!((ann.key.as_str(), ann.agent.as_deref()), ("ann", Some("script")));
    assert_eq!(
        (ann.script.as_deref(), ann.model.as_deref()),
        (Some("demo/ann.script"), Some("opus"))
    );
    assert!(ann.program.is_empty());
}

#[test]
fn a_file_without_front_matter_describes_an_agent_of_its_name() {
    let ann = read("You review.\n");
    assert_eq!((ann.key.as_str(), ann.agent), ("ann", None));
}

#[test]
fn a_program_is_a_list_or_words() {
    for (text, words) in [
        ("[python3, \"mate.py\", '-v']", vec!["python3", "mate.py", "-v"]),
        ("python3 mate.py", vec!["python3", "mate.py"]),
        ("[]", vec![]),
    ] {
        assert_eq!(read(&format!("---\nprogram: {text}\n---\n")).program, words, "{text}");
    }
}

#[test]
fn what_follows_the_front_matter_is_told_to_the_agent_and_its_tools_are_a_list() {
    for list in ["Read, Grep", "[Read, Grep]", "Read Grep"] {
        let ann = read(&format!("---\ntools: {list}\n---\n\nYou review.\n\nBe kind.\n"));
        assert_eq!(ann.prompt, "You review.\n\nBe kind.");
        assert_eq!(ann.tools.unwrap(), ["Read", "Grep"]);
    }
    assert_eq!(read("You review.\n").prompt, "You review.");
}

#[test]
fn fuzz_definition() {
    let example = "---\nname: \"ann\"\nagent: script\nscript: a.script\nmodel: opus\nprogram: [python3, \"a b\"]\ntools: Read, Bash\n---\nHello.\n";
    let words = ["---", "\n---", "name:", "program: [", "'", ":"];
    troop_testkit::fuzz(&words, &[example.as_bytes().to_vec()], 1_000, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        if let Some(found) = Definition::parse(Path::new("agents/ann.md"), &text) {
            assert!(!found.key.is_empty() && found.program.iter().all(|it| !it.is_empty()));
        }
    });
}
