//! Reading and writing lines.

use serde_json::{Value, json};

use super::{Envelope, ErrorObject, Id, Notification};
use crate::frame::SkipReason;

fn parse(text: &str) -> Result<Envelope, SkipReason> {
    Envelope::parse(text.as_bytes())
}

#[test]
fn a_line_is_a_request_a_notification_or_an_answer() {
    let Ok(Envelope::Request { id, asked }) =
        parse(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}"#)
    else {
        panic!("not a request")
    };
    assert_eq!((id, asked.method.as_str(), asked.params.get()), (Id::Text("a".into()), "m", "[1]"));
    let Ok(Envelope::Notification(said)) = parse(r#"{"jsonrpc":"2.0","method":"m"}"#) else {
        panic!("not a notification")
    };
    assert_eq!((said.method.as_str(), said.params.get()), ("m", "{}"));
    let Ok(Envelope::Response { id, outcome: Ok(result) }) =
        parse(r#"{"jsonrpc":"2.0","id":7,"result":null}"#)
    else {
        panic!("not an answer")
    };
    assert_eq!((id, result.get()), (Id::from(7), "null"));
    let Ok(Envelope::Response { outcome: Err(error), .. }) =
        parse(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no","data":{"a":1}}}"#)
    else {
        panic!("not an error")
    };
    assert_eq!(error, ErrorObject { code: -1, message: "no".into(), data: Some(json!({"a": 1})) });
}

#[test]
fn missing_and_extra_fields_are_forgiven() {
    for line in [
        r#"{"method":"m"}"#,
        r#"{"jsonrpc":"1.0","method":"m","id":null}"#,
        r#"  {"extra":{"deep":[1]},"method":"m","params":null}  "#,
        "{\"method\":\"m\"}\r",
    ] {
        let Ok(Envelope::Notification(said)) = parse(line) else { panic!("{line}") };
        assert_eq!((said.method.as_str(), said.params.get()), ("m", "{}"), "{line}");
    }
    let Ok(Envelope::Response { outcome: Err(error), .. }) = parse(r#"{"id":1,"error":"no"}"#)
    else {
        panic!("the caller must get an answer")
    };
    assert_eq!(error.message, "\"no\"");
}

#[test]
fn an_invalid_line_says_why() {
    for (line, reason) in [
        ("", SkipReason::Blank),
        (" \t\r", SkipReason::Blank),
        ("Listening on port 80", SkipReason::NotJson),
        (r#"{"method":"m""#, SkipReason::NotJson),
        (r#"{"method":"m"} {"method":"m"}"#, SkipReason::NotJson),
        ("7", SkipReason::NotAnObject),
        ("null", SkipReason::NotAnObject),
        ("\"method\"", SkipReason::NotAnObject),
        (r#"[{"method":"m"}]"#, SkipReason::Batch),
        ("{}", SkipReason::NotAMessage),
        (r#"{"jsonrpc":"2.0","id":1}"#, SkipReason::NotAMessage),
        (r#"{"method":7}"#, SkipReason::NotAMessage),
        (r#"{"method":"m","id":{}}"#, SkipReason::NotAMessage),
        (r#"{"method":"m","method":"n"}"#, SkipReason::NotAMessage),
        (r#"{"id":null,"error":{"code":-32700,"message":"parse error"}}"#, SkipReason::Unasked),
    ] {
        assert_eq!(parse(line).unwrap_err(), reason, "{line}");
    }
    assert_eq!(Envelope::parse(b"{\"method\":\"\xff\"}").unwrap_err(), SkipReason::NotText);
    assert_eq!(parse(&"[".repeat(100_000)).unwrap_err(), SkipReason::NotJson);
}

#[test]
fn every_line_carries_the_version_and_its_end() {
    let said = Notification::new("m", &json!({"text": "two\nlines"})).unwrap();
    let id = Id::from(1);
    let error = ErrorObject { code: -1, message: "no".into(), data: None };
    for envelope in [
        Envelope::Notification(said.clone()),
        Envelope::Request { id: id.clone(), asked: said },
        Envelope::Response { id: id.clone(), outcome: Ok(crate::envelope::no_params()) },
        Envelope::Response { id, outcome: Err(error) },
    ] {
        let line = String::from_utf8(envelope.to_line()).unwrap();
        assert!(line.starts_with(r#"{"jsonrpc":"2.0","#), "{line}");
        assert_eq!(line.find('\n'), Some(line.len() - 1), "{line}");
        let again = parse(&line).unwrap().to_line();
        assert_eq!(String::from_utf8(again).unwrap(), line);
    }
}

#[test]
fn multi_line_parameters_are_written_on_one_line() {
    let params = serde_json::from_str("{\n  \"a\": \"\\n\"\n}").unwrap();
    let line = Envelope::Notification(Notification { method: "m".into(), params }).to_line();
    let Some((b'\n', line)) = line.split_last() else { panic!("the line has no end") };
    assert!(!line.contains(&b'\n'));
    let value: Value = serde_json::from_slice(line).unwrap();
    assert_eq!(value["params"], json!({"a": "\n"}));
}
