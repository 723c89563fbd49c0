//! Streams of lines, good and bad.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};

use super::{Frame, FrameReader, SkipReason};
use crate::envelope::Envelope;

/// A stream that comes in pieces, with a pause before each.
struct Pieces {
    pieces: Vec<Vec<u8>>,
    is_paused: bool,
}

impl Pieces {
    fn new(pieces: Vec<Vec<u8>>) -> Self {
        Self {
            pieces: pieces.into_iter().filter(|it| !it.is_empty()).rev().collect(),
            is_paused: false,
        }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.is_paused = !self.is_paused;
        if self.is_paused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(mut piece) = self.pieces.pop() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.pieces.push(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The methods that come through, and the reasons for skipping other lines.
fn read(pieces: Vec<Vec<u8>>, limit: usize) -> (Vec<String>, Vec<SkipReason>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut frames = FrameReader::new(Pieces::new(pieces), limit);
        let (mut methods, mut reasons) = (Vec::new(), Vec::new());
        while let Some(frame) = frames.next().await.unwrap() {
            match frame {
                Frame::Envelope(Envelope::Notification(said)) => methods.push(said.method),
                Frame::Envelope(_) => methods.push("?".to_owned()),
                Frame::Skipped(skipped) => reasons.push(skipped.reason),
            }
            assert!(frames.buffer.len() <= limit + 2 * super::CHUNK, "memory is not bounded");
        }
        assert!(frames.next().await.unwrap().is_none(), "the end is the end");
        let counts = frames.counts();
        for reason in SkipReason::ALL {
            let seen = reasons.iter().filter(|it| **it == reason).count() as u64;
            assert_eq!(counts.of(reason), seen);
        }
        assert_eq!(counts.total(), reasons.len() as u64);
        (methods, reasons)
    })
}

fn line(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

#[test]
fn bad_lines_are_skipped_and_the_good_ones_between_them_come_through() {
    let mut stream = Vec::new();
    for (bad, n) in [
        (&b""[..], 1),
        (b"Starting up ...", 2),
        (b"\xff\xfe\x00binary", 3),
        (b"[1,2]", 4),
        (b"7", 5),
        (b"{\"no\":\"method\"}", 6),
    ] {
        stream.extend_from_slice(bad);
        stream.push(b'\n');
        stream.extend_from_slice(format!("{}\r\n", line(&format!("m{n}"))).as_bytes());
    }
    let (methods, reasons) = read(vec![stream], 1_000);
    assert_eq!(methods, ["m1", "m2", "m3", "m4", "m5", "m6"]);
    let expected = [
        SkipReason::Blank,
        SkipReason::NotJson,
        SkipReason::NotText,
        SkipReason::Batch,
        SkipReason::NotAnObject,
        SkipReason::NotAMessage,
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn a_line_that_is_too_long_is_discarded() {
    let long = |n: usize| vec![b'x'; n];
    let good = format!("{}\n", line("good")).into_bytes();
    let limit = 1_000;
    for n in [limit + 1, limit + 20_000, 3_000_000] {
        let stream = [long(n), b"\n".to_vec(), good.clone()].concat();
        let in_pieces = stream.chunks(4_096).map(<[u8]>::to_vec).collect();
        for pieces in [vec![stream], in_pieces] {
            assert_eq!(read(pieces, limit), (vec!["good".to_owned()], vec![SkipReason::TooLong]));
        }
    }
    let (_, reasons) = read(vec![long(limit), b"\n".to_vec()], limit);
    assert_eq!(reasons, [SkipReason::NotJson], "just short enough");
}

#[test]
fn a_line_of_exactly_the_limit_is_read() {
    let good = line("good");
    assert_eq!(read(vec![format!("{good}\n").into_bytes()], good.len()).0, ["good"]);
    let (_, reasons) = read(vec![format!("{good}\n").into_bytes()], good.len() - 1);
    assert_eq!(reasons, [SkipReason::TooLong]);
}

#[test]
fn a_line_cut_off_by_the_end_is_reported() {
    let cut = |text: &str| read(vec![text.as_bytes().to_vec()], 1_000);
    assert_eq!(cut(""), (vec![], vec![]));
    assert_eq!(cut(r#"{"method":"m"#), (vec![], vec![SkipReason::Half]));
    assert_eq!(cut("é".split_at(0).1), (vec![], vec![SkipReason::Half]));
    assert_eq!(cut("  "), (vec![], vec![SkipReason::Blank]));
    assert_eq!(cut(&line("whole")), (vec!["whole".to_owned()], vec![]), "nothing of it is missing");
    assert_eq!(cut(&"x".repeat(2_000)), (vec![], vec![SkipReason::TooLong]));
}

#[test]
fn a_skipped_line_shows_how_it_begins() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let text = format!("npm warn {}\n", "x".repeat(500));
    let mut frames = FrameReader::new(text.as_bytes(), 10_000);
    let Ok(Some(Frame::Skipped(skipped))) = runtime.block_on(frames.next()) else { panic!() };
    assert_eq!(skipped.preview, troop_model::preview(&text, 200));
}

/// One line of a stream: a good one, or bytes of any kind.
fn any_line() -> impl Strategy<Value = (bool, Vec<u8>)> {
    let bytes =
        prop::collection::vec(any::<u8>().prop_filter("no line end", |it| *it != b'\n'), 0..80);
    let long = (0..200_usize).prop_map(|n| vec![b'x'; n]);
    prop_oneof![
        "[a-z]{1,8}".prop_map(|method| (true, line(&method).into_bytes())),
        bytes.prop_map(|bytes| (false, bytes)),
        long.prop_map(|bytes| (false, bytes)),
    ]
}

proptest! {
    #[test]
    fn good_lines_survive_any_bytes_and_any_cuts(
        lines in prop::collection::vec(any_line(), 0..30),
        cuts in prop::collection::vec(1..50_usize, 0..60),
    ) {
        let stream: Vec<u8> =
            lines.iter().flat_map(|(_, line)| [line.as_slice(), b"\n"].concat()).collect();
        let mut rest = stream.as_slice();
        let mut pieces = Vec::new();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces.push(rest.to_vec());
        let good: Vec<String> = lines
            .iter()
            .filter(|(is_good, _)| *is_good)
            .map(|(_, line)| match Envelope::parse(line) {
                Ok(Envelope::Notification(said)) => said.method,
                other => panic!("{other:?}"),
            })
            .collect();
        let (methods, reasons) = read(pieces, 100);
        prop_assert_eq!(methods.len() + reasons.len(), lines.len(), "every line is accounted for");
        prop_assert_eq!(methods, good);
    }
}

/// Cuts any bytes into pieces, whose sizes are in the bytes: every line is read, or skipped for a reason, once.
fn wire(bytes: &[u8]) {
    let (mut pieces, mut rest) = (Vec::new(), bytes);
    while let Some(size) = rest.first() {
        let (piece, after) = rest.split_at(rest.len().min(usize::from(*size) + 1));
        pieces.push(piece.to_vec());
        rest = after;
    }
    let (methods, reasons) = read(pieces, 1_000);
    let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    assert_eq!(methods.len() + reasons.len(), lines.len());
    for line in lines {
        // Every notification that is short enough comes through.
        if let Ok(Envelope::Notification(said)) = Envelope::parse(line) {
            assert!(line.len() > 1_000 || methods.contains(&said.method));
        }
    }
}

#[test]
fn fuzz_wire() {
    let said = [
        r#"{"jsonrpc":"2.0","method":"team.ready","params":{"name":"ann","acknowledges":true}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"task/create","params":{"subject":"x","blocked_by":[1,"task-2"]}}"#,
        r#"{"jsonrpc":"2.0","id":"a","result":{"version":3,"events":[]}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no","data":{}}}"#,
    ];
    let mut examples: Vec<_> = said.iter().map(|it| it.as_bytes().to_vec()).collect();
    examples.push(said.join("\n").into_bytes());
    troop_testkit::fuzz(&["\"jsonrpc\":\"2.0\"", "\"method\":\"m\"", "\r\n"], &examples, 600, wire);
}
