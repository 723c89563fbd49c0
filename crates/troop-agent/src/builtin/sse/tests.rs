//! Streams of events, cut everywhere.

use proptest::prelude::*;

use super::{SseError, SseEvent, SseStream};

fn event(name: &str, data: &str) -> SseEvent {
    SseEvent { name: name.to_owned(), data: data.to_owned() }
}

/// All events of a stream that arrives in pieces of this size.
fn read(stream: &[u8], piece: usize) -> Result<Vec<SseEvent>, SseError> {
    let (mut events, mut all) = (SseStream::default(), Vec::new());
    for piece in stream.chunks(piece) {
        events.push(piece);
        while let Some(event) = events.next()? {
            all.push(event);
        }
    }
    Ok(all)
}

#[test]
fn events_are_the_same_wherever_the_stream_is_cut() {
    let stream = "\u{feff}event: a\ndata: {\"é\":\"grüß 🦀\"}\n\n: ping\n\ndata: one\r\ndata:two\r\n\r\nid: 7\nevent: z\rdata\r\r\
                  event: no data\n\ndata: cut off";
    let expected = vec![event("a", "{\"é\":\"grüß 🦀\"}"), event("", "one\ntwo"), event("z", "")];
    for piece in 1..=stream.len() {
        assert_eq!(read(stream.as_bytes(), piece).unwrap(), expected, "in pieces of {piece}");
    }
}

#[test]
fn invalid_utf8_is_rejected() {
    assert_eq!(read(b"data: \xff\xfe\n\n", 3), Err(SseError::NotText));
}

#[test]
fn an_endless_event_is_rejected() {
    let mut events = SseStream::default();
    let megabyte = vec![b'x'; 1024 * 1024];
    let given_up = (0..20).find_map(|_| {
        events.push(&megabyte);
        events.next().err()
    });
    assert_eq!(given_up, Some(SseError::TooLong));
}

proptest! {
    #[test]
    fn no_bytes_break_the_event_parser(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':')], 0..200),
        piece in 1usize..9,
    ) {
        let whole = read(&bytes, bytes.len().max(1));
        let cut = read(&bytes, piece);
        prop_assert_eq!(whole, cut);
    }
}
