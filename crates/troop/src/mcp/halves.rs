//! Halves of surrogate pairs in JSON, as JavaScript leaves them when it cuts a text: they become replacement characters, so that
//! their request can be read and answered.

use std::{
    io, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The replacement character, as long as what it replaces.
const REPLACEMENT: &[u8] = br"\ufffd";
/// The length of `\uXXXX`.
const ESCAPE: usize = 6;
/// How much is read at once.
const CHUNK: usize = 8 * 1024;

/// Replaces halves in JSON that arrives in pieces. The text keeps its length.
#[derive(Debug, Default)]
pub(super) struct HalfMender {
    /// An escape that is not complete yet.
    escape: Vec<u8>,
    /// A first half that waits for its second.
    first: Option<Vec<u8>>,
}

impl HalfMender {
    /// Mends the next piece. The end of it is kept back if the next piece decides about it.
    pub(super) fn mend(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut mended = Vec::with_capacity(piece.len() + 2 * ESCAPE);
        for byte in piece {
            let goes_on = match self.escape.len() {
                0 => *byte == b'\\',
                1 => true,
                _ => byte.is_ascii_hexdigit(),
            };
            if !goes_on {
                self.end_escape(&mut mended);
                if *byte != b'\\' {
                    self.end_first(&mut mended);
                    mended.push(*byte);
                    continue;
                }
            }
            self.escape.push(*byte);
            let is_short = self.escape.len() == 2 && *byte != b'u';
            if is_short || self.escape.len() == ESCAPE {
                self.end_escape(&mut mended);
            }
        }
        mended
    }

    /// Bytes kept back at the end of the input.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.end_escape(&mut rest);
        self.end_first(&mut rest);
        rest
    }

    fn end_escape(&mut self, mended: &mut Vec<u8>) {
        if self.escape.is_empty() {
            return;
        }
        let escape = mem::take(&mut self.escape);
        match Half::of(&escape) {
            Some(Half::First) => {
                self.end_first(mended);
                self.first = Some(escape);
            }
            Some(Half::Second) => match self.first.take() {
                Some(first) => mended.extend([first, escape].concat()),
                None => mended.extend(REPLACEMENT),
            },
            None => {
                self.end_first(mended);
                mended.extend(escape);
            }
        }
    }

    /// The first half has no second one.
    fn end_first(&mut self, mended: &mut Vec<u8>) {
        if self.first.take().is_some() {
            mended.extend(REPLACEMENT);
        }
    }
}

/// Which half of a pair an escape is.
enum Half {
    First,
    Second,
}

impl Half {
    fn of(escape: &[u8]) -> Option<Self> {
        let digits = str::from_utf8(escape.strip_prefix(br"\u")?).ok()?;
        match u16::from_str_radix(digits, 16).ok().filter(|_| escape.len() == ESCAPE)? {
            0xd800..=0xdbff => Some(Self::First),
            0xdc00..=0xdfff => Some(Self::Second),
            _ => None,
        }
    }
}

/// Input without halves of surrogate pairs.
#[derive(Debug)]
pub(crate) struct MendedInput<R> {
    inner: R,
    mender: HalfMender,
    /// Mended bytes that are not read yet.
    ready: Vec<u8>,
    has_ended: bool,
}

impl<R> MendedInput<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, mender: HalfMender::default(), ready: Vec::new(), has_ended: false }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MendedInput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.ready.is_empty() && !this.has_ended {
            let mut chunk = [0; CHUNK];
            let mut piece = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut piece))?;
            this.has_ended = piece.filled().is_empty();
            this.ready =
                if this.has_ended { this.mender.rest() } else { this.mender.mend(piece.filled()) };
        }
        let n_read = this.ready.len().min(into.remaining());
        into.put_slice(&this.ready.drain(..n_read).collect::<Vec<_>>());
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    //! Pieces of JSON, cut anywhere.

    use tokio::io::AsyncReadExt as _;

    use super::{HalfMender, MendedInput};

    /// The next JSON value, and the rest of the input.
    const TEXTS: [(&str, &str); 11] = [
        (r#""plain \n \\ \" text""#, r#""plain \n \\ \" text""#),
        (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        (r#""\uD83D\uDE00 \u00e4""#, r#""\uD83D\uDE00 \u00e4""#),
        (r#""cut \ud83d""#, r#""cut \ufffd""#),
        (r#""\ude00 cut""#, r#""\ufffd cut""#),
        (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        (r#""\ud83d\n\ude00\ude00""#, r#""\ufffd\n\ufffd\ufffd""#),
        (r#""\\ud83d is text""#, r#""\\ud83d is text""#),
        (r#""\\\ud83d is not""#, r#""\\\ufffd is not""#),
        // Invalid JSON stays as it is.
        ("\"\\ud8\n\"", "\"\\ud8\n\""),
        (r#""\ud83d\ud8"#, r#""\ufffd\ud8"#),
    ];

    #[test]
    fn halves_of_pairs_are_replaced_wherever_the_input_is_cut() {
        for (said, wanted) in TEXTS {
            for cut in 0..=said.len() {
                let mut mender = HalfMender::default();
                let (before, after) = said.as_bytes().split_at(cut);
                let mended = [mender.mend(before), mender.mend(after), mender.rest()].concat();
                assert_eq!(String::from_utf8(mended).unwrap(), wanted, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_line_that_is_no_json_ends_where_it_ended() {
        let mut mender = HalfMender::default();
        assert_eq!(mender.mend(b"\"\\ud83d\\ud8\n"), b"\"\\ufffd\\ud8\n");
    }

    #[tokio::test]
    async fn input_of_any_length_is_read_to_its_end() {
        let said = r"\ud83d\ude00 \ud83d ".repeat(10_000) + r"\ud83d";
        let mut read = String::new();
        MendedInput::new(said.as_bytes()).read_to_string(&mut read).await.unwrap();
        assert_eq!(read, r"\ud83d\ude00 \ufffd ".repeat(10_000) + r"\ufffd");
    }
}
