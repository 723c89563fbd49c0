//! Which mail goes with which result, and when it counts as read.

use troop_model::{MessageKind, MessageView, Origin, Party, Time};
use uuid::Uuid;

use super::{MAX_CHARS, MAX_MESSAGES, Mailbag};

fn message(id: u128, content: &str) -> MessageView {
    MessageView {
        id: Uuid::from_u128(id),
        from: Party::user(),
        to: Party::member(&"ann".parse().unwrap()),
        kind: MessageKind::Message,
        content: content.to_owned(),
        summary: None,
        sent_at: Time::default(),
        delivered_at: None,
        read_at: None,
        request_id: None,
        approve: None,
        task: None,
        origin: Origin::default(),
    }
}

fn mail(n: u128) -> Vec<MessageView> {
    (1..=n).map(|id| message(id, "hello")).collect()
}

fn ids(n: u128) -> Vec<Uuid> {
    (1..=n).map(Uuid::from_u128).collect()
}

/// The mail that a call takes, and how much is left.
fn picked(bag: &Mailbag<u64>, unread: &[MessageView], call: u64) -> (Vec<Uuid>, usize) {
    let parcel = bag.pick(unread.to_vec(), None, &call);
    (parcel.messages.iter().map(|it| it.id).collect(), parcel.n_more)
}

#[test]
fn a_call_beside_another_proves_nothing_about_its_result() {
    let bag = Mailbag::<u64>::default();
    picked(&bag, &mail(1), 1);
    bag.note_sent(&ids(1));
    let first = bag.begin();
    let second = bag.begin();
    assert_eq!(bag.take_read(&second), ids(0));
    drop(first);
    let third = bag.begin();
    assert_eq!(bag.take_read(&third), ids(0), "the second still runs");
    drop((second, third));
    assert_eq!(bag.take_read(&bag.begin()), ids(1));
}

#[test]
fn mail_is_read_once_its_result_has_left_and_the_agent_calls_again() {
    let bag = Mailbag::default();
    assert_eq!(picked(&bag, &mail(2), 1), (ids(2), 0));
    assert_eq!(bag.take_read(&bag.begin()), ids(0), "its result has not left");
    bag.note_sent(&ids(2));
    assert_eq!(bag.take_read(&bag.begin()), ids(2));
    assert_eq!(bag.take_read(&bag.begin()), ids(0), "it was read already");
}

#[test]
fn mail_goes_with_one_result_unless_that_is_lost() {
    let bag = Mailbag::default();
    assert_eq!(picked(&bag, &mail(1), 1), (ids(1), 0));
    assert_eq!(picked(&bag, &mail(2), 2), (vec![Uuid::from_u128(2)], 0), "the first is under way");
    bag.note_sent(&ids(1));
    bag.lose(&1);
    assert_eq!(picked(&bag, &mail(2), 3), (ids(1), 0));
    assert_eq!(bag.take_read(&bag.begin()), ids(0), "neither result has left");
}

#[test]
fn a_result_carries_only_so_much_mail() {
    let many = mail(MAX_MESSAGES as u128 + 5);
    let long = "x".repeat(MAX_CHARS - 3);
    let full = [message(1, &long), message(2, "abc"), message(3, "d")];
    let too_long = [message(1, &"x".repeat(MAX_CHARS + 1)), message(2, "abc")];
    for (unread, n_picked, n_more) in
        [(many.as_slice(), MAX_MESSAGES, 5), (&full, 2, 1), (&too_long, 1, 1), (&[], 0, 0)]
    {
        let (picked, n_left) = picked(&Mailbag::default(), unread, 1);
        assert_eq!((picked.len(), n_left), (n_picked, n_more));
    }
}
