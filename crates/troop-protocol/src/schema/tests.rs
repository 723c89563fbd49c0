//! The committed documents match the code.

use std::fs;

use serde_json::{Value, json};
use troop_testkit::{assert_current, repository};

use super::{schema, tables};

const BEGIN: &str = "<!-- made from the code: BLESS=1 cargo nextest run -p troop-protocol -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_committed_schema_is_current() {
    let made = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert_current("docs/protocol.schema.json", &made);
}

#[test]
fn the_committed_tables_are_current() {
    let path = "docs/protocol.md";
    let text = fs::read_to_string(repository().join(path)).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the document says where the tables begin");
    let (_, after) = rest.split_once(END).expect("the document says where the tables end");
    assert_current(path, &format!("{before}{BEGIN}\n{}\n{END}{after}", tables()));
}

#[test]
fn every_reference_in_the_schema_leads_somewhere() {
    fn check(value: &Value, whole: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(path)) = fields.get("$ref") {
                    let path = path.strip_prefix('#').unwrap();
                    assert!(whole.pointer(path).is_some(), "{path} leads nowhere");
                }
                fields.values().for_each(|value| check(value, whole));
            }
            Value::Array(values) => values.iter().for_each(|value| check(value, whole)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let schema = schema();
    check(&schema, &schema);
}

#[test]
fn the_schema_has_the_seeds_table() {
    let schema = schema();
    let required = |group: &str, method: &str| {
        let params = &schema[group][method]["params"];
        let params = match params["$ref"].as_str() {
            Some(path) => schema.pointer(path.trim_start_matches('#')).unwrap(),
            None => params,
        };
        params["required"].clone()
    };
    assert_eq!(required("from_teammate", "team.ready"), json!(["name"]));
    assert_eq!(required("from_teammate", "team.taskUpdate"), json!(["taskId", "status"]));
    assert_eq!(required("from_teammate", "team.message"), json!(["to", "content"]));
    assert_eq!(required("from_teammate", "team.idle"), Value::Null);
    assert_eq!(required("from_teammate", "team.shutdownAck"), Value::Null);
    assert_eq!(required("from_lead", "team.assignTask"), json!(["task"]));
    assert_eq!(required("from_lead", "team.message"), json!(["from", "content"]));
}
