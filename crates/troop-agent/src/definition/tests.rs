//! Reading descriptions of agents.

use std::path::Path;

use super::Definition;

fn read(text: &str) -> Definition {
    Definition::parse(Path::new("agents/ann.md"), text).unwrap()
}

#[test]
fn front_matter_names_the_agent_its_script_and_its_model() {
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
        ("[\"./my mate\"]", vec!["./my mate"]),
        ("\n  - python3\n  - mate.py", vec!["python3", "mate.py"]),
        ("[]", vec![]),
        (r#"[sh, -c, "A=1,2; sleep 100"]"#, vec!["sh", "-c", "A=1,2; sleep 100"]),
        (
            r#"[python3, -c, "import sys,os; print('a')"]"#,
            vec!["python3", "-c", "import sys,os; print('a')"],
        ),
        (r#"[sh, -c, "echo \"a, b\" # c"] # runs it"#, vec!["sh", "-c", "echo \"a, b\" # c"]),
        ("[sh, -c, 'it''s, fine']", vec!["sh", "-c", "it's, fine"]),
        (r#"["a\\b", "\u00e4", "[x]"]"#, vec![r"a\b", "ä", "[x]"]),
        (r#"sh -c "a, b c""#, vec!["sh", "-c", "a, b c"]),
        ("\n  - sh\n  - -c\n  - \"a # b, c\" # d", vec!["sh", "-c", "a # b, c"]),
        ("[echo, don't, 5\"]", vec!["echo", "don't", "5\""]),
    ] {
        assert_eq!(read(&format!("---\nprogram: {text}\n---\n")).program, words, "{text}");
    }
}

#[test]
fn the_text_after_the_front_matter_is_the_agents_instructions() {
    for list in ["Read, Grep", "[Read, Grep]", "Read Grep"] {
        let ann = read(&format!("---\ntools: {list}\n---\n\nYou review.\n\nBe kind.\n"));
        assert_eq!(ann.prompt, "You review.\n\nBe kind.");
        assert_eq!(ann.tools.unwrap(), ["Read", "Grep"]);
    }
    assert_eq!(read("You review.\n").prompt, "You review.");
}

#[test]
fn tool_limits_are_understood_in_every_common_form() {
    for (front, tools) in [
        ("tools:\n  - Read\n  - Grep", &["Read", "Grep"][..]),
        ("tools:\n- Read\n- \"Grep\" # looks", &["Read", "Grep"]),
        ("tools: [Read,\n  Grep]", &["Read", "Grep"]),
        ("tools: Read,\n  Grep", &["Read", "Grep"]),
        ("tools: Read, Bash(git log:*), Bash(a, b)", &["Read", "Bash(git log:*)", "Bash(a, b)"]),
        ("tools: Bash(git log:*) Read", &["Bash(git log:*)", "Read"]),
        ("tools: 'Read, Grep' ", &["Read", "Grep"]),
        ("\"tools\": Read # and nothing else", &["Read"]),
        ("tools:", &[]),
        ("tools: []", &[]),
        ("tools:\n  # none", &[]),
        ("metadata:\n  tools: Bash\ntools: Read", &["Read"]),
    ] {
        for text in [format!("---\n{front}\n---\n"), format!("\u{feff}---\r\n{front}\r\n---\r\n")] {
            let ann = read(&text);
            assert_eq!(
                (ann.tools.unwrap(), ann.wrong),
                (tools.iter().map(|it| (*it).to_owned()).collect(), None),
                "{front}"
            );
        }
    }
    assert_eq!(read("---\ntools: \"*\"\n---\n").tools, None, "that is all of them");
    assert_eq!(read("---\ndisallowedTools: Bash, Write\n---\n").denied, ["Bash", "Write"]);
}

#[test]
fn an_unclear_tool_limit_is_an_error() {
    for text in [
        "---\ntools:\n  Read: true\n---\n",
        "---\ntools: {Read: true}\n---\n",
        "---\ntools: [Read\n---\n",
        "---\ntools: |\n  Read\n---\n",
        "---\ndisallowedTools:\n  Bash: false\n---\n",
        "---\ntools: Read\n",
    ] {
        assert!(read(text).wrong.is_some(), "{text}");
    }
}

#[test]
fn a_description_can_span_lines() {
    for (text, expected) in [
        (">\n  Looks at code.\n  Says what is wrong.", "Looks at code. Says what is wrong."),
        ("|-\n  one\n  two", "one\ntwo"),
        ("Looks at\n  code: all of it", "Looks at code: all of it"),
        ("\"quoted # text\"", "quoted # text"),
        (r#""says \"hi\"" # always"#, "says \"hi\""),
        ("Bob's \"own\" # words", "Bob's \"own\""),
    ] {
        assert_eq!(
            read(&format!("---\ndescription: {text}\nmodel: x\n---\n")).description,
            expected
        );
    }
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
