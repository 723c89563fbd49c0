//! Valid names, and invalid ones.

use super::FilePath;

fn why_not(path: &str) -> String {
    FilePath::new(path).unwrap_err().to_string()
}

#[test]
fn ordinary_names_are_taken_as_they_are() {
    let long = "x".repeat(255);
    let deep = ["d"; 15].join("/") + "/f";
    for path in [
        "a",
        "notes/plan.md",
        "Größe.txt",
        "日本.txt",
        "a b.txt",
        ".hidden",
        "...",
        "a..b",
        "~",
        "-rf",
        "con",
        &long,
        &deep,
    ] {
        assert_eq!(FilePath::new(path).unwrap().as_str(), path);
    }
    assert_eq!(FilePath::new("a/b/c").unwrap().parts(), (vec!["a", "b"], "c"));
    assert_ne!(FilePath::new("A").unwrap(), FilePath::new("a").unwrap());
}

#[test]
fn two_ways_to_write_the_same_name_mean_one_file() {
    assert_eq!(FilePath::new("e\u{301}.txt").unwrap(), FilePath::new("\u{e9}.txt").unwrap());
}

#[test]
fn a_path_out_of_the_workspace_is_refused() {
    for path in ["..", "../a", "a/../b", "a/..", ".", "./a", "a/./b"] {
        assert!(why_not(path).ends_with("`.` and `..` are not allowed"), "{path}");
    }
    assert!(why_not("/etc/passwd").contains("begins at the root"));
    assert_eq!(why_not(""), "`` is not a path in the workspace: it is empty");
    for path in ["a//b", "a/"] {
        assert!(why_not(path).ends_with("it has an empty part"), "{path}");
    }
}

#[test]
fn lookalike_separators_are_no_separators() {
    for path in [
        "a\\b",
        "..\\a",
        "a\u{2215}b",
        "a\u{2044}b",
        "a\u{29f8}b",
        "a\u{ff0f}b",
        "a\u{ff3c}b",
        "a\u{fe68}b",
    ] {
        assert!(why_not(path).contains("looks like a separator"), "{path}");
    }
    for path in ["\u{ff0e}\u{ff0e}", "\u{2025}", "\u{2024}\u{2024}/a"] {
        assert!(why_not(path).contains("are not allowed"), "{path}");
    }
}

#[test]
fn invisible_characters_in_names_are_refused() {
    for path in [
        "a\nb",
        "a\rb",
        "a\u{1b}[2Jb",
        "a\0b",
        "a\u{7f}b",
        "a\u{202e}txt.exe",
        "a\u{200b}b",
        "a\u{2066}b",
        "\u{feff}a",
        "a\u{ad}b",
        "a\u{e0041}b",
        "a\u{85}b",
    ] {
        assert!(why_not(path).contains("cannot be seen"), "{path:?}");
    }
    for path in [" a", "a ", "a /b", "a/\u{a0}b"] {
        assert!(why_not(path).contains("begins or ends with a space"), "{path:?}");
    }
    // The message contains no control characters.
    assert!(!why_not("a\nb").contains('\n'));
}

#[test]
fn names_are_not_endless_and_some_are_reserved() {
    assert!(why_not(&"x".repeat(256)).contains("longer than 255 bytes"));
    assert!(
        why_not(&format!("{}/{}/{}", "x".repeat(200), "y".repeat(200), "z".repeat(200)))
            .contains("longer than 512")
    );
    assert!(why_not(&["d"; 17].join("/")).contains("more than 15 folders"));
    for path in [
        ".git/config",
        "a/.GIT/hooks/x",
        ".troop/config.json",
        ".claude/settings.json",
        "\u{ff0e}git/x",
    ] {
        assert!(why_not(path).contains("programs run what is in a folder"), "{path}");
    }
}
