//! With `--state`, what was read once is not read again.

use std::fs;

use serde_json::{Value, json};

use super::{Troop, V47, V177, append, kinds};

const OBSERVE: &str = "observe session.jsonl --json --state state.json";

/// A message of a teammate. It has no id, so a repetition would count as another message.
fn mail(text: &str) -> String {
    let text = format!("<teammate-message teammate_id=\"alice\">\n{text}\n</teammate-message>");
    json!({"type": "user", "message": {"role": "user", "content": text}}).to_string()
}

fn session(text: &str) -> Troop {
    let troop = Troop::new();
    fs::write(troop.folder().join("session.jsonl"), text).unwrap();
    troop
}

fn n_unreadable(troop: &Troop) -> Value {
    let kept = fs::read_to_string(troop.folder().join("state.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    kept["observer"]["memory"]["counts"]["unreadable"].clone()
}

#[test]
fn a_rewritten_file_is_read_from_its_beginning() {
    let other = "{\"type\":\"assistant\",\"message\":{\"content\":[]}}\n".repeat(100);
    assert!(other.len() < V177.len(), "the length alone does not show the change");
    let troop = session(&other);
    assert_eq!(troop.ok(OBSERVE), "");
    fs::write(troop.folder().join("session.jsonl"), V177).unwrap();
    assert_eq!(kinds(&troop.ok(OBSERVE)).len(), 11);
    assert_eq!(troop.ok(OBSERVE), "");
}

#[test]
fn a_last_line_without_a_line_break_is_reported_once() {
    let troop = session(&format!("{V47}{}", mail("a parcel")));
    assert!(troop.ok(OBSERVE).contains("parcel"));
    assert_eq!(troop.ok(OBSERVE), "");
    append(&troop, &format!("\n{}\n", mail("second")));
    let events = troop.ok(OBSERVE);
    assert!(events.contains("second") && !events.contains("parcel"), "{events}");
}

#[test]
fn an_incomplete_last_line_is_reported_once_it_is_complete() {
    let mail = mail("a parcel");
    let (begin, rest) = mail.split_at(mail.len() - 1);
    let troop = session(&format!("{V47}{begin}"));
    assert!(!troop.ok(OBSERVE).contains("parcel"));
    assert_eq!(troop.ok(OBSERVE), "");
    append(&troop, rest);
    assert!(troop.ok(OBSERVE).contains("parcel"));
    assert_eq!((troop.ok(OBSERVE).as_str(), n_unreadable(&troop)), ("", json!(0)));
}
