//! Which commands need a shell.

use super::CommandLine;

fn words(text: &str) -> Vec<String> {
    let line = CommandLine::parse(text).unwrap();
    std::iter::once(line.program).chain(line.arguments).collect()
}

#[test]
fn what_needs_no_shell_is_started_without_one() {
    assert_eq!(words(" cargo test  -p troop "), ["cargo", "test", "-p", "troop"]);
    assert_eq!(words("/bin/true"), ["/bin/true"]);
}

#[test]
fn what_needs_a_shell_gets_one_and_sees_every_word_as_written() {
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
fn nothing_is_no_command() {
    assert_eq!(CommandLine::parse(" \n"), None);
    assert_eq!(CommandLine::from_words(Vec::new()), None);
    assert_eq!(CommandLine::from_words(vec![String::new()]), None);
}
