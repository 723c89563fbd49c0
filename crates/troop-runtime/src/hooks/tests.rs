//! The configuration and the context of hooks, without running any.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::{Value, json};
use troop_model::TaskNumber;

use super::{HookContext, HookEvent, HookTask, HooksConfig, Occasion};

fn context(occasion: Occasion) -> HookContext {
    HookContext { team: "blue".parse().unwrap(), session: "s-1".to_owned(), occasion }
}

fn task(owner: Option<&str>) -> HookTask {
    HookTask {
        number: TaskNumber(7),
        subject: "write".to_owned(),
        description: "all of it".to_owned(),
        owner: owner.map(|owner| owner.parse().unwrap()),
        folder: None,
    }
}

/// One occasion for every event.
fn occasions() -> Vec<HookContext> {
    let ann = || "ann".parse().unwrap();
    vec![
        context(Occasion::TeamCreated),
        context(Occasion::TeammateSpawned { teammate: ann(), agent: "coder".into(), pid: 42 }),
        context(Occasion::TeammateIdle { teammate: ann() }),
        context(Occasion::TaskCreated { task: task(Some("bob")), teammate: Some(ann()) }),
        context(Occasion::TaskAssigned { task: task(Some("ann")) }),
        context(Occasion::TaskCompleted { task: task(Some("ann")), result: "done".into() }),
        context(Occasion::TeamShutdown { n_members: 3, n_completed: 4, n_tasks: 5 }),
    ]
}

/// The variables of an occasion in the first spelling, as `name=value`.
fn variables(nth: usize) -> Vec<String> {
    let all = occasions()[nth].variables();
    let is_first = |name: &str| name.chars().any(char::is_lowercase);
    all.iter()
        .filter(|(name, _)| is_first(name) && name != "HOOK_event")
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

fn read(value: &Value) -> HooksConfig {
    let (config, mistakes) = HooksConfig::read(value);
    assert_eq!(mistakes, []);
    config
}

fn mistakes(value: &Value) -> Vec<String> {
    HooksConfig::read(value).1.iter().map(ToString::to_string).collect()
}

/// Whether a flat hook with this filter runs on an occasion.
fn is_meant(filter: &Value, context: &HookContext) -> bool {
    let event = context.event().kebab();
    let config = read(&json!({"hooks": [{"event": event, "command": "true", "filter": filter}]}));
    config.hooks[0].is_meant(context)
}

#[test]
fn every_event_has_two_spellings() {
    for event in HookEvent::ALL {
        assert_eq!(HookEvent::named(event.name()), Some(event));
        assert_eq!(HookEvent::named(event.kebab()), Some(event));
    }
    assert_eq!(HookEvent::TaskCompleted.name(), "TaskCompleted");
    assert_eq!(HookEvent::TaskCompleted.kebab(), "task-completed");
    assert_eq!(HookEvent::named("taskcompleted"), None);
}

#[test]
fn every_event_carries_the_values_of_its_table() {
    let occasions = occasions();
    let events: Vec<_> = occasions.iter().map(HookContext::event).collect();
    assert_eq!(events, HookEvent::ALL);
    for (nth, event) in events.into_iter().enumerate() {
        let variables = variables(nth);
        let names = variables.iter().filter_map(|it| it.strip_prefix("HOOK_")?.split('=').next());
        assert_eq!(names.collect::<Vec<_>>(), event.carries(), "{event}");
    }
}

#[test]
fn team_created_carries_the_team() {
    assert_eq!(variables(0), ["HOOK_teamName=blue"]);
}

#[test]
fn teammate_spawned_carries_the_teammate_its_agent_and_its_process() {
    assert_eq!(
        variables(1),
        [
            "HOOK_teamName=blue",
            "HOOK_teammateName=ann",
            "HOOK_teammateAgentName=coder",
            "HOOK_teammatePid=42"
        ]
    );
}

#[test]
fn teammate_idle_carries_the_teammate() {
    assert_eq!(variables(2), ["HOOK_teamName=blue", "HOOK_teammateName=ann"]);
}

#[test]
fn task_assigned_carries_the_task_and_its_owner() {
    assert_eq!(
        variables(4),
        [
            "HOOK_teamName=blue",
            "HOOK_teammateName=ann",
            "HOOK_teamTaskId=task-7",
            "HOOK_teamTaskSubject=write",
            "HOOK_teamTaskDescription=all of it",
            "HOOK_teamTaskOwner=ann",
        ]
    );
}

#[test]
fn task_completed_carries_the_result_and_the_owner_too() {
    let variables = variables(5);
    for expected in
        ["teamName=blue", "teamTaskId=task-7", "teamTaskOwner=ann", "teamTaskResult=done"]
    {
        assert!(variables.contains(&format!("HOOK_{expected}")), "{expected}: {variables:?}");
    }
}

#[test]
fn team_shutdown_carries_the_counts() {
    assert_eq!(
        variables(6),
        [
            "HOOK_teamName=blue",
            "HOOK_teamMemberCount=3",
            "HOOK_teamTasksCompleted=4",
            "HOOK_teamTasksTotal=5"
        ]
    );
}

#[test]
fn every_value_is_a_variable_in_both_spellings() {
    let all: BTreeMap<_, _> = occasions()[5].variables().into_iter().collect();
    for (one, other) in [
        ("HOOK_teamTaskId", "HOOK_TEAM_TASK_ID"),
        ("HOOK_teammateName", "HOOK_TEAMMATE_NAME"),
        ("HOOK_event", "HOOK_EVENT"),
    ] {
        assert_eq!(all[one], all[other]);
    }
    assert_eq!(all["HOOK_event"], "task-completed");
}

#[test]
fn an_unowned_task_has_no_owner_variable() {
    let context = context(Occasion::TaskCreated { task: task(None), teammate: None });
    let names: Vec<_> = context.variables().into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&"HOOK_teamTaskOwner".to_owned()), "{names:?}");
    assert!(context.json(Path::new("/p")).get("teammate_name").is_none());
}

