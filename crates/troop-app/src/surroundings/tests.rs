//! Reading configuration files.

use std::path::Path;

use troop_testkit::assert_current;

use super::{
    ConfigFile, Environment, TeamDefaults,
    file::{KEYS, parse},
    hooks, schema,
    teams::TeammateMode,
};
use crate::Error;

fn read(text: &str) -> (Result<ConfigFile, String>, Vec<String>) {
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
fn an_empty_file_sets_nothing() {
    assert_eq!(read("").0.unwrap(), ConfigFile::default());
    assert_eq!(read("// later").0.unwrap(), ConfigFile::default());
}

#[test]
fn an_unknown_key_is_reported_with_the_nearest_valid_name() {
    let (config, warnings) = read(r#"{"stroe": "memory:", "zzz": 1}"#);
    assert_eq!(config.unwrap(), ConfigFile::default());
    assert_eq!(
        warnings,
        [
            "`config.json`: unknown key `stroe`; did you mean `store`?",
            "`config.json`: unknown key `zzz`"
        ]
    );
}

#[test]
fn an_invalid_configuration_is_refused_with_its_place() {
    assert_eq!(
        read(r#"{"team": 7}"#).0.unwrap_err(),
        "`config.json` is not a configuration: `team`: invalid type: integer `7`, expected text"
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

/// The team defaults that result from this file alone.
fn teams(text: &str) -> TeamDefaults {
    let file = read(text).0.unwrap();
    TeamDefaults::of(&[(Path::new("config.json"), &file.teams)], &Environment::default())
}

/// The hooks of a file, and warnings about them.
fn read_hooks(text: &str) -> (Result<usize, Error>, Vec<String>) {
    let mut warnings = Vec::new();
    let config = read(text).0.unwrap();
    let hooks = hooks::read(config.hooks.as_ref(), Path::new("config.json"), &mut warnings);
    (hooks.map(|config| config.hooks.len()), warnings)
}

#[test]
fn teams_are_on_and_have_five_teammates_by_default() {
    let all = teams("{}");
    let budget = troop_model::Budget::default();
    let usual =
        TeamDefaults { off: None, teammate_mode: TeammateMode::Auto, max_teammates: 5, budget };
    assert_eq!(all, usual);
}

#[test]
fn the_keys_of_teams_are_read() {
    let all = teams(r#"{"teams": {"enabled": false, "teammateMode": "tmux", "maxTeammates": 12}}"#);
    assert_eq!(all.off.unwrap().by, "`teams.enabled` in `config.json`");
    assert_eq!((all.teammate_mode, all.max_teammates), (TeammateMode::Tmux, 12));
}

#[test]
fn a_teammate_mode_is_one_of_three_words() {
    assert_eq!(teams("{}").teammate_mode.as_str(), "auto", "by default");
    for mode in ["auto", "in-process", "tmux"] {
        let all = teams(&format!(r#"{{"teams": {{"teammateMode": "{mode}"}}}}"#));
        assert_eq!(all.teammate_mode.as_str(), mode);
    }
    assert_eq!(
        read(r#"{"teams": {"teammateMode": "Tmux"}}"#).0.unwrap_err(),
        "`config.json` is not a configuration: `teams.teammateMode`: \
         unknown variant `Tmux`, expected one of `auto`, `in-process`, `tmux`"
    );
}

#[test]
fn an_invalid_number_of_teammates_is_refused() {
    for wrong in ["0", "101", "-1", "2.5", "\"5\"", "[]"] {
        assert_eq!(
            read(&format!(r#"{{"teams": {{"maxTeammates": {wrong}}}}}"#)).0.unwrap_err(),
            format!(
                "`config.json` is not a configuration: `teams.maxTeammates`: \
                 expected a number from 1 to 100, found {wrong}"
            )
        );
    }
}

#[test]
fn an_unknown_key_of_teams_is_reported_too() {
    let (config, warnings) = read(r#"{"teams": {"maxTeamates": 3}}"#);
    assert_eq!(config.unwrap(), ConfigFile::default());
    assert_eq!(
        warnings,
        ["`config.json`: unknown key `teams.maxTeamates`; did you mean `maxTeammates`?"]
    );
}

#[test]
fn hooks_of_both_styles_are_read() {
    let (n_hooks, warnings) = read_hooks(
        r#"{"hooks": {
            "TaskCompleted": [{"hooks": [{"type": "command", "command": "make test"}]}],
            "hooks": [{"event": "team-shutdown", "command": "date", "asinc": true}],
        }}"#,
    );
    assert_eq!(n_hooks.unwrap(), 2);
    assert_eq!(
        warnings,
        ["`config.json`: `hooks.hooks[0].asinc`: unknown key `asinc`; did you mean `async`?"]
    );
}

#[test]
fn an_invalid_hook_is_refused_with_its_place() {
    for (text, message, hint) in [
        (
            r#"{"hooks": {"TaskComplete": []}}"#,
            "`hooks.TaskComplete`: there is no event `TaskComplete`",
            "did you mean `TaskCompleted`?",
        ),
        (
            r#"{"hooks": {"hooks": [{"event": "task-complete", "command": "a"}]}}"#,
            "`hooks.hooks[0].event`: there is no event `task-complete`",
            "did you mean `task-completed`?",
        ),
        (
            r#"{"hooks": {"PreToolUse": []}}"#,
            "`hooks.PreToolUse`: there is no event `PreToolUse`",
            "the events are: TeamCreated, TeammateSpawned, TeammateIdle, TaskCreated, TaskAssigned, TaskCompleted, TeamShutdown",
        ),
        (
            r#"{"hooks": {"TaskCompleted": [{"hooks": [{"type": "command"}]}]}}"#,
            "`hooks.TaskCompleted[0].hooks[0].command`: is missing",
            r#"a hook is: {"event": "task-completed", "command": "make test"}"#,
        ),
    ] {
        let Err(Error::Misuse { message: said, hint: told }) = read_hooks(text).0 else {
            panic!("not refused: {text}");
        };
        assert_eq!(said, format!("`config.json` is not a configuration: {message}"));
        assert_eq!(told.to_string(), hint);
    }
}

#[test]
fn the_example_in_the_docs_of_hooks_is_valid() {
    let page = include_str!("../../../../docs/hooks.md");
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let (n_hooks, warnings) = read_hooks(example);
    assert_eq!((n_hooks.unwrap(), warnings), (4, Vec::new()));
}

#[test]
fn fuzz_config() {
    let manual = ["hooks.md", "settings.md", "builtin.md", "checks.md"].map(|name| {
        let path = troop_testkit::repository().join("docs").join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    });
    let parts = manual.iter().flat_map(|text| text.split("```json").skip(1));
    let mut examples: Vec<_> =
        parts.filter_map(|it| it.split("```").next()).map(|it| it.as_bytes().to_vec()).collect();
    let all = r#"{"store": "files:x", "team": "blue", /* who */ "teams": {"enabled": true, "teammateMode": "tmux", "maxTeammates": 3},}"#;
    examples.push(all.as_bytes().to_vec());
    let words = ["// x\n", "/*", "*/", ",}", "\"teams\":", "\"hooks\":"];
    troop_testkit::fuzz(&words, &examples, 600, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let (config, mut warnings) = read(&text);
        match config {
            // The error is one line that names the file.
            Err(error) => {
                assert!(error.starts_with("`config.json` ") && error.lines().count() == 1);
            }
            Ok(config) => {
                drop(hooks::read(config.hooks.as_ref(), Path::new("config.json"), &mut warnings));
            }
        }
        assert!(warnings.iter().all(|it| it.lines().count() == 1), "{warnings:?}");
    });
}
