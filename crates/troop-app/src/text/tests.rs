//! Making text safe to show.

use super::{clean, one_line};

#[test]
fn what_would_act_on_the_terminal_is_spelled_out() {
    assert_eq!(clean("a\u{1b}[31mb\u{202e}c\u{7}"), "a\\u{1b}[31mb\\u{202e}c\\u{7}");
    assert_eq!(clean("two\nlines\tand مرحبا"), "two\nlines\tand مرحبا");
    assert_eq!(one_line("two\n  lines"), "two lines");
}