#[test]
fn the_json_is_like_claude_codes() {
    assert_eq!(
        occasions()[5].json(Path::new("/project")),
        json!({
            "session_id": "s-1",
            "cwd": "/project",
            "hook_event_name": "TaskCompleted",
            "team_name": "blue",
            "teammate_name": "ann",
            "task_id": "7",
            "task_subject": "write",
            "task_description": "all of it",
            "task_owner": "ann",
            "task_result": "done",
        })
    );
    assert_eq!(occasions()[6].json(Path::new("/p"))["tasks_completed"], 4);
}

#[test]
fn both_styles_are_read_from_one_object() {
    let config = read(&json!({
        "enabled": true,
        "TaskCompleted": [{"hooks": [
            {"type": "command", "command": "./verify.sh", "timeout": 5},
            {"type": "command", "command": "./more.sh"},
        ]}],
        "teammate-idle": [{"matcher": "ann", "hooks": [{"command": "./idle.sh"}]}],
        "hooks": [
            {"event": "task-completed", "command": "log", "description": "Log", "async": true},
            {"event": "TeamShutdown", "command": "report", "filter": "blue"},
        ],
    }));
    let hooks: Vec<_> = config
        .hooks
        .iter()
        .map(|hook| (hook.when(), hook.command.as_str(), hook.timeout.as_secs(), hook.is_async))
        .collect();
    assert_eq!(
        hooks,
        [
            ("task-completed".to_owned(), "./verify.sh", 5, false),
            ("task-completed".to_owned(), "./more.sh", 60, false),
            ("teammate-idle (ann)".to_owned(), "./idle.sh", 60, false),
            ("task-completed".to_owned(), "log", 60, true),
            ("team-shutdown (blue)".to_owned(), "report", 60, false),
        ]
    );
    assert_eq!(config.hooks[3].description.as_deref(), Some("Log"));
}

#[test]
fn a_timeout_may_be_a_fraction_of_a_second() {
    let config = read(&json!({"hooks": [
        {"event": "task-completed", "command": "true", "timeout": 0.25},
    ]}));
    assert_eq!(config.hooks[0].timeout, Duration::from_millis(250));
}

