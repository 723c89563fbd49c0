//! Texts, durations and tables.

use std::time::Duration;

use super::{fit, pad, span, table};

#[test]
fn text_fits_its_columns_with_wide_and_combining_characters() {
    assert_eq!(fit("short", 10), "short");
    assert_eq!(fit("a rather long text", 8), "a rathe…");
    assert_eq!(fit("漢字漢字", 5), "漢字…");
    assert_eq!(pad("漢字", 6), "漢字  ");
    assert_eq!(pad("é", 3), "é  ");
}

#[test]
fn spans_are_one_word() {
    let spans = [0, 59, 60, 3_599, 3_600, 86_400, 900_000]
        .map(|seconds| span(Duration::from_secs(seconds)));
    assert_eq!(spans, ["0s", "59s", "1m", "59m", "1h", "1d", "10d"]);
}

#[test]
fn the_columns_of_a_table_line_up() {
    let rows =
        [vec!["ann".to_owned(), "lead".to_owned()], vec!["bartholomew".to_owned(), "a".repeat(40)]];
    let text = anstream::adapter::strip_str(&table(&["NAME", "ROLE"], &rows, 30)).to_string();
    assert_eq!(text, "NAME         ROLE\nann          lead\nbartholomew  aaaaaaaaaaaaaaaa…\n");
}
