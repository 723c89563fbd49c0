//! The end of outputs, and their lines.

use super::{Lines, Tail};

fn tail(max: usize, pieces: &[&[u8]]) -> (String, u64) {
    let mut tail = Tail::of(max);
    for piece in pieces {
        tail.push(piece);
    }
    (tail.text(), tail.n_dropped())
}

#[test]
fn the_end_of_a_long_output_is_kept_and_the_rest_counted() {
    assert_eq!(tail(8, &[b"one ", b"two\n\n"]), ("ne two".to_owned(), 1));
    assert_eq!(tail(8, &[b"one two\n"]), ("one two".to_owned(), 0));
    assert_eq!(tail(2, &[b"a flood", b"", b"!"]), ("d!".to_owned(), 6));
}

#[test]
fn a_character_split_by_the_cut_is_left_out() {
    assert_eq!(tail(4, &["€uro".as_bytes()]), ("uro".to_owned(), 2));
    assert_eq!(tail(4, &[b"\x80ok"]), ("\u{fffd}ok".to_owned(), 0), "it was so from the beginning");
}

#[test]
fn lines_are_whole_however_they_arrive_and_limited_in_length() {
    let mut shown = Vec::new();
    let mut lines = Lines::of(5);
    for piece in ["o", "ne\n\n  \ntwo and", " more\nthr", "ee"] {
        lines.push(piece.as_bytes(), |line| shown.push(line.to_owned()));
    }
    lines.finish(|line| shown.push(line.to_owned()));
    assert_eq!(shown, ["one", "two a", "three"]);
}