#[test]
fn a_mistake_is_named_with_its_place() {
    let cases = [
        (json!([]), "`hooks`: expected an object, found []"),
        (json!({"enabled": "no"}), "`hooks.enabled`: expected true or false, found \"no\""),
        (json!({"TaskComplete": []}), "`hooks.TaskComplete`: there is no event `TaskComplete`"),
        (json!({"TaskCompleted": {}}), "`hooks.TaskCompleted`: expected a list, found {}"),
        (json!({"TaskCompleted": [7]}), "`hooks.TaskCompleted[0]`: expected an object, found 7"),
        (json!({"TaskCompleted": [{}]}), "`hooks.TaskCompleted[0].hooks`: is missing"),
        (
            json!({"TaskCompleted": [{"hooks": [{"command": "a"}, {"type": "command"}]}]}),
            "`hooks.TaskCompleted[0].hooks[1].command`: is missing",
        ),
        (
            json!({"TaskCompleted": [{"hooks": [{"type": "prompt", "command": "a"}]}]}),
            "`hooks.TaskCompleted[0].hooks[0].type`: the only type is `command`",
        ),
        (
            json!({"TaskCompleted": [{"matcher": "^ann", "hooks": []}]}),
            "`hooks.TaskCompleted[0].matcher`: `^ann` looks like a regular expression; write globs: `review*|test*`",
        ),
        (json!({"hooks": [{"command": "a"}]}), "`hooks.hooks[0].event`: is missing"),
        (
            json!({"hooks": [{"event": "task-done", "command": "a"}]}),
            "`hooks.hooks[0].event`: there is no event `task-done`",
        ),
        (
            json!({"hooks": [{"event": "task-completed", "command": " "}]}),
            "`hooks.hooks[0].command`: is empty",
        ),
        (
            json!({"hooks": [{"event": "task-completed", "command": "a", "timeout": 0}]}),
            "`hooks.hooks[0].timeout`: expected seconds, more than 0 and at most 86400, found 0",
        ),
        (
            json!({"hooks": [{"event": "task-completed", "command": "a", "async": 1}]}),
            "`hooks.hooks[0].async`: expected true or false, found 1",
        ),
        (
            json!({"hooks": [{"event": "teammate-idle", "command": "a", "filter": {"teamTaskId": "1"}}]}),
            "`hooks.hooks[0].filter.teamTaskId`: teammate-idle carries only teamName, teammateName",
        ),
        (
            json!({"hooks": [{"event": "teammate-idle", "command": "a", "filter": {"teamName": "[a"}}]}),
            "`hooks.hooks[0].filter.teamName`: `[a` is not a glob: unclosed character class; missing ']'",
        ),
        (
            json!({"hooks": [{"event": "teammate-idle", "command": "a", "description": 7}]}),
            "`hooks.hooks[0].description`: expected a string, found 7",
        ),
        (
            json!({"hooks": [{"event": "teammate-idle", "command": "a", "filter": ["ann"]}]}),
            "`hooks.hooks[0].filter`: expected a glob, found [\"ann\"]",
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(mistakes(&value), [expected], "{value}");
        let (config, _) = HooksConfig::read(&value);
        assert!(config.hooks.len() < 2 && config.hooks.iter().all(|hook| hook.command == "a"));
    }
}

#[test]
fn an_entry_with_a_mistake_is_left_out_and_the_others_count() {
    let (config, mistakes) = HooksConfig::read(&json!({"hooks": [
        {"event": "task-completed"},
        {"event": "task-completed", "command": "a", "timeout": "soon"},
        {"event": "task-completed", "command": "b", "tiemout": 3},
    ]}));
    let commands: Vec<_> = config.hooks.iter().map(|hook| hook.command.as_str()).collect();
    assert_eq!((commands, mistakes.len()), (vec!["b"], 3));
    assert_eq!(mistakes[2].to_string(), "`hooks.hooks[2].tiemout`: unknown key `tiemout`");
}

#[test]
fn all_globs_of_a_filter_must_match() {
    let completed = &occasions()[5];
    assert!(is_meant(&json!({"teammateName": "a*"}), completed));
    assert!(is_meant(&json!({"teammateName": "bob|ann"}), completed));
    assert!(is_meant(&json!({"teamTaskId": "task-?", "teamName": "blue"}), completed));
    assert!(!is_meant(&json!({"teammateName": "a"}), completed));
    assert!(!is_meant(&json!({"teammateName": "a*", "teamName": "red"}), completed));
    assert!(is_meant(&json!({"teamTasksTotal": 5}), &occasions()[6]));
    assert!(!is_meant(&json!({"teamTasksTotal": 6}), &occasions()[6]));
}

#[test]
fn a_single_glob_matches_the_teammate_or_else_the_team() {
    assert!(is_meant(&json!("a??"), &occasions()[2]));
    assert!(!is_meant(&json!("blue"), &occasions()[2]));
    assert!(is_meant(&json!("blue"), &occasions()[0]));
    assert!(!is_meant(&json!("ann"), &occasions()[0]));
}

#[test]
fn an_empty_filter_means_everything() {
    let nobodys = context(Occasion::TaskCreated { task: task(None), teammate: None });
    for filter in [json!(""), json!("*"), json!({})] {
        assert!(is_meant(&filter, &nobodys));
    }
    assert!(!is_meant(&json!("ann"), &nobodys));
}
