//! Names and words: their format, and the refusals of others.

use crate::{
    MemberName, MessageKind, NameError, Status, TaskAction, TaskFilter, TeamName, Time, preview,
    shortened,
};

#[test]
fn a_name_is_short_and_plain() {
    for fine in ["a", "7", "ann", "ann-2", "a_b.c", "lead", &"x".repeat(64)] {
        assert_eq!(fine.parse::<MemberName>().unwrap().as_str(), fine);
        assert_eq!(fine.parse::<TeamName>().unwrap().as_str(), fine);
    }
    let shape = "is not a name: use lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit";
    for (text, said) in [
        ("", "a name must not be empty".to_owned()),
        ("Ann", format!("`Ann` {shape}")),
        ("-a", format!("`-a` {shape}")),
        (".", format!("`.` {shape}")),
        ("a/b", format!("`a/b` {shape}")),
        ("a b", format!("`a b` {shape}")),
        ("a\u{1b}b", format!("`a\\u{{1b}}b` {shape}")),
        ("é", format!("`é` {shape}")),
        ("*", format!("`*` {shape}")),
        (&"x".repeat(65), "a name has at most 64 characters, this one has 65".to_owned()),
    ] {
        assert_eq!(text.parse::<MemberName>().unwrap_err().to_string(), said);
    }
}

#[test]
fn reserved_words_are_not_names_of_members() {
    for text in ["user", "system", "team-lead", "main"] {
        let error = text.parse::<MemberName>().unwrap_err();
        assert_eq!(error, NameError::Reserved(text.to_owned()));
        assert!(text.parse::<TeamName>().is_ok());
    }
    assert!(serde_json::from_str::<MemberName>("\"user\"").is_err());
}

#[test]
fn there_are_exactly_eight_statuses() {
    let words: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!(
        words,
        [
            "pending",
            "in_progress",
            "in_review",
            "completed",
            "failed",
            "cancelled",
            "blocked",
            "stale"
        ]
    );
    for status in Status::ALL {
        assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        assert_eq!(status.as_str().parse(), Ok(*status));
    }
}

#[test]
fn an_unknown_action_is_answered_with_the_known_ones() {
    insta::assert_snapshot!("finish".parse::<TaskAction>().unwrap_err(), @"`finish` is none of: create, claim, complete, cancel, assign, list, get, search, approve, reject, review, comment, progress, attach, prove, update, ask_user, clear_ask_user, retry, fail, delete, release");
}

#[test]
fn a_filter_is_a_keyword_or_a_status() {
    assert_eq!(TaskFilter::parse("active"), Ok(TaskFilter::Active));
    assert_eq!(TaskFilter::parse("completed"), Ok(TaskFilter::Finished));
    assert_eq!(TaskFilter::parse("all"), Ok(TaskFilter::All));
    assert_eq!(TaskFilter::parse("in_review"), Ok(TaskFilter::Only(Status::InReview)));
    insta::assert_snapshot!(TaskFilter::parse("open").unwrap_err(), @"`open` is none of: active, all, pending, in_progress, in_review, completed, failed, cancelled, blocked, stale");
}

#[test]
fn message_kinds_have_aliases() {
    assert_eq!(MessageKind::parse("direct"), Ok(MessageKind::Message));
    assert_eq!(MessageKind::parse("chat"), Ok(MessageKind::Message));
    for kind in MessageKind::ALL {
        assert_eq!(MessageKind::parse(kind.as_str()), Ok(*kind));
    }
    assert_eq!(MessageKind::ALL.len(), 11);
    assert!(MessageKind::parse("shout").is_err());
}

#[test]
fn time_is_written_as_rfc_3339_and_survives_the_ends_of_the_calendar() {
    let time: Time = "2026-01-01T10:42:00.000001Z".parse().unwrap();
    assert_eq!(
        (time.to_string().as_str(), time.clock().as_str()),
        ("2026-01-01T10:42:00.000001Z", "10:42")
    );
    assert_eq!(serde_json::to_string(&time).unwrap(), "\"2026-01-01T10:42:00.000001Z\"");
    for micros in [i64::MIN, -1, 0, i64::MAX] {
        let time = Time::from_micros(micros);
        assert!(!time.to_string().is_empty() && time.clock().len() == 5);
        assert!(time + std::time::Duration::MAX >= time);
        assert_eq!(time.since(time), std::time::Duration::ZERO);
    }
    assert_eq!(Time::from_micros(5).since(Time::from_micros(9)), std::time::Duration::ZERO);
}

#[test]
fn a_preview_counts_characters_not_bytes() {
    assert_eq!(preview("äöü", 2), "äö");
    assert_eq!(preview("", 2), "");
    assert_eq!(shortened("äö", 2, "here"), "äö");
    assert_eq!(shortened("äöü", 2, "here"), "äö\n… 1 more character: here");
    assert_eq!(shortened("äöüß", 2, "here"), "äö\n… 2 more characters: here");
}
