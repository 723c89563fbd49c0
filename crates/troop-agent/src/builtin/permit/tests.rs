//! Modes and rules.

use troop_model::Permissions::{self, AcceptEdits, Bypass, Default, Plan};
use troop_protocol::Category;

use super::{Deed, Permit, Rule, Rules};

fn rules(allow: &[&str], deny: &[&str], ask: &[&str]) -> Rules {
    let all = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Rules { allow: all(allow), deny: all(deny), ask: all(ask) }
}

fn check(rules: &Rules, mode: Permissions, tool: &str, what: &str) -> &'static str {
    let deed = Deed { tool, category: Category::of(tool), what };
    match rules.check(mode, &deed) {
        Permit::Yes => "yes",
        Permit::Ask => "ask",
        Permit::No(_) => "no",
    }
}

#[test]
fn each_mode_lets_do_what_it_is_for() {
    let none = Rules::default();
    for (mode, read, edit, shell, mcp) in [
        (Plan, "yes", "no", "no", "no"),
        (Default, "yes", "ask", "ask", "ask"),
        (AcceptEdits, "yes", "yes", "ask", "ask"),
        (Bypass, "yes", "yes", "yes", "yes"),
    ] {
        for (tool, expected) in [
            ("Read", read),
            ("Grep", read),
            ("Write", edit),
            ("Edit", edit),
            ("Bash", shell),
            ("mcp__x__y", mcp),
            ("TaskList", "yes"),
        ] {
            assert_eq!(check(&none, mode, tool, "x"), expected, "{tool} in {mode:?}");
        }
    }
}

#[test]
fn what_is_denied_is_denied_in_every_mode_and_before_what_is_allowed() {
    let rules = rules(
        &["Bash", "Read"],
        &["Bash(git push:*)", "Read(.env)", "Edit(secrets/**)", "mcp__bad__*"],
        &[],
    );
    for mode in [Plan, Default, AcceptEdits, Bypass] {
        for (tool, what) in [
            ("Bash", "git push --force"),
            ("Bash", "git push"),
            ("Bash", "cd x && git push origin main"),
            ("Bash", "FORCE=1 git push"),
            ("Bash", "echo $(git push)"),
            ("Bash", "(git push)"),
            ("Bash", "echo `git push`"),
            ("Read", ".env"),
            ("Grep", "deep/down/.env"),
            ("Write", "secrets/a/b"),
            ("Edit", "secrets/x"),
            ("mcp__bad__tool", ""),
        ] {
            assert_eq!(check(&rules, mode, tool, what), "no", "{tool} {what} in {mode:?}");
        }
    }
    assert_eq!(check(&rules, Default, "Bash", "git pushy"), "yes", "that is another command");
    assert_eq!(check(&rules, Default, "Read", "env"), "yes");
}

#[test]
fn what_is_allowed_needs_no_asking_as_far_as_one_can_see_what_it_does() {
    let rules = rules(
        &[
            "Bash(git status:*)",
            "Bash(cargo test)",
            "Bash(ls *)",
            "Edit(src/**)",
            "Write(notes.md)",
        ],
        &[],
        &[],
    );
    for (tool, what, expected) in [
        ("Bash", "git status", "yes"),
        ("Bash", "git status --short", "yes"),
        ("Bash", "git status && ls -l", "ask"),
        ("Bash", "git status; rm -rf /", "ask"),
        ("Bash", "git status $(rm -rf /)", "ask"),
        ("Bash", "git status > /etc/passwd", "ask"),
        ("Bash", "git statusx", "ask"),
        ("Bash", "cargo test", "yes"),
        ("Bash", "cargo test --all", "ask"),
        ("Bash", "ls -la /tmp", "yes"),
        ("Bash", "git status & rm x", "ask"),
        ("Bash", "git status\nrm x", "ask"),
        ("Edit", "src/a/b.rs", "yes"),
        ("Write", "src/a.rs", "yes"),
        ("Write", "a/notes.md", "yes"),
        ("Edit", "notes.md", "ask"),
        ("Write", "srcs/a.rs", "ask"),
    ] {
        assert_eq!(check(&rules, Default, tool, what), expected, "{tool} {what}");
    }
}

#[test]
fn what_must_be_asked_for_is_asked_for_unless_nothing_is() {
    let rules = rules(&["Bash"], &[], &["Bash(git push:*)", "Read(private/**)"]);
    assert_eq!(check(&rules, Default, "Bash", "ls; git push"), "ask");
    assert_eq!(check(&rules, Plan, "Read", "private/x"), "ask");
    assert_eq!(check(&rules, Bypass, "Bash", "git push"), "yes");
}

#[test]
fn what_is_no_rule_says_why() {
    for bad in ["", "(x)", "Bash(git", "Read([)", "rm -rf"] {
        let error = bad.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains("is no rule: ") && error.contains("Bash(git status:*)"), "{error}");
    }
}
