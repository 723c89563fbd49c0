//! Variants as methods.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::to_raw_value};

use super::{MethodError, decode, encode};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
enum Table {
    #[serde(rename = "a/unit")]
    Unit,
    #[serde(rename = "a/struct")]
    Struct { text: String, inner: Option<Inner> },
    #[serde(rename = "a.newtype")]
    Newtype(Inner),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    number: u32,
}

fn read(method: &str, params: &Value) -> Result<Table, MethodError> {
    let raw = to_raw_value(params).unwrap();
    let from_raw = decode(method, raw.as_ref());
    let from_value = decode(method, params.clone());
    assert_eq!(from_raw, from_value, "the form of the parameters makes no difference");
    from_raw
}

#[test]
fn every_kind_of_variant_is_a_method() {
    for (variant, method, params) in [
        (Table::Unit, "a/unit", json!({})),
        (
            Table::Struct { text: "\":}".into(), inner: None },
            "a/struct",
            json!({"text": "\":}", "inner": null}),
        ),
        (Table::Newtype(Inner { number: 7 }), "a.newtype", json!({"number": 7})),
    ] {
        let written = encode(&variant);
        let given: Value = serde_json::from_str(written.params.get()).unwrap();
        assert_eq!((written.method.as_str(), &given), (method, &params));
        assert_eq!(read(method, &params), Ok(variant));
    }
}

#[test]
fn errors_name_the_method_and_the_field() {
    for (method, params, said) in [
        ("a/none", json!({}), "there is no method `a/none`"),
        ("a\n", json!({}), "there is no method `a\\n`"),
        ("a/unit", json!({"x": 1}), "`a/unit`, `x`: unknown field `x`, there are no fields"),
        ("a/struct", json!({}), "`a/struct`: missing field `text`"),
        (
            "a/struct",
            json!({"text": "", "inner": {"number": "7"}}),
            "`a/struct`, `inner.number`: invalid type: string \"7\", expected u32",
        ),
        (
            "a/struct",
            json!({"text": "", "more": 1}),
            "`a/struct`, `more`: unknown field `more`, expected `text` or `inner`",
        ),
        (
            "a/struct",
            json!("x"),
            "`a/struct`: invalid type: string \"x\", expected struct variant Table::Struct",
        ),
    ] {
        assert_eq!(read(method, &params).unwrap_err().to_string(), said);
    }
}
