//! Reading configuration files.

use std::path::Path;

use troop_testkit::assert_current;

use super::{Config, KEYS, parse, schema};

fn read(text: &str) -> (Result<Config, String>, Vec<String>) {
    let mut warnings = Vec::new();
    let config = parse(text, Path::new("config.json"), &mut warnings);
    (config.map_err(|error| error.to_string()), warnings)
}

#[test]
fn comments_and_trailing_commas_are_allowed() {
    let (config, warnings) =
        read("{\n  // where\n  \"store\": \"files:teams\", /* who */ \"team\": \"blue\",\n}");
    let config = config.unwrap();
    assert_eq!(
        (config.store.as_deref(), config.team.as_deref()),
        (Some("files:teams"), Some("blue"))
    );
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn an_empty_file_says_nothing() {
    assert_eq!(read("").0.unwrap(), Config::default());
    assert_eq!(read("// later").0.unwrap(), Config::default());
}

#[test]
fn an_unknown_key_is_reported_with_the_nearest_valid_name() {
    let (config, warnings) = read(r#"{"stroe": "memory:", "zzz": 1}"#);
    assert_eq!(config.unwrap(), Config::default());
    assert_eq!(
        warnings,
        [
            "`config.json`: unknown key `stroe`; did you mean `store`?",
            "`config.json`: unknown key `zzz`"
        ]
    );
}

#[test]
fn what_is_not_a_configuration_is_refused_with_its_place() {
    assert_eq!(
        read(r#"{"team": 7}"#).0.unwrap_err(),
        "`config.json` is not a configuration: `team`: invalid type: integer `7`, expected a string"
    );
    assert!(read("{").0.unwrap_err().starts_with("`config.json` is not a configuration: "));
    assert!(read("[]").0.unwrap_err().starts_with("`config.json` is not a configuration: "));
}

#[test]
fn the_published_schema_is_current_and_knows_every_key() {
    assert_current("docs/config.schema.json", &schema());
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    let mut keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, KEYS);
}
