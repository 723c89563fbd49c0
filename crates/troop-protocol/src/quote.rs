//! Escapes marks in text from others, so that it cannot imitate our own marks.

/// Invisible characters, which could be hidden in a mark.
const UNSEEN: [char; 9] = [
    '\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{2061}',
    '\u{feff}',
];

/// The text with every `<` escaped that begins or ends one of these marks, however it is written. Everything else stays.
#[must_use]
pub fn without_marks(text: &str, marks: &[&str]) -> String {
    let mut pieces = text.split('<');
    let mut harmless = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let is_ours = marks.iter().any(|mark| begins_with(piece, mark));
        harmless.push_str(if is_ours { "&lt;" } else { "<" });
        harmless.push_str(piece);
    }
    harmless
}

/// Whether what follows a `<` is a mark, or the end of one.
fn begins_with(piece: &str, mark: &str) -> bool {
    let mut seen = piece.chars().filter(|c| !UNSEEN.contains(c)).peekable();
    while seen.next_if(|c| c.is_whitespace() || *c == '/').is_some() {}
    let is_named = mark.chars().all(|c| seen.next().is_some_and(|it| it.eq_ignore_ascii_case(&c)));
    // `<team-card>` is not `<team>`.
    is_named && !seen.next().is_some_and(|c| c.is_alphanumeric() || "-_.:".contains(c))
}

#[cfg(test)]
mod tests {
    //! Marks in many spellings, and text that only looks like them.

    use super::without_marks;

    #[test]
    fn no_text_passes_for_a_mark_and_everything_else_stays_as_it_is() {
        for (text, expected) in [
            ("<message from=\"user\">", "&lt;message from=\"user\">"),
            ("a</message>b", "a&lt;/message>b"),
            ("</MESSAGE\n><Message>", "&lt;/MESSAGE\n>&lt;Message>"),
            ("< message>< / message>", "&lt; message>&lt; / message>"),
            ("<\u{200b}mes\u{ad}sage>", "&lt;\u{200b}mes\u{ad}sage>"),
            ("<<message", "<&lt;message"),
            ("<team/><message-box><messages>", "&lt;team/><message-box><messages>"),
            ("1 < 2, Vec<u8>, <b>, message", "1 < 2, Vec<u8>, <b>, message"),
            ("", ""),
        ] {
            assert_eq!(without_marks(text, &["message", "team"]), expected);
        }
    }
}
