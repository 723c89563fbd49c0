//! Lines come out whole, in whatever pieces they arrive.

use super::*;

/// All lines of a stream that arrives in pieces of this size, with the unfinished line last.
fn split(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let (mut lines, mut found) = (LineSplitter::default(), Vec::new());
    for mut piece in bytes.chunks(size) {
        while !piece.is_empty() {
            let (n_taken, line) = lines.next(piece);
            found.extend(line.map(<[u8]>::to_vec));
            piece = &piece[n_taken..];
        }
    }
    found.extend(lines.end().map(<[u8]>::to_vec));
    found
}

#[test]
fn lines_come_out_whole_in_whatever_pieces_they_arrive() {
    let text = b"one\n\ntwo and more\r\n{\"three\":3}";
    let whole: Vec<_> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for size in 1..=text.len() {
        assert_eq!(split(text, size), whole, "in pieces of {size}");
    }
}

#[test]
fn a_line_of_100_megabytes_takes_no_memory_and_the_next_one_is_seen() {
    let mut lines = LineSplitter::default();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        assert_eq!(lines.next(&piece), (piece.len(), None));
        assert!(lines.begun.capacity() <= 2 * MAX_LINE);
    }
    assert_eq!(lines.begun.capacity(), 0);
    assert_eq!(lines.next(b"end\nnext\n"), (4, None));
    assert_eq!(lines.next(b"next\n"), (5, Some(&b"next"[..])));
    assert_eq!(lines.n_too_long(), 1);
}
