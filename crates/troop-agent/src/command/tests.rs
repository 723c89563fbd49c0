//! Which commands need a shell.

use super::CommandLine;

fn words(text: &str) -> Vec<String> {
    let line = CommandLine::parse(text).unwrap();
    std::iter::once(line.program).chain(line.arguments).collect()
}

#[test]
fn a_plain_command_is_started_without_a_shell() {
    assert_eq!(words(" cargo test  -p troop "), ["cargo", "test", "-p", "troop"]);
    assert_eq!(words("/bin/true"), ["/bin/true"]);
}

#[test]
fn a_command_with_shell_syntax_reaches_a_shell_unchanged() {
    for text in [
        "echo $HOME",
        "a | b",
        "a && b",
        "echo 'x  y'",
        "ls *.rs",
        "X=1 env",
        "cd folder",
        "exit 3",
        "one\ntwo",
        "~/bin/x",
    ] {
        assert_eq!(words(text), ["sh", "-c", text]);
    }
}

#[test]
fn an_empty_line_is_not_a_command() {
    assert_eq!(CommandLine::parse(" \n"), None);
    assert_eq!(CommandLine::from_words(Vec::new()), None);
    assert_eq!(CommandLine::from_words(vec![String::new()]), None);
}
