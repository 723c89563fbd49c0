//! Texts that match a pattern, and texts that do not.

use super::TextPattern;

#[test]
fn patterns_match_whole_texts() {
    for (pattern, yes, no) in [
        ("*", vec!["", "x"], vec![]),
        ("write *", vec!["write ", "write a b"], vec!["rewrite a", "write"]),
        ("*a*b*", vec!["ab", "xaxbx", "aab"], vec!["ba", ""]),
        ("t?st", vec!["test", "täst"], vec!["tst", "teest"]),
        ("", vec![""], vec!["x"]),
    ] {
        let pattern = TextPattern::new(pattern);
        for text in yes {
            assert!(pattern.is_match(text), "{pattern:?} {text}");
        }
        for text in no {
            assert!(!pattern.is_match(text), "{pattern:?} {text}");
        }
    }
}

#[test]
fn for_commands_a_question_mark_is_itself() {
    let pattern = TextPattern::of_stars("curl *?a=*");
    assert!(pattern.is_match("curl http://here?a=1"));
    assert!(!pattern.is_match("curl http://here&a=1"));
}
