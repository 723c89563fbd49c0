//! Suggestions for misspelt words.

use super::nearest;

#[test]
fn a_misspelt_word_is_recognised_however_it_is_written() {
    let known = ["plan_approval_request", "message", "sqlite"];
    for (word, meant) in [
        ("plan-approval-request", Some("plan_approval_request")),
        ("Mesage", Some("message")),
        ("sqllite", Some("sqlite")),
        ("mysql", None),
        ("", None),
    ] {
        assert_eq!(nearest(word, known), meant, "{word}");
    }
}

#[test]
fn the_first_of_equally_similar_words_is_suggested() {
    assert_eq!(nearest("tesk", ["task", "desk"]), Some("task"));
}

#[test]
fn without_known_words_there_is_no_suggestion() {
    assert_eq!(nearest("task", []), None);
}
