//! Making text safe to show.

use super::{clean, one_line};

#[test]
fn characters_that_act_on_a_terminal_are_escaped() {
    assert_eq!(clean("a\u{1b}[31mb\u{202e}c\u{7}"), "a\\u{1b}[31mb\\u{202e}c\\u{7}");
    assert_eq!(clean("two\nlines\tand مرحبا"), "two\nlines\tand مرحبا");
    assert_eq!(one_line("two\n  lines"), "two lines");
}
