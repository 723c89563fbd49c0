//! Which model is meant.

use troop_agent::builtin::{Api, BuiltinOptions, Secret};

use super::{choose, rules};
use crate::surroundings::{ConfigFile, PermissionsConfig};

fn config(text: &str) -> ConfigFile {
    serde_json::from_str(text).unwrap()
}

fn chosen(
    config: &ConfigFile,
    model: Option<&str>,
    variables: &[(&str, &str)],
) -> Result<BuiltinOptions, String> {
    let variable = |name: &str| {
        variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
    };
    choose(config, model, &variable)
}

const ALL: [(&str, &str); 3] =
    [("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "o"), ("GEMINI_API_KEY", "g")];

#[test]
fn the_default_model_is_that_of_the_first_api_with_a_key() {
    let none = ConfigFile::default();
    for (variable, api) in [
        ("ANTHROPIC_API_KEY", Api::Anthropic),
        ("OPENAI_API_KEY", Api::OpenAi),
        ("GEMINI_API_KEY", Api::Gemini),
    ] {
        let options = chosen(&none, None, &[(variable, "key")]).unwrap();
        assert_eq!(
            (options.endpoint.api, options.endpoint.base_url.as_str()),
            (api, api.base_url())
        );
        assert!(options.key.hidden.iter().any(|name| name == variable), "no command gets the key");
    }
    let error = chosen(&none, None, &[]).unwrap_err();
    assert_eq!(
        error,
        "the agent `builtin` has no model to use: set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` or \
         `GEMINI_API_KEY` in the environment, or `model` in `config.json`"
    );
}

#[test]
fn a_model_is_chosen_by_its_name_with_its_provider_or_by_an_own_name() {
    let config = config(
        r#"{"model": "mine", "models": {"mine": {"provider": "openai", "model": "qwen3", "baseUrl": "http://localhost:11434/v1",
            "contextWindow": 32000, "maxTokens": 4000, "price": {"input": 1, "output": 2}}}, "limits": {"rounds": 7}}"#,
    );
    for (model, api, name) in [
        (Some("claude-x"), Api::Anthropic, "claude-x"),
        (Some("sonnet"), Api::Anthropic, "claude-sonnet-4-5"),
        (Some("gpt-5-mini"), Api::OpenAi, "gpt-5-mini"),
        (Some("gemini/experimental"), Api::Gemini, "experimental"),
        (None, Api::OpenAi, "qwen3"),
    ] {
        let endpoint = chosen(&config, model, &ALL).unwrap().endpoint;
        assert_eq!((endpoint.api, endpoint.model.as_str()), (api, name), "{model:?}");
    }
    let own = chosen(&config, None, &[]).unwrap();
    assert_eq!(own.endpoint.base_url, "http://localhost:11434/v1");
    assert_eq!(own.endpoint.key, None, "who is at home needs no key");
    assert_eq!((own.size.window, own.size.max_tokens, own.limits.rounds), (32_000, 4_000, 7));
    assert_eq!(own.price.unwrap().cache_read, 1.0);
}

#[test]
fn a_limit_in_dollars_needs_a_price() {
    let config = config(
        r#"{"models": {"priced": {"provider": "anthropic", "price": {"input": 1, "output": 2}}}, "limits": {"dollars": 2.5}}"#,
    );
    let key = [("ANTHROPIC_API_KEY", "sk")];
    assert_eq!(chosen(&config, Some("priced"), &key).unwrap().limits.dollars, Some(2.5));
    let error = chosen(&config, Some("claude-x"), &key).unwrap_err();
    assert!(error.contains("`price` of `claude-x` in `models` of `config.json`"), "{error}");
}

#[test]
fn replies_of_a_small_model_leave_room_for_its_input() {
    let config = config(
        r#"{"models": {"mine": {"provider": "openai", "baseUrl": "http://localhost/v1", "contextWindow": 8192}}}"#,
    );
    assert_eq!(chosen(&config, Some("mine"), &[]).unwrap().size.max_tokens, 2_048);
}

#[test]
fn a_missing_key_or_provider_is_named() {
    let none = ConfigFile::default();
    let error = chosen(&none, Some("claude-x"), &[]).unwrap_err();
    assert_eq!(
        error,
        "there is no key for the model `claude-x`: set `ANTHROPIC_API_KEY`, or `apiKeyCommand` in `models`"
    );
    let error = chosen(&none, Some("mystery"), &ALL).unwrap_err();
    assert!(error.contains("`openai/mystery`"), "{error}");
    let wrong = config(r#"{"models": {"x": {"provider": "acme"}}}"#);
    assert!(chosen(&wrong, Some("x"), &ALL).unwrap_err().contains("there is no provider `acme`"));
    let by_command =
        config(r#"{"models": {"x": {"provider": "openai", "apiKeyCommand": "pass x"}}}"#);
    assert_eq!(chosen(&by_command, Some("x"), &[]).unwrap().key.command.as_deref(), Some("pass x"));
}

#[test]
fn a_key_goes_only_to_its_api_and_a_models_own_key_counts_first() {
    let config = config(
        r#"{"models": {
            "home": {"provider": "openai", "model": "qwen3", "baseUrl": "http://localhost:11434/v1"},
            "named": {"provider": "openai", "model": "x", "baseUrl": "https://x/v1", "apiKeyVariable": "X_KEY"},
            "command": {"provider": "anthropic", "model": "claude-x", "apiKeyCommand": "pass x"},
            "both": {"provider": "openai", "model": "x", "apiKeyVariable": "X_KEY", "apiKeyCommand": "pass x"},
            "usual": {"provider": "openai", "model": "x", "baseUrl": "https://api.openai.com/v1/"}
        }}"#,
    );
    let variables = [ALL.as_slice(), &[("X_KEY", "own")]].concat();
    for (model, key, command) in [
        ("home", None, None),
        ("named", Some("own"), None),
        ("command", None, Some("pass x")),
        ("both", Some("own"), Some("pass x")),
        ("usual", Some("o"), None),
        ("gpt-5", Some("o"), None),
    ] {
        let options = chosen(&config, Some(model), &variables).unwrap();
        assert_eq!(options.endpoint.key, key.map(Secret::new), "{model}");
        assert_eq!(options.key.command.as_deref(), command, "{model}");
        assert!(
            options.key.hidden.contains(&"X_KEY".to_owned()),
            "{model}: nobody gets another's key"
        );
    }
    let error = chosen(&config, Some("named"), &ALL).unwrap_err();
    assert!(error.contains("set `X_KEY`"), "what was named and is not there is missed: {error}");
    assert_eq!(chosen(&config, Some("both"), &ALL).unwrap().endpoint.key, None);
}

#[test]
fn the_address_of_an_api_can_be_changed() {
    let variables = [("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"), ("ANTHROPIC_API_KEY", "k")];
    let options = chosen(&ConfigFile::default(), None, &variables).unwrap();
    assert_eq!(options.endpoint.base_url, "http://127.0.0.1:1");
}

#[test]
fn an_invalid_rule_is_reported() {
    let config =
        PermissionsConfig { deny: vec!["Bash(".to_owned()], ..PermissionsConfig::default() };
    assert!(rules(&config, &|_| None).unwrap_err().contains("`Bash(` is not a rule"));
}
